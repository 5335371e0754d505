package interpreter

import (
	"strings"

	"capgnn/model"
)

// eachProduct calls f for every product of elements that node i, a Product, adds to an element of its output.
func (r *Run) eachProduct(i, k int, f func(out, a, b *float64), y, a, b array) {
	n := r.node(i)
	ins, out, _ := strings.Cut(n.Spec, "->")
	left, right, _ := strings.Cut(ins, ",")
	x, z := r.node(n.In[0]), r.node(n.In[1])
	size := map[rune]int{}
	letters := ""
	for _, in := range []struct {
		spec string
		of   *model.Node
	}{{left, x}, {right, z}} {
		for t, c := range strings.TrimPrefix(in.spec, "n") {
			if size[c] == 0 {
				letters += string(c)
			}
			size[c] = in.of.Shape[t]
		}
	}
	// at returns the place of an element within a row, by the letters' values.
	at := func(spec string, value map[rune]int) int {
		k := 0
		for _, c := range strings.TrimPrefix(spec, "n") {
			k = k*size[c] + value[c]
		}
		return k
	}
	all := 1
	for _, c := range letters {
		all *= size[c]
	}
	rows := y.rows
	if r.Program.Reduces(i) {
		rows = a.rows
	}
	value := map[rune]int{}
	for t := range all {
		for _, c := range letters {
			value[c] = t % size[c]
			t /= size[c]
		}
		o, p, q := at(out, value), at(left, value), at(right, value)
		for j := range rows {
			f(&y.rowOrOne(n.Space, j)[o], &a.rowOrOne(x.Space, j)[p], &b.rowOrOne(z.Space, j)[q])
		}
	}
}
