package host

import (
	"math"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// PackInt8: rows as int8 with a scale each, see gpu.PackArgs. A row outside Src is a fault.
func (q *Queue) PackInt8(a gpu.PackArgs) {
	c := q.check("PackInt8")
	c.PackInt8(a)
	d, src, list, ids := denseOf(a.Dst), eitherOf(a.Src), values(a.Rows), values(a.IDs)
	if d.rows == 0 {
		return
	}
	q.compute("PackInt8", gpu.PhasePick, func() {
		cols, key := a.Src.Cols, gpu.SeedKey(a.Seed)
		n := roundUp(max(cols, 1), philoxBlock)
		words, room := grown(&q.dev.work.bits, q.dev.pool.threads*n), q.dev.pool.own(&q.dev.work.row, src.spare())
		q.dev.pool.rows(d.rows, cols, func(w, lo, hi int) {
			mine := words[w*n : (w+1)*n]
			for k := lo; k < hi; k++ {
				i := k
				if list != nil {
					i = int(list[k])
				}
				if i < 0 || i >= a.Src.Rows {
					c.Fail("Rows[%d] is %d, Src has %d rows", k, i, a.Src.Rows)
				}
				var x []float32
				if cols > 0 {
					x = src.wideRow(i, room.of(w))
				}
				packRow(d.row(k), x, func() []uint32 {
					philoxWords(mine, uint32(ids[i]), a.Stream, a.Epoch, key)
					return mine
				})
			}
		})
	})
}

// UnpackInt8: dst[k][j] = scale·q[j] of packed row k.
func (q *Queue) UnpackInt8(dst, packed gpu.Matrix) {
	q.check("UnpackInt8").UnpackInt8(dst, packed)
	p, d := denseOf(packed), eitherOf(dst)
	if dst.Empty() {
		return
	}
	q.compute("UnpackInt8", gpu.PhasePick, func() {
		room := q.dev.pool.own(&q.dev.work.row, d.spare())
		q.dev.pool.rows(dst.Rows, dst.Cols, func(w, lo, hi int) {
			for k := lo; k < hi; k++ {
				from := p.row(k)
				x := d.draftRow(k, room.of(w))
				spread(x, hostmem.Bytes(from[1:]), from[0])
				d.storeRow(k, x)
			}
		})
	})
}

// packRow packs x into dst; words returns random words, as many as x has elements, in whole blocks.
func packRow(dst, x []float32, words func() []uint32) {
	q := hostmem.Bytes(dst[1:])
	dst[0] = int8Scale(topBits(x))
	if dst[0] == 0 || dst[0] != dst[0] {
		clear(q)
		return
	}
	clear(q[len(x):])
	quantise(q, x, words(), dst[0])
}

// int8Scale returns the scale of a row whose largest absolute value has these bits.
func int8Scale(top uint32) float32 {
	const infinity, least = 0x7F800000, 1.0 / (1 << 126)
	if top >= infinity {
		return float32(math.NaN())
	}
	if s := math.Float32frombits(top) / 127; s >= least {
		return s
	}
	return 0
}

// topBitsGo returns the bits of the largest absolute value of src: above all numbers are those of infinity and NaN.
func topBitsGo(src []float32) uint32 {
	top := uint32(0)
	for _, v := range src {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	return top
}

// quantiseGo: dst[j] = ⌊src[j]/scale + u⌋ within ±127, u of words[j]. len(dst) ≥ len(src).
func quantiseGo(dst []byte, src []float32, words []uint32, scale float32) {
	dst, words = dst[:len(src)], words[:len(src)]
	for j, v := range src {
		u := float32(2*(words[j]>>16)+1) * (1.0 / (1 << 17))
		t := v/scale + u
		i := int32(t)
		if float32(i) > t {
			i--
		}
		dst[j] = byte(int8(max(-127, min(i, 127))))
	}
}

// spreadGo: dst[j] = scale·src[j].
func spreadGo(dst []float32, src []byte, scale float32) {
	src = src[:len(dst)]
	for j, b := range src {
		dst[j] = scale * float32(int8(b))
	}
}
