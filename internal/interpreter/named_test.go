package interpreter_test

import (
	"strings"
	"testing"

	"capgnn/internal/golden"
	"capgnn/internal/interpreter"
	"capgnn/internal/npy"
	"capgnn/model"
)

// named are modules of testdata/models that a model with a name is, too: its arguments, how its tensors are called in
// the module, and what their values are multiplied by (the module weighs in-edges by 3/4 and out-edges by 1/4, DirGNN
// both by a half). The module keeps loops.
var named = []struct {
	model, file string
	arguments   model.Arguments
	called      func(name string) (string, float64)
}{
	{"mixhop", "mixhop", model.Arguments{Layers: 1, Hidden: 8, Loops: model.FullLoops}, func(name string) (string, float64) {
		return strings.NewReplacer("convs.0", "conv", "norms.0", "norm").Replace(name), 1
	}},
	{"gprgnn", "gpr", model.Arguments{Layers: 4, Hidden: 8, Alpha: 0.1, Loops: model.FullLoops}, func(name string) (string, float64) { return name, 1 }},
	{"dirgnn", "directed", model.Arguments{Layers: 2, Hidden: 8, Norm: model.NormNone}, func(name string) (string, float64) {
		l, rest := name[len("convs."):len("convs.")+1], name[len("convs.0."):]
		switch {
		case strings.HasPrefix(rest, "conv_in."):
			return "into." + l + strings.TrimPrefix(rest, "conv_in"), 1.5
		case strings.HasPrefix(rest, "conv_out."):
			return "out." + l + strings.TrimPrefix(rest, "conv_out"), 0.5
		}
		return "own." + l + strings.TrimPrefix(rest, "lin"), 1
	}},
}

// MixHop, GPRGNN and DirGNN give the logits and gradients of modules of PyTorch Geometric's layers in float64, on one
// part and on three.
func TestNamed(t *testing.T) {
	t.Parallel()
	for _, c := range named {
		z, err := npy.OpenArchive("../../testdata/models/" + c.file + ".npz")
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		read := func(key string) []float64 {
			a, err := z.Array(key)
			if err != nil {
				t.Fatal(err)
			}
			v, err := a.Float64()
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		b, err := model.Named(c.model)
		if err != nil {
			t.Fatal(err)
		}
		a := c.arguments
		a.In, a.Out = 6, 4
		p, err := b.Build(a)
		if err != nil {
			t.Fatal(err)
		}
		g := interpreter.Graph{Vertices: len(read("x")) / a.In}
		for e, d := range read("target") {
			g.Src, g.Dst = append(g.Src, int(read("source")[e])), append(g.Dst, int(d))
		}
		for _, parts := range []int{1, 3} {
			r := interpreter.Run{Program: p, Graph: g, X: read("x"), Params: map[string][]float64{}}
			for _, w := range p.Params() {
				name, factor := c.called(w.Name)
				for _, x := range read("param/" + name) {
					r.Params[w.Name] = append(r.Params[w.Name], x*factor)
				}
			}
			for v := range g.Vertices {
				r.Part = append(r.Part, v*7%parts)
			}
			// near allows the roundings of float64 in sums of some hundred terms.
			near := func(what string, got, want []float64) {
				t.Helper()
				if d, all := golden.Distance(got, want), golden.Distance(want, make([]float64, len(want))); !(d <= 1e-11*all+1e-13) {
					t.Errorf("%s, %d parts: %s: differ by %g of %g", c.model, parts, what, d, all)
				}
			}
			near("logits", r.Forward(), read("logits"))
			for name, got := range r.Backward(read("direction")) {
				called, factor := c.called(name)
				want := read("grad/" + called)
				for i := range want {
					want[i] /= factor
				}
				near("gradient of "+name, got, want)
			}
		}
	}
}
