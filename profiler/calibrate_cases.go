package profiler

import (
	"math/rand/v2"

	"capgnn/gpu"
)

// Sizes of calibration. Footprints lie in the caches of one core, in one that cores share, and beyond both, on the machines
// of today; widths are those of classes, of hidden rows and of features, whose rows begin anywhere in a cache line.
var (
	streamBytes  = []int{64 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20, 128 << 20}
	gemmBytes    = []int{2 << 20, 12 << 20, 64 << 20}
	gemmWidths   = []int{16, 64, 256, 602}
	gatherBytes  = []int{256 << 10, 1 << 20, 4 << 20, 12 << 20, 24 << 20, 64 << 20, 256 << 20}
	gatherWidths = []int{16, 64, 256}
	copyBytes    = []int{4, 64 << 10, 1 << 20, 16 << 20}
)

const (
	gatherEntries = 1 << 17 // gathered rows per case
	gatherDegree  = 64      // of them per sum, so that sums cost little beside
	scaledBytes   = 4 << 20 // of what scaled rows are gathered from; one of gatherBytes
	calibrateRow  = 256     // columns of elementwise cases: DESIGN.md 3's hidden width
)

// calibrationCases lists what is measured, without times.
func calibrationCases() []OpTime {
	cases := []OpTime{{Op: "launch", Rows: 1, Out: 1}, {Op: "hop"}}
	add := func(k OpTime) { cases = append(cases, k) }
	for _, b := range streamBytes {
		for _, s := range []struct {
			op     string
			arrays int
		}{{"copy", 2}, {"fill", 1}, {"axpby", 2}, {"colsum", 1}, {"epilogue", 2}, {"epilogue_back", 2}, {"softmax", 1}, {"bce", 1}} {
			out := calibrateRow
			if s.op == "softmax" || s.op == "bce" {
				out = 32
			}
			add(OpTime{Op: s.op, Rows: b / (4 * out * s.arrays), Out: out})
		}
		add(OpTime{Op: "adam", Rows: 1, Out: b / 16})
		add(OpTime{Op: "gather", Rows: b / (8 * calibrateRow), Cols: b / (8 * calibrateRow), Out: calibrateRow})
	}
	for _, in := range gemmWidths {
		for _, out := range gemmWidths {
			for _, b := range gemmBytes {
				for _, op := range []string{"nn", "nt", "tn"} {
					add(OpTime{Op: op, Rows: b / (4 * (in + out)), In: in, Out: out})
				}
			}
		}
	}
	for _, out := range gatherWidths {
		for _, b := range gatherBytes {
			add(OpTime{Op: "sum", Rows: gatherEntries / gatherDegree, Entries: gatherEntries, Cols: b / (4 * out), Out: out})
		}
		add(OpTime{Op: "scaled", Rows: gatherEntries / gatherDegree, Entries: gatherEntries, Cols: scaledBytes / (4 * out), Out: out})
		add(OpTime{Op: "sum", Rows: 512, Entries: 512, Cols: (256 << 10) / (4 * out), Out: out}) // what a sum costs
	}
	for _, b := range copyBytes {
		for _, op := range []string{"upload", "download", "peer"} {
			add(OpTime{Op: op, Bytes: b})
		}
	}
	return cases
}

// bytes bounds what a case takes of the device.
func (k *OpTime) bytes() gpu.Bytes {
	var numbers int
	switch {
	case k.In > 0:
		numbers = k.Rows*(k.In+k.Out) + k.In*k.Out
	case k.Entries > 0:
		numbers = (k.Rows+k.Cols)*k.Out + 2*k.Rows + k.Entries
	default:
		numbers = 2*k.Rows*(k.Out+2) + 5*k.Out + k.Bytes/2
	}
	return gpu.Bytes(4*numbers + 4096)
}

// prepare makes the operands of a case and returns what is to be timed; nil if the device cannot do it.
func (c *calibration) prepare(k OpTime) func() {
	switch k.Op {
	case "nn", "nt", "tn":
		return c.product(k)
	case "sum", "scaled":
		return c.sum(k)
	case "hop", "upload", "download", "peer":
		return c.crossing(k)
	case "epilogue", "epilogue_back", "softmax", "bce":
		return c.rowwise(k)
	}
	m := c.matrix(k.Rows, k.Out)
	switch k.Op {
	case "launch", "fill":
		return func() { c.q.Fill(m, 1) }
	case "colsum":
		s := c.vec(k.Out)
		return func() { c.q.ColSum(s, m, 0) }
	case "adam":
		p, v, s := c.vec(k.Out), c.vec(k.Out), c.vec(k.Out)
		g := gpu.Vec{Buf: m.Buf, Len: k.Out}
		return func() {
			c.q.Adam(gpu.AdamArgs{Param: p, Grad: g, M: v, V: s, LR: 0.01, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Step: 2})
		}
	}
	dst := c.matrix(k.Rows, k.Out)
	switch k.Op {
	case "copy":
		return func() { c.q.Copy(dst, m) }
	case "axpby":
		return func() { c.q.Axpby(dst, 1, m, 1) }
	default:
		rows := place(c, randomRows(k.Rows, k.Cols))
		return func() { c.q.Gather(dst, m, rows) }
	}
}

func (c *calibration) product(k OpTime) func() {
	x, z := c.matrix(k.Rows, k.In), c.matrix(k.Rows, k.Out)
	switch k.Op {
	case "tn":
		w := c.matrix(k.In, k.Out)
		return func() { c.q.Gemm(gpu.GemmArgs{C: w, A: x, B: z, TransA: true, Beta: 1}) }
	case "nn":
		w := c.matrix(k.In, k.Out)
		return func() { c.q.Gemm(gpu.GemmArgs{C: z, A: x, B: w}) }
	}
	w := c.matrix(k.Out, k.In)
	return func() { c.q.Linear(gpu.LinearArgs{Z: z, X: x, W: w}) }
}

func (c *calibration) sum(k OpTime) func() {
	x, y := c.matrix(k.Cols, k.Out), c.matrix(k.Rows, k.Out)
	ptr := make([]int64, k.Rows+1)
	for i := range ptr {
		ptr[i] = int64(i) * int64(k.Entries) / int64(k.Rows)
	}
	p := place(c, ptr)
	a := gpu.CSR{Rows: k.Rows, Cols: k.Cols, Indices: place(c, randomRows(k.Entries, k.Cols)), Entries: int64(k.Entries)}
	if c.err != nil {
		return nil
	}
	a.Begin, a.End = p.Slice(0, k.Rows), p.Slice(1, k.Rows+1)
	args := gpu.AggregateArgs{Y: y, A: a, X: x}
	if k.Op == "scaled" {
		args.ColScale = c.vec(k.Cols)
	}
	return func() { c.q.Aggregate(args) }
}

// randomRows returns n numbers below below.
func randomRows(n, below int) []int32 {
	r := rand.New(rand.NewPCG(operandSeed, 2))
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = r.Int32N(int32(below))
	}
	return rows
}

func (c *calibration) rowwise(k OpTime) func() {
	z := c.matrix(k.Rows, k.Out)
	switch k.Op {
	case "softmax":
		labels := place(c, make([]int32, k.Rows))
		loss := gpu.Array[float64]{Buf: c.alloc(8), Len: 1}
		return func() { c.q.SoftmaxLoss(gpu.LossArgs{Logits: z, Grad: z, Labels: labels, Scale: 1, Loss: loss}) }
	case "bce":
		targets := place(c, make([]uint8, k.Rows*k.Out))
		loss := gpu.Array[float64]{Buf: c.alloc(8), Len: 1}
		return func() { c.q.BCELoss(gpu.LossArgs{Logits: z, Grad: z, Targets: targets, Scale: 1, Loss: loss}) }
	}
	h := c.matrix(k.Rows, k.Out)
	gamma, beta, rstd := c.vec(k.Out), c.vec(k.Out), c.vec(k.Rows)
	drop := gpu.Dropout{P: 0.5, IDs: place(c, randomRows(k.Rows, k.Rows))}
	if k.Op == "epilogue" {
		return func() {
			c.q.Epilogue(gpu.Epilogue{Z: z, H: h, Norm: true, Gamma: gamma, Beta: beta, Eps: 1e-5, Rstd: rstd, ReLU: true, Dropout: drop})
		}
	}
	dgamma, dbeta, dbias := c.vec(k.Out), c.vec(k.Out), c.vec(k.Out)
	return func() {
		c.q.EpilogueBackward(gpu.EpilogueGrad{DH: h, X: z, DZ: h, H: z, Norm: true, Gamma: gamma, Beta: beta, Rstd: rstd, ReLU: true,
			Dropout: drop, DGamma: dgamma, DBeta: dbeta, DBias: dbias})
	}
}

// crossing is a case between queues, or between host and device.
func (c *calibration) crossing(k OpTime) func() {
	host := make([]byte, k.Bytes)
	m := c.matrix(1, k.Bytes/4)
	switch k.Op {
	case "hop":
		return func() { // two of them, and two operations of nothing
			c.side.Wait(c.q.Record())
			c.q.Wait(c.side.Record())
		}
	case "upload":
		return func() { c.q.Upload(m.Buf, 0, host) }
	case "download":
		return func() { c.q.Download(host, m.Buf, 0) }
	}
	peer, ok := c.q.(gpu.PeerCopier)
	if !ok || !peer.CanCopyFrom(c.dev) {
		return nil
	}
	src := c.matrix(1, k.Bytes/4)
	return func() { peer.CopyFrom(m, src) }
}
