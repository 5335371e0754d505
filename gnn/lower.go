package gnn

import (
	"cmp"
	"fmt"
	"slices"

	"capgnn/model"
)

// lowering rewrites a program: what devices have no operation for becomes several nodes that they have one for.
type lowering struct {
	*model.Program             // what has been written
	of             *model.Node // what is being rewritten
	logs           map[int]int // logarithms of softmax, by its node
}

// lowered returns a program in which no node of vertices or of one value for all is a maximum, a softmax, a norm
// without tensors of its own, or a product with heads.
func lowered(p *model.Program) (q *model.Program, err error) {
	if q, err = model.New(p.Features, p.Outputs); err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(caught(recover()), err) }()
	l := &lowering{Program: q, logs: map[int]int{}}
	l.Graphs = p.Graphs
	is := make([]int, len(p.Nodes))
	for i := range p.Nodes {
		n := p.Nodes[i]
		if n.Op == model.Param {
			l.must(0, l.AddTensor(n.Name, n.Shape...))
			is[i] = i
			l.Nodes[i].Start = n.Start
			continue
		}
		n.In = slices.Clone(n.In)
		for k, x := range n.In {
			n.In[k] = is[x]
		}
		l.of = &n
		if is[i] = l.node(); is[i] < 0 {
			is[i] = l.must(l.Add(n))
		}
	}
	l.Logits = is[p.Logits]
	if len(l.Nodes) > max(maxNodes, len(p.Nodes)) {
		return nil, fmt.Errorf("%d nodes and tensors, with those that folds and heads become: capgnn trains models of "+
			"at most %d", len(l.Nodes), maxNodes)
	}
	return l.Program, nil
}

func (l *lowering) must(i int, err error) int {
	if err != nil {
		panic(refused{err})
	}
	return i
}

// node writes what stands for a node, −1: itself.
func (l *lowering) node() int {
	n := l.of
	if n.Op == model.Input || n.Op == model.Const || l.Nodes[n.In[0]].Space.Graph() != "" {
		return -1
	}
	x := n.In[0]
	switch {
	case n.Op == model.Fold && n.How == model.FoldMax:
		return l.shaped(l.most(x, n.Axis), slices.Delete(slices.Clone(l.Nodes[x].Shape), n.Axis, n.Axis+1))
	case n.Op == model.Fold && n.How == model.FoldSoftmax:
		return l.softmax(x, n.Axis)
	case n.Op == model.Fold:
		return l.stacked(x)
	case n.Op == model.Log && l.logs[x] > 0:
		return l.logs[x]
	case n.Op == model.LayerNorm && len(n.In) == 1:
		mean := func(x int) int { return l.along(x, len(l.Nodes[x].Shape)-1, model.FoldMean) }
		return l.normed(x, mean)
	case n.Op == model.BatchNorm && len(n.In) < 5:
		mean := func(x int) int {
			count := l.write(model.Const, model.Attr{What: model.VertexNum})
			return l.write(model.Div, model.Attr{}, l.write(model.SumAll, model.Attr{}, x), count)
		}
		y := l.normed(x, mean)
		if len(n.In) == 3 {
			y = l.write(model.Add, model.Attr{}, l.write(model.Mul, model.Attr{}, y, n.In[1]), n.In[2])
		}
		return y
	case n.Op == model.Linear && len(l.Nodes[x].Shape) > 1:
		return l.linear(x)
	case n.Op == model.Product:
		return l.product()
	}
	return -1
}

// write writes a node.
func (l *lowering) write(op model.Op, a model.Attr, in ...int) int {
	return l.must(l.Add(model.Node{Name: l.name(), Op: op, In: in, Attr: a, Line: l.of.Line}))
}

// name returns a new one, of which those who read errors see what is before the 0.
func (l *lowering) name() string { return fmt.Sprintf("%.45s\x00%d", l.of.Name, len(l.Nodes)) }

// shaped writes a value in another shape, if it has another.
func (l *lowering) shaped(x int, shape []int) int {
	if slices.Equal(l.Nodes[x].Shape, shape) {
		return x
	}
	return l.must(l.Add(model.Node{Name: l.name(), Op: model.Reshape, In: []int{x}, Shape: shape, Line: l.of.Line}))
}

func (l *lowering) number(v float64) int {
	return l.write(model.Const, model.Attr{What: model.Number, Value: v})
}

// less writes x − y.
func (l *lowering) less(x, y int) int {
	return l.write(model.Add, model.Attr{Coef: []float64{1, -1}}, x, y)
}

// along writes a fold that keeps its axis.
func (l *lowering) along(x, axis int, how string) int {
	shape := slices.Clone(l.Nodes[x].Shape)
	shape[axis] = 1
	return l.shaped(l.write(model.Fold, model.Attr{How: how, Axis: axis}, x), shape)
}

// part writes elements lo to hi of an axis. Those of values side by side are these values.
func (l *lowering) part(x, axis, lo, hi int) int {
	n := &l.Nodes[x]
	if lo == 0 && hi == n.Shape[axis] {
		return x
	}
	if n.Op == model.Concat && n.Axis == axis {
		var in []int
		at := 0
		for _, y := range n.In {
			if at >= lo && at+l.Nodes[y].Shape[axis] <= hi {
				in = append(in, y)
			}
			at += l.Nodes[y].Shape[axis]
		}
		size := 0
		for _, y := range in {
			size += l.Nodes[y].Shape[axis]
		}
		if size == hi-lo && len(in) == 1 {
			return in[0]
		} else if size == hi-lo {
			return l.write(model.Concat, model.Attr{Axis: axis}, in...)
		}
	}
	return l.write(model.Slice, model.Attr{Axis: axis, Lo: lo, Hi: hi}, x)
}

// most writes the maximum along an axis, which it keeps: of a and b that is a + relu(b − a). So of equal maxima one has
// the gradient.
func (l *lowering) most(x, axis int) int {
	for n := l.Nodes[x].Shape[axis]; n > 1; n = l.Nodes[x].Shape[axis] {
		a, b := l.part(x, axis, 0, n/2), l.part(x, axis, n/2, n/2*2)
		m := l.write(model.Add, model.Attr{}, a, l.write(model.ReLU, model.Attr{}, l.less(b, a)))
		if n%2 == 1 {
			m = l.write(model.Concat, model.Attr{Axis: axis}, m, l.part(x, axis, n-1, n))
		}
		x = m
	}
	return x
}

// softmax writes a softmax, and its logarithm for those who read that.
func (l *lowering) softmax(x, axis int) int {
	x = l.less(x, l.write(model.Stop, model.Attr{}, l.most(x, axis)))
	e := l.write(model.Exp, model.Attr{}, x)
	sum := l.along(e, axis, model.FoldSum)
	log := l.less(x, l.write(model.Log, model.Attr{}, sum))
	y := l.write(model.Div, model.Attr{}, e, sum)
	l.logs[y] = log
	return y
}

// stacked writes a sum or mean over values that are stacked as the sum of these, −1: others are none.
func (l *lowering) stacked(x int) int {
	n := l.Nodes[x]
	if n.Op != model.Concat || n.Axis != l.of.Axis || len(n.In) != n.Shape[n.Axis] {
		return -1
	}
	c := 1.0
	if l.of.How == model.FoldMean {
		c /= float64(len(n.In))
	}
	shape := slices.Delete(slices.Clone(n.Shape), n.Axis, n.Axis+1)
	return l.shaped(l.write(model.Add, model.Attr{Coef: slices.Repeat([]float64{c}, len(n.In))}, n.In...), shape)
}

// normed writes (x − mean)/√(variance + ε).
func (l *lowering) normed(x int, mean func(int) int) int {
	x = l.less(x, mean(x))
	variance := mean(l.write(model.Square, model.Attr{}, x))
	r := l.write(model.Power, model.Attr{Exponent: -0.5}, l.write(model.Add, model.Attr{}, variance, l.number(l.of.Eps)))
	return l.write(model.Mul, model.Attr{}, x, r)
}

// linear writes a product of rows of several axes: one of each row of the last.
func (l *lowering) linear(x int) int {
	n := l.Nodes[x]
	last := n.Shape[len(n.Shape)-1]
	rows := l.shaped(x, []int{n.Columns() / last, last})
	var out []int
	for k := range n.Columns() / last {
		row := l.shaped(l.part(rows, 0, k, k+1), []int{last})
		out = append(out, l.write(model.Linear, model.Attr{}, slices.Concat([]int{row}, l.of.In[1:])...))
	}
	y := out[0]
	if len(out) > 1 {
		y = l.write(model.Concat, model.Attr{}, out...)
	}
	return l.shaped(y, slices.Concat(n.Shape[:len(n.Shape)-1], l.Nodes[l.of.In[1]].Shape[:1]))
}
