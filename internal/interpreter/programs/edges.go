package programs

import "fmt"

// messages appends a sum, a mean or the largest over neighbours of what is made of both ends of edges, or a softmax of them by column.
func (w *writer) messages(x named) named {
	way := w.ways[w.IntN(len(w.ways))]
	graph := fmt.Sprintf(`"graph": "%s"`, way.graph)
	end := func(op string, x named) string { return w.node(op, list(x.name), graph) }
	src, k := end("src", x), w.IntN(6)
	if k < 2 { // the largest or the least
		if k == 1 {
			src = end("src", named{w.node("add", list(x.name), `"coef": [-1]`), x.cols})
		}
		y := named{w.node("max_in", list(src), graph), x.cols}
		if w.often(1, 2) {
			y = w.linear(y, y.cols)
		}
		return y
	}
	e := src
	switch k {
	case 2, 3: // a softmax by column, whose temperature may be trained
		t := src
		if k == 3 {
			t = w.node("mul", list(src, w.tensor("[1]")), "")
		}
		e = w.node("mul", list(w.node("softmax_in", list(t), graph), src), "")
	default: // a gate, or a function alone
		ends := []string{end("dst", w.linear(x, x.cols)), end("src", w.linear(x, x.cols))}
		if w.often(1, 2) {
			ends[0], ends[1] = ends[1], ends[0]
		}
		z := w.node("add", list(ends...), []string{"", `"coef": [1, -0.5]`}[w.IntN(2)])
		e = w.node([]string{"sigmoid", "tanh", "relu", "silu"}[w.IntN(4)], list(z), "")
		if k == 4 {
			e = w.node("mul", list(e, end("src", w.linear(x, x.cols))), "")
		}
		if w.often(1, 4) {
			e = w.node("mul", list(end("dst", w.linear(x, x.cols)), e), "")
		}
		if way.what != "" {
			e = w.node("mul", list(w.node("const", "", graph+fmt.Sprintf(`, "what": "%s"`, way.what)), e), "")
		}
	}
	y := w.node("sum_in", list(e), graph)
	if way.mean {
		y = w.node("div", list(y, w.node("const", "", graph+`, "what": "in_count"`)), "")
	}
	return named{y, x.cols}
}
