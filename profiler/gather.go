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

// gatherRounds is how often each sample is timed; the median of an odd number is one of them.
const gatherRounds = 5

// CompareGathers times sums over the rows of each sample, gathered from a matrix of width columns of the given
// element type, on one device. Samples alternate, so that other load on the machine affects all of them. It returns
// the median seconds of each.
func CompareGathers(ctx context.Context, dev gpu.Device, samples []Sample, width int, storage gpu.DType) (seconds []float64, err error) {
	g := &gathers{dev: dev, q: dev.NewQueue("gather")}
	defer func() {
		if freed := g.free(); err == nil {
			err = freed
		}
	}()
	if err := g.load(samples, width, storage); err != nil {
		return nil, fmt.Errorf("measure gathers on %s: %w", dev.Info().Name, err)
	}
	times := make([][]float64, len(samples))
	for round := range gatherRounds + 1 {
		for i := range samples {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			start := time.Now()
			g.q.Aggregate(gpu.AggregateArgs{Y: g.y.RowRange(0, g.a[i].Rows), A: g.a[i], X: g.x})
			if err := g.q.Sync(); err != nil {
				return nil, fmt.Errorf("measure gathers: %w", err)
			}
			if round > 0 { // the first one touches the memory
				times[i] = append(times[i], time.Since(start).Seconds())
			}
		}
	}
	for _, t := range times {
		slices.Sort(t)
		seconds = append(seconds, t[len(t)/2])
	}
	return seconds, nil
}

// gathers is the operands of CompareGathers on a device.
type gathers struct {
	dev  gpu.Device
	q    gpu.Queue
	x, y gpu.Matrix
	a    []gpu.CSR
	bufs []gpu.Buffer
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
	// Any bits that make a number will do; 0x3f3f… is 0.747 in both types.
	const chunk = 1 << 20
	pattern := slices.Repeat([]byte{0x3f}, min(chunk, int(g.x.Buf.Size())))
	for off := gpu.Bytes(0); off < g.x.Buf.Size(); off += chunk {
		g.q.Upload(g.x.Buf, off, pattern[:min(chunk, g.x.Buf.Size()-off)])
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
