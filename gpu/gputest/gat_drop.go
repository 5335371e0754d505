package gputest

import (
	"slices"

	"capgnn/gpu"
	"capgnn/internal/ref"
)

// edgeDrop is dropout of attention's weights in a case: nothing is dropped where p is 0.
type edgeDrop struct {
	p                float64
	sources, targets []int32 // ids
}

// dropped draws ids, and says that weights of the edges between them are dropped.
func (b *bench) dropped(sources, targets int) edgeDrop {
	const ids = 1<<31 - 1
	return edgeDrop{0.375, b.ints(sources, ids), b.ints(targets, ids)}
}

// scale is what weights that stay are multiplied by.
func (d edgeDrop) scale() float64 { return 1 / (1 - d.p) }

// settings returns those of an operation, without the ids.
func (d edgeDrop) settings() gpu.EdgeDropout {
	return gpu.EdgeDropout{P: d.p, Seed: 0x123456789abcdef0, Layer: 77, Epoch: 9}
}

// keep returns what the reference multiplies weights by.
func (d edgeDrop) keep() func(u, v, h int) float64 {
	if d.p == 0 {
		return nil
	}
	s := d.settings()
	return func(u, v, h int) float64 {
		words := gpu.Philox([4]uint32{uint32(d.sources[u]), uint32(d.targets[v]), gpu.EdgeStream(s.Layer, h), s.Epoch}, gpu.SeedKey(s.Seed))
		if words[h%4] < gpu.DropoutThreshold(d.p) {
			return 0
		}
		return d.scale()
	}
}

// toTargets are the settings of rows that are targets, whose sources from split on are those of the halo.
func (b *bench) toTargets(d edgeDrop, split int) gpu.EdgeDropout {
	if d.p == 0 {
		return gpu.EdgeDropout{}
	}
	s := d.settings()
	s.Rows, s.Inner, s.Halo = array(b, d.targets), array(b, d.sources[:split]), array(b, d.sources[split:])
	return s
}

// toSources are the settings of rows that are sources, whose targets from split on are those of the halo.
func (b *bench) toSources(d edgeDrop, split int) gpu.EdgeDropout {
	if d.p == 0 {
		return gpu.EdgeDropout{}
	}
	s := d.settings()
	s.Rows, s.Inner, s.Halo = array(b, d.sources), array(b, d.targets[:split]), array(b, d.targets[split:])
	return s
}

// dropHeads are numbers of heads and columns of each: one word of four, whole blocks of four, and those that are
// computed apart.
var dropHeads = [][2]int{{1, 1}, {3, 5}, {4, 16}, {8, 8}, {2, 32}, {11, 3}, {2, 68}, {1, 300}}

// dropping has cases drop weights.
func dropping(f func(b *bench, c gatCase, l layout)) func(b *bench, c gatCase, l layout) {
	return func(b *bench, c gatCase, l layout) {
		c.drop = b.dropped(c.att.T.Rows, c.inner.Rows)
		c.att.Keep = c.drop.keep()
		f(b, c, l)
	}
}

func droppingV2(f func(b *bench, c gatv2Case, l layout)) func(b *bench, c gatv2Case, l layout) {
	return func(b *bench, c gatv2Case, l layout) {
		c.drop = b.dropped(c.att.T.Rows, c.inner.Rows)
		c.att.Keep = c.drop.keep()
		f(b, c, l)
	}
}

func testGATDropout(b *bench) {
	b.gatCases(gatGraphs, dropHeads, dropping((*bench).gatAggregate))
	b.gatCases(gatGraphs, dropHeads, dropping((*bench).gatBackward))
}

func testGATv2Dropout(b *bench) {
	b.gatv2Cases(gatGraphs, dropHeads, droppingV2((*bench).gatv2Aggregate))
	b.gatv2Cases(gatGraphs, dropHeads, droppingV2((*bench).gatv2Backward))
}

// testDroppedAlike demands that a weight is dropped of one row of entries as of many, in any order: with all scores
// alike and rows of
// ones, a sum is the number of weights that stay.
func testDroppedAlike(b *bench) {
	a := b.random(9, 30, 12)
	c := b.gatCase(a, ref.CSR{Rows: a.Rows}, 5, 2)
	c.drop = b.dropped(a.Cols, a.Rows)
	one := func(m ref.Matrix, v float64) ref.Matrix {
		return ref.Map(m.Rows, m.Cols, func(int, int) float64 { return v })
	}
	c.att.T, c.att.S, c.att.D = one(c.att.T, 1), one(c.att.S, 0), one(c.att.D, 0)
	run := func(a ref.CSR) ref.Matrix {
		args := gpu.GATArgs{O: b.blank(a.Rows, 10, layout{}), LSE: b.blank(a.Rows, 5, layout{}), Inner: b.csr(a), T: b.put(c.att.T, layout{}),
			S: b.put(c.att.S, layout{}), D: b.put(c.att.D, layout{}), Slope: gatSlope, Drop: b.toTargets(c.drop, a.Cols), Hi: a.Rows}
		b.q.GATAggregate(args)
		return b.get(args.O)
	}
	want := run(a)
	back := ref.CSR{Rows: a.Rows, Cols: a.Cols}
	for v := range a.Rows {
		back.Begin = append(back.Begin, int64(len(back.Indices)))
		list := slices.Clone(a.Indices[a.Begin[v]:a.End[v]])
		slices.Reverse(list)
		back.Indices = append(back.Indices, list...)
		back.End = append(back.End, int64(len(back.Indices)))
	}
	b.near("O in the other order", run(back), want, 30, func(int, int) float64 { return 2 })
}
