package interpreter_test

import (
	"math"
	"testing"

	"capgnn/internal/golden"
	"capgnn/internal/interpreter"
	"capgnn/internal/ref"
	"capgnn/model"
)

// programOf returns the program of a golden case.
func programOf(t *testing.T, c *golden.Case) *model.Program {
	t.Helper()
	d, loops := c.Dims(), ""
	if c.SelfLoops {
		loops = model.FullLoops
	}
	for _, b := range model.Builders {
		if b.Name == c.Kind {
			p, err := b.Build(model.Arguments{In: d.In, Out: d.Out, Layers: d.Layers, Hidden: d.Hidden, Heads: d.Heads,
				Alpha: c.Alpha, Theta: c.Theta, Norm: c.Norm(), Residual: c.Residual, JK: c.JK(),
				Activation: model.Op(c.Activation), Loops: loops})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("no model %s", c.Kind)
	return nil
}

// graphOf returns the graph of a golden case.
func graphOf(c *golden.Case) interpreter.Graph {
	g := interpreter.Graph{Vertices: c.Vertices, Weight: c.Weights}
	for v := range c.Vertices {
		for e := c.Indptr[v]; e < c.Indptr[v+1]; e++ {
			g.Src, g.Dst = append(g.Src, int(c.Indices[e])), append(g.Dst, v)
		}
	}
	return g
}

// lossOf returns the loss of logits over the training vertices, and its gradient.
func lossOf(c *golden.Case, logits []float64) (float64, []float64) {
	x := ref.Matrix{Rows: c.Vertices, Cols: c.Logits.Shape[1], V: logits}
	mask, labels, train := make([]uint8, c.Vertices), make([]int32, c.Vertices), 0.0
	for v, is := range c.TrainMask {
		labels[v] = -1
		if is {
			train++
			mask[v] = 1
			if c.Labels != nil {
				labels[v] = c.Labels[v]
			}
		}
	}
	var loss float64
	var d ref.Matrix
	if c.Multi() {
		loss, d = ref.BCELoss(x, c.Targets, mask, 1/(train*float64(x.Cols)))
	} else {
		loss, d = ref.SoftmaxLoss(x, labels, 1/train)
	}
	return loss, d.V
}

// The models that have a name give PyTorch Geometric's logits, losses and gradients, on one part and on three.
func TestGolden(t *testing.T) {
	t.Parallel()
	cases, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for _, parts := range []int{1, 3} {
			r := interpreter.Run{Program: programOf(t, &c), Graph: graphOf(&c), X: c.X.Data, Params: map[string][]float64{}}
			for _, w := range c.Params {
				r.Params[w.Name] = w.Data
			}
			for v := range c.Vertices {
				r.Part = append(r.Part, v*7%parts)
			}
			// near allows the roundings of float64 in sums of some hundred terms.
			near := func(what string, got, want []float64) {
				t.Helper()
				if d, all := golden.Distance(got, want), golden.Distance(want, make([]float64, len(want))); !(d <= 1e-11*all+1e-13) {
					t.Errorf("%s, %d parts: %s: differ by %g of %g", c.Name, parts, what, d, all)
				}
			}
			logits := r.Forward()
			near("logits", logits, c.Logits.Data)
			loss, d := lossOf(&c, logits)
			if math.Abs(loss-c.Loss) > 1e-12*c.Loss {
				t.Errorf("%s: loss %g, want %g", c.Name, loss, c.Loss)
			}
			grads := r.Backward(d)
			for _, g := range c.Grads {
				near("gradient of "+g.Name, grads[g.Name], g.Data)
			}
		}
	}
}
