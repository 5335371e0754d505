package programs

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Draw returns the text of a program that is drawn by a seed from blocks that graph neural networks are made of: one
// to three sums over neighbours with products before or behind them, rows of the vertex itself, norms, functions,
// products of rows, dropout, residuals, and jumping knowledge; half of the programs with several sums at a depth, half
// of these over several graphs and with several weights of edges; one of five with sums over all vertices, one of five
// with functions of both ends of edges, one of four
// with sums, maxima and softmax inside a row, one of eleven without any over neighbours.
func Draw(seed uint64, features, outputs int) string {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 5))}
	w.whole, w.edges, w.folds = seed%5 == 3, seed%5 == 1, seed%4 == 1
	layers := 1 + w.IntN(3)
	if seed%11 == 7 { // no rows of neighbours are read
		layers = 0
	}
	return w.program(features, outputs, layers)
}

// writer writes a random program, line by line.
type writer struct {
	*rand.Rand
	tensors, nodes []string
	n              int
	counter        int
	several        bool // sums at a depth
	whole          bool // sums over all vertices
	folds          bool // sums, maxima and softmax inside a row, and heads
	edges          bool // functions of both ends of edges
	// batch is 2 in a program that will have a batch_norm, 1 in one that has it. There are no biases and other norms
	// then: a batch_norm takes away what they add to all rows, and float32 has not the little that is left.
	batch int
	ways  []way
}

// way is how a sum over neighbours weighs edges of a graph.
type way struct {
	graph, what string
	weight      string // the node that makes it, where it is made of degrees
	mean        bool
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
			if name, ok := strings.CutSuffix(t, ": "+shape); ok && !strings.Contains(name, "running") {
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

// sum appends a sum over neighbours in one of the program's ways.
func (w *writer) sum(x named) named {
	if w.edges && w.often(1, 2) {
		return w.messages(x)
	}
	way := w.ways[w.IntN(len(w.ways))]
	graph := fmt.Sprintf(`"graph": "%s"`, way.graph)
	e := w.node("src", list(x.name), graph)
	switch {
	case way.weight != "":
		e = w.node("mul", list(way.weight, e), "")
	case way.what != "":
		e = w.node("mul", list(w.node("const", "", graph+fmt.Sprintf(`, "what": "%s"`, way.what)), e), "")
	}
	y := w.node("sum_in", list(e), graph)
	if way.mean {
		y = w.node("div", list(y, w.node("const", "", graph+`, "what": "in_count"`)), "")
	}
	return named{y, x.cols}
}

// way draws how sums weigh edges of one of the graphs.
func (w *writer) way(graphs ...string) way {
	way := way{graph: graphs[w.IntN(len(graphs))], what: []string{"", "sym", "gcn_norm", "edge_weight"}[w.IntN(4)]}
	if w.several && w.often(1, 3) {
		way.weight = w.weight(way)
	}
	way.mean = (way.what == "" || way.what == "edge_weight") && w.often(1, 2)
	return way
}

// weight appends a constant of edges that is made of degrees and of what they weigh.
func (w *writer) weight(way way) string {
	graph := fmt.Sprintf(`"graph": "%s"`, way.graph)
	of := func(what string) string { return w.node("const", "", graph+fmt.Sprintf(`, "what": "%s"`, what)) }
	root := w.node("power", list(w.node("clamp", list(of([]string{"in_degree", "out_degree"}[w.IntN(2)])), `"low": 1`)), `"exponent": -0.5`)
	if w.often(1, 3) {
		root = w.node("div", list(root, of("in_count")), "")
	}
	e := w.node([]string{"src", "dst"}[w.IntN(2)], list(root), graph)
	if w.often(1, 2) {
		e = w.node("mul", list(e, w.node("dst", list(root), graph)), "")
	}
	if w.often(1, 2) {
		loops := w.node("mul", list(e, of("loop")), "")
		e = w.node("add", list(e, loops), `"coef": [-1, 0.5]`)
	}
	if way.what != "" {
		e = w.node("mul", list(of(way.what), e), "")
	}
	return e
}

// sums appends several sums, of the same rows, of products of them, and of sums, side by side or added.
func (w *writer) sums(h named, out int) named {
	var parts []named
	for range 2 + w.IntN(2) {
		x := h
		switch w.IntN(4) {
		case 0:
			x = w.linear(h, out)
		case 1:
			if len(parts) > 0 {
				x = parts[len(parts)-1]
			}
		case 2:
			x = w.behind(w.linear(h, out))
		}
		parts = append(parts, w.sum(x))
	}
	if w.often(1, 2) {
		parts = append(parts, []named{h, w.linear(h, out)}[w.IntN(2)])
	}
	var names []string
	cols := 0
	if w.often(1, 2) {
		for _, p := range parts {
			names, cols = append(names, p.name), cols+p.cols
		}
		return named{w.node("concat", list(names...), ""), cols}
	}
	var coef []string
	for _, p := range parts {
		if p.cols != out || w.often(1, 4) {
			p = w.linear(p, out)
		}
		names, coef = append(names, p.name), append(coef, fmt.Sprint(w.factor()))
	}
	attrs := ""
	if w.often(1, 2) {
		attrs = `"coef": [` + strings.Join(coef, ", ") + "]"
	}
	return named{w.node("add", list(names...), attrs), out}
}

// program writes a program of so many layers whose blocks are drawn.
func (w *writer) program(features, outputs, layers int) string {
	w.nodes = append(w.nodes, `["x", "input"]`, `["one", "const", [], {"what": "number", "value": 1}]`)
	graphs := `{"g": {}}`
	if w.often(1, 4) {
		w.batch = 2
	}
	if w.several = w.often(1, 2); w.several && w.often(1, 2) {
		graphs = `{"g": {}, "r": {"of": "g", "do": "reverse"}, "f": {"of": "g", "do": "full_loops", "weight": 0.5}, "l": {"of": "r", "do": "loops"}, "n": {"of": "g", "do": "no_loops"}}`
		for range 1 + w.IntN(3) {
			w.ways = append(w.ways, w.way("g", "r", "f", "l", "n"))
		}
	} else {
		w.ways = []way{w.way("g")}
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
		y := w.block(h, first, out)
		if l < layers-1 || w.often(1, 2) {
			y = w.behind(y)
		}
		if y.cols == h.cols && w.often(1, 2) {
			y.name = w.node("add", list(y.name, h.name), "")
		}
		if w.folds && w.batch == 0 {
			y = w.folded(y)
		}
		if w.whole && l < layers-1 && w.batch == 0 {
			y = w.overAll(y)
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
	return fmt.Sprintf(`{"capgnn_model": 1, "features": %d, "outputs": %d, "graphs": %s, "tensors": {%s}, "nodes": [%s], "logits": "%s"}`,
		features, outputs, graphs, strings.Join(w.tensors, ", "), strings.Join(w.nodes, ",\n"), h.name)
}

// block appends a sum over neighbours with what may be around it.
func (w *writer) block(h, first named, out int) named {
	var y named
	if w.several && w.often(1, 2) {
		y = w.sums(h, out)
		if y.cols != out && w.often(1, 2) {
			y = w.linear(y, out)
		}
		return y
	}
	// Rows of plain sums grow. Behind gains of such rows a norm takes their size away, and float32 has not the difference.
	grows := slices.ContainsFunc(w.ways, func(x way) bool { return !x.mean && (x.what == "" || x.what == "edge_weight") })
	block := w.IntN(7)
	if grows && block == 5 {
		block = 6
	}
	switch block {
	case 5: // GPRGNN: γ₀·h + γ₁·Âh
		gains := w.tensor("[2]")
		gain := func(k int, x named) string {
			e := w.node("slice", gains, fmt.Sprintf(`"axis": 0, "lo": %d, "hi": %d`, k, k+1))
			return w.node("mul", list(x.name, w.node("reshape", list(e), `"shape": []`)), "")
		}
		first := gain(0, h)
		y = named{w.node("add", list(first, gain(1, w.sum(h))), ""), h.cols}
	case 0: // GCN
		y = w.sum(w.across(h, out))
	case 1: // a product behind the sum
		y = w.linear(w.sum(h), out)
	case 2: // GraphSAGE
		y = w.linear(w.sum(h), out)
		y.name = w.node("add", list(y.name, w.linear(h, out).name), "")
	case 3: // GIN
		s := w.sum(h)
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
		y = w.blend(w.sum(h), h, first)
		if w.often(1, 3) {
			y = w.linear(y, out)
		}
	default: // a sum alone, or side by side with the rows
		y = w.sum(h)
		if w.often(1, 2) {
			y = w.linear(named{w.node("concat", list(h.name, y.name), ""), h.cols + y.cols}, out)
		}
	}
	if w.batch == 0 && w.often(1, 3) {
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
