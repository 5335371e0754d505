package programs

import "fmt"

// fold appends one along the last axis, which it keeps.
func (w *writer) fold(how, x string) string {
	return w.node("reshape", list(w.node("fold", list(x), fmt.Sprintf(`"how": "%s"`, how))), `"shape": [1]`)
}

// folded appends what is made inside a row: of all its columns, of heads, or of values that are stacked.
func (w *writer) folded(x named) named {
	less := func(a, b string) named { return named{w.node("add", list(a, b), `"coef": [1, -1]`), x.cols} }
	shaped := func(x, shape string) string { return w.node("reshape", list(x), `"shape": `+shape) }
	switch w.IntN(9) {
	case 0: // rows of one length
		square := w.fold("sum", w.node("square", list(x.name), ""))
		return named{w.node("div", list(x.name, w.node("sqrt", list(w.node("add", list(square, "one"), "")), "")), ""), x.cols}
	case 1:
		return less(x.name, w.fold([]string{"mean", "max"}[w.IntN(2)], x.name))
	case 2:
		y := w.node("fold", list(x.name), `"how": "softmax"`)
		if w.often(1, 2) {
			return named{w.node("log", list(y), ""), x.cols}
		}
		return named{w.node("mul", list(x.name, y), ""), x.cols}
	case 3:
		return named{w.node("layer_norm", list(x.name), ""), x.cols}
	case 4, 5: // the largest or the mean of values that are stacked, or a sum of them weighed by softmax
		column := fmt.Sprintf("[%d, 1]", x.cols)
		other := w.node("tanh", list(x.name), "")
		y := w.node("concat", list(shaped(x.name, column), shaped(other, column), shaped(w.linear(x, x.cols).name, column)), `"axis": 1`)
		switch w.IntN(3) {
		case 0:
			y = w.node("mul", list(w.node("fold", list(y), `"how": "softmax", "axis": 1`), y), "")
			return named{w.node("fold", list(y), `"how": "sum", "axis": 1`), x.cols}
		case 1:
			return named{w.node("fold", list(w.node("relu", list(y), "")), `"how": "max", "axis": 1`), x.cols}
		}
		return named{w.node("fold", list(y), `"how": "mean", "axis": 1`), x.cols}
	}
	heads, each := 2, x.cols/2
	if x.cols%2 == 1 || w.often(1, 4) {
		heads, each = 1, x.cols
	}
	shape := fmt.Sprintf("[%d, %d]", heads, each)
	h := shaped(x.name, shape)
	switch w.IntN(5) {
	case 0: // a gate for each head
		s := w.node("product", list(h, w.tensor(shape)), `"spec": "nhd,hd->nh"`)
		gate := shaped(w.node("sigmoid", list(s), ""), fmt.Sprintf("[%d, 1]", heads))
		h = w.node("mul", list(gate, h), "")
	case 1: // a matrix for each
		h = w.node("product", list(h, w.tensor(fmt.Sprintf("[%d, %d, %d]", heads, each, each))), `"spec": "`+[]string{"nhd,hde->nhe", "nhd,hed->nhe"}[w.IntN(2)]+`"`)
	case 2: // one for all
		h = w.node("linear", list(h, w.tensor(fmt.Sprintf("[%d, %d]", each, each))), "")
	case 3: // products of heads with each other
		s := w.node("fold", list(w.node("product", list(h, h), `"spec": "nhd,ngd->nhg"`)), fmt.Sprintf(`"how": "softmax", "axis": %d`, w.IntN(2)))
		h = w.node("product", list(s, h), `"spec": "nhg,ngd->nhd"`)
	default: // a vector that is that of all heads, and a matrix that is transposed
		m := w.node("product", list(w.tensor(fmt.Sprintf("[%d, %d]", each, each)), "one"), `"spec": "ij,->ji"`)
		v := w.node("mul", list(h, w.tensor(fmt.Sprintf("[%d]", each))), "")
		h = w.node("product", list(v, m), `"spec": "nhd,de->nhe"`)
	}
	return named{shaped(h, fmt.Sprintf("[%d]", x.cols)), x.cols}
}
