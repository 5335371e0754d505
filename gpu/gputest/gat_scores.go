package gputest

import (
	"fmt"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// heads are numbers of heads and columns of each.
var heads = [][2]int{{1, 1}, {2, 7}, {4, 8}, {1, 33}, {3, 32}, {8, 5}, {11, 3}, {2, 68}}

// headed runs f for rows × heads.
func (b *bench) headed(f func(b *bench, rows, heads, channels int, l layout)) {
	for i, rows := range []int{0, 1, 67, 300} {
		for k, hc := range heads {
			b.scene(fmt.Sprintf("%d_rows_%dx%d", rows, hc[0], hc[1]), func(b *bench) {
				f(b, rows, hc[0], hc[1], layouts[(i+k)%2])
			})
		}
	}
}

func testGATScores(b *bench) {
	b.headed(func(b *bench, rows, heads, channels int, l layout) {
		t, src, dst := b.normal(rows, heads*channels), b.normal(1, heads*channels).V, b.normal(1, heads*channels).V
		feat, s, d, alone := b.put(t, l), b.blank(rows, heads, l), b.blank(rows, heads, l), b.blank(rows, heads, l)
		b.q.GATScores(s, d, feat, b.vec(src), b.vec(dst))
		b.q.GATScores(alone, gpu.Matrix{}, feat, b.vec(src), gpu.Vec{})
		b.near("s", b.get(s), ref.GATScores(t, src, heads), channels, ref.GATScores(abs(t), absVec(src), heads).At)
		b.near("s alone", b.get(alone), ref.GATScores(t, src, heads), channels, ref.GATScores(abs(t), absVec(src), heads).At)
		b.near("d", b.get(d), ref.GATScores(t, dst, heads), channels, ref.GATScores(abs(t), absVec(dst), heads).At)
	})
}

func testGATScoresBackward(b *bench) {
	b.headed(func(b *bench, rows, heads, channels int, l layout) {
		cols := heads * channels
		t, dt, ds, dd := b.normal(rows, cols), b.normal(rows, cols), b.normal(rows, heads), b.normal(rows, heads)
		vecs := b.normal(4, cols)
		a := gpu.GATScoresGrad{
			T: b.put(t, l), DT: b.put(dt, l), DS: b.put(ds, l), ASrc: b.vec(vecs.Row(0)), DASrc: b.vec(vecs.Row(1)),
		}
		want, dSrc := ref.GATScoresBackward(t, dt, ds, vecs.Row(0), vecs.Row(1))
		size, srcSize := ref.GATScoresBackward(abs(t), abs(dt), abs(ds), absVec(vecs.Row(0)), absVec(vecs.Row(1)))
		both := cols%2 == 0
		if both {
			a.DD, a.ADst, a.DADst = b.put(dd, l), b.vec(vecs.Row(2)), b.vec(vecs.Row(3))
		}
		b.q.GATScoresBackward(a)
		b.nearVec("DASrc", b.getVec(a.DASrc), dSrc, rows+1, func(j int) float64 { return srcSize[j] })
		if both {
			var dDst, dstSize []float64
			want, dDst = ref.GATScoresBackward(t, want, dd, vecs.Row(2), vecs.Row(3))
			size, dstSize = ref.GATScoresBackward(abs(t), size, abs(dd), absVec(vecs.Row(2)), absVec(vecs.Row(3)))
			b.nearVec("DADst", b.getVec(a.DADst), dDst, rows+1, func(j int) float64 { return dstSize[j] })
		}
		b.near("DT", b.get(a.DT), want, 3, size.At)
	})
}

func testHeadMean(b *bench) {
	b.headed(func(b *bench, rows, heads, channels int, l layout) {
		x, bias := b.normal(rows, heads*channels), b.normal(1, channels).V
		src, dst, bare := b.put(x, l), b.blank(rows, channels, l), b.blank(rows, channels, l)
		b.q.HeadMean(dst, src, b.vec(bias))
		b.q.HeadMean(bare, src, gpu.Vec{})
		size := ref.HeadMean(abs(x), channels, absVec(bias))
		b.near("dst", b.get(dst), ref.HeadMean(x, channels, bias), heads+1, size.At)
		b.near("without bias", b.get(bare), ref.HeadMean(x, channels, nil), heads+1, size.At)

		if heads == 1 {
			b.q.HeadMean(src, src, b.vec(bias))
			b.near("in place", b.get(src), ref.HeadMean(x, channels, bias), 2, size.At)
		}

		g, back := b.normal(rows, channels), b.blank(rows, heads*channels, l)
		b.q.HeadMeanBackward(back, b.put(g, l))
		b.near("backward", b.get(back), ref.HeadMeanBackward(g, heads), 1, ref.HeadMeanBackward(abs(g), heads).At)
	})
}
