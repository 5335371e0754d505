package minibatch

import (
	"fmt"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/hostmem"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
)

// small is a sampled run of some epochs whose steps differ in size. Its staged steps lie where the race detector sees them.
func small(m named.Model, devices []gpu.Device, part []int32) Options {
	return Options{
		Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Epochs: 3},
		Devices:  devices, Part: part, Lock: hostmem.LockOptions{Heap: true}, Sampling: Sampling{BatchSize: 32, Fanout: []int{4, 3, 2}},
	}
}

// What may not change a bit, for each choice of roots and their place: threads, samplers, how far they are ahead, links, a rerun.
func TestBitsDependOnNothingElse(t *testing.T) {
	for k, kind := range kinds(t) {
		for i, c := range append([]kindOfRoots{{}, {local: true}}, scattered()...) {
			if testing.Short() && i%len(kinds(t)) != k { // races depend on roots, not on what a layer computes
				continue
			}
			parts := min(3, 1+2*i)
			p, m := task{}.make(t, kind)
			part := homes(p.Vertices(), parts)
			want := ""
			try := func(name string, spec host.Spec, s Sampling) {
				o := small(m, devices(t, parts, spec), part)
				o.Sampling.Prefetch, o.Sampling.Samplers = s.Prefetch, s.Samplers
				c.set(&o.Sampling)
				o.Sampling.NoGather = s.NoGather
				if !kind.Attends() {
					o.Sampling.Fanout = []int{4, 3, sample.All}
				}
				got := trained(t, p, o).WeightsSHA
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s, %d parts, %+v: %s changed the weights", kind, parts, c, name)
				}
			}
			for threads := 1; threads <= 3; threads++ {
				for i, s := range []Sampling{{Prefetch: 1, Samplers: 1}, {Prefetch: 3, Samplers: 3}, {Prefetch: 3, Samplers: 1}, {Prefetch: 1, Samplers: 3}} {
					if i > 1 && c.place != Batch || (i+threads)%2 > 0 && !long.Wanted() {
						continue
					}
					try(fmt.Sprintf("%d threads, %+v", threads, s), host.Spec{Threads: threads}, s)
				}
			}
			try("a slow link", host.Spec{Link: 50e6, Latency: 200 * time.Microsecond}, Sampling{})
			try("a slow device", host.Spec{Slow: 3}, Sampling{})
			if c.place == Hop {
				try("rows unit by unit", host.Spec{}, Sampling{NoGather: true})
			}
		}
	}
}
