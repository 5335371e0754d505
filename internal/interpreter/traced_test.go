package interpreter_test

import (
	"path/filepath"
	"strings"
	"testing"

	"capgnn/internal/golden"
	"capgnn/internal/interpreter"
	"capgnn/internal/npy"
	"capgnn/model"
)

// Programs that capgnn.trace has written (testdata/models_reference.py) give PyTorch's logits and gradients, on one
// part and on three.
func TestTraced(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/models/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no models: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			p, err := model.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			z, err := npy.OpenArchive(strings.TrimSuffix(file, ".json") + ".npz")
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
			x := read("x")
			g := interpreter.Graph{Vertices: len(x) / p.Features}
			for e, d := range read("target") {
				g.Src, g.Dst = append(g.Src, int(read("source")[e])), append(g.Dst, int(d))
			}
			if z.Has("weight") {
				g.Weight = read("weight")
			}
			for _, parts := range []int{1, 3} {
				r := interpreter.Run{Program: p, Graph: g, X: x, Params: map[string][]float64{}}
				for _, w := range p.Params() {
					r.Params[w.Name] = read("param/" + w.Name)
				}
				for v := range g.Vertices {
					r.Part = append(r.Part, v*7%parts)
				}
				// near allows the roundings of float64 in sums of some hundred terms.
				near := func(what string, got, want []float64) {
					t.Helper()
					d, all := golden.Distance(got, want), golden.Distance(want, make([]float64, len(want)))
					if !(d <= 1e-11*all+1e-13) {
						t.Errorf("%d parts: %s: differ by %g of %g", parts, what, d, all)
					}
				}
				near("logits", r.Forward(), read("logits"))
				grads := r.Backward(read("direction"))
				for _, w := range p.Params() {
					near("gradient of "+w.Name, grads[w.Name], read("grad/"+w.Name))
				}
			}
		})
	}
}
