package sim

import (
	"math"

	"capgnn/gpu"
)

// kernel is a kind of work that has a rate of its own.
type kernel uint8

const (
	stream     kernel = iota // reads and writes bytes in order
	gemmNN                   // rows × in times in × out
	gemmNT                   // the same, of a transposed weight
	gemmTN                   // in × out, summed over rows
	gather                   // entries × out columns, gathered rows summed up
	gatForward               // the same with attention
	gatByDst
	gatBySrc
	gatv2Forward // whose scores are sums over columns
	gatv2ByDst
	gatv2BySrc
	epilogue      // LayerNorm, activation, dropout
	fusedEpilogue // of rows that are in the cache; bytes: what it would read and write if they were not
	epilogueBackward
	softmax
	bce
	adam
	fills
	axpby
	colSum
	gatherRows // copies rows at random
)

// part is a share of an operation's work, of one kernel. Operations are one part or several (a product with its epilogue).
type part struct {
	kernel  kernel
	rows    int
	in, out int
	entries int64 // gather
	cols    int   // gather: rows of the matrix that is gathered from
	size    int   // gather: bytes of an element
	stride  int   // gather: bytes from one row to the next
	scaled  bool  // gather: rows are multiplied by factors of their own
	index   gpu.Buffer
	reuse   *reuse    // gather: how soon rows come again, nil: not known
	bytes   gpu.Bytes // read and written in order, without gathered rows and weights
	written gpu.Bytes // gather: of them, results
	spread  gpu.Bytes // of the memory that rows are read from or written to, if that is more than these rows
	turns   float64   // devices that take turns on the processor, whose rows are in its caches too; 0 = 1
}

// anywhere is the spread of what no cache near holds: it takes as long as of the largest matrices measured.
const anywhere = math.MaxInt64

// empty reports whether there is nothing to do.
func (p *part) empty() bool {
	switch p.kernel {
	case gemmNN, gemmNT:
		return p.rows == 0 || p.out == 0
	case gemmTN:
		return p.in == 0 || p.out == 0
	}
	return p.bytes == 0 && p.entries == 0
}

// size returns the size of matrices without gaps.
func size(ms ...gpu.Matrix) (n gpu.Bytes) {
	for _, m := range ms {
		n += gpu.Bytes(m.Rows) * gpu.Bytes(m.Cols) * gpu.Bytes(m.Type.Size())
	}
	return n
}

// streams is an operation that reads or writes matrices in order.
func streams(ms ...gpu.Matrix) []part { return passes(stream, ms...) }

// passes is streams for operations with rates of their own.
func passes(k kernel, ms ...gpu.Matrix) []part { return []part{{kernel: k, bytes: size(ms...)}} }

// apart is the bytes by which it matters what the caches still hold, if so many are touched at once.
func (p *part) apart(touched gpu.Bytes) float64 { return float64(touched) * max(1, p.turns) }

// product is rows × in times in × out with the bytes of its operands; the weight's are left out.
func product(k kernel, x gpu.Matrix, out int, z gpu.Bytes) part {
	return part{kernel: k, rows: x.Rows, in: x.Cols, out: out, bytes: size(x) + z}
}

// gathers is the product of a sparse matrix and rows of x: into y, which is read too if it is added to.
func gathers(k kernel, a gpu.CSR, x, y gpu.Matrix, add bool) part {
	p := part{kernel: k, rows: a.Stored(), out: x.Cols, entries: a.Entries, cols: a.Cols, size: x.Type.Size(),
		stride: x.LD * x.Type.Size(), index: a.Indices.Buf, scaled: !a.Val.Empty()}
	per := gpu.Bytes(4)
	if !a.Val.Empty() {
		per += 4
	}
	p.bytes = per * gpu.Bytes(a.Entries)
	if p.written = size(y); add {
		y.Rows = a.Stored()
		p.written = 2 * size(y)
	}
	p.bytes += p.written
	return p
}

// follows is an epilogue behind a product; none if e is nil.
func follows(e *gpu.Epilogue, z gpu.Matrix) []part {
	if e == nil {
		return nil
	}
	return []part{{kernel: fusedEpilogue, bytes: 3 * size(z), written: size(e.H)}}
}

// epilogueOf is an epilogue on its own.
func epilogueOf(e gpu.Epilogue) []part {
	p := part{kernel: epilogue, bytes: size(e.Z, e.H)}
	if e.Norm {
		p.bytes += size(e.Z) // written back
	}
	return []part{p}
}
