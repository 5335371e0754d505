package gnn

import (
	"slices"

	"capgnn/gpu"
	"capgnn/model"
)

// batch is what a batch_norm has besides γ, β and ε: mean and variance of a column are those of all vertices and, in
// evaluation, running ones.
//
// Method: rows are centred about the mean of their part. What devices sum up of these is offered to all parts, which
// make factors of columns of it (columns). Forward these are y = a⊙z + c, backward dx = a⊙dy + b⊙z + c: products with
// diagonal matrices. Sums of a product by columns, and of one of its factors, are those that EpilogueBackward makes
// for γ and β.
type batch struct {
	mean, variance string
	momentum       float64

	// In a pass:
	coef    *value // what the forward pass got of the parts
	back    *value // what the backward pass got
	columns *columns
}

// hops returns the reach of values. Sums over all vertices do not count: layers of a model that has one compute all
// rows.
func hops(p *model.Program) []int {
	q := *p
	q.Nodes = slices.Clone(p.Nodes)
	for i := range q.Nodes {
		switch n := &q.Nodes[i]; {
		case n.Op == model.BatchNorm:
			n.Op = model.LayerNorm
		case p.Reduces(i):
			n.Op = model.Fold
		}
	}
	return q.Reach()
}

// statistic returns the name of a running statistic of a batch_norm, which nothing but such a node may read.
func (f *fusion) statistic(i, k int) string {
	at := f.in(i, k)
	for r, n := range f.Nodes {
		for j, x := range n.In {
			f.refuse(r, x != at || n.Op == model.BatchNorm && j == k,
				"a running statistic of batch_norm is read: no other node may read one")
		}
	}
	return f.tensor(at, f.Nodes[i].Columns())
}

// Meetings returns how often parts meet in a training epoch to sum over all vertices, and how many bytes each of them
// offers there at most.
func (c Config) Meetings() (count, bytes int) {
	for _, cols := range c.batches {
		count, bytes = count+2, max(bytes, offerBytes(cols))
	}
	for _, cols := range c.sums {
		count, bytes = count+2, max(bytes, 4*cols)
	}
	return count, bytes
}

// AllRows reports whether layers of training compute the rows of all vertices, whatever the loss reads.
func (c Config) AllRows() bool { return len(c.batches) > 0 || c.SumsAll() }

// SumsAll reports whether the model sums over all vertices in evaluation, too.
func (c Config) SumsAll() bool { return len(c.sums) > 0 }

// AllSum returns the node of a program for which rows of all vertices meet in evaluation, too: a sum over them, else
// their number; nil: there is none.
func (m *Model) AllSum() (found *model.Node) {
	reach := m.Program.Reach()
	for i := range m.Program.Nodes {
		switch n := &m.Program.Nodes[i]; {
		case reach[i] < 0 || n.Op == model.BatchNorm:
		case m.Program.Reduces(i):
			return n
		case n.Op == model.Const && n.What == model.VertexNum:
			found = n
		}
	}
	return found
}

// running reports whether a tensor is a running statistic or is read behind stops alone. Its gradient is 0, so that
// update
// rules leave it alone.
func (m *Model) runs(name string) bool { return slices.Contains(m.running, name) }

// findBatches notes the columns of sums and norms over all vertices, and the latter's running statistics.
func (c *Model) findBatches(nodes []*node) {
	for _, n := range nodes {
		if n.whole != nil {
			c.sums = append(c.sums, n.cols)
		}
		if n.then != nil && n.then.batch != nil {
			c.batches = append(c.batches, n.cols)
			c.running = append(c.running, n.then.batch.mean, n.then.batch.variance)
		}
	}
}

// part returns vector k of a value that is several of so many elements.
func (v *value) part(k, n int) gpu.Vec { return v.v.Slice(k*n, (k+1)*n) }

// rowOf views a vector as a matrix of one row.
func rowOf(v gpu.Vec) gpu.Matrix {
	return gpu.Matrix{Buf: v.Buf, Off: v.Off, Rows: 1, Cols: v.Len, LD: max(1, v.Len)}
}

// batchNorm appends the norm of a node's sum, and what follows it.
func (d *derivation) batchNorm(n *node) {
	t, b, z, cols := n.then, n.then.batch, n.z, n.cols
	b.columns = newColumns(cols, t.eps, b.momentum)
	y, rstd := d.value(z.rows, cols, gpu.FP32), d.value(z.rows, 0, gpu.FP32)
	offer := d.value(number(offers*cols+rowWords), 0, gpu.FP32)
	b.coef = d.value(number(len(b.columns.out[0])/4), 0, gpu.FP32)
	mean, variance := rowOf(d.vec(d.params, b.mean)), rowOf(d.vec(d.params, b.variance))
	gamma, beta := d.vec(d.params, t.gamma), d.vec(d.params, t.beta)
	run := func(x *exec) {
		z := x.present(*z.m)
		sum, centre := offer.part(offerSum, cols), offer.part(offerCentre, cols)
		squares := rowOf(offer.part(offerSquares, cols))
		if x.training() {
			x.q.ColSum(sum, z, 0)
			x.q.Axpby(rowOf(centre), -1/float32(max(1, z.Rows)), rowOf(sum), 0)
			x.q.Fill(rowOf(sum), 0)
			x.q.Fill(squares, 0)
		} else {
			x.q.Axpby(rowOf(centre), -1, mean, 0)
			x.q.Fill(rowOf(sum), 0)
			x.q.Copy(squares, variance)
		}
		x.q.Copy(rowOf(offer.part(offerGamma, cols)), rowOf(gamma))
		x.q.Copy(rowOf(offer.part(offerBeta, cols)), rowOf(beta))
		x.q.HeadMean(z, z, centre) // of one head: it adds the vector
		if !x.training() {
			b.meet(x, 0, offer, z.Rows, b.columns.running)
			return
		}
		x.q.Copy(rowOf(offer.part(offerMean, cols)), mean)
		x.q.Copy(rowOf(offer.part(offerVariance, cols)), variance)
		x.columnSums(n, z, x.present(*y.m), rstd, offer)
		b.meet(x, 0, offer, z.Rows, b.columns.forward)
		x.q.Copy(mean, rowOf(b.vector(0, coefMean, cols)))
		x.q.Copy(variance, rowOf(b.vector(0, coefVariance, cols)))
	}
	d.op(list(z), list(z, y, rstd, offer, b.coef), run)
	d.met = append(d.met, run)
	n.h = y
	d.normed(n, y, true)
	if t := d.outType(n); t != gpu.FP32 && n.add == nil {
		n.h = d.rounded(y, t)
	}
}

// rounded appends a copy of rows in another type.
func (d *derivation) rounded(v *value, t gpu.DType) *value {
	y := d.value(v.rows, v.cols, t)
	d.op(list(v), list(y), func(x *exec) { x.q.Copy(*y.m, *v.m) })
	return y
}

// normed appends y = a⊙z + c and, with all, what follows the norm, in place.
func (d *derivation) normed(n *node, y *value, all bool) {
	t, z, b := n.then, n.z, n.then.batch
	d.op(list(z, b.coef), list(y), func(x *exec) {
		then := &gpu.Epilogue{Z: *y.m, H: *y.m, Act: t.act, Dropout: x.dropped(t, y.m.Rows)}
		if !all || then.Act == gpu.NoActivation && then.Dropout.P == 0 {
			then = nil
		}
		x.scaleColumns(b, 0, gpu.LinearArgs{Z: *y.m, X: *z.m, Then: then})
	})
}

// vector returns one of those that the device gets in a pass.
func (b *batch) vector(pass, k, cols int) gpu.Vec {
	v := []*value{b.coef, b.back}[pass].v
	return v.Slice(v.Len-(coefs-k)*cols, v.Len-(coefs-k-1)*cols)
}

// scaleColumns makes a.Z = a.X·A + a.X2·B + c of the diagonal matrices that the device has got in a pass, and what
// follows, block by block of their columns.
func (x *exec) scaleColumns(b *batch, pass int, a gpu.LinearArgs) {
	cols := a.Z.Cols
	width, c := min(cols, blockColumns), b.vector(pass, coefC, cols)
	factors := []*value{b.coef, b.back}[pass].v
	for lo := 0; lo < cols; lo += width {
		hi := min(lo+width, cols)
		block := gpu.LinearArgs{Z: a.Z.ColRange(lo, hi), X: a.X.ColRange(lo, hi), Bias: c.Slice(lo, hi)}
		block.W = gpu.Matrix{Buf: factors.Buf, Off: factors.Off + lo*width, Rows: hi - lo, Cols: hi - lo, LD: width}
		if pass == 1 {
			block.X2, block.W2 = a.X2.ColRange(lo, hi), block.W
			block.W2.Off += cols * width
		}
		if width == cols { // masks of dropout count columns from the first on
			block.Then = a.Then
		}
		x.q.Linear(block)
	}
	if a.Then != nil && width < cols {
		x.q.Epilogue(*a.Then)
	}
}

// columnSums adds Σ g⊙z and Σ g by columns to the squares and the sums of an offer. It writes to scratch.
func (x *exec) columnSums(n *node, g, scratch gpu.Matrix, rstd, offer *value) {
	r := rstd.v.Slice(0, g.Rows)
	x.q.Fill(rowOf(r), 0)
	x.q.EpilogueBackward(gpu.EpilogueGrad{DH: g, X: x.present(*n.z.m), DZ: scratch, Norm: true,
		Gamma: x.params.vec(n.then.gamma), Beta: x.params.vec(n.then.beta), Rstd: r,
		DGamma: offer.part(offerSquares, n.cols), DBeta: offer.part(offerSum, n.cols)})
}

// meet has the parts make factors of what they offer in a pass, and brings them to the device.
func (b *batch) meet(x *exec, pass int, offer *value, rows int, f func(parts [][]byte)) {
	own, to := b.columns.own[pass], []*value{b.coef, b.back}[pass]
	for k, n := range []int{rows / rowUnit, rows % rowUnit} {
		x.q.Fill(number1(offer.v.Slice(offer.v.Len-rowWords+k, offer.v.Len)), float32(n))
	}
	x.q.Download(own, offer.v.Buf, 4*gpu.Bytes(offer.v.Off))
	if x.training() {
		x.meet(own, f)
	} else {
		x.alone(own, f)
	}
	x.q.Upload(to.v.Buf, 4*gpu.Bytes(to.v.Off), b.columns.out[pass])
}

// meet has f run with what all parts offer.
func (x *exec) meet(own []byte, f func(parts [][]byte)) {
	if x.meeter != nil {
		x.meeter.Meet(x.q, own, f)
		return
	}
	x.alone(own, f)
}

// alone has f run with what this part offers.
func (x *exec) alone(own []byte, f func(parts [][]byte)) {
	x.q.Call("sum over all vertices", func() error {
		f([][]byte{own})
		return nil
	})
}

// centred reports whether a norm over all vertices alone reads a node, in a sum: what is added to all rows changes
// nothing.
func (n *node) centred() bool {
	if len(n.readers) != 1 || n.readers[0].then == nil || n.readers[0].then.batch == nil || n.readers[0].add == n {
		return false
	}
	terms := n.readers[0].terms
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t term) bool {
		return t.x == n && (t.graph || t.w != "" || t.gain != "") || t.own != nil && t.own.x == n
	})
}

// batchNormBack appends the gradient of what follows a node's sum, and returns that of the sum. That of a bias before
// the norm, which changes nothing, is 0.
func (d *derivation) batchNormBack(n *node) *value {
	t, b, z, g, cols := n.then, n.then.batch, n.z, n.grad.v, n.cols
	curved := t.act != gpu.NoActivation || t.p > 0
	if d.remade(n) || curved {
		y := d.value(z.rows, cols, gpu.FP32)
		if d.normed(n, y, false); d.remade(n) {
			n.again, n.shows = y, y
		}
		if curved {
			dy := d.value(z.rows, cols, gpu.FP32, g)
			from := g
			d.op(list(from, y), list(dy, y), func(x *exec) {
				x.q.EpilogueBackward(gpu.EpilogueGrad{DH: *from.m, X: *y.m, DZ: *dy.m, H: *y.m, Act: t.act,
					Dropout: x.dropped(t, dy.m.Rows)})
			})
			g = dy
		}
	}
	dz, rstd := d.value(z.rows, cols, gpu.FP32), d.value(z.rows, 0, gpu.FP32)
	offer := d.value(number(2*cols+rowWords), 0, gpu.FP32)
	b.back = d.value(number(len(b.columns.out[1])/4), 0, gpu.FP32)
	dgamma, dbeta := d.vec(d.Pass.grads, t.gamma), d.vec(d.Pass.grads, t.beta)
	turn := func(x *exec) {
		g, z, dz := x.present(*g.m), x.present(*z.m), x.present(*dz.m)
		x.q.Fill(rowOf(*offer.v), 0)
		x.columnSums(n, g, dz, rstd, offer)
		b.meet(x, 1, offer, z.Rows, b.columns.backward)
		x.q.Axpby(rowOf(dgamma), 1, rowOf(b.vector(1, coefGamma, cols)), 1)
		x.q.Axpby(rowOf(dbeta), 1, rowOf(offer.part(offerSum, cols)), 1)
		x.scaleColumns(b, 1, gpu.LinearArgs{Z: dz, X: g, X2: z})
	}
	d.op(list(g, z), list(dz, rstd, offer, b.back), turn)
	d.met = append(d.met, turn)
	if t := d.gradType(n); t != gpu.FP32 {
		return d.rounded(dz, t)
	}
	return dz
}
