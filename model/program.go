package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Space says what a value has rows for.
type Space string

// The spaces that need no graph.
const (
	Vertices Space = "V"
	Global   Space = "G"
)

// Edges returns the space of the edges of a graph.
func Edges(graph string) Space { return Space("E:" + graph) }

// Graph returns the graph whose edges a space has rows for, "" for other spaces.
func (s Space) Graph() string {
	g, _ := strings.CutPrefix(string(s), "E:")
	if s == Vertices || s == Global {
		return ""
	}
	return g
}

// Node is one value of a program and how it is made.
type Node struct {
	Name  string
	Op    Op
	In    []int // numbers of earlier nodes
	Attr        // as the operation's rule says
	Space Space
	Shape []int  // behind the row; of Global the whole shape
	Line  string // where it comes from in the user's code, such as "net.py:12"; "": unknown
}

// Columns returns the number of elements of a row.
func (n *Node) Columns() int { return int(elements(n.Shape, maxSize)) }

// Graph is a graph that edges of a program belong to.
type Graph struct {
	Name   string
	Of     string  // the graph that it is made from; "": it is that of the data set
	Do     string  // full_loops, loops, no_loops, reverse
	Weight float64 // of loops that are added
}

// Ways to make a graph from another.
const (
	FullLoops = "full_loops" // a loop at every vertex; those that are there keep their weight
	Loops     = "loops"      // a further loop at every vertex
	NoLoops   = "no_loops"
	Reverse   = "reverse"
)

// Program is a model. Nodes[:Tensors] are its Param nodes, in the order of the state_dict.
type Program struct {
	Features, Outputs int // columns of the features and of the logits
	Graphs            []Graph
	Nodes             []Node
	Tensors           int
	Logits            int // number of the node

	names    map[string]int // of nodes
	dropouts map[int]int    // nodes by counter
	size     int64          // elements of all tensors
}

// New returns a program without nodes.
func New(features, outputs int) (*Program, error) {
	for _, w := range []int{features, outputs} {
		if w < 1 || w > maxColumns {
			return nil, fmt.Errorf("width %d is not in [1, %d]", w, maxColumns)
		}
	}
	return &Program{Features: features, Outputs: outputs, names: map[string]int{}, dropouts: map[int]int{}}, nil
}

// Node returns the node of that name, nil if there is none.
func (p *Program) Node(name string) *Node {
	if i, ok := p.names[name]; ok {
		return &p.Nodes[i]
	}
	return nil
}

// Index returns the number of the node of that name, which is there.
func (p *Program) Index(name string) int { return p.names[name] }

// Params returns the tensors of the state_dict, in its order.
func (p *Program) Params() []Node { return p.Nodes[:p.Tensors] }

// AddGraph declares a graph, made from an earlier one.
func (p *Program) AddGraph(g Graph) error {
	if err := checkName(g.Name); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	bad := func(format string, a ...any) error {
		return fmt.Errorf("graph %q: %s", g.Name, fmt.Sprintf(format, a...))
	}
	switch {
	case p.graph(g.Name) != nil:
		return bad("is declared twice")
	case len(p.Graphs) == maxGraphs:
		return bad("there are more than %d graphs", maxGraphs)
	case g.Of == "" && g.Do != "":
		return bad("%q needs a graph: write \"of\"", g.Do)
	case g.Of != "" && p.graph(g.Of) == nil:
		return bad("graph %q is not declared before it", g.Of)
	case g.Of != "" && !slices.Contains([]string{FullLoops, Loops, NoLoops, Reverse}, g.Do):
		return bad("%q is not one of full_loops, loops, no_loops, reverse", g.Do)
	case math.IsNaN(g.Weight) || math.IsInf(g.Weight, 0):
		return bad("weight %g is not finite", g.Weight)
	case g.Weight != 1 && g.Do != FullLoops && g.Do != Loops:
		return bad("no loops are added that could weigh %g", g.Weight)
	}
	p.Graphs = append(p.Graphs, g)
	return nil
}

func (p *Program) graph(name string) *Graph {
	for i := range p.Graphs {
		if p.Graphs[i].Name == name {
			return &p.Graphs[i]
		}
	}
	return nil
}

// Finish says which node the logits are. Nothing is added behind it.
func (p *Program) Finish(logits string) error {
	i, ok := p.names[logits]
	switch {
	case !ok:
		return fmt.Errorf("logits: node %q is not there", logits)
	case p.Nodes[i].Space != Vertices || !slices.Equal(p.Nodes[i].Shape, []int{p.Outputs}):
		return fmt.Errorf("logits: node %q is %s, not V[%d]", logits, p.Nodes[i].describe(), p.Outputs)
	}
	p.Logits = i
	return nil
}

// describe returns a value's space and shape, as V[8 16].
func (n *Node) describe() string { return string(n.Space) + fmt.Sprint(n.Shape) }

// Reduces reports whether node i sums over all vertices, so that parts add up.
func (p *Program) Reduces(i int) bool {
	n := &p.Nodes[i]
	return n.Op == SumAll || n.Op == BatchNorm || n.Op == Product && n.Space == Global && p.Nodes[n.In[0]].Space != Global
}

// All is the reach of a value that all vertices' rows are needed of.
const All = math.MaxInt

// Reach returns for every value the most Src nodes between it and the logits: rows of vertices that are so many hops
// before a target are needed. It is All if a sum over all vertices lies between, and −1 of a value that the logits do
// not depend on.
func (p *Program) Reach() []int {
	reach := make([]int, len(p.Nodes))
	for i := range reach {
		reach[i] = -1
	}
	reach[p.Logits] = 0
	for i := p.Logits; i >= 0; i-- {
		r := reach[i]
		switch {
		case r < 0:
			continue
		case p.Reduces(i):
			r = All
		case p.Nodes[i].Op == Src && r < All:
			r++
		}
		for _, k := range p.Nodes[i].In {
			reach[k] = max(reach[k], r)
		}
	}
	return reach
}

// Depth returns for every value the most Src nodes before it; of a Src node, itself not counted, that is the number of
// its exchange.
func (p *Program) Depth() []int {
	depth := make([]int, len(p.Nodes))
	for i := range p.Nodes {
		for _, k := range p.Nodes[i].In {
			d := depth[k]
			if p.Nodes[k].Op == Src {
				d++
			}
			depth[i] = max(depth[i], d)
		}
	}
	return depth
}

// Fixed returns for every value whether it is made of features and graph alone, without weights or dropout, so that it
// is computed once.
func (p *Program) Fixed() []bool {
	fixed := make([]bool, len(p.Nodes))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		fixed[i] = n.Op != Param && n.Op != Dropout && !slices.ContainsFunc(n.In, func(k int) bool { return !fixed[k] })
	}
	return fixed
}
