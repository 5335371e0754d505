package halo

import (
	"fmt"
	"strings"

	"capgnn/gnn"
	"capgnn/gpu"
)

// Encoding is what halo rows of training look like on their way between parts. They are kept and read as they are made.
type Encoding uint8

// The encodings.
const (
	FP32 Encoding = iota // as stored: no conversion
	BF16                 // rounded to nearest even; rows that are stored so travel as stored
	Int8                 // 8 bits per element, a scale per row and stochastic rounding, see gpu.PackArgs
	Int2                 // as Int8, in 2 bits and with an offset per row
)

var encodingNames = [...]string{"fp32", "bf16", "int8", "int2"}

func (e Encoding) String() string { return encodingNames[e] }

// ParseEncoding returns the encoding of that name.
func ParseEncoding(s string) (Encoding, error) {
	for e, name := range encodingNames {
		if s == name {
			return Encoding(e), nil
		}
	}
	return 0, fmt.Errorf("%q is not an encoding of halo rows, these are: %s", s, strings.Join(encodingNames[:], ", "))
}

// coding is the form of the rows of one exchange on their way: a number of 32-bit words each, in an FP32 matrix that is
// copied and decoded, nothing else. First come the encoded elements, padded to whole words, then the last columns of the row
// as float32.
//
// Why some columns are left alone: attention's backward rows end in d, L and g, of which α = exp(leaky(s+d) − L) is made.
// They are large beside the gradients that share their row, and so would be its int8 scale; and an error of L is a relative one
// of α.
type coding struct {
	as    Encoding // FP32: rows travel as stored, and nothing here applies
	exact int      // last columns, that are not encoded
}

// rowFormat is the form of a feature row on its whole way: as it is made, kept and read, and as it travels.
type rowFormat struct {
	width  int
	dtype  gpu.DType // as it is made and read
	coding coding    // on its way
}

// rowBytes is the size of n rows where they are kept.
func (t *rowFormat) rowBytes(n int) gpu.Bytes {
	return gpu.Bytes(t.dtype.Size()) * gpu.Bytes(t.width) * gpu.Bytes(n)
}

// codingOf returns how rows of a type travel.
func codingOf(as Encoding, stored gpu.DType, exact int) coding {
	if as == BF16 && stored == gpu.BF16 {
		as = FP32
	}
	return coding{as, exact}
}

// words returns the size of the encoded elements of a row of so many columns, without those that are left alone.
func (c coding) words(width int) int {
	n := width - c.exact
	if c.as == BF16 {
		return (n + 1) / 2
	}
	return gpu.PackedWords(n, c.bits(width))
}

// packed reports whether elements are packed by gpu.PackArgs, with draws that depend on the vertex.
func (c coding) packed() bool { return c.as >= Int8 }

// bits returns those of a packed element of a row of so many columns: 8 where 2 save no word.
func (c coding) bits(width int) int {
	if n := width - c.exact; c.as == Int2 && gpu.PackedWords(n, 2) < gpu.PackedWords(n, 8) {
		return 2
	}
	return 8
}

// wireRow returns the bytes of a row on its way, and in the global cache. Where rows are kept they have rowBytes.
func (t *rowFormat) wireRow() gpu.Bytes {
	if t.coding.as == FP32 {
		return t.rowBytes(1)
	}
	return 4 * gpu.Bytes(t.coding.words(t.width)+t.coding.exact)
}

// halfWord reports whether the encoded elements of a row end in half a word, which encode does not write.
func (t *rowFormat) halfWord() bool { return t.coding.as == BF16 && (t.width-t.coding.exact)%2 == 1 }

// wire returns n rows on their way, from the first one on, that lie one behind the other in a buffer.
func (t *rowFormat) wire(buf gpu.Buffer, first, n int) gpu.Matrix {
	m := gpu.Matrix{Buf: buf, Rows: n, Cols: t.width, Type: t.dtype}
	if t.coding.as != FP32 {
		m.Cols, m.Type = int(t.wireRow())/4, gpu.FP32
	}
	m.LD, m.Off = m.Cols, first*m.Cols
	return m
}

// encoded returns the encoded elements of rows on their way, and the columns behind them.
func (t *rowFormat) encoded(m gpu.Matrix) (head, tail gpu.Matrix) {
	n := t.coding.words(t.width)
	head, tail = m.ColRange(0, n), m.ColRange(n, m.Cols)
	if t.coding.as == BF16 {
		head = gpu.Matrix{Buf: m.Buf, Off: 2 * m.Off, Rows: m.Rows, Cols: t.width - t.coding.exact, LD: 2 * m.LD, Type: gpu.BF16}
	}
	return head, tail
}

// encode enqueues dst = rows of a matrix, listed by list or all of them if it is empty, on their way. ids are the vertices of the matrix. A row's bytes
// depend on its vertex, the exchange, the epoch and its elements only: so all readers get the same, whatever way it takes.
func (r *sender) encode(q gpu.Queue, dst, rows gpu.Matrix, list, ids gpu.Ints, epoch int) {
	if r.coding.as == FP32 {
		pick(q, dst, rows, list)
		return
	}
	head, tail := r.encoded(dst)
	from := rows.ColRange(0, r.width-r.coding.exact)
	if r.coding.packed() {
		q.PackRows(gpu.PackArgs{Bits: r.coding.bits(r.width), Dst: head, Src: from, Rows: list, IDs: ids, Seed: r.seed,
			Stream: gpu.PackStream(r.Layer, r.Dir == gnn.Backward), Epoch: uint32(epoch)})
	} else {
		pick(q, head, from, list)
	}
	if !tail.Empty() {
		pick(q, tail, rows.ColRange(r.width-r.coding.exact, r.width), list)
	}
}

// pick enqueues dst = rows of src, all of them if list is empty.
func pick(q gpu.Queue, dst, src gpu.Matrix, list gpu.Ints) {
	if list.Len == 0 {
		q.Copy(dst, src)
	} else {
		q.Gather(dst, src, list)
	}
}

// idsOf returns the original ids of this part's rows, as far as a matrix has them; none where no encoding asks.
func (r *sender) idsOf(rows gpu.Matrix) gpu.Ints {
	if !r.coding.packed() {
		return gpu.Ints{}
	}
	return r.vertices.Slice(0, rows.Rows)
}

// decode enqueues dst = rows that have arrived.
func (t *rowFormat) decode(q gpu.Queue, dst, src gpu.Matrix) {
	if t.coding.as == FP32 {
		q.Copy(dst, src)
		return
	}
	head, tail := t.encoded(src)
	into := dst.ColRange(0, t.width-t.coding.exact)
	if t.coding.packed() {
		q.UnpackRows(into, head, t.coding.bits(t.width))
	} else {
		q.Copy(into, head)
	}
	if !tail.Empty() {
		q.Copy(dst.ColRange(t.width-t.coding.exact, t.width), tail)
	}
}
