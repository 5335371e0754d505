package profiler

import (
	"math"
	"math/rand/v2"
	"slices"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// density is the share of entries of the sparse operand (paper §3.4: 99.6 % sparse).
const density = 0.004

// entries returns the number of entries of the sparse operand.
func entries(n int) int { return max(1, int(math.Round(density*float64(n)*float64(n)))) }

// operandBytes returns what all operands of size n need on a device: three dense matrices and the sparse one.
func operandBytes(n int) gpu.Bytes {
	return 3*4*gpu.Bytes(n)*gpu.Bytes(n) + 8*gpu.Bytes(entries(n)) + 8*gpu.Bytes(n+1)
}

// operands are the matrices of one size on one device: c = a·b and c = s·b.
type operands struct {
	dev     gpu.Device
	n       int
	q       gpu.Queue
	a, b, c gpu.Matrix
	s       gpu.CSR
	bufs    []gpu.Buffer
}

// dense allocates the dense operands and fills a and b.
func (o *operands) dense() error {
	o.q = o.dev.NewQueue("profile")
	for _, m := range []*gpu.Matrix{&o.a, &o.b, &o.c} {
		buf, err := o.alloc(4 * o.n * o.n)
		if err != nil {
			return err
		}
		*m = gpu.Matrix{Buf: buf, Rows: o.n, Cols: o.n, LD: o.n}
		o.q.Fill(*m, 0.5)
	}
	return o.q.Sync()
}

// load overwrites a and b with values, which hold n×n numbers, and uploads the sparse operand. Arithmetic on constants
// draws less power, and a GPU may run faster on it than it ever will in training.
func (o *operands) load(values []float32) error {
	for _, m := range []gpu.Matrix{o.a, o.b} {
		o.q.Upload(m.Buf, 0, hostmem.Bytes(values))
	}
	indptr, indices := randomCSR(o.n, entries(o.n))
	ptr, err := o.alloc(8 * len(indptr))
	if err != nil {
		return err
	}
	idx, err := o.alloc(4 * len(indices))
	if err != nil {
		return err
	}
	val, err := o.alloc(4 * len(indices))
	if err != nil {
		return err
	}
	o.q.Upload(ptr, 0, hostmem.Bytes(indptr))
	o.q.Upload(idx, 0, hostmem.Bytes(indices))
	o.q.Upload(val, 0, hostmem.Bytes(values[:len(indices)]))
	rows := gpu.Array[int64]{Buf: ptr, Len: o.n + 1}
	o.s = gpu.CSR{
		Rows: o.n, Cols: o.n, Begin: rows.Slice(0, o.n), End: rows.Slice(1, o.n+1),
		Indices: gpu.Ints{Buf: idx, Len: len(indices)}, Val: gpu.Vec{Buf: val, Len: len(indices)}, Entries: int64(len(indices)),
	}
	return o.q.Sync()
}

func (o *operands) alloc(bytes int) (gpu.Buffer, error) {
	buf, err := o.dev.Alloc(gpu.Bytes(bytes), "profile")
	if err == nil {
		o.bufs = append(o.bufs, buf)
	}
	return buf, err
}

// free waits for the queue and returns the memory to the device.
func (o *operands) free() error {
	var err error
	if o.q != nil {
		err = o.q.Sync()
	}
	for _, b := range o.bufs {
		b.Free()
	}
	o.bufs = nil
	return err
}

func (o *operands) mm() error {
	o.q.Gemm(gpu.GemmArgs{C: o.c, A: o.a, B: o.b})
	return o.q.Sync()
}

func (o *operands) spmm() error {
	o.q.Aggregate(gpu.AggregateArgs{Y: o.c, A: o.s, X: o.b})
	return o.q.Sync()
}

func (o *operands) idt() error {
	o.q.Copy(o.c, o.a)
	return o.q.Sync()
}

func (o *operands) h2d(host []byte) func() error {
	return func() error {
		o.q.Upload(o.a.Buf, 0, host)
		return o.q.Sync()
	}
}

func (o *operands) d2h(host []byte) func() error {
	return func() error {
		o.q.Download(host, o.a.Buf, 0)
		return o.q.Sync()
	}
}

// operandSeed is fixed: every profile multiplies the same numbers.
const operandSeed = 1

// randomValues returns k numbers in [-1, 1).
func randomValues(k int) []float32 {
	r := rand.New(rand.NewPCG(operandSeed, 0))
	v := make([]float32, k)
	for i := range v {
		v[i] = float32(int32(r.Uint32())) / (1 << 31)
	}
	return v
}

// randomCSR returns a square matrix of size n with k entries at uniformly random places, columns ascending in each row.
// Places may repeat, for k ≪ n² rarely.
func randomCSR(n, k int) (indptr []int64, indices []int32) {
	r := rand.New(rand.NewPCG(operandSeed, 1))
	indptr, indices = make([]int64, n+1), make([]int32, k)
	for range k {
		indptr[1+r.IntN(n)]++
	}
	for v := range n {
		indptr[v+1] += indptr[v]
		row := indices[indptr[v]:indptr[v+1]]
		for e := range row {
			row[e] = r.Int32N(int32(n))
		}
		slices.Sort(row)
	}
	return indptr, indices
}
