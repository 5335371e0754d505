package profiler

import (
	"math/rand/v2"

	"capgnn/gpu"
)

// rank says when a case is measured: first what no table of operations does without, then what makes it right for most sizes,
// then what is left, in which costs change little on most machines.
type rank int

const (
	basic rank = iota
	usual
	rare
	ranks
)

// sized is a size of a case.
type sized struct {
	bytes int
	rank  rank
}

// Sizes of calibration. Footprints lie in the caches of one core, in one that cores share, and beyond both, on the machines
// of today; widths are those of classes, of hidden rows and of features, whose rows begin anywhere in a cache line.
var (
	streamSizes  = []sized{{64 << 10, rare}, {512 << 10, usual}, {2 << 20, basic}, {8 << 20, usual}, {32 << 20, usual}, {128 << 20, rare}}
	gemmSizes    = []sized{{2 << 20, basic}, {12 << 20, usual}, {64 << 20, rare}}
	gemmWidths   = []int{16, 64, 256, 602}
	gatherSizes  = []sized{{256 << 10, usual}, {1 << 20, basic}, {4 << 20, usual}, {12 << 20, basic}, {24 << 20, usual}, {64 << 20, usual}, {256 << 20, rare}}
	gatherWidths = []int{16, 64, 256}
	copySizes    = []sized{{4, basic}, {64 << 10, basic}, {1 << 20, usual}, {16 << 20, usual}}
)

const (
	gatherEntries = 1 << 17 // gathered rows per case
	gatherDegree  = 64      // of them per sum, so that sums cost little beside
	scaledBytes   = 4 << 20 // of what scaled rows are gathered from; one of gatherBytes
	calibrateRow  = 256     // columns of elementwise cases: the usual hidden width

	calibrateLogits = 32 // columns of losses
)

// calibrationCases lists what is measured of a rank, without times.
func calibrationCases(wanted rank) []OpTime {
	var cases []OpTime
	add := func(r rank, k OpTime) {
		if r == wanted {
			cases = append(cases, k)
		}
	}
	add(basic, OpTime{Op: "launch", Rows: 1, Out: 1})
	add(basic, OpTime{Op: "hop"})
	for _, s := range streamSizes {
		for _, k := range passes(s.bytes) {
			add(s.rank, k)
		}
	}
	for _, in := range gemmWidths {
		for _, out := range gemmWidths {
			for _, s := range gemmSizes {
				for _, op := range []string{"nn", "nt", "tn"} {
					add(s.rank, OpTime{Op: op, Rows: s.bytes / (4 * (in + out)), In: in, Out: out})
				}
			}
		}
	}
	for _, out := range gatherWidths {
		for _, s := range gatherSizes {
			add(s.rank, OpTime{Op: "sum", Rows: gatherEntries / gatherDegree, Entries: gatherEntries, Cols: s.bytes / (4 * out), Out: out})
		}
		add(usual, OpTime{Op: "scaled", Rows: gatherEntries / gatherDegree, Entries: gatherEntries, Cols: scaledBytes / (4 * out), Out: out})
		add(basic, OpTime{Op: "sum", Rows: 512, Entries: 512, Cols: (256 << 10) / (4 * out), Out: out}) // what a sum costs
	}
	for _, s := range copySizes {
		for _, op := range []string{"upload", "download", "peer"} {
			add(s.rank, OpTime{Op: op, Bytes: s.bytes})
		}
	}
	return cases
}

// passes lists the operations that go over matrices of so many bytes in all.
func passes(bytes int) []OpTime {
	cases := []OpTime{{Op: "adam", Rows: 1, Out: bytes / 16}, {Op: "gather", Rows: bytes / (8 * calibrateRow), Cols: bytes / (8 * calibrateRow), Out: calibrateRow}}
	for _, s := range []struct {
		op     string
		arrays int
		out    int
	}{{"copy", 2, calibrateRow}, {"fill", 1, calibrateRow}, {"axpby", 2, calibrateRow}, {"colsum", 1, calibrateRow},
		{"epilogue", 2, calibrateRow}, {"epilogue_back", 2, calibrateRow}, {"softmax", 1, calibrateLogits}, {"bce", 1, calibrateLogits}} {
		cases = append(cases, OpTime{Op: s.op, Rows: bytes / (4 * s.out * s.arrays), Out: s.out})
	}
	return cases
}

// crosses reports whether what an operation takes is the device's own: its link's and its queues', not its kind's.
func (k *OpTime) crosses() bool {
	return k.Op == "launch" || k.Op == "hop" || k.Bytes > 0
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
			c.q.Epilogue(gpu.Epilogue{Z: z, H: h, Norm: true, Gamma: gamma, Beta: beta, Eps: 1e-5, Rstd: rstd, Act: gpu.ReLU, Dropout: drop})
		}
	}
	dgamma, dbeta, dbias := c.vec(k.Out), c.vec(k.Out), c.vec(k.Out)
	return func() {
		c.q.EpilogueBackward(gpu.EpilogueGrad{DH: h, X: z, DZ: h, H: z, Norm: true, Gamma: gamma, Beta: beta, Rstd: rstd, Act: gpu.ReLU,
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
