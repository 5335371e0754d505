package model

import "math"

// Demand is what a program takes of a machine.
type Demand struct {
	Parameters int64   // elements of all tensors
	Values     int64   // elements of all rows of vertices that are not fixed
	Operations float64 // of floating point in an epoch, forward and backward; a product and its sum are two
}

// Demand returns what a program takes on a graph of so many vertices and edges, of what the logits depend on. Rows of edges are not counted as
// values, as they need not be stored; nor are operations on fixed values, which are made once.
func (p *Program) Demand(vertices, edges int64) Demand {
	d := Demand{Parameters: p.size}
	reach, fixed := p.Reach(), p.Fixed()
	rows := map[Space]int64{Global: 1, Vertices: vertices}
	for _, g := range p.Graphs {
		n := edges
		if g.Of != "" {
			n = rows[Edges(g.Of)]
		}
		if g.Do == FullLoops || g.Do == Loops {
			n = plus(n, vertices)
		}
		rows[Edges(g.Name)] = n
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if reach[i] < 0 || fixed[i] || n.Op == Param {
			continue
		}
		columns := int64(n.Columns())
		if n.Space == Vertices && n.Op != Reshape {
			d.Values = plus(d.Values, times(vertices, columns))
		}
		across := rows[n.Space]
		if p.Reduces(i) || n.Space == Vertices && n.Op != Linear {
			across = max(across, rows[p.Nodes[n.In[0]].Space])
		}
		d.Operations += float64(across) * p.perRow(n, fixed)
	}
	return d
}

// perRow returns how many operations a row takes, forward and backward.
func (p *Program) perRow(n *Node, fixed []bool) float64 {
	const both = 2 // backward as much as forward
	columns := float64(n.Columns())
	switch n.Op {
	case Src, Dst, Reshape, Concat, Slice, Stop:
		return 0
	case Linear:
		inner := p.Nodes[n.In[1]].Shape[1]
		ways := 3.0 // y, and the gradients of x and W
		if fixed[n.In[0]] {
			ways = 2
		}
		return 2 * columns * float64(inner) * ways
	case Product:
		x, y := &p.Nodes[n.In[0]], &p.Nodes[n.In[1]]
		// Each letter is in two of three shapes but those of sums, which are in one or two.
		return 2 * 3 * math.Sqrt(float64(x.Columns())*float64(y.Columns())*max(1, columns))
	case Fold, SumAll, SumIn, MaxIn, SoftmaxIn:
		columns = float64(p.Nodes[n.In[0]].Columns())
	case LayerNorm, BatchNorm:
		columns *= 8
	case Add:
		columns *= float64(len(n.In) - 1)
	}
	return both * columns
}

// plus and times return a sum and a product, math.MaxInt64 where they overflow; numbers are at least 0.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
