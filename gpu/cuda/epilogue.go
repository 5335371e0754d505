//go:build cuda

package cuda

import "capgnn/gpu"

// Flags of an epilogue; kernels/epilogue.cuh has the same.
const (
	epilogueNorm = 1 << iota
	epilogueReLU
	epilogueDrop
	epilogueHalf
	epilogueOn
	epilogueCurve // times 1, 2, 3: LeakyReLU, ELU, Tanh
)

// dropoutWords are the arguments that say what is dropped: ids, threshold, scale, key, layer and epoch.
func dropoutWords(d gpu.Dropout) []word {
	if d.P == 0 {
		return []word{0, 0, f32(1), 0, 0}
	}
	return []word{
		intsPtr(d.IDs), word(gpu.DropoutThreshold(d.P)), f32(float32(1 / (1 - d.P))), u64(d.Seed), word(d.Layer) | word(d.Epoch)<<32,
	}
}

// flags returns the bits that a kernel takes.
func flags(norm bool, act gpu.Activation, d gpu.Dropout, half bool) int {
	f := 0
	for i, on := range []bool{norm, act == gpu.ReLU, d.P > 0, half} {
		if on {
			f |= 1 << i
		}
	}
	if act.Curved() {
		f |= epilogueCurve * int(act-gpu.ReLU)
	}
	return f
}

// forActivation returns the symbol of an epilogue's kernel: those of curved activations are kernels of their own.
func forActivation(symbol string, act gpu.Activation) string {
	if act.Curved() {
		return symbol + "_curved"
	}
	return symbol
}

// epilogueWords are the arguments of EPILOGUE_PARAMS; all off for nil.
func epilogueWords(e *gpu.Epilogue) []word {
	if e == nil {
		return make([]word, 12)
	}
	f := flags(e.Norm, e.Act, e.Dropout, e.H.Type == gpu.BF16) | epilogueOn
	w := []word{i32(f), matPtr(e.H), ld(e.H), 0, 0, 0, f32(e.Eps)}
	if e.Norm {
		w[3], w[4], w[5] = vecPtr(e.Gamma), vecPtr(e.Beta), vecPtr(e.Rstd)
	}
	return append(w, dropoutWords(e.Dropout)...)
}

// Epilogue: H = epilogue(Z).
func (q *queue) Epilogue(e gpu.Epilogue) {
	q.check("Epilogue").Epilogue(e)
	q.begin("Epilogue", gpu.PhaseOther)
	q.epilogue(&e, e.Z, gpu.Vec{})
}

// epilogue launches e on z, to whose rows bias is added first; nothing for nil.
func (q *queue) epilogue(e *gpu.Epilogue, z gpu.Matrix, bias gpu.Vec) {
	if e == nil || z.Empty() {
		return
	}
	args := append([]word{i64(int64(z.Rows)), i32(z.Cols), matPtr(z), ld(z), vecPtr(bias)}, epilogueWords(e)...)
	q.launch(forActivation("capgnn_epilogue", e.Act), rowWarps(z.Rows), blockSize, 0, args...)
}

// Limits of EpilogueBackward: blocks, each with its own partial sums; rows that a warp has at least; bytes of shared memory
// for the sums of a block's warps.
const (
	mostGradParts = 1024
	gradRows      = 4
	gradShared    = 48 << 10
)

// EpilogueBackward: gradient through an Epilogue.
func (q *queue) EpilogueBackward(e gpu.EpilogueGrad) {
	q.check("EpilogueBackward").EpilogueBackward(e)
	rows, cols := e.DH.Rows, e.DH.Cols
	if e.DH.Empty() {
		return
	}
	q.begin("EpilogueBackward", gpu.PhaseOther)
	perWarp := 3 * 4 * 4 * int(blocks(cols, 4)) // bytes of sums, of four columns together
	n := warps
	for n > 1 && n*perWarp > gradShared {
		n /= 2
	}
	count := min(mostGradParts, int(blocks(rows, n*gradRows)))
	shared, spare := n*perWarp, 0 // bytes of sums, in shared memory or behind the parts
	if shared > gradShared {
		shared, spare = 0, n*perWarp
	}
	sums := q.workspace(count*(perWarp+spare), 1)
	part := sums + word(count*spare) // behind, because loads of four need the sums aligned
	if spare == 0 {
		sums = 0
	}
	want := 0
	if e.Norm || !e.DBias.Empty() {
		want = 1
	}
	q.launch(forActivation("capgnn_epilogue_backward", e.Act), dim{uint32(count), 1}, uint32(32*n), uint32(shared), append([]word{
		i64(int64(rows)), i32(cols), matPtr(e.DH), ld(e.DH), matPtr(e.X), ld(e.X), matPtr(e.DZ), ld(e.DZ), vecPtr(e.Rstd),
		matPtr(e.H), part, sums, i32(want), i32(flags(e.Norm, e.Act, e.Dropout, e.DZ.Type == gpu.BF16)), ld(e.H),
		vecPtr(e.Gamma), vecPtr(e.Beta)}, dropoutWords(e.Dropout)...)...)
	for i, v := range []gpu.Vec{e.DGamma, e.DBeta, e.DBias} {
		if !v.Empty() && (e.Norm || i == 2) {
			q.addParts(vecPtr(v), cols, 1, cols, part+word(i*cols*4), 3*cols, count, 1)
		}
	}
}
