//go:build cuda

package cuda

import (
	"slices"

	"capgnn/gpu"
)

// Messages: sums, or largest, of functions of both ends of edges.
func (q *queue) Messages(a gpu.MessageArgs) {
	q.check("Messages").Messages(a)
	if a.Y.Empty() {
		return
	}
	flag := func(on bool) word {
		if on {
			return 1
		}
		return 0
	}
	rows := func(m gpu.Matrix) []word { return []word{matPtr(m), ld(m)} }
	ends := func(of gpu.CSR, c, x gpu.Matrix) []word {
		of = given(of)
		return slices.Concat(csrWords(of), []word{vecPtr(of.Val)}, rows(c), rows(x))
	}
	q.begin("Messages", gpu.PhaseAggregation)
	q.launch("capgnn_messages", rowPieces(a.Y.Rows, a.Y.Cols), blockSize, 0, slices.Concat(
		[]word{i64(int64(a.Y.Rows)), i64(int64(a.Y.Cols))}, rows(a.Y), []word{flag(a.Accumulate)}, rows(a.R), ends(a.Inner, a.C, a.X),
		ends(a.Halo, a.CHalo, a.XHalo), []word{i32(int(a.F)), flag(a.Slope), flag(a.Max), f32(a.A), f32(a.B)})...)
	q.counted((a.Inner.Entries + a.Halo.Entries) * int64(a.Y.Cols))
}
