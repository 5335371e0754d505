package pipeline

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/gpu/sim"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
	"capgnn/rapa"
)

// linked returns two one-thread devices with emulated links.
func linked(b *testing.B, rate float64) []gpu.Device {
	b.Helper()
	var out []gpu.Device
	for i := range 2 {
		d, err := host.Open(host.Spec{Name: fmt.Sprintf("cpu:%d", i), Threads: 1, Link: rate})
		if err != nil {
			b.Fatal(err)
		}
		closeAfter(b, d)
		out = append(out, d)
	}
	return out
}

// phases is an epoch's time, and the mean of what a part spends in some phases.
type phases struct{ epoch, wait, transfer, pick, check time.Duration }

// epochs trains n epochs and returns their median time, with the mean times of a part.
func epochs(b *testing.B, tr *Trainer, n int) phases {
	b.Helper()
	var all []time.Duration
	var u gpu.Usage
	var check time.Duration
	for range n {
		e := nextEpoch(b, tr)
		all, u, check = append(all, e.Train), u.Add(e.Usage), check+e.CheckCache
	}
	slices.Sort(all)
	parts := time.Duration(n * len(tr.workers))
	return phases{all[len(all)/2], u.Time[gpu.PhaseWait] / parts, u.Time[gpu.PhaseTransfer] / parts, u.Time[gpu.PhasePick] / parts, check / time.Duration(n)}
}

// BenchmarkOverlap is an epoch without and with the pipeline on two one-thread devices, in turn, every row moving in every
// epoch. The links' rate is such that transfers take as long as all else. Without the pipeline a part of them is hidden
// inside the epoch already, so what an ideal pipeline reaches is 2 against the sum of both, less against the epoch without.
func BenchmarkOverlap(b *testing.B) {
	for _, kind := range []named.Kind{named.GCN, named.SAGE, named.GAT} {
		b.Run(string(kind), func(b *testing.B) {
			p, m := publishedProblem(b, "heterophilous/tolokers.npz", kind)
			plan, err := rapa.Partition(context.Background(), p.Graph, p.Train, rapa.Options{Method: "multilevel", Parts: 2, Seed: 1}, nil)
			if err != nil {
				b.Fatal(err)
			}
			set := func(rate float64, pipelined bool) *Trainer {
				return newTrainer(b, p, m, linked(b, rate), plan.Part, func(o *Options) {
					o.Epochs = 1 << 20
					if pipelined {
						o.Cache = halo.Options{Policy: jaca.JACA, Staleness: 1, Pipeline: true}
					}
				})
			}
			free := set(0, false)
			epochs(b, free, 3)
			compute := epochs(b, free, 9).epoch
			e := nextEpoch(b, free)
			rate := float64(e.Usage.Peer) / 2 / compute.Seconds()
			free.Close()
			off, on := set(rate, false), set(rate, true)
			epochs(b, off, 2)
			epochs(b, on, 2)
			for b.Loop() {
				var ratios []float64
				var x, y phases
				for range 9 {
					x, y = epochs(b, off, 3), epochs(b, on, 3)
					ratios = append(ratios, float64(x.epoch)/float64(y.epoch))
				}
				slices.Sort(ratios)
				b.Logf("rate %.2f GB/s; without links %v; off %v (wait %v, transfer %v), on %v (wait %v, transfer %v); ratios %.2f",
					rate/1e9, compute, x.epoch, x.wait, x.transfer, y.epoch, y.wait, y.transfer, ratios)
				b.ReportMetric(ratios[len(ratios)/2], "off/on")
				b.ReportMetric(2*float64(compute)/float64(y.epoch), "sum/on")
				b.ReportMetric(float64(y.wait)/float64(compute), "wait/transfer")
			}
		})
	}
}

// BenchmarkOverlapSimulated is the same on two simulated RTX 3090 whose links have such a rate, without noise; with rows that
// pass through the host too, where the link of a part carries them twice.
func BenchmarkOverlapSimulated(b *testing.B) {
	for _, kind := range named.Kinds {
		for _, peer := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/peer=%t", kind, peer), func(b *testing.B) {
				p, m := publishedProblem(b, "heterophilous/tolokers.npz", kind)
				plan, err := rapa.Partition(context.Background(), p.Graph, p.Train, rapa.Options{Method: "multilevel", Parts: 2, Seed: 1}, nil)
				if err != nil {
					b.Fatal(err)
				}
				epoch := func(rate float64, c halo.Options) *Simulation {
					clock := sim.NewClock()
					o := Options{
						Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}},
						Part:     plan.Part, Cache: c,
					}
					for i := range 2 {
						card, err := sim.FindCard("rtx3090")
						if err != nil {
							b.Fatal(err)
						}
						r := card.Rates()
						r.H2D, r.D2H, r.Peer = rate, rate, rate
						d, err := sim.Open(sim.Config{Name: fmt.Sprint("sim:", i), Clock: clock, Rates: r, Peer: peer})
						if err != nil {
							b.Fatal(err)
						}
						defer d.Close()
						o.Devices = append(o.Devices, d)
					}
					s, err := Simulate(context.Background(), p, o, nil)
					if err != nil {
						b.Fatal(err)
					}
					return s
				}
				for b.Loop() {
					free := epoch(1e15, halo.Options{})
					var most gpu.Bytes // on a direction of a link
					for _, u := range free.Parts {
						most = max(most, u.Peer, u.H2D, u.D2H)
					}
					rate := float64(most) / free.Epoch.Seconds()
					off := epoch(rate, halo.Options{})
					on := epoch(rate, halo.Options{Policy: jaca.JACA, Staleness: 1, Pipeline: true})
					b.ReportMetric(free.Epoch.Seconds()*1e3, "compute-ms")
					b.ReportMetric(off.Epoch.Seconds()*1e3, "off-ms")
					b.ReportMetric(on.Epoch.Seconds()*1e3, "on-ms")
					b.ReportMetric(2*free.Epoch.Seconds()/on.Epoch.Seconds(), "sum/on")
					slowest := slices.Index(on.Busy, slices.Max(on.Busy))
					b.ReportMetric(float64(on.Parts[slowest].Time[gpu.PhaseWait])/float64(free.Epoch), "wait/transfer")
				}
			})
		}
	}
}
