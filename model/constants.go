package model

// NoConstant is what Constants says of values that are none.
const NoConstant = -1

// maxConstant is how many operations one constant may take, so that files cannot ask for more than a moment per edge.
const maxConstant = 100

// Constants returns, for every value that is one number per vertex, edge or program, made of the graph alone, its
// degree in weights of edges: 0 or 1; of others NoConstant. Parallel edges add up: of degree 1 the value of their
// weight together is the sum of theirs, of degree 0 there is one for each.
func (p *Program) Constants() []int {
	degree, size := make([]int, len(p.Nodes)), make([]int, len(p.Nodes))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if degree[i] = p.degree(n, degree); n.Columns() != 1 {
			degree[i] = NoConstant
		}
		size[i] = 1
		for _, k := range n.In {
			size[i] += size[k]
			if degree[k] == NoConstant || size[i] > maxConstant {
				degree[i], size[i] = NoConstant, 0
				break
			}
		}
	}
	return degree
}

// degree returns that of a node whose inputs are constants of these degrees.
func (p *Program) degree(n *Node, of []int) int {
	switch {
	case n.Op == Const && n.What == VertexNum, n.Op == Dropout, n.Op == Param, n.Op == Input:
		return NoConstant
	case n.Op == Const && n.Space != Global && n.Space != Vertices && n.What != Loop:
		return 1
	case n.Op == Const:
		return 0
	case n.Op == Mul && of[n.In[0]]+of[n.In[1]] < 2:
		return of[n.In[0]] + of[n.In[1]]
	case n.Op == Div && of[n.In[1]] == 0, n.Op == Src, n.Op == Dst, n.Op == Reshape, n.Op == Stop:
		return of[n.In[0]]
	case n.Op == Add:
		for _, k := range n.In {
			if of[k] != of[n.In[0]] {
				return NoConstant
			}
		}
		return of[n.In[0]]
	case n.Op.IsFunction() && of[n.In[0]] == 0:
		return 0
	}
	return NoConstant
}

// Constant returns the value of a constant at a vertex or edge. of returns that of what the graph determines: constants
// that are no numbers, and rows of sources and targets.
func (p *Program) Constant(i int, of func(n *Node) float64) float64 {
	n := &p.Nodes[i]
	x := func(k int) float64 { return p.Constant(n.In[k], of) }
	switch {
	case n.Op == Const && n.What == Number:
		return n.Value
	case n.Op == Const, n.Op == Src, n.Op == Dst:
		return of(n)
	case n.Op == Mul:
		return x(0) * x(1)
	case n.Op == Div:
		return x(0) / x(1)
	case n.Op == Reshape:
		return x(0)
	case n.Op == Add:
		sum := 0.0
		for k, c := range n.Coef {
			sum += c * x(k)
		}
		return sum
	}
	y, _ := n.Function(x(0))
	return y
}
