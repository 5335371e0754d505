package minibatch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
	"capgnn/pipeline/layered"
)

// BenchmarkEpoch is an epoch on one CPU device, as docs/bench/sampled.md compares it.
func BenchmarkEpoch(b *testing.B) {
	preset, _ := synth.FindPreset("reddit-like")
	preset, err := preset.Scaled(0.1)
	if err != nil {
		b.Fatal(err)
	}
	s, err := preset.Make(b.Context(), 1, synth.Options{})
	if err != nil {
		b.Fatal(err)
	}
	p := &learn.Problem{Graph: s.Graph, Loops: graph.LoopsRemoved, Features: learn.Features{Cols: s.Cols, Dense: s.Dense}, Labels: s.Labels, Classes: s.Classes}
	for v := range s.Labels {
		p.Train = append(p.Train, v%3 != 0)
	}
	for _, fan := range [][]int{{15, 10, 5}, {15, 10, sample.All}, {10, 25}, {10, sample.All}} {
		hidden := 256
		if len(fan) == 2 {
			hidden = 64
		}
		b.Run(fmt.Sprintf("%dx%d/%v", len(fan), hidden, fan), func(b *testing.B) {
			m := named.Model{Kind: named.SAGE, Layers: len(fan), Hidden: hidden, In: s.Cols, Out: s.Classes, Dropout: 0.5, Seed: 1}
			o := Options{
				Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.003}, Epochs: 1 + b.N},
				Devices:  devices(b, 1, host.Spec{Threads: 2}), Sampling: Sampling{BatchSize: 1024, Fanout: fan},
			}
			if o.Devices[0].Memory().Budget < 4<<30 {
				b.Log("memory", o.Devices[0].Memory().Budget)
			}
			var stop func()
			o.OnEpoch = func(e EpochStats) error {
				if e.Epoch == 0 {
					if path := os.Getenv("PROFILE"); path != "" {
						f, _ := os.Create(path)
						pprof.StartCPUProfile(f)
						stop = pprof.StopCPUProfile
					}
					b.ResetTimer()
				}
				c := e.Counts
				b.Logf("epoch %d: loss %.4f, %v, cpu %v, %d steps, %d edges, %d rows, sample %v stage %v upload %v compute %v wait %v; %v", e.Epoch, e.Loss, e.Train, c.CPU, c.Steps, c.Edges, c.Rows.Read,
					c.Time.Sample, c.Time.Stage, c.Time.Upload, c.Time.Compute, c.Time.Wait, e.Usage.Time)
				return nil
			}
			trained(b, p, o)
			if stop != nil {
				stop()
			}
		})
	}
}

// BenchmarkEvaluation is evaluation behind a sampled epoch of papers-like, in turn of all vertices (all), of what scores need (need), and of a sample of that (estimate): CPU-seconds of each,
// and of the epochs, as docs/bench/sampled.md compares them.
func BenchmarkEvaluation(b *testing.B) {
	preset, _ := synth.FindPreset("papers-like")
	preset, err := preset.Scaled(0.01)
	if err != nil {
		b.Fatal(err)
	}
	s, err := preset.Make(b.Context(), 1, synth.Options{})
	if err != nil {
		b.Fatal(err)
	}
	p := &learn.Problem{Graph: s.Graph, Loops: graph.LoopsRemoved, Features: learn.Features{Cols: s.Cols, Dense: s.Dense}, Labels: s.Labels, Classes: s.Classes}
	draw := rand.New(rand.NewPCG(1, 1))
	for range s.Labels {
		x, q := draw.Float64(), preset.Split
		p.Train, p.Val, p.Test = append(p.Train, x < q[0]), append(p.Val, x >= q[0] && x < q[0]+q[1]), append(p.Test, x >= q[0]+q[1] && x < q[0]+q[1]+q[2])
	}
	m := named.Model{Kind: named.SAGE, Layers: 3, Hidden: 256, In: s.Cols, Out: s.Classes, Dropout: 0.5, Seed: 1}
	o := Options{
		Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Epochs: 1000},
		Devices:  devices(b, 1, host.Spec{Threads: 1}), Sampling: Sampling{BatchSize: 1024, Fanout: []int{15, 10, sample.All}},
	}
	t, err := New(b.Context(), p, o)
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	took := map[string]time.Duration{}
	timed := func(what string, f func() error) {
		start := hostmem.ProcessorTime()
		if err := f(); err != nil {
			b.Fatal(what, err)
		}
		took[what] += hostmem.ProcessorTime() - start
	}
	need := t.exact
	for epoch := range b.N {
		timed("epoch", func() (err error) {
			for err == nil && t.state.Batch < t.roots.steps { // a stretch ends after some time
				err = t.Stretch(epoch, t.state.Batch, t.roots.steps)
			}
			return err
		})
		t.state.Batch = 0
		for _, what := range []string{"all", "need", "estimate"} {
			t.exact = need
			if what != "need" {
				o, d := t.o, t.design
				if what == "all" {
					d.scored = nil
				} else {
					o.EvalFanout = o.Sampling.Fanout
				}
				if t.exact, err = layered.New(b.Context(), p, d.evaluation(p, &o)); err != nil {
					b.Fatal(err)
				}
				if _, err := t.exact.Aggregated(b.Context()); err != nil { // made once in a run
					b.Fatal(err)
				}
			}
			var m learn.Metrics
			timed(what, func() (err error) { m, err = t.evaluate(b.Context()); return err })
			b.Logf("epoch %d, %s: %v %v %v", epoch, what, *m.Val, *m.Test, *m.ValLoss)
			if t.exact != need {
				t.exact.Close()
			}
		}
		t.exact = need
	}
	for what, d := range took {
		b.ReportMetric(d.Seconds()/float64(b.N), what+"-cpu-s/op")
	}
}
