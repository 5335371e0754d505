package programs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Draw returns the text of a program that is drawn by a seed from blocks that graph neural networks are made of: one
// to three sums over neighbours with products before or behind them, rows of the vertex itself, norms, functions,
// dropout, residuals, and jumping knowledge.
func Draw(seed uint64, features, outputs int) string {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 5))}
	return w.program(features, outputs, 1+w.IntN(3))
}

// writer writes a random program, line by line.
type writer struct {
	*rand.Rand
	tensors, nodes []string
	n              int
	counter        int
}

// node appends a node and returns its name.
func (w *writer) node(op, ins, attrs string) string {
	w.n++
	name := fmt.Sprintf("%s%d", op, w.n)
	if attrs != "" {
		attrs = ", {" + attrs + "}"
	}
	w.nodes = append(w.nodes, fmt.Sprintf(`["%s", "%s", [%s]%s]`, name, op, ins, attrs))
	return name
}

// tensor returns the name of a new one, or of one that is read elsewhere, too.
func (w *writer) tensor(shape string) string {
	if w.often(1, 8) {
		for _, t := range w.tensors {
			if name, ok := strings.CutSuffix(t, ": "+shape); ok {
				return name
			}
		}
	}
	w.n++
	name := fmt.Sprintf(`"t%d.weight"`, w.n)
	w.tensors = append(w.tensors, name+": "+shape)
	return name
}

func (w *writer) often(in, of int) bool { return w.IntN(of) < in }

func list(names ...string) string {
	var out []string
	for _, n := range names {
		if !strings.HasPrefix(n, `"`) {
			n = `"` + n + `"`
		}
		out = append(out, n)
	}
	return strings.Join(out, ", ")
}

// named is a name and its columns.
type named struct {
	name string
	cols int
}

// linear appends a product, with a bias or without.
func (w *writer) linear(x named, out int) named {
	ins := []string{x.name, w.tensor(fmt.Sprintf("[%d, %d]", out, x.cols))}
	if w.often(1, 2) {
		ins = append(ins, w.tensor(fmt.Sprintf("[%d]", out)))
	}
	return named{w.node("linear", list(ins...), ""), out}
}

// behind appends norm, function and dropout, each perhaps.
func (w *writer) behind(x named) named {
	if w.often(1, 2) {
		x.name = w.node("layer_norm", list(x.name, w.tensor(fmt.Sprintf("[%d]", x.cols)), w.tensor(fmt.Sprintf("[%d]", x.cols))), "")
	}
	if w.often(3, 4) {
		x.name = w.node([]string{"relu", "elu", "tanh", "leaky_relu"}[w.IntN(4)], list(x.name), "")
	}
	if w.often(1, 2) {
		x.name = w.node("dropout", list(x.name), fmt.Sprintf(`"p": %g, "counter": %d`, []float64{0, 0.3, 0.3, 0.3}[w.IntN(4)], w.counter))
		w.counter++
	}
	return x
}

// sum appends a sum over neighbours in the program's way.
func (w *writer) sum(x named, weights string, mean bool) named {
	e := w.node("src", list(x.name), `"graph": "g"`)
	if weights != "" {
		e = w.node("mul", list(weights, e), "")
	}
	y := w.node("sum_in", list(e), `"graph": "g"`)
	if mean {
		y = w.node("div", list(y, "count"), "")
	}
	return named{y, x.cols}
}

// program writes a program of so many layers whose blocks are drawn.
func (w *writer) program(features, outputs, layers int) string {
	weights, mean := []string{"", "sym", "gcn_norm", "edge_weight"}[w.IntN(4)], false
	mean = (weights == "" || weights == "edge_weight") && w.often(1, 2)
	w.nodes = append(w.nodes, `["x", "input"]`, `["count", "const", [], {"what": "in_count", "graph": "g"}]`, `["one", "const", [], {"what": "number", "value": 1}]`)
	if weights != "" {
		w.nodes = append(w.nodes, fmt.Sprintf(`["w", "const", [], {"what": "%s", "graph": "g"}]`, weights))
		weights = "w"
	}
	x := named{"x", features}
	if w.often(1, 4) {
		x.name = w.node("dropout", list("x"), fmt.Sprintf(`"p": %g, "counter": %d`, []float64{0, 0.3, 0.3, 0.3}[w.IntN(4)], w.counter))
		w.counter++
	}
	h := x
	if w.often(1, 3) {
		h = w.behind(w.linear(h, 4))
	}
	first, all := h, []named{}
	for l := range layers {
		out := 4 + w.IntN(2)*2
		if l == layers-1 && len(all) == 0 && w.often(1, 2) {
			out = outputs
		}
		y := w.block(h, first, out, weights, mean)
		if l < layers-1 || w.often(1, 2) {
			y = w.behind(y)
		}
		if y.cols == h.cols && w.often(1, 2) {
			y.name = w.node("add", list(y.name, h.name), "")
		}
		if w.often(1, 3) {
			all = append(all, y)
		}
		h = y
	}
	if len(all) > 0 && w.often(1, 2) {
		if all[len(all)-1] != h {
			all = append(all, h)
		}
		if w.often(1, 3) {
			all = append([]named{x}, all...)
		}
		var names []string
		h.cols = 0
		for _, a := range all {
			names, h.cols = append(names, a.name), h.cols+a.cols
		}
		h.name = w.node("concat", list(names...), "")
	}
	if h.cols != outputs || w.often(1, 4) {
		h = w.linear(h, outputs)
	}
	return fmt.Sprintf(`{"capgnn_model": 1, "features": %d, "outputs": %d, "graphs": {"g": {}}, "tensors": {%s}, "nodes": [%s], "logits": "%s"}`,
		features, outputs, strings.Join(w.tensors, ", "), strings.Join(w.nodes, ",\n"), h.name)
}

// block appends a sum over neighbours with what may be around it.
func (w *writer) block(h, first named, out int, weights string, mean bool) named {
	var y named
	switch w.IntN(7) {
	case 5: // GPRGNN: γ₀·h + γ₁·Âh
		gains := w.tensor("[2]")
		gain := func(k int, x named) string {
			e := w.node("slice", gains, fmt.Sprintf(`"axis": 0, "lo": %d, "hi": %d`, k, k+1))
			return w.node("mul", list(x.name, w.node("reshape", list(e), `"shape": []`)), "")
		}
		first := gain(0, h)
		y = named{w.node("add", list(first, gain(1, w.sum(h, weights, mean))), ""), h.cols}
	case 0: // GCN
		y = w.sum(w.linear(h, out), weights, mean)
	case 1: // a product behind the sum
		y = w.linear(w.sum(h, weights, mean), out)
	case 2: // GraphSAGE
		y = w.linear(w.sum(h, weights, mean), out)
		y.name = w.node("add", list(y.name, w.linear(h, out).name), "")
	case 3: // GIN
		s := w.sum(h, weights, mean)
		if w.often(1, 4) { // ε is a number
			s.name = w.node("add", list(s.name, h.name), fmt.Sprintf(`"coef": [1, %g]`, w.factor()))
		} else {
			own := w.node("mul", list(h.name, w.node("add", list("one", w.tensor("[1]")), "")), "")
			s.name = w.node("add", list(s.name, own), "")
		}
		y = w.linear(s, out)
		if w.often(1, 2) {
			y = w.linear(w.behind(y), out)
		}
	case 4: // APPNP
		if h == first { // perhaps features, of which only products are blended
			h = w.linear(h, out)
			first = h
		}
		y = w.blend(w.sum(h, weights, mean), h, first)
		if w.often(1, 3) {
			y = w.linear(y, out)
		}
	default: // a sum alone, or side by side with the rows
		y = w.sum(h, weights, mean)
		if w.often(1, 2) {
			y = w.linear(named{w.node("concat", list(h.name, y.name), ""), h.cols + y.cols}, out)
		}
	}
	if w.often(1, 3) {
		y.name = w.node("add", list(y.name, w.tensor(fmt.Sprintf("[%d]", y.cols))), "")
	}
	return y
}

// blend appends a share of the first rows, of h or of a product of h to a sum over neighbours of h, with factors, and
// perhaps another term.
func (w *writer) blend(y, h, first named) named {
	share := func() (x named) {
		switch w.IntN(4) {
		case 0:
			x = h
		case 1:
			x = w.linear(h, y.cols)
		case 2:
			x = w.behind(w.linear(h, y.cols))
		default:
			if x = first; x.cols != y.cols {
				x = w.linear(x, y.cols)
			}
		}
		return x
	}
	add := func(coef string) {
		names := []string{y.name, share().name}
		if w.often(1, 2) {
			slices.Reverse(names)
		}
		y.name = w.node("add", list(names...), coef)
	}
	add(fmt.Sprintf(`"coef": [%g, %g]`, w.factor(), w.factor()))
	if w.often(1, 3) {
		add(fmt.Sprintf(`"coef": [%g, %g]`, w.factor(), w.factor()))
	}
	return y
}

func (w *writer) factor() float64 { return []float64{0, 1, 0.8, 0.2, -0.5, 1.5}[w.IntN(6)] }
