package profiler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// Sample is some rows of a sparse matrix of ones, stored in the order in which they are computed.
type Sample struct {
	Indptr  []int64 // rows + 1
	Indices []int32 // each in [0, Cols)
	Cols    int
}

// gatherRounds is how often each sample is timed at most; the median of an odd number is one of them. One round is enough
// if its ratio is outside of gatherClear: on a loaded machine rounds of one pair differed by up to a tenth.
const gatherRounds = 5

var gatherClear = [2]float64{0.9, 1.3}

// CompareGathers times sums over the rows of two samples, gathered from a matrix of width columns of the given
// element type, on one device. It returns how many times as fast b is as a: the ratio of median seconds. Samples
// alternate, so that other load on the machine affects both.
func CompareGathers(ctx context.Context, dev gpu.Device, a, b Sample, width int, storage gpu.DType) (speedup float64, err error) {
	g := &gathers{dev: dev, q: dev.NewQueue("gather")}
	defer func() {
		if freed := g.free(); err == nil {
			err = freed
		}
	}()
	if err := g.load([]Sample{a, b}, width, storage); err != nil {
		return 0, fmt.Errorf("measure gathers on %s: %w", dev.Info().Name, err)
	}
	if _, err := g.time(ctx, 1); err != nil { // a device's first sum takes longer
		return 0, err
	}
	var times [2][]float64
	for range gatherRounds {
		for i := range times {
			seconds, err := g.time(ctx, i)
			if err != nil {
				return 0, err
			}
			times[i] = append(times[i], seconds)
		}
		if first := times[0][0] / times[1][0]; first < gatherClear[0] || first > gatherClear[1] {
			break
		}
	}
	for _, t := range times {
		slices.Sort(t)
	}
	return times[0][len(times[0])/2] / times[1][len(times[1])/2], nil
}

// gathers is the operands of CompareGathers on a device.
type gathers struct {
	dev  gpu.Device
	q    gpu.Queue
	x, y gpu.Matrix
	a    []gpu.CSR
	bufs []gpu.Buffer
}

// time returns the seconds that the sums over the rows of sample i take.
func (g *gathers) time(ctx context.Context, i int) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	start := time.Now()
	g.q.Aggregate(gpu.AggregateArgs{Y: g.y.RowRange(0, g.a[i].Rows), A: g.a[i], X: g.x})
	if err := g.q.Sync(); err != nil {
		return 0, fmt.Errorf("measure gathers: %w", err)
	}
	return time.Since(start).Seconds(), nil
}

func (g *gathers) load(samples []Sample, width int, storage gpu.DType) error {
	rows, cols := 0, 0
	for _, s := range samples {
		rows, cols = max(rows, len(s.Indptr)-1), max(cols, s.Cols)
		ptr, err := g.upload(hostmem.Bytes(s.Indptr))
		if err != nil {
			return err
		}
		idx, err := g.upload(hostmem.Bytes(s.Indices))
		if err != nil {
			return err
		}
		p := gpu.Array[int64]{Buf: ptr, Len: len(s.Indptr)}
		n := len(s.Indptr) - 1
		g.a = append(g.a, gpu.CSR{Rows: n, Cols: s.Cols, Begin: p.Slice(0, n), End: p.Slice(1, n+1),
			Indices: gpu.Ints{Buf: idx, Len: len(s.Indices)}, Entries: int64(len(s.Indices))})
	}
	for _, m := range []struct {
		to    *gpu.Matrix
		rows  int
		dtype gpu.DType
	}{{&g.x, cols, storage}, {&g.y, rows, gpu.FP32}} {
		buf, err := g.alloc(gpu.Bytes(m.dtype.Size()) * gpu.Bytes(m.rows) * gpu.Bytes(width))
		if err != nil {
			return err
		}
		*m.to = gpu.Matrix{Buf: buf, Rows: m.rows, Cols: width, LD: width, Type: m.dtype}
	}
	// Any bits that make a number will do; 0x3f3f… is 0.747 in both types. The result's memory is touched, too.
	const chunk = 1 << 20
	pattern := slices.Repeat([]byte{0x3f}, chunk)
	for _, buf := range []gpu.Buffer{g.x.Buf, g.y.Buf} {
		for off := gpu.Bytes(0); off < buf.Size(); off += chunk {
			g.q.Upload(buf, off, pattern[:min(chunk, buf.Size()-off)])
		}
	}
	return g.q.Sync()
}

func (g *gathers) upload(b []byte) (gpu.Buffer, error) {
	buf, err := g.alloc(gpu.Bytes(len(b)))
	if err == nil && len(b) > 0 {
		g.q.Upload(buf, 0, b)
	}
	return buf, err
}

func (g *gathers) alloc(n gpu.Bytes) (gpu.Buffer, error) {
	buf, err := g.dev.Alloc(n, "gather sample")
	if err == nil {
		g.bufs = append(g.bufs, buf)
	}
	return buf, err
}

// free waits for the queue and returns the memory to the device.
func (g *gathers) free() error {
	err := g.q.Sync()
	for _, b := range g.bufs {
		b.Free()
	}
	return err
}
