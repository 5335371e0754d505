package programs

import "fmt"

// overAll appends what mixes sums over all vertices into rows: less a share of their mean, what a product and a
// function
// make of that, attention whose weights are products, or the mean as a factor.
func (w *writer) overAll(x named) named {
	cols := fmt.Sprintf("[%d]", x.cols)
	n := w.node("const", "", `"what": "vertices"`)
	mean := func() string { return w.node("div", list(w.node("sum_all", list(x.name), ""), n), "") }
	k := w.IntN(4)
	if w.folds && x.cols%2 == 0 {
		k = 4
	}
	switch k {
	case 4: // attention in heads to all vertices, and rows of one mean length
		shape := fmt.Sprintf(`"shape": [2, %d]`, x.cols/2)
		heads := func(y string) string { return w.node("reshape", list(y), shape) }
		q, k := heads(w.node("sigmoid", list(x.name), "")), heads(w.node("sigmoid", list(w.linear(x, x.cols).name), ""))
		kv := w.node("product", list(k, heads(x.name)), `"spec": "nhm,nhd->hmd"`)
		y := w.node("product", list(q, w.node("div", list(kv, n), "")), `"spec": "nhm,hmd->nhd"`)
		y = w.node("add", list(x.name, w.node("reshape", list(y), `"shape": `+cols)), "")
		length := w.node("div", list(w.node("sum_all", list(w.node("fold", list(w.node("square", list(y), "")), `"how": "sum"`)), ""), n), "")
		return named{w.node("div", list(y, w.node("sqrt", list(w.node("add", list("one", length), "")), "")), ""), x.cols}
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
