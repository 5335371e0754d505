package minibatch

import (
	"slices"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/internal/named"
	"capgnn/internal/trainer"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
)

// overlapping trains an epoch behind another one and returns how long its steps took, and what of that the links and the devices were busy. One by one, nothing of a step begins
// before the step before it is over.
func overlapping(b testing.TB, devices []gpu.Device, oneByOne bool) (step time.Duration, c Counts) {
	p, m := wide.make(b, named.SAGE)
	m.Hidden = 16
	part := make([]int32, p.Vertices())
	for v := range part {
		part[v] = int32(v % 2) // as much to fetch for the one as for the other
	}
	o := small(m, devices, part)
	defer func() {
		for _, d := range o.Devices {
			d.Close()
		}
	}()
	o.Sampling.BatchSize, o.Sampling.Fanout, o.Epochs, o.Sampling.Fetch = 512, []int{5, 3, 3}, 2, rowcache.Rules{}
	tr, err := New(b.Context(), p, o)
	if err != nil {
		b.Fatal(err)
	}
	defer tr.Close()
	var allowed []chan struct{} // by part: a token for each step
	allow := func(steps int) {
		for _, c := range allowed {
			for range steps {
				c <- struct{}{}
			}
		}
	}
	for i, w := range tr.workers {
		allowed = append(allowed, make(chan struct{}, o.Epochs*tr.roots.steps))
		fill := w.feed.fill
		w.feed.fill = func(s *sample.Sampler, d *sampledUnit, step int) error {
			<-allowed[i]
			return fill(s, d, step)
		}
	}
	for epoch := range o.Epochs {
		tr.state.Batch, tr.state.Partial = 0, trainer.Partial{}
		start := trainer.Now(tr.o.Devices)
		if oneByOne {
			for batch := range tr.roots.steps {
				allow(1)
				if err := tr.Stretch(epoch, tr.state.Batch, batch+1); err != nil {
					b.Fatal(err)
				}
			}
		} else {
			allow(tr.roots.steps)
			if err := tr.Stretch(epoch, tr.state.Batch, tr.roots.steps); err != nil {
				b.Fatal(err)
			}
		}
		step, c = (trainer.Now(tr.o.Devices)-start)/time.Duration(tr.roots.steps), tr.state.Partial.Counts
	}
	return step, c
}

// wide is a task of which little is neither fetched nor computed.
var wide = task{vertices: 12000, cols: 256}

// BenchmarkOverlap compares steps that overlap with steps one by one, where fetching and computing take about as long: devices compute slowly, by sleeping, and links are as slow.
func BenchmarkOverlap(b *testing.B) {
	spec := host.Spec{Slow: 44, Link: 16 << 20, Latency: 50 * time.Microsecond}
	var ratios []float64
	for range b.N {
		serial, c := overlapping(b, devices(b, 2, spec), true)
		overlapped, d := overlapping(b, devices(b, 2, spec), false)
		steps := time.Duration(2 * c.Steps)
		ratios = append(ratios, float64(serial)/float64(overlapped))
		b.Logf("one by one %v a step: fetch %.0f %%, compute %.0f %%; overlapped %v, in which fetching takes %v, computing %v: %.2f times as fast", serial, 100*float64(c.Time.Fetch/steps)/float64(serial), 100*float64(c.Time.Compute/steps)/float64(serial),
			overlapped, d.Time.Fetch/steps, d.Time.Compute/steps, ratios[len(ratios)-1])
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "times")
}
