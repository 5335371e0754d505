//go:build cuda

package cuda

import (
	"fmt"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/cuda/fakedriver/fake"
)

// benchProduct is a product of a layer: rows of the graph by k columns, into m.
type benchProduct struct {
	name           string
	k, m           int
	transA, transB bool
}

// benchProducts are those of three layers of 256 columns: forward (nt), the gradient of rows (nn) and of weights (tn).
func (g *benchGraph) benchProducts() []benchProduct {
	var list []benchProduct
	for _, s := range [][2]int{{g.features, 256}, {256, 256}, {256, g.classes}} {
		list = append(list, benchProduct{"nt", s[0], s[1], false, true}, benchProduct{"tn", s[0], s[1], true, false})
	}
	return append(list, benchProduct{"nn", 256, 256, false, false})
}

// products times them by the kernels of this package, by cuBLAS and with operands rounded to TF32.
func (g *benchGraph) products(b *testing.B) {
	g.multiply(b, "GemmOwn", "")
	libs, err := fake.Build()
	if err != nil {
		b.Fatal(err)
	}
	d, err := Load(Options{Library: libs.Driver, NVML: libs.NVML, BLAS: libs.BLAS})
	if err != nil {
		b.Fatal(err)
	}
	if _, _, err := d.BLAS(); err != nil {
		b.Log("no cuBLAS: ", err)
		return
	}
	for _, s := range []Spec{{}, {TF32: true}} {
		dev, err := d.Open(there(b, d, s))
		if err != nil {
			b.Fatal(err)
		}
		other := *g
		other.dev, other.q = dev.(*device), dev.NewQueue("bench")
		mode := ""
		if s.TF32 {
			mode = "tf32"
		}
		other.multiply(b, "Gemm", mode)
		if err := dev.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// multiply times the products of fp32, and unless a mode stands in its place those of bf16 rows.
func (g *benchGraph) multiply(b *testing.B, op, mode string) {
	for _, p := range g.benchProducts() {
		for _, t := range []gpu.DType{gpu.FP32, gpu.BF16} {
			kind := t.String()
			if mode != "" {
				kind = mode
			}
			if mode == "" || t == gpu.FP32 {
				g.product(b, fmt.Sprintf("%s/%s/%s_%dto%d", op, kind, p.name, p.k, p.m), t, p)
			}
		}
	}
}

// product times C = op(A)·op(B): rows are of type t, weights and their gradient of fp32.
func (g *benchGraph) product(b *testing.B, name string, t gpu.DType, p benchProduct) {
	defer g.free()
	n := g.a.Rows
	a := gpu.GemmArgs{TransA: p.transA, TransB: p.transB}
	switch {
	case p.transA:
		a.A, a.B, a.C = g.random(b, t, n, p.m, p.m), g.random(b, t, n, p.k, p.k), g.random(b, gpu.FP32, p.m, p.k, p.k)
	case p.transB:
		a.A, a.B, a.C = g.random(b, t, n, p.k, p.k), g.random(b, gpu.FP32, p.m, p.k, p.k), g.random(b, gpu.FP32, n, p.m, p.m)
	default:
		a.A, a.B, a.C = g.random(b, t, n, p.k, p.k), g.random(b, gpu.FP32, p.k, p.m, p.m), g.random(b, gpu.FP32, n, p.m, p.m)
	}
	g.time(b, measured{name, "GFLOP/s", 2 * float64(n) * float64(p.k) * float64(p.m), func() { g.q.Gemm(a) }})
}
