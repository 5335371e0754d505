package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of programs. Files are not trusted.
const (
	maxNodes   = 1_000_000
	maxGraphs  = 64
	maxAxes    = 8
	maxColumns = 1 << 30 // of a row, and of an axis of a tensor
	maxSize    = 1 << 60 // elements of all tensors
	maxName    = 200     // bytes
)

// rule is what an operation takes.
type rule struct {
	least, most int // inputs
	needs       string
	may         string // names of attributes, which have defaults
	shape       func(c *checked) error
}

var rules = map[Op]rule{
	Input:     {0, 0, "", "", (*checked).input},
	Const:     {0, 0, "what", "graph value", (*checked).constant},
	Linear:    {2, 3, "", "", (*checked).linear},
	Product:   {2, 2, "spec", "", (*checked).product},
	Add:       {1, maxNodes, "", "coef", (*checked).add},
	Mul:       {2, 2, "", "", (*checked).broadcast},
	Div:       {2, 2, "", "", (*checked).broadcast},
	Dropout:   {1, 1, "p", "counter", (*checked).dropout},
	LayerNorm: {1, 3, "", "eps", (*checked).layerNorm},
	BatchNorm: {1, 5, "", "eps momentum", (*checked).batchNorm},
	Concat:    {1, maxNodes, "", "axis", (*checked).concat},
	Slice:     {1, 1, "lo hi", "axis", (*checked).slice},
	Reshape:   {1, 1, "shape", "", (*checked).reshape},
	Fold:      {1, 1, "how", "axis", (*checked).fold},
	SumAll:    {1, 1, "", "", (*checked).sumAll},
	Src:       {1, 1, "graph", "", (*checked).toEdges},
	Dst:       {1, 1, "graph", "", (*checked).toEdges},
	SumIn:     {1, 1, "graph", "", (*checked).fromEdges},
	MaxIn:     {1, 1, "graph", "", (*checked).fromEdges},
	SoftmaxIn: {1, 1, "graph", "", (*checked).fromEdges},
}

// ruleOf returns the rule of an operation that nodes may have.
func ruleOf(o Op) (rule, bool) {
	r, ok := rules[o]
	if !ok && o.IsFunction() {
		r, ok = rule{least: 1, most: 1, shape: (*checked).same}, true
		switch o {
		case LeakyReLU:
			r.may = "slope"
		case ELU:
			r.may = "alpha"
		case Power:
			r.needs = "exponent"
		case Clamp:
			r.may = "low high"
		}
	}
	return r, ok
}

// defaults returns the attributes of an operation before it is told any. Axis −1 is the last one, Counter −1 the
// number of dropouts before.
func defaults(o Op) Attr {
	a := Attr{Axis: -1, Counter: -1, Low: math.Inf(-1), High: math.Inf(1)}
	switch o {
	case LayerNorm, BatchNorm:
		a.Eps, a.Momentum = 1e-5, 0.1
	case LeakyReLU:
		a.Slope = 0.01
	case ELU:
		a.Alpha = 1
	}
	return a
}

// checked is a node whose space and shape are being found.
type checked struct {
	p *Program
	*Node
	in []*Node
}

// AddTensor appends a tensor of the state_dict. All come before other nodes.
func (p *Program) AddTensor(name string, shape ...int) error {
	if err := p.free(name); err != nil {
		return err
	}
	if err := checkAxes(shape); err != nil {
		return fmt.Errorf("tensor %q: %w", name, err)
	}
	n := elements(shape, maxSize)
	if n > maxSize-p.size {
		return fmt.Errorf("tensor %q: all tensors have more than %d elements", name, maxSize)
	}
	p.size += n
	if p.Tensors != len(p.Nodes) {
		return fmt.Errorf("tensor %q: comes behind nodes", name)
	}
	p.names[name] = len(p.Nodes)
	t := Node{Name: name, Op: Param, Attr: defaults(Param), Space: Global, Shape: slices.Clone(shape)}
	p.Nodes = append(p.Nodes, t)
	p.Tensors++
	return nil
}

// StartTensor has the elements of a tensor begin with these.
func (p *Program) StartTensor(name string, x []float64) error {
	n := p.Node(name)
	switch {
	case n == nil || n.Op != Param:
		return fmt.Errorf("start: tensor %.200q is not there", name)
	case len(x) != n.Columns():
		return fmt.Errorf("start: tensor %q has %d elements, not %d", name, n.Columns(), len(x))
	case n.Start != nil:
		return fmt.Errorf("start: tensor %q is there twice", name)
	case slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 }):
		return fmt.Errorf("start: tensor %q has an element that is no float32", name)
	}
	n.Start = x
	return nil
}

// Add appends a node, of which Space and, but for Reshape, Shape are found here. Axis −1 is the last axis, Counter −1
// the number of dropouts before.
func (p *Program) Add(n Node) (int, error) {
	if err := p.free(n.Name); err != nil {
		return 0, err
	}
	r, ok := ruleOf(n.Op)
	if !ok {
		return 0, fmt.Errorf("node %q: %q is no operation", n.Name, n.Op)
	}
	if len(n.In) < r.least || len(n.In) > r.most {
		return 0, fmt.Errorf("node %q: %s reads %s, not %d", n.Name, n.Op, r.inputs(), len(n.In))
	}
	c := checked{p: p, Node: &n}
	for _, i := range n.In {
		if i < 0 || i >= len(p.Nodes) {
			return 0, fmt.Errorf("node %q: reads node number %d, which is not before it", n.Name, i)
		}
		c.in = append(c.in, &p.Nodes[i])
	}
	err := r.shape(&c)
	if err == nil {
		err = checkShape(n.Shape)
	}
	if err != nil {
		return 0, fmt.Errorf("node %q: %w", n.Name, err)
	}
	if n.Op == Dropout {
		p.dropouts[n.Counter] = len(p.Nodes)
	}
	p.names[n.Name] = len(p.Nodes)
	p.Nodes = append(p.Nodes, n)
	return len(p.Nodes) - 1, nil
}

func (r rule) inputs() string {
	switch {
	case r.least == r.most && r.least == 1:
		return "1 value"
	case r.least == r.most:
		return fmt.Sprintf("%d values", r.least)
	case r.most == maxNodes:
		return "1 value or more"
	}
	return fmt.Sprintf("%d to %d values", r.least, r.most)
}

// free reports why a name cannot be that of a new node.
func (p *Program) free(name string) error {
	switch _, there := p.names[name]; {
	case there:
		return fmt.Errorf("node %q: the name is there twice", name)
	case len(p.Nodes) == maxNodes:
		return fmt.Errorf("node %q: there are more than %d nodes", name, maxNodes)
	}
	if err := checkName(name); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	return nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a name is empty")
	case len(name) > maxName:
		return fmt.Errorf("name %.20q… has more than %d bytes", name, maxName)
	case !utf8.ValidString(name) || strings.ContainsRune(name, utf8.RuneError):
		return fmt.Errorf("name %q is not UTF-8", name)
	}
	return nil
}

func checkAxes(shape []int) error {
	if len(shape) > maxAxes {
		return fmt.Errorf("shape has %d axes, more than %d", len(shape), maxAxes)
	}
	for _, d := range shape {
		if d < 1 || d > maxColumns {
			return fmt.Errorf("shape %v: %d is not in [1, %d]", shape, d, maxColumns)
		}
	}
	return nil
}

// checkShape reports why nothing but a tensor can have a shape.
func checkShape(shape []int) error {
	if err := checkAxes(shape); err != nil {
		return err
	}
	if elements(shape, maxColumns) > maxColumns {
		return fmt.Errorf("shape %v has more than %d elements", shape, maxColumns)
	}
	return nil
}

// elements returns the number of elements of a shape, or a number beyond most if there are more.
func elements(shape []int, most int64) int64 {
	n := int64(1)
	for _, d := range shape {
		if d < 1 || n > most/int64(d) {
			return most + 1
		}
		n *= int64(d)
	}
	return n
}
