package gnn

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"capgnn/model"
)

// arrangement is a matrix of columns of x and of what is made of them: sums along an axis, repeated and reordered ones.
// Devices multiply with it.
type arrangement struct {
	cols   int
	weight float64
	from   func(col int) []int // columns of x that are added up
}

// maxArrangement is how many elements such a matrix has at most.
const maxArrangement = 1 << 24

// arranged returns the product of x and an arrangement. i is the value that needs it.
func (f *fusion) arranged(i int, x *node, a arrangement) *applied {
	f.refuse(i, x.cols*a.cols <= maxArrangement, fmt.Sprintf("%d columns become %d by a matrix of more than %d elements: "+
		"use fewer columns", x.cols, a.cols, maxArrangement))
	m := make([]byte, 4*x.cols*a.cols)
	for c := range a.cols {
		for _, r := range a.from(c) {
			binary.NativeEndian.PutUint32(m[4*(r*a.cols+c):], math.Float32bits(float32(a.weight)))
		}
	}
	by := &node{cols: x.cols * a.cols, single: true, leaf: &leaf{matrix: m}, begin: -1, end: -1}
	f.nodes = append(f.nodes, by)
	return &applied{x: x, by: by}
}

// arrange makes n what a fold, a slice or another order of axes makes of its input's columns, if value i is that.
func (f *fusion) arrange(n *node, i int) bool {
	at := &f.Nodes[i]
	if len(at.In) == 0 {
		return false
	}
	in := f.Nodes[at.In[0]].Shape
	a := arrangement{cols: at.Columns(), weight: 1}
	switch {
	case at.Op == model.Fold && (at.How == model.FoldSum || at.How == model.FoldMean):
		_, d, inner := model.Split(in, at.Axis)
		a.from = func(c int) (rows []int) {
			for k := range d {
				rows = append(rows, (c/inner*d+k)*inner+c%inner)
			}
			return rows
		}
		if at.How == model.FoldMean {
			a.weight = 1 / float64(d)
		}
	case at.Op == model.Slice:
		_, d, inner := model.Split(in, at.Axis)
		size := (at.Hi - at.Lo) * inner
		a.from = func(c int) []int { return []int{(c/size*d+at.Lo)*inner + c%size} }
	case f.permuted(i) != nil && at.Space == model.Global && len(in) == 2:
		n.applied = &applied{x: f.single(at.In[0]), rows: in[0]}
		return true
	case f.permuted(i) != nil:
		order := f.permuted(i)
		a.from = func(c int) []int {
			r := 0
			for k := len(order) - 1; k >= 0; k-- {
				stride := 1
				for _, d := range in[order[k]+1:] {
					stride *= d
				}
				r += c % at.Shape[k] * stride
				c /= at.Shape[k]
			}
			return []int{r}
		}
	default:
		return false
	}
	n.applied = f.arranged(i, f.whole(at.In[0]), a)
	return true
}

// between makes n values side by side along an axis that is not the first, if value i is that: the sum of products that
// have zeros where the others are.
func (f *fusion) between(n *node, i int) bool {
	at := &f.Nodes[i]
	if at.Op != model.Concat {
		return false
	}
	_, d, inner := model.Split(at.Shape, at.Axis)
	lo := 0
	for _, x := range at.In {
		size := f.Nodes[x].Shape[at.Axis]
		from := func(c int) []int {
			if k := c / inner % d; k < lo || k >= lo+size {
				return nil
			}
			return []int{(c/inner/d*size+c/inner%d-lo)*inner + c%inner}
		}
		y := f.new(x)
		y.cols, y.single, y.layer, y.level = n.cols, n.single, n.layer, n.level
		y.applied = f.arranged(i, f.whole(x), arrangement{cols: n.cols, weight: 1, from: from})
		f.nodes = append(f.nodes, y)
		n.terms = append(n.terms, term{x: y, coef: 1})
		lo += size
	}
	return true
}

// permuted returns which axis of its input each axis of value i is, if it is a product with 1 alone.
func (f *fusion) permuted(i int) (order []int) {
	at := &f.Nodes[i]
	if at.Op != model.Product || f.Nodes[at.In[1]].What != model.Number || f.Nodes[at.In[1]].Value != 1 {
		return nil
	}
	var from, to []byte
	for spec, k := []byte(at.Spec), 0; k < len(spec); k++ {
		switch c := spec[k]; {
		case c == ',':
			from, to = to, nil
		case c >= 'a' && c <= 'z' && c != 'n':
			to = append(to, c)
		}
	}
	for _, c := range to {
		order = append(order, slices.Index(from, c))
	}
	return order
}

// whole returns the node of a value of vertices or for all.
func (f *fusion) whole(i int) *node {
	if f.Nodes[i].Space == model.Global {
		return f.single(i)
	}
	return f.rows(i)
}

// fitted returns the node of a value that value i is made of, with the columns of that, or unless all with one.
func (f *fusion) fitted(x, i int, all bool) *node {
	from, to := &f.Nodes[x], &f.Nodes[i]
	f.refuse(x, from.Space == model.Global || from.Space == model.Vertices)
	n, cols := f.whole(x), to.Columns()
	if n.cols == cols || n.cols == 1 && !all {
		return n
	}
	at := model.Broadcast(to.Shape, from.Shape)
	y := f.new(x)
	y.cols, y.single = cols, n.single
	if n.single {
		y.layer, y.level = 0, 0
	}
	y.applied = f.arranged(i, n, arrangement{cols: cols, weight: 1, from: func(c int) []int { return at[c : c+1] }})
	f.nodes = append(f.nodes, y)
	return y
}

// lies reports whether elements along an axis of a value lie side by side, with nothing of it before.
func (f *fusion) lies(x, axis int) bool {
	outer, _, _ := model.Split(f.Nodes[x].Shape, axis)
	return outer == 1
}
