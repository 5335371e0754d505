package programs

import (
	"fmt"
	"strings"
)

// linear appends a product, with a bias or without.
func (w *writer) linear(x named, out int) named {
	ins := []string{x.name, w.tensor(fmt.Sprintf("[%d, %d]", out, x.cols))}
	if w.batch == 0 && w.often(1, 2) {
		ins = append(ins, w.tensor(fmt.Sprintf("[%d]", out)))
	}
	return named{w.node("linear", list(ins...), ""), out}
}

// across appends a product of rows of vertices, perhaps with a matrix that is transposed, which may be one of two,
// or with one that is made of two tensors.
func (w *writer) across(x named, out int) named {
	m := fmt.Sprintf("[%d, %d]", x.cols, out)
	switch w.IntN(4) {
	case 0:
		return w.linear(x, out)
	case 1:
		m = w.tensor(m)
	case 2:
		turned := w.node("product", list(w.tensor(m), "one"), `"spec": "ij,->ji"`)
		first := w.node("tanh", list(w.tensor(fmt.Sprintf("[%d, %d]", out, x.cols))), "")
		ins := []string{x.name, w.node("add", list(first, turned), `"coef": [1, -0.5]`)}
		if w.batch == 0 && w.often(1, 2) {
			ins = append(ins, w.tensor(fmt.Sprintf("[%d]", out)))
		}
		return named{w.node("linear", list(ins...), ""), out}
	default:
		k := w.IntN(2)
		m = w.node("slice", w.tensor("[2, "+m[1:]), fmt.Sprintf(`"axis": 0, "lo": %d, "hi": %d`, k, k+1))
		m = w.node("reshape", list(m), fmt.Sprintf(`"shape": [%d, %d]`, x.cols, out))
	}
	return named{w.node("product", list(x.name, m), `"spec": "ni,ij->nj"`), out}
}

// behind appends norm, function and dropout, each perhaps.
func (w *writer) behind(x named) named {
	switch k := w.IntN(4); {
	case k < 2 && w.batch > 1:
		w.batch--
		cols := fmt.Sprintf("[%d]", x.cols)
		w.n++
		mean, variance := fmt.Sprintf(`"t%d.running_mean"`, w.n), fmt.Sprintf(`"t%d.running_var"`, w.n)
		w.tensors = append(w.tensors, mean+": "+cols, variance+": "+cols)
		x.name = w.node("batch_norm", list(x.name, w.tensor(cols), w.tensor(cols), mean, variance), "")
	case k < 2 && w.batch == 0:
		x.name = w.node("layer_norm", list(x.name, w.tensor(fmt.Sprintf("[%d]", x.cols)), w.tensor(fmt.Sprintf("[%d]", x.cols))), "")
	}
	switch {
	case w.often(1, 4):
		x = w.function(x)
	case w.often(2, 3):
		x.name = w.node([]string{"relu", "elu", "tanh", "leaky_relu"}[w.IntN(4)], list(x.name), "")
	}
	if w.often(1, 5) {
		x = w.times(x)
	}
	if w.often(1, 2) {
		x.name = w.node("dropout", list(x.name), fmt.Sprintf(`"p": %g, "counter": %d`, []float64{0, 0.3, 0.3, 0.3}[w.IntN(4)], w.counter))
		w.counter++
	}
	// A norm behind a function. Where that leaves one column of a row, the gradient of what is left is a few ε.
	if w.often(1, 8) && !strings.HasPrefix(x.name, "relu") && !strings.HasPrefix(x.name, "dropout") {
		x = w.behind(x)
	}
	return x
}

// function appends one that no sum ends with. Those of positive numbers are of 1 and more.
func (w *writer) function(x named) named {
	plain := []string{"gelu", "silu", "sigmoid", "softplus"}
	switch k := w.IntN(10); k {
	case 0:
		x.name = w.node("leaky_relu", list(x.name), `"slope": 0.3`)
	case 1:
		x.name = w.node("elu", list(x.name), `"alpha": 0.5`)
	case 2:
		x.name = w.node("clamp", list(x.name), []string{`"low": -0.5, "high": 0.75`, `"low": 0.1`}[w.IntN(2)])
	case 3:
		x.name = w.node("exp", list(w.node("clamp", list(x.name), `"low": -2, "high": 1.5`)), "")
	case 4:
		x.name = w.node([]string{"log", "sqrt", "square"}[w.IntN(3)], list(w.positive(x).name), "")
	case 5:
		x.name = w.node("power", list(w.positive(x).name), fmt.Sprintf(`"exponent": %g`, []float64{-1, 0.7, 1.5}[w.IntN(3)]))
	default:
		x.name = w.node(plain[k-6], list(x.name), "")
	}
	return x
}

// positive appends log(1 + e^x) + 1.
func (w *writer) positive(x named) named {
	return named{w.node("add", list(w.node("softplus", list(x.name), ""), "one"), ""), x.cols}
}

// times appends a product or quotient of x: by a vector, a number of a tensor, a column, rows of its own and of others.
func (w *writer) times(x named) named {
	mul := func(a, b string) named {
		if w.often(1, 2) {
			a, b = b, a
		}
		return named{w.node("mul", list(a, b), ""), x.cols}
	}
	gate := func(cols int) string { return w.node("sigmoid", list(w.linear(x, cols).name), "") }
	switch w.IntN(9) {
	case 0:
		return mul(x.name, w.tensor(fmt.Sprintf("[%d]", x.cols)))
	case 1:
		return mul(x.name, gate(1))
	case 2:
		return mul(x.name, gate(x.cols))
	case 3:
		return named{w.node("div", list(x.name, w.positive(w.linear(x, []int{1, x.cols}[w.IntN(2)])).name), ""), x.cols}
	case 4:
		return mul(x.name, w.node([]string{"exp", "sigmoid", "tanh"}[w.IntN(3)], list(w.tensor(fmt.Sprintf("[%d]", x.cols))), ""))
	case 5: // a highway, whose gate may be one number
		g := gate(x.cols)
		if w.often(1, 2) {
			g = w.node("sigmoid", list(w.tensor("[1]")), "")
		}
		y := mul(w.node("add", list("one", g), `"coef": [1, -1]`), w.across(x, x.cols).name)
		return named{w.node("add", list(mul(g, x.name).name, y.name), ""), x.cols}
	case 6: // columns of one product
		both := w.linear(x, 2*x.cols)
		part := func(k int) string {
			return w.node("slice", list(both.name), fmt.Sprintf(`"axis": 0, "lo": %d, "hi": %d`, k*x.cols, (k+1)*x.cols))
		}
		return mul(w.node("sigmoid", list(part(0)), ""), part(1))
	case 7:
		return mul(w.node("stop", list(x.name), ""), gate(x.cols))
	}
	return mul(w.node("tanh", list(x.name), ""), x.name)
}
