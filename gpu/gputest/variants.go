package gputest

import (
	"fmt"
	"testing"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// RunVariants goes through what backends choose kernels by and Run does not combine: rows that are aligned for vectors, every
// width around and above what a vector, a group of lanes or a tile holds, rows with more entries than one thread group takes,
// and products of many tiles.
func RunVariants(t *testing.T, open func(t *testing.T) gpu.Device) {
	for _, v := range []struct {
		name string
		run  func(b *bench)
	}{
		{"SpMM", spmmVariants}, {"SpMMThen", spmmThenVariants}, {"GAT", gatVariants}, {"GATBackward", gatBackwardVariants},
		{"GATv2", gatv2Variants},
		{"Epilogue", epilogueVariants}, {"Gemm", gemmVariants},
	} {
		t.Run(v.name, func(t *testing.T) { v.run(newBench(t, open(t))) })
	}
}

// wideWidths are columns of sparse products: below, at and above 16, 32, 64, 128 and 256 elements, and several tiles.
var wideWidths = []int{4, 8, 16, 24, 32, 56, 64, 96, 128, 200, 256, 264, 512}

// reused is a matrix whose columns are read often, with a row that is longer than all others together.
func (b *bench) reused() ref.CSR {
	a := b.random(40, 20, 9)
	for range 2500 {
		a.Indices = append(a.Indices, int32(b.rng.IntN(20)))
	}
	a.End[len(a.End)-1] += 2500
	return a
}

func spmmVariants(b *bench) {
	graphs := b.graphs()
	graphs["reused"] = b.reused()
	for i, width := range wideWidths {
		for _, name := range []string{"reused", "listed", "valued"} {
			if name != "reused" && i%2 == 0 {
				continue
			}
			b.scene(fmt.Sprintf("%s_%d", name, width), func(b *bench) { b.spmmVariant(graphs[name], width, layouts[0]) })
		}
	}
	for _, s := range gapWidths {
		for _, name := range []string{"reused", "listed"} {
			b.scene(fmt.Sprintf("%s_%dof%d", name, s[0], s[1]), func(b *bench) {
				b.spmmVariant(graphs[name], s[0], layout{8, s[1] - s[0]})
			})
		}
	}
}

// gapWidths are columns that no vector divides, and strides: rows that are aligned because of the gap between them.
var gapWidths = [][2]int{{1, 8}, {7, 8}, {29, 32}, {41, 44}, {41, 48}, {47, 48}, {131, 136}, {300, 304}}

// spmmVariant runs a product of both element types, plain and with everything, and into bf16. In the gaps between X's rows
// lie numbers: those of Y would not show what is made of NaN.
func (b *bench) spmmVariant(a ref.CSR, width int, l layout) {
	dev := b.csr(a)
	for _, t := range types {
		wide := b.normal(a.Cols, width+l.pad)
		src := b.stored(wide, layout{l.off, 0}, t).ColRange(0, width)
		x := ref.Map(a.Cols, width, wide.At)
		for _, mode := range []int{0, 2, 7} {
			b.aggregate(a, dev, x, src, mode, l)
		}
		dst := b.blankOf(a.Rows, width, l, gpu.BF16)
		b.q.SpMM(dst, dev, src, 0)
		size := ref.Aggregate{A: absCSR(a), X: abs(x)}.Run()
		b.nearStored("Y", dst, ref.Aggregate{A: a, X: x}.Run(), longest(a)+1, size.At)
	}
}

func spmmThenVariants(b *bench) {
	for _, width := range []int{16, 32, 64, 104, 256, 264} {
		for _, t := range types {
			b.scene(fmt.Sprintf("%d_%v", width, t), func(b *bench) {
				b.aggregateThen(b.random(20, 15, 6), width, t, layouts[0])
			})
		}
	}
	listed := b.random(8, 15, 5)
	listed.Rows, listed.List = 20, every(8, 2, 3)
	b.scene("listed", func(b *bench) { b.aggregateThen(listed, 32, gpu.FP32, layouts[0]) })
	b.scene("29of32", func(b *bench) { b.aggregateThen(b.random(20, 15, 6), 29, gpu.FP32, layout{8, 3}) })
	b.scene("reused", func(b *bench) { b.aggregateThen(b.reused(), 64, gpu.FP32, layouts[0]) })
}

// wideHeads are numbers of heads and columns of each: powers of two from one vector to a whole tile, more heads than lanes, and
// heads larger than a tile.
var wideHeads = [][2]int{{40, 4}, {5, 16}, {2, 64}, {3, 128}, {2, 256}, {1, 300}, {2, 12}}

// wideGraphs are a usual graph, and one whose rows are listed; the long rows of a third take time.
var wideGraphs = []string{"random", "ends"}

func gatVariants(b *bench) {
	b.gatCases(wideGraphs, wideHeads, (*bench).gatAggregate)
	b.gatCases([]string{"long"}, wideHeads[:3], (*bench).gatAggregate)
}

func gatBackwardVariants(b *bench) {
	b.gatCases(wideGraphs, wideHeads, (*bench).gatBackward)
	b.gatCases([]string{"long"}, wideHeads[:3], (*bench).gatBackward)
}

func gatv2Variants(b *bench) {
	for _, run := range []func(*bench, gatv2Case, layout){(*bench).gatv2Aggregate, (*bench).gatv2Backward} {
		b.gatv2Cases(wideGraphs, wideHeads, run)
		b.gatv2Cases([]string{"long"}, wideHeads[:3], run)
	}
}

func epilogueVariants(b *bench) {
	b.combinations(func(b *bench, c epilogueCase) {
		for i, s := range []shape{{40, 128}, {9, 300}, {5, 520}, {4, 1100}, {3, 4200}} {
			b.scene(fmt.Sprintf("%dx%d", s.rows, s.cols), func(b *bench) {
				l := layouts[i%2]
				b.epilogueForward(c, s, l)
				b.epilogueBackward(c, s, l, []string{"DZ apart", "DZ is bf16"}[i%2])
			})
		}
	})
}

func gemmVariants(b *bench) {
	for i, p := range [][3]int{{130, 140, 700}, {128, 128, 64}, {200, 60, 1100}, {33000, 132, 3}} {
		for _, trans := range [][2]bool{{false, false}, {false, true}, {true, false}} {
			b.scene(fmt.Sprintf("%dx%dx%d_%v_%v", p[0], p[1], p[2], trans[0], trans[1]), func(b *bench) {
				b.gemm(p, trans[0], trans[1], []float64{0, 0.5}[i%2], layouts[i%2])
			})
		}
	}
}
