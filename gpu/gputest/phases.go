package gputest

import "capgnn/gpu"

// testPhases: the time of an operation counts as that of its phase, and of no other.
func testPhases(b *bench) {
	b.scene("operations", func(b *bench) {
		const n, cols = 600, 32
		l := layouts[0]
		x, y := b.put(b.normal(n, cols), l), b.blank(n, cols, l)
		w, packed := b.put(b.normal(cols, cols), l), b.blank(n, gpu.PackedWords(cols, 8), l)
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = int32(n - 1 - i)
		}
		list := array(b, rows)
		for _, c := range []struct {
			op    string
			phase gpu.Phase
			run   func()
		}{
			{"Fill", gpu.PhaseOther, func() { b.q.Fill(y, 1) }},
			{"Axpby", gpu.PhaseReduce, func() { b.q.Axpby(y, 1, x, 1) }},
			{"Gather", gpu.PhasePick, func() { b.q.Gather(y, x, list) }},
			{"PackRows", gpu.PhasePick, func() { b.q.PackRows(gpu.PackArgs{Bits: 8, Dst: packed, Src: x, Rows: list, IDs: list}) }},
			{"UnpackRows", gpu.PhasePick, func() { b.q.UnpackRows(y, packed, 8) }},
			{"Gemm", gpu.PhaseMM, func() { b.q.Gemm(gpu.GemmArgs{C: y, A: x, B: w}) }},
			{"Download", gpu.PhaseTransfer, func() { b.q.Download(make([]byte, 4*n*cols), x.Buf, 0) }},
		} {
			b.sync()
			before := b.q.Usage()
			c.run()
			b.sync()
			for p, spent := range b.q.Usage().Sub(before).Time {
				if phase := gpu.Phase(p); (spent > 0) != (phase == c.phase) && phase != gpu.PhaseWait {
					b.Errorf("%s: %v in phase %v, want all of it in %v", c.op, spent, phase, c.phase)
				}
			}
		}
		b.get(y)
		b.packedRows(packed)
	})
}
