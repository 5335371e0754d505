package check

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"capgnn/gpu"
)

// memory knows its blocks by being their owner.
type memory struct{ _ byte }

// block is a block of 64 bytes, or of another memory, or a freed one.
type block struct {
	gpu.Buffer
	owner *memory
	freed bool
}

func (m *memory) Block(buf gpu.Buffer) (string, gpu.Bytes, string) {
	b, ok := buf.(*block)
	switch {
	case !ok:
		return "", 0, "has no buffer of a test"
	case b.owner != m:
		return "", 0, "lies elsewhere"
	case b.freed:
		return "", 0, "was freed"
	}
	return "b", 64, ""
}

var (
	home  = &memory{}
	mine  = &block{owner: home}
	yours = &block{owner: &memory{}}
	gone  = &block{owner: home, freed: true}
)

// mat is a matrix without gaps.
func mat(rows, cols int) gpu.Matrix { return gpu.Matrix{Buf: mine, Rows: rows, Cols: cols, LD: cols} }

func half(rows, cols int) gpu.Matrix {
	m := mat(rows, cols)
	m.Type = gpu.BF16
	return m
}

func arr[T gpu.Element](n int) gpu.Array[T] { return gpu.Array[T]{Buf: mine, Len: n} }

func vec(n int) gpu.Vec { return arr[float32](n) }

func ints(n int) gpu.Ints { return arr[int32](n) }

// csr is a matrix of as many entries as rows.
func csr(rows, cols int) gpu.CSR {
	return gpu.CSR{Rows: rows, Cols: cols, Begin: arr[int64](rows), End: arr[int64](rows), Indices: ints(rows), Entries: int64(rows)}
}

// with returns v changed by f.
func with[T any](v T, f func(*T)) T {
	f(&v)
	return v
}

// said returns what f panics with, "" if it does not.
func said(f func(c Operands)) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprint(v)
		}
	}()
	f(Operands{Device: "dev:0", Queue: "compute", Op: "Op", Memory: home})
	return ""
}

// check compares what is said of each case with what is wanted: "" where the operands are right.
func check(t *testing.T, cases []opCase) {
	t.Helper()
	for _, c := range cases {
		want := c.want
		if want != "" {
			want = "dev:0: queue compute: Op: " + want
		}
		if got := said(c.run); got != want || strings.Contains(got, "\n") {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

type opCase struct {
	want string
	run  func(c Operands)
}

func TestPlaces(t *testing.T) {
	at := func(buf gpu.Buffer, off, rows, cols, ld int) func(Operands) {
		return func(c Operands) { c.Fill(gpu.Matrix{Buf: buf, Off: off, Rows: rows, Cols: cols, LD: ld}) }
	}
	check(t, []opCase{
		{"", at(mine, 0, 4, 4, 4)},
		{"", at(nil, 0, 0, 4, 4)},
		{"", at(mine, 12, 1, 4, 0)},
		{"m has no buffer of a test", at(nil, 0, 1, 1, 1)},
		{"m lies elsewhere", at(yours, 0, 1, 1, 1)},
		{"", func(c Operands) { c.In(yours.owner).Matrix("m", gpu.Matrix{Buf: yours, Rows: 1, Cols: 1, LD: 1}) }},
		{"m was freed", at(gone, 0, 1, 1, 1)},
		{"m: elements 1 to 17 of 4 bytes exceed block \"b\" of 64 bytes", at(mine, 1, 4, 4, 4)},
		{"m: elements -1 to 0 of 4 bytes exceed block \"b\" of 64 bytes", at(mine, -1, 1, 1, 1)},
		{"m is 2×4 with stride 3", at(mine, 0, 2, 4, 3)},
		{"m is -1×4 with stride 4", at(mine, 0, -1, 4, 4)},
		{"m is bf16, want fp32", func(c Operands) { c.Fill(half(1, 1)) }},
		{"dst: elements 60 to 65 of 1 bytes exceed block \"b\" of 64 bytes", func(c Operands) { c.Bytes("dst", mine, 60, 5, 1) }},
		{"Targets: elements 0 to 65 of 1 bytes exceed block \"b\" of 64 bytes", func(c Operands) { array(c, "Targets", arr[uint8](65)) }},
		{"Loss: elements 0 to 9 of 8 bytes exceed block \"b\" of 64 bytes", func(c Operands) { array(c, "Loss", arr[float64](9)) }},
	})
}

func TestElementwise(t *testing.T) {
	check(t, []opCase{
		{"", func(c Operands) { c.Copy(half(2, 3), mat(2, 3)) }},
		{"dst is 2×3, src 3×2", func(c Operands) { c.Copy(mat(2, 3), mat(3, 2)) }},
		{"", func(c Operands) { c.Transpose(mat(2, 3), mat(3, 2)) }},
		{"src is 2×3, want 3×2", func(c Operands) { c.Transpose(mat(2, 3), mat(2, 3)) }},
		{"", func(c Operands) { c.Axpby(mat(2, 3), mat(2, 3)) }},
		{"src is 2×2, want 2×3", func(c Operands) { c.Axpby(mat(2, 3), mat(2, 2)) }},
		{"", func(c Operands) { c.ScaleRows(mat(2, 3), mat(2, 3), vec(2)) }},
		{"scale has 3 elements, want 2", func(c Operands) { c.ScaleRows(mat(2, 3), mat(2, 3), vec(3)) }},
		{"", func(c Operands) { c.AddScaled(mat(2, 3), half(2, 3), vec(1)) }},
		{"dst is bf16, want fp32", func(c Operands) { c.AddScaled(half(2, 3), half(2, 3), vec(1)) }},
		{"s has 0 elements, want 1", func(c Operands) { c.AddScaled(mat(2, 3), mat(2, 3), gpu.Vec{}) }},
		{"", func(c Operands) { c.Map(gpu.MapArgs{Dst: mat(2, 3), Src: mat(1, 3), By: mat(2, 1), F: gpu.MapExp}) }},
		{"", func(c Operands) { c.Map(gpu.MapArgs{Dst: mat(2, 3), Src: mat(1, 1)}) }},
		{"", func(c Operands) {
			c.Messages(gpu.MessageArgs{Y: mat(2, 4), R: mat(2, 4), Inner: csr(2, 3), C: mat(3, 4), X: mat(3, 4), F: gpu.MapSigmoid, Accumulate: true})
		}},
		{"R is 1×4, want at least 2×4", func(c Operands) {
			c.Messages(gpu.MessageArgs{Y: mat(2, 4), R: mat(1, 4), Inner: csr(2, 3), C: mat(3, 4)})
		}},
		{"C of Inner is 2×4, want at least 3×4", func(c Operands) { c.Messages(gpu.MessageArgs{Y: mat(2, 4), Inner: csr(2, 3), C: mat(2, 4)}) }},
		{"X of Halo is 0×0, want at least 3×4", func(c Operands) {
			c.Messages(gpu.MessageArgs{Y: mat(2, 4), Inner: csr(2, 3), C: mat(3, 4), X: mat(3, 4), Halo: csr(2, 3), CHalo: mat(3, 4)})
		}},
		{"X of Halo is 3×3, want at least 3×4", func(c Operands) {
			c.Messages(gpu.MessageArgs{Y: mat(2, 4), Halo: csr(2, 3), CHalo: mat(3, 4), XHalo: mat(3, 3)})
		}},
		{"Inner has 3 rows, want 2", func(c Operands) { c.Messages(gpu.MessageArgs{Y: mat(2, 4), Inner: csr(3, 3), C: mat(3, 4)}) }},
		{"a largest message is not added", func(c Operands) { c.Messages(gpu.MessageArgs{Y: mat(2, 4), Max: true, Accumulate: true}) }},
		{"function 16 is none of 16", func(c Operands) { c.Messages(gpu.MessageArgs{Y: mat(2, 4), F: gpu.Functions}) }},
		{"function 16 is none of 16", func(c Operands) { c.Map(gpu.MapArgs{Dst: mat(2, 3), Src: mat(2, 3), F: gpu.Functions}) }},
		{"Dst is bf16, want fp32", func(c Operands) { c.Map(gpu.MapArgs{Dst: half(2, 3), Src: mat(2, 3)}) }},
		{"Src is 2×2, and Dst 2×3", func(c Operands) { c.Map(gpu.MapArgs{Dst: mat(2, 3), Src: mat(2, 2)}) }},
		{"By is 3×1, and Dst 2×3", func(c Operands) { c.Map(gpu.MapArgs{Dst: mat(2, 3), Src: mat(2, 3), By: mat(3, 1)}) }},
		{"By is bf16, want fp32", func(c Operands) { c.Map(gpu.MapArgs{Dst: mat(2, 3), Src: mat(2, 3), By: half(2, 3)}) }},
		{"", func(c Operands) { c.ColSum(vec(3), half(2, 3)) }},
		{"dst has 2 elements, want 3", func(c Operands) { c.ColSum(vec(2), mat(2, 3)) }},
		{"", func(c Operands) { c.Dot(vec(1), mat(2, 3), half(2, 3)) }},
		{"y is 3×2, want 2×3", func(c Operands) { c.Dot(vec(1), mat(2, 3), mat(3, 2)) }},
		{"", func(c Operands) { c.Gather(mat(2, 3), half(4, 3), ints(2)) }},
		{"dst is 2×3, src 4×3, with 4 rows", func(c Operands) { c.Gather(mat(2, 3), mat(4, 3), ints(4)) }},
		{"", func(c Operands) { c.ScatterAdd(mat(4, 3), mat(2, 3), ints(2)) }},
		{"src is 2×2, want at least 0×3", func(c Operands) { c.ScatterAdd(mat(4, 3), mat(2, 2), ints(2)) }},
		{"src has 2 rows for 1 targets", func(c Operands) { c.ScatterAdd(mat(4, 3), mat(2, 3), ints(1)) }},
		{"", func(c Operands) { c.UnpackRows(mat(2, 8), mat(2, gpu.PackedWords(8, 2)), 2) }},
		{"packed is 2×1, want 2×2", func(c Operands) { c.UnpackRows(mat(2, 4), mat(2, 1), 8) }},
	})
	pack := gpu.PackArgs{Bits: 8, Dst: mat(2, gpu.PackedWords(3, 8)), Src: mat(4, 3), Rows: ints(2), IDs: ints(4)}
	check(t, []opCase{
		{"", func(c Operands) { c.PackRows(pack) }},
		{"4 bits per element, want 8 or 2", func(c Operands) { c.PackRows(with(pack, func(a *gpu.PackArgs) { a.Bits = 4 })) }},
		{"2 ids for 4 rows", func(c Operands) { c.PackRows(with(pack, func(a *gpu.PackArgs) { a.IDs = ints(2) })) }},
		{"Dst has 2 rows, Src 4, of which 0 are listed", func(c Operands) { c.PackRows(with(pack, func(a *gpu.PackArgs) { a.Rows = ints(0) })) }},
	})
}

func TestOptimisersAndLosses(t *testing.T) {
	adam := gpu.AdamArgs{Param: vec(3), Grad: vec(3), M: vec(3), V: vec(3), Step: 1}
	loss := gpu.LossArgs{Logits: mat(2, 3), Grad: half(2, 3), Labels: ints(2), Targets: arr[uint8](6), Mask: arr[uint8](2), Loss: arr[float64](1)}
	adamed := func(f func(*gpu.AdamArgs)) func(Operands) { return func(c Operands) { c.Adam(with(adam, f)) } }
	softmax := func(f func(*gpu.LossArgs)) func(Operands) { return func(c Operands) { c.SoftmaxLoss(with(loss, f)) } }
	bce := func(f func(*gpu.LossArgs)) func(Operands) { return func(c Operands) { c.BCELoss(with(loss, f)) } }
	check(t, []opCase{
		{"", adamed(func(*gpu.AdamArgs) {})},
		{"step 0, the first is 1", adamed(func(a *gpu.AdamArgs) { a.Step = 0 })},
		{"V has 2 elements, want 3", adamed(func(a *gpu.AdamArgs) { a.V = vec(2) })},
		{"VMax has 2 elements, want 3", adamed(func(a *gpu.AdamArgs) { a.VMax = vec(2) })},
		{"", func(c Operands) { c.SGD(vec(3), vec(3)) }},
		{"grad has 2 elements, want 3", func(c Operands) { c.SGD(vec(3), vec(2)) }},
		{"", softmax(func(*gpu.LossArgs) {})},
		{"3 labels for 2 rows", softmax(func(a *gpu.LossArgs) { a.Labels = ints(3) })},
		{"Loss has 2 elements, want 1", softmax(func(a *gpu.LossArgs) { a.Loss = arr[float64](2) })},
		{"Grad is 3×2, want 2×3", softmax(func(a *gpu.LossArgs) { a.Grad = mat(3, 2) })},
		{"", bce(func(a *gpu.LossArgs) { a.Mask, a.Grad = arr[uint8](0), gpu.Matrix{} })},
		{"5 targets for 2×3 logits", bce(func(a *gpu.LossArgs) { a.Targets = arr[uint8](5) })},
		{"mask of 3 for 2 rows", bce(func(a *gpu.LossArgs) { a.Mask = arr[uint8](3) })},
	})
}

func TestProducts(t *testing.T) {
	gemm := func(m, a, b gpu.Matrix, ta, tb bool, beta float32) func(Operands) {
		return func(c Operands) { c.Gemm(gpu.GemmArgs{C: m, A: a, B: b, TransA: ta, TransB: tb, Beta: beta}) }
	}
	linear := gpu.LinearArgs{Z: mat(2, 3), X: half(2, 4), W: mat(3, 4), X2: mat(2, 1), W2: mat(3, 1), RowScale: vec(2), Bias: vec(3)}
	linears := func(f func(*gpu.LinearArgs)) func(Operands) { return func(c Operands) { c.Linear(with(linear, f)) } }
	agg := gpu.AggregateArgs{Y: mat(2, 3), A: csr(2, 4), X: half(4, 3), RowScale: vec(2), ColScale: vec(5), Bias: vec(3)}
	aggs := func(f func(*gpu.AggregateArgs)) func(Operands) { return func(c Operands) { c.Aggregate(with(agg, f)) } }
	spmm := func(f func(*gpu.CSR)) func(Operands) {
		return func(c Operands) { c.SpMM(mat(2, 3), with(csr(2, 4), f), mat(4, 3), 0) }
	}
	check(t, []opCase{
		{"", gemm(half(2, 3), half(2, 4), mat(4, 3), false, false, 0)},
		{"", gemm(mat(2, 3), half(4, 2), half(4, 3), true, false, 1)},
		{"", gemm(mat(2, 3), mat(2, 4), mat(3, 4), false, true, 1)},
		{"both operands transposed", gemm(mat(2, 3), mat(4, 2), mat(3, 4), true, true, 0)},
		{"C is 2×3, op(A) 2×4, op(B) 3×3", gemm(mat(2, 3), mat(2, 4), mat(3, 3), false, false, 0)},
		{"B is bf16, want fp32", gemm(mat(2, 3), mat(2, 4), half(4, 3), false, false, 0)},
		{"C is bf16, want fp32", gemm(half(2, 3), mat(4, 2), mat(4, 3), true, false, 0)},
		{"C is bf16 and added to, want fp32", gemm(half(2, 3), mat(2, 4), mat(4, 3), false, false, 1)},
		{"", linears(func(*gpu.LinearArgs) {})},
		{"X has 3 rows, Z 2", linears(func(a *gpu.LinearArgs) { a.X = mat(3, 4) })},
		{"W is 4×3, want 3×4", linears(func(a *gpu.LinearArgs) { a.W = mat(4, 3) })},
		{"X2 has 1 rows, Z 2", linears(func(a *gpu.LinearArgs) { a.X2 = mat(1, 1) })},
		{"W2 is 3×2, want 3×1", linears(func(a *gpu.LinearArgs) { a.W2 = mat(3, 2) })},
		{"Bias has 2 elements, want 3", linears(func(a *gpu.LinearArgs) { a.Bias = vec(2) })},
		{"Z is bf16, want fp32", linears(func(a *gpu.LinearArgs) { a.Z, a.Then = half(2, 3), &gpu.Epilogue{H: mat(2, 3)} })},
		{"", aggs(func(*gpu.AggregateArgs) {})},
		{"X has 3 rows, A 4 columns", aggs(func(a *gpu.AggregateArgs) { a.X = mat(3, 3) })},
		{"ColScale has 3 elements, want at least 4", aggs(func(a *gpu.AggregateArgs) { a.ColScale = vec(3) })},
		{"H is 3×3, want 2×3", aggs(func(a *gpu.AggregateArgs) { a.Then = &gpu.Epilogue{H: mat(3, 3)} })},
		{"", spmm(func(*gpu.CSR) {})},
		{"y is 2×3, want 2×2", func(c Operands) { c.SpMM(mat(2, 3), csr(2, 4), mat(4, 2), 0) }},
		{"x has 3 rows, a 4 columns", func(c Operands) { c.SpMM(mat(2, 3), csr(2, 4), mat(3, 3), 0) }},
		{"y is bf16 and added to, want fp32", func(c Operands) { c.SpMM(half(2, 3), csr(2, 4), mat(4, 3), 1) }},
		{"a is 2×4 with -1 entries", spmm(func(a *gpu.CSR) { a.Entries = -1 })},
		{"a has 2 row begins and 1 row ends", spmm(func(a *gpu.CSR) { a.End = arr[int64](1) })},
		{"a has 2 entries in no row", spmm(func(a *gpu.CSR) { a.Begin, a.End = arr[int64](0), arr[int64](0) })},
		{"a has 2 stored rows, 1 of them listed, of 2", spmm(func(a *gpu.CSR) { a.RowList = ints(1) })},
		{"a has 1 stored rows of 2 and no list", spmm(func(a *gpu.CSR) { a.Begin, a.End = arr[int64](1), arr[int64](1) })},
		{"a has 1 values for 2 indices", spmm(func(a *gpu.CSR) { a.Val = vec(1) })},
		{"a has 3 entries but 2 indices", spmm(func(a *gpu.CSR) { a.Entries = 3 })},
		{"a.Indices was freed", spmm(func(a *gpu.CSR) { a.Indices.Buf = gone })},
	})
}

func TestEpilogues(t *testing.T) {
	drop := gpu.Dropout{P: 0.5, IDs: ints(2)}
	forward := gpu.Epilogue{Z: mat(2, 3), H: half(2, 3), Norm: true, Gamma: vec(3), Beta: vec(3), Rstd: vec(2), Dropout: drop}
	back := gpu.EpilogueGrad{DH: mat(2, 3), X: mat(2, 3), DZ: half(2, 3), H: mat(2, 3), Norm: true, Gamma: vec(3), Beta: vec(3), Rstd: vec(2),
		Dropout: drop, DGamma: vec(3), DBeta: vec(3), DBias: vec(3)}
	f := func(change func(*gpu.Epilogue)) func(Operands) {
		return func(c Operands) { c.Epilogue(with(forward, change)) }
	}
	b := func(change func(*gpu.EpilogueGrad)) func(Operands) {
		return func(c Operands) { c.EpilogueBackward(with(back, change)) }
	}
	check(t, []opCase{
		{"", f(func(*gpu.Epilogue) {})},
		{"", f(func(e *gpu.Epilogue) { e.Rstd, e.Dropout = gpu.Vec{}, gpu.Dropout{} })},
		{"Gamma has 0 elements, want 3", f(func(e *gpu.Epilogue) { e.Gamma = gpu.Vec{} })},
		{"Rstd has 3 elements, want 2", f(func(e *gpu.Epilogue) { e.Rstd = vec(3) })},
		{"dropout of 1 is outside [0, 1)", f(func(e *gpu.Epilogue) { e.Dropout.P = 1 })},
		{"dropout of NaN is outside [0, 1)", f(func(e *gpu.Epilogue) { e.Dropout.P = math.NaN() })},
		{"dropout has 3 ids for 2 rows", f(func(e *gpu.Epilogue) { e.Dropout.IDs = ints(3) })},
		{"", b(func(*gpu.EpilogueGrad) {})},
		{"", b(func(e *gpu.EpilogueGrad) { *e = gpu.EpilogueGrad{DH: mat(2, 3), DZ: mat(2, 3)} })},
		{"X is 0×0, want 2×3", b(func(e *gpu.EpilogueGrad) { e.X = gpu.Matrix{} })},
		{"DZ is 3×3, want 2×3", b(func(e *gpu.EpilogueGrad) { e.DZ = mat(3, 3) })},
		{"DBias has 2 elements, want 3", b(func(e *gpu.EpilogueGrad) { e.DBias = vec(2) })},
		{"H is 2×2, want 2×3", b(func(e *gpu.EpilogueGrad) { e.H = mat(2, 2) })},
	})
}

func TestAttention(t *testing.T) {
	fwd := gpu.GATArgs{O: mat(2, 4), LSE: mat(2, 2), D: mat(3, 2), Inner: csr(2, 3), T: mat(3, 4), S: mat(3, 2), Bias: vec(4), Hi: 2}
	dst := gpu.GATGradDst{DD: mat(2, 2), G: mat(2, 2), DO: mat(2, 4), O: mat(3, 4), LSE: mat(2, 2), D: mat(2, 2), Inner: csr(2, 3), T: mat(3, 4), S: mat(3, 2)}
	src := gpu.GATGradSrc{DT: mat(2, 4), DS: mat(2, 2), T: mat(2, 4), S: mat(2, 2), Inner: csr(2, 3), DO: mat(3, 4), D: mat(3, 2), LSE: mat(3, 2), G: mat(3, 2)}
	grad := gpu.GATScoresGrad{T: mat(2, 4), DT: mat(2, 4), DS: mat(2, 2), DD: mat(2, 2), ASrc: vec(4), ADst: vec(4), DASrc: vec(4), DADst: vec(4)}
	f := func(g func(*gpu.GATArgs)) func(Operands) { return func(c Operands) { c.GATAggregate(with(fwd, g)) } }
	d := func(g func(*gpu.GATGradDst)) func(Operands) {
		return func(c Operands) { c.GATBackwardDst(with(dst, g)) }
	}
	s := func(g func(*gpu.GATGradSrc)) func(Operands) {
		return func(c Operands) { c.GATBackwardSrc(with(src, g)) }
	}
	b := func(g func(*gpu.GATScoresGrad)) func(Operands) {
		return func(c Operands) { c.GATScoresBackward(with(grad, g)) }
	}
	check(t, []opCase{
		{"", f(func(*gpu.GATArgs) {})},
		{"", f(func(a *gpu.GATArgs) { a.Inner, a.T, a.S = gpu.CSR{}, gpu.Matrix{}, gpu.Matrix{} })},
		{"rows 1 to 3 of 2", f(func(a *gpu.GATArgs) { a.Lo, a.Hi = 1, 3 })},
		{"4 columns do not divide into 3 heads", f(func(a *gpu.GATArgs) { a.LSE = mat(2, 3) })},
		{"4 columns do not divide into 0 heads", f(func(a *gpu.GATArgs) { a.LSE = mat(2, 0) })},
		{"Inner has 3 rows, want 2", f(func(a *gpu.GATArgs) { a.Inner = csr(3, 3) })},
		{"S of Inner is 2×2, want at least 3×2", f(func(a *gpu.GATArgs) { a.S = mat(2, 2) })},
		{"T of Halo is 0×0, want at least 1×4", f(func(a *gpu.GATArgs) { a.Halo = csr(2, 1) })},
		{"D is 1×2, want at least 2×2", f(func(a *gpu.GATArgs) { a.D = mat(1, 2) })},
		{"", d(func(*gpu.GATGradDst) {})},
		{"G is 2×1, want 2×2", d(func(a *gpu.GATGradDst) { a.G = mat(2, 1) })},
		{"O is 1×4, want at least 2×4", d(func(a *gpu.GATGradDst) { a.O = mat(1, 4) })},
		{"", s(func(*gpu.GATGradSrc) {})},
		{"", f(func(a *gpu.GATArgs) { a.Drop = gpu.EdgeDropout{P: 0.5, Rows: ints(2), Inner: ints(4)} })},
		{"dropout of 1 is outside [0, 1)", f(func(a *gpu.GATArgs) { a.Drop.P = 1 })},
		{"Drop.Rows has 1 ids, want at least 2", d(func(a *gpu.GATGradDst) { a.Drop = gpu.EdgeDropout{P: 0.5, Rows: ints(1), Inner: ints(3)} })},
		{"Drop.Inner has 2 ids, want at least 3", s(func(a *gpu.GATGradSrc) { a.Drop = gpu.EdgeDropout{P: 0.5, Rows: ints(2), Inner: ints(2)} })},
		{"dropout of 2 heads in layer 1048576 has no counters", s(func(a *gpu.GATGradSrc) { a.Drop = gpu.EdgeDropout{P: 0.5, Layer: 1 << 20} })},
		{"Drop.Inner has 1 ids, want at least 3", func(c Operands) {
			c.GATv2BackwardSrc(gpu.GATv2GradSrc{DT: mat(2, 4), T: mat(2, 4), A: csr(2, 3), DO: mat(3, 4), R: mat(3, 4), LSE: mat(3, 2), G: mat(3, 2), Att: vec(4),
				Drop: gpu.EdgeDropout{P: 0.5, Rows: ints(2), Inner: ints(1)}})
		}},
		{"G of Inner is 2×2, want at least 3×2", s(func(a *gpu.GATGradSrc) { a.G = mat(2, 2) })},
	})
	dots := gpu.DotArgs{O: mat(2, 4), LSE: mat(2, 2), Q: mat(2, 4), Inner: csr(2, 3), K: mat(3, 4), V: mat(3, 4)}
	byDst := gpu.DotGradDst{DQ: mat(2, 4), G: mat(2, 2), DO: mat(2, 4), O: mat(2, 4), LSE: mat(2, 2), Q: mat(2, 4), Inner: csr(2, 3), K: mat(3, 4), V: mat(3, 4)}
	bySrc := gpu.DotGradSrc{DK: mat(2, 4), DV: mat(2, 4), K: mat(2, 4), V: mat(2, 4), Heads: 2, Inner: csr(2, 3), DO: mat(3, 4), Q: mat(3, 4), LSE: mat(3, 2),
		G: mat(3, 2)}
	check(t, []opCase{
		{"", func(c Operands) { c.DotAggregate(dots) }},
		{"Q is 1×4, want at least 2×4", func(c Operands) { c.DotAggregate(with(dots, func(a *gpu.DotArgs) { a.Q = mat(1, 4) })) }},
		{"K of Inner is 2×4, want at least 3×4", func(c Operands) { c.DotAggregate(with(dots, func(a *gpu.DotArgs) { a.K = mat(2, 4) })) }},
		{"V of Halo is 3×3, want at least 3×4", func(c Operands) {
			c.DotAggregate(with(dots, func(a *gpu.DotArgs) { a.Halo, a.KHalo, a.VHalo = csr(2, 3), mat(3, 4), mat(3, 3) }))
		}},
		{"4 columns do not divide into 3 heads", func(c Operands) { c.DotAggregate(with(dots, func(a *gpu.DotArgs) { a.LSE = mat(2, 3) })) }},
		{"", func(c Operands) { c.DotBackwardDst(byDst) }},
		{"G is 2×1, want 2×2", func(c Operands) { c.DotBackwardDst(with(byDst, func(a *gpu.DotGradDst) { a.G = mat(2, 1) })) }},
		{"Inner has 3 rows, want 2", func(c Operands) { c.DotBackwardDst(with(byDst, func(a *gpu.DotGradDst) { a.Inner = csr(3, 3) })) }},
		{"", func(c Operands) { c.DotBackwardSrc(bySrc) }},
		{"DV is 2×3, want 2×4", func(c Operands) { c.DotBackwardSrc(with(bySrc, func(a *gpu.DotGradSrc) { a.DV = mat(2, 3) })) }},
		{"Q of Inner is 2×4, want at least 3×4", func(c Operands) { c.DotBackwardSrc(with(bySrc, func(a *gpu.DotGradSrc) { a.Q = mat(2, 4) })) }},
		{"Drop.Rows has 1 ids, want at least 2", func(c Operands) {
			c.DotBackwardSrc(with(bySrc, func(a *gpu.DotGradSrc) { a.Drop = gpu.EdgeDropout{P: 0.5, Rows: ints(1), Inner: ints(3)} }))
		}},
	})
	check(t, []opCase{
		{"", b(func(*gpu.GATScoresGrad) {})},
		{"DASrc has 3 elements, want 4", b(func(a *gpu.GATScoresGrad) { a.DASrc = vec(3) })},
		{"DD is 2×1, want 2×2", b(func(a *gpu.GATScoresGrad) { a.DD = mat(2, 1) })},
		{"", func(c Operands) { c.GATScores(mat(2, 2), gpu.Matrix{}, mat(2, 4), vec(4), gpu.Vec{}) }},
		{"aDst has 0 elements, want 4", func(c Operands) { c.GATScores(mat(2, 2), mat(2, 2), mat(2, 4), vec(4), gpu.Vec{}) }},
		{"", func(c Operands) { c.HeadMean(mat(2, 2), mat(2, 4), vec(2)) }},
		{"2×3 is not a number of heads of 2×2", func(c Operands) { c.HeadMean(mat(2, 2), mat(2, 3), gpu.Vec{}) }},
		{"", func(c Operands) { c.HeadMeanBackward(mat(2, 4), mat(2, 2)) }},
		{"src is 1×2, want at least 2×2", func(c Operands) { c.HeadMeanBackward(mat(2, 4), mat(1, 2)) }},
	})
}
