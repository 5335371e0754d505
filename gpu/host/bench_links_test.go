package host

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"capgnn/gpu"
)

// BenchmarkLateCopies measures what copies over emulated links cost computations that they should be hidden behind: two
// devices of one thread behind 1 GiB/s multiply matrices; behind the first product of a round each copies 1 MiB from the
// other (0.98 ms), and waits for it behind the last. Times are medians per round. begin is from the event that the copy waits for
// until the copy runs, end from when it was due until its event fires; more is what a round takes beyond one without a copy.
// With relay, a goroutine waits for the event and enqueues the copy.
func BenchmarkLateCopies(b *testing.B) {
	const rounds, products = 10, 6
	for _, relay := range []bool{false, true} {
		b.Run(fmt.Sprintf("relay=%t", relay), func(b *testing.B) {
			p := newLateCopies(b, 448)
			processors := []int{2, 3, 4, 8}
			seen := make([]lateness, len(processors))
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
			for b.Loop() {
				for i, n := range processors { // in turns, as the machine is not always equally busy
					runtime.GOMAXPROCS(n)
					l := &seen[i]
					l.without = append(l.without, p.epoch(b, rounds, products, nil, relay))
					l.with = append(l.with, p.epoch(b, rounds, products, l, relay))
				}
			}
			b.ReportMetric(0, "ns/op")
			for i, n := range processors {
				l := &seen[i]
				b.Logf("%d processors: begin %4.0f us, end %4.0f us; a round %.2f ms, %+.2f ms more with a copy", n, median(l.begins), median(l.ends),
					median(l.without), median(l.with)-median(l.without))
			}
		})
	}
}

// lateness is what was seen: microseconds of copies, milliseconds of rounds.
type lateness struct{ begins, ends, without, with []float64 }

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// lateCopies is two devices that compute and copy.
type lateCopies struct {
	devices       [2]*Device
	compute, copy [2]*Queue
	a, c          [2]gpu.Matrix
	from, to      [2]gpu.Matrix
}

func newLateCopies(b *testing.B, side int) *lateCopies {
	p := new(lateCopies)
	for i := range p.devices {
		d, err := Open(Spec{Name: fmt.Sprintf("cpu:%d", i), Threads: 1, Memory: 64 << 20, Link: 1 << 30})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { d.Close() })
		matrix := func(rows, cols int) gpu.Matrix {
			buf, err := d.Alloc(gpu.Bytes(4*rows*cols), "matrix")
			if err != nil {
				b.Fatal(err)
			}
			return gpu.Matrix{Buf: buf, Rows: rows, Cols: cols, LD: cols}
		}
		p.devices[i] = d
		p.compute[i], p.copy[i] = d.NewQueue("compute").(*Queue), d.NewQueue("copy").(*Queue)
		p.a[i], p.c[i], p.from[i], p.to[i] = matrix(side, side), matrix(side, side), matrix(512, 512), matrix(512, 512)
		p.compute[i].Fill(p.a[i], 0.5)
		p.compute[i].Fill(p.from[i], 1)
	}
	return p
}

// epoch returns the milliseconds that a round of products takes, with copies if lateness is to be seen.
func (p *lateCopies) epoch(b *testing.B, rounds, products int, l *lateness, relay bool) float64 {
	start := time.Now()
	seen := make([]float64, 4*rounds)
	for k := range rounds {
		var ready [2]*event
		for i, q := range p.compute {
			q.Gemm(gpu.GemmArgs{C: p.c[i], A: p.a[i], B: p.a[i]})
			ready[i] = q.Record().(*event)
		}
		var arrived [2]gpu.Event
		for i := range p.compute {
			arrived[i] = ready[i]
			if l != nil {
				at := seen[4*k+2*i:]
				arrived[i] = p.copyAcross(i, ready[1-i], &at[0], &at[1], relay)
			}
		}
		for i, q := range p.compute {
			for range products - 1 {
				q.Gemm(gpu.GemmArgs{C: p.c[i], A: p.a[i], B: p.a[i]})
			}
			q.Wait(arrived[i])
		}
	}
	for i := range p.devices {
		if err := errors.Join(p.compute[i].Sync(), p.copy[i].Sync()); err != nil {
			b.Fatal(err)
		}
	}
	took := 1e3 * time.Since(start).Seconds() / float64(rounds)
	for i := 0; l != nil && i < len(seen); i += 2 {
		l.begins, l.ends = append(l.begins, seen[i]), append(l.ends, seen[i+1])
	}
	return took
}

// copyAcross copies from the other device to device i, and notes how late it begins and ends, in microseconds.
func (p *lateCopies) copyAcross(i int, ready *event, begin, end *float64, relay bool) gpu.Event {
	q, other := p.copy[i], p.devices[1-i]
	dst, src := p.to[i].Buf.(*block).mem, p.from[1-i].Buf.(*block).mem
	passed := make(chan struct{})
	enqueue := func() *event {
		q.transfer("CopyFrom", gpu.Usage{}, func(r time.Time) time.Time {
			*begin = 1e6 * time.Since(ready.due).Seconds()
			n := gpu.Bytes(copy(dst, src))
			return latest(other.link.book(fromDevice, n, r), p.devices[i].link.book(toDevice, n, r))
		})
		arrived := q.Record().(*event)
		q.transfer("look", gpu.Usage{}, func(r time.Time) time.Time {
			*end = 1e6 * time.Since(arrived.due).Seconds()
			return r
		})
		return arrived
	}
	if !relay {
		q.Wait(ready)
		return enqueue()
	}
	// Ends with the copy.
	go func() {
		<-ready.Done()
		<-enqueue().Done()
		close(passed)
	}()
	return signal(passed)
}
