package gnn

import (
	"slices"
	"strings"

	"capgnn/model"
)

// lettered is a value whose axes have letters.
type lettered struct {
	i    int
	axes string
}

// product writes sums of products as products with one matrix, and as products of elements, −1: it is one of these.
func (l *lowering) product() int {
	n := l.of
	if slices.ContainsFunc(productsKnown, func(s string) bool { return sameSpec(n.Spec, s) }) || l.permutes(n) {
		return -1
	}
	ins, out, _ := strings.Cut(n.Spec, "->")
	a, b, _ := strings.Cut(ins, ",")
	x, y := lettered{n.In[0], strings.TrimPrefix(a, "n")}, lettered{n.In[1], strings.TrimPrefix(b, "n")}
	out, rows := strings.CutPrefix(out, "n")
	over := !rows && l.Nodes[x.i].Space == model.Vertices
	x, y = l.summed(x, y.axes+out), l.summed(y, x.axes+out)
	if l.Nodes[x.i].Space == model.Global {
		x, y = y, x
	}
	return l.multiply(x, y, out, over)
}

// productsKnown are those that devices have an operation for.
var productsKnown = []string{"na,ab->nb", "na,ba->nb", "na,nb->ab"}

// permutes reports whether a product changes the order of axes alone.
func (l *lowering) permutes(n *model.Node) bool {
	y := &l.Nodes[n.In[1]]
	return y.What == model.Number && y.Value == 1 && strings.Contains(n.Spec, ",->")
}

// summed sums a value over axes that are not wanted.
func (l *lowering) summed(x lettered, wanted string) lettered {
	for k := len(x.axes) - 1; k >= 0; k-- {
		if !strings.Contains(wanted, x.axes[k:k+1]) {
			x = lettered{l.write(model.Fold, model.Attr{How: model.FoldSum, Axis: k}, x.i), x.axes[:k] + x.axes[k+1:]}
		}
	}
	return x
}

// ordered writes a value with its axes in another order.
func (l *lowering) ordered(x lettered, axes string) int {
	if x.axes == axes {
		return x.i
	}
	row := ""
	if l.Nodes[x.i].Space != model.Global {
		row = "n"
	}
	return l.write(model.Product, model.Attr{Spec: row + x.axes + ",->" + row + axes}, x.i, l.number(1))
}

// only returns the letters of a that b has, or with no that it has not.
func only(a, b string, no bool) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(b, r) == no {
			return -1
		}
		return r
	}, a)
}

// multiply writes the sum of products of x and y over the axes that out has not, over all vertices too if over. y has
// one value for all, or both have rows of vertices.
func (l *lowering) multiply(x, y lettered, out string, over bool) int {
	both, freeX, freeY := only(x.axes, y.axes, false), only(x.axes, y.axes, true), only(y.axes, x.axes, true)
	kept, summed := only(both, out, false), only(both, out, true)
	matrix := l.Nodes[x.i].Space != l.Nodes[y.i].Space
	switch {
	case over && both == "":
		flat := func(x lettered) int { return l.shaped(x.i, []int{l.Nodes[x.i].Columns()}) }
		z := l.write(model.Product, model.Attr{Spec: "na,nb->ab"}, flat(x), flat(y))
		z = l.shaped(z, slices.Concat(l.Nodes[x.i].Shape, l.Nodes[y.i].Shape))
		return l.ordered(lettered{z, x.axes + y.axes}, out)
	case matrix && freeY != "" && kept == "" && freeX == "":
		x, spec := l.ordered(x, only(y.axes, summed, false)), "na,ab->nb"
		if !strings.HasSuffix(y.axes, freeY) {
			spec = "na,ba->nb"
			y = lettered{l.ordered(y, freeY+summed), freeY + summed}
		} else {
			y.i = l.ordered(y, only(y.axes, summed, false)+freeY)
		}
		cols, m := l.Nodes[x].Columns(), l.Nodes[y.i].Columns()
		shape := []int{cols, m / cols}
		if spec != "na,ab->nb" {
			slices.Reverse(shape)
		}
		z := l.write(model.Product, model.Attr{Spec: spec}, l.shaped(x, []int{cols}), l.shaped(y.i, shape))
		return l.ordered(lettered{l.shaped(z, l.sizes(y, freeY)), freeY}, out)
	case over && (freeX != "" || freeY != ""), matrix && freeY != "":
		if over {
			freeX = summed
		}
		return l.each(x, y, out, (kept + freeX)[:1], over)
	}
	all := out + summed
	if over {
		all = both
	}
	z := lettered{l.write(model.Mul, model.Attr{}, l.broadcast(x, all), l.broadcast(y, all)), all}
	if over {
		z.i = l.write(model.SumAll, model.Attr{}, z.i)
	}
	return l.ordered(l.summed(z, out), out)
}

// sizes returns the elements of axes.
func (l *lowering) sizes(x lettered, axes string) (shape []int) {
	for k := range axes {
		if at := strings.IndexByte(x.axes, axes[k]); at >= 0 {
			shape = append(shape, l.Nodes[x.i].Shape[at])
		} else {
			shape = append(shape, 1)
		}
	}
	return shape
}

// broadcast writes a value in an order of axes, of which those that it has not have one element.
func (l *lowering) broadcast(x lettered, all string) int {
	own := only(all, x.axes, false)
	return l.shaped(l.ordered(x, own), l.sizes(x, all))
}

// each writes a product for every element of an axis: side by side, or where it is summed their sum.
func (l *lowering) each(x, y lettered, out, axis string, over bool) int {
	element := func(x lettered, k int) lettered {
		at := strings.Index(x.axes, axis)
		if at < 0 {
			return x
		}
		shape := slices.Delete(slices.Clone(l.Nodes[x.i].Shape), at, at+1)
		return lettered{l.shaped(l.part(x.i, at, k, k+1), shape), strings.Replace(x.axes, axis, "", 1)}
	}
	at, rest := strings.Index(out, axis), strings.Replace(out, axis, "", 1)
	var list []int
	for k := range l.sizes(x, axis)[0] {
		z := l.multiply(element(x, k), element(y, k), rest, over)
		if at >= 0 {
			z = l.shaped(z, slices.Insert(slices.Clone(l.Nodes[z].Shape), at, 1))
		}
		list = append(list, z)
	}
	if at < 0 {
		return l.write(model.Add, model.Attr{}, list...)
	}
	return l.write(model.Concat, model.Attr{Axis: at}, list...)
}
