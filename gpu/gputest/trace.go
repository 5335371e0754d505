package gputest

import (
	"strings"
	"sync"
	"time"

	"capgnn/gpu"
)

// traceSlack bounds what a device's times may be off those of the host, and the rounding of differences: what it takes to hear of an event.
const traceSlack = 10 * time.Millisecond

// testTrace: a device that can be traced tells of what its queues do while it is, in the order of each queue, within the time, and of nothing before and after.
// The times of a phase add up to those that are counted.
func testTrace(b *bench) {
	dev, ok := b.dev.(gpu.Traced)
	if !ok {
		return
	}
	b.scene("operations", func(b *bench) {
		const n, cols = 400, 32
		l := layouts[0]
		x, y := b.put(b.normal(n, cols), l), b.blank(n, cols, l)
		w := b.put(b.normal(cols, cols), l)
		other := b.dev.NewQueue("other")
		work := func() {
			b.q.Gemm(gpu.GemmArgs{C: y, A: x, B: w})
			b.q.Axpby(y, 1, x, 1)
			b.q.Axpby(y, 1, x, 1)
			other.Wait(b.q.Record())
			other.Download(make([]byte, 4*n*cols), x.Buf, 0)
			b.sync()
			if err := other.Sync(); err != nil {
				b.Fatal(err)
			}
		}
		work()
		began := time.Now()
		clock := func() time.Duration { return time.Since(began) }
		if c, ok := b.dev.(gpu.Clocked); ok && c.Clock() != nil {
			clock = c.Clock().Now
		}
		from, before, beside := clock(), b.q.Usage(), other.Usage()
		var mu sync.Mutex
		told := map[string][]gpu.Span{}
		count := func() (all int) {
			mu.Lock()
			defer mu.Unlock()
			for _, list := range told {
				all += len(list)
			}
			return all
		}
		dev.Trace(began, func(s gpu.Span) {
			mu.Lock()
			defer mu.Unlock()
			queue := "other"
			if s.Queue != queue {
				queue = "q"
			}
			told[queue] = append(told[queue], s)
		})
		work()
		used := map[string]gpu.Usage{"q": b.q.Usage().Sub(before), "other": other.Usage().Sub(beside)}
		to := clock()
		dev.Trace(time.Time{}, nil)
		all := count()
		work()
		b.q.Usage()
		if count() != all {
			b.Errorf("%d spans are told of behind the end", count()-all)
		}
		for queue, list := range told {
			var sums [gpu.PhaseCount]time.Duration
			for i, s := range list {
				sums[s.Phase] += s.End - s.Start
				if s.End < s.Start || s.Start < from-traceSlack || s.End > to+traceSlack || i > 0 && s.Start < list[i-1].Start || s.Lane != list[0].Lane || s.Device != b.dev.Info().Name {
					b.Errorf("span %d of queue %s: %+v, traced from %v to %v", i, queue, s, from, to)
				}
			}
			for p, sum := range sums {
				if phase := gpu.Phase(p); phase != gpu.PhaseWait && (sum-used[queue].Time[p]).Abs() > traceSlack {
					b.Errorf("queue %s: %v of phase %v, %v are counted", queue, sum, phase, used[queue].Time[p])
				}
			}
		}
		ops := func(list []gpu.Span, phase gpu.Phase) (names []string, bytes gpu.Bytes) {
			for _, s := range list {
				if s.Phase == phase {
					names, bytes = append(names, s.Op), bytes+s.Bytes
				}
			}
			return names, bytes
		}
		if products, _ := ops(told["q"], gpu.PhaseMM); len(products) == 0 || !strings.HasPrefix(products[0], "Gemm") {
			b.Errorf("products: %q", products)
		}
		if sums, _ := ops(told["q"], gpu.PhaseReduce); len(sums) != 2 || !strings.HasPrefix(sums[1], "Axpby") {
			b.Errorf("sums: %q", sums)
		}
		if copies, bytes := ops(told["other"], gpu.PhaseTransfer); len(copies) == 0 || bytes != 4*n*cols {
			b.Errorf("copies: %q of %d bytes", copies, bytes)
		}
		b.get(y)
	})
}
