package model

import (
	"reflect"
	"slices"
	"strings"
)

// attributes lists the keys of nodes in files in the order in which they are written, with the fields that they are.
// "shape" is Node.Shape.
var attributes = []struct {
	key   string
	field func(*Node) any // a pointer
}{
	{"graph", func(n *Node) any { return &n.Graph }},
	{"what", func(n *Node) any { return &n.What }},
	{"value", func(n *Node) any { return &n.Value }},
	{"spec", func(n *Node) any { return &n.Spec }},
	{"coef", func(n *Node) any { return &n.Coef }},
	{"p", func(n *Node) any { return &n.P }},
	{"counter", func(n *Node) any { return &n.Counter }},
	{"eps", func(n *Node) any { return &n.Eps }},
	{"momentum", func(n *Node) any { return &n.Momentum }},
	{"how", func(n *Node) any { return &n.How }},
	{"axis", func(n *Node) any { return &n.Axis }},
	{"lo", func(n *Node) any { return &n.Lo }},
	{"hi", func(n *Node) any { return &n.Hi }},
	{"shape", func(n *Node) any { return &n.Shape }},
	{"slope", func(n *Node) any { return &n.Slope }},
	{"alpha", func(n *Node) any { return &n.Alpha }},
	{"exponent", func(n *Node) any { return &n.Exponent }},
	{"low", func(n *Node) any { return &n.Low }},
	{"high", func(n *Node) any { return &n.High }},
}

// field returns where an attribute of a node lies, nil if its operation has none of that name.
func (n *Node) field(key string) any {
	r, _ := ruleOf(n.Op)
	if !hasWord(r.needs, key) && !hasWord(r.may, key) {
		return nil
	}
	for _, a := range attributes {
		if a.key == key {
			return a.field(n)
		}
	}
	return nil
}

func hasWord(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

// written calls f with the attributes of a node that a file has to say. dropouts is the number of those before it.
func (p *Program) written(n *Node, dropouts int, f func(key string, value any)) {
	r, _ := ruleOf(n.Op)
	plain := Node{Op: n.Op, Attr: defaults(n.Op)}
	plain.Counter = dropouts
	switch n.Op {
	case Add:
		plain.Coef = ones(len(n.In))
	case Concat, Slice, Fold:
		plain.Axis = len(p.Nodes[n.In[0]].Shape) - 1
	}
	for _, a := range attributes {
		at := func(n *Node) any { return reflect.ValueOf(a.field(n)).Elem().Interface() }
		if hasWord(r.needs, a.key) || hasWord(r.may, a.key) && !reflect.DeepEqual(at(n), at(&plain)) {
			f(a.key, at(n))
		}
	}
}
