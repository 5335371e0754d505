package programs

import "fmt"

// overAll appends what mixes sums over all vertices into rows: less a share of their mean, what a product and a
// function
// make of that, attention whose weights are products, or the mean as a factor.
func (w *writer) overAll(x named) named {
	cols := fmt.Sprintf("[%d]", x.cols)
	n := w.node("const", "", `"what": "vertices"`)
	mean := func() string { return w.node("div", list(w.node("sum_all", list(x.name), ""), n), "") }
	switch w.IntN(4) {
	case 0:
		share := w.node("mul", list(mean(), w.tensor(cols)), "")
		return named{w.node("add", list(x.name, share), `"coef": [1, -1]`), x.cols}
	case 1:
		y := w.linear(named{mean(), x.cols}, x.cols)
		return named{w.node("add", list(x.name, w.node("tanh", list(y.name), "")), `"coef": [1, 0.5]`), x.cols}
	case 2:
		weight := func() string { return w.node("sigmoid", list(w.linear(x, 3).name), "") }
		kv := w.node("product", list(weight(), w.linear(x, x.cols).name), `"spec": "nm,nd->md"`)
		y := w.node("product", list(weight(), w.node("div", list(kv, n), "")), `"spec": "nm,md->nd"`)
		return named{w.node("add", list(x.name, y), ""), x.cols}
	}
	return named{w.node("add", list(x.name, w.node("mul", list(x.name, mean()), "")), ""), x.cols}
}
