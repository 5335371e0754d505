package minibatch

import (
	"fmt"
	"os"
	"runtime/pprof"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/internal/learn"
	"capgnn/minibatch/sample"
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
			m := gnn.Config{Kind: gnn.SAGE, Layers: len(fan), Hidden: hidden, In: s.Cols, Out: s.Classes, Dropout: 0.5, Seed: 1}
			o := Options{Model: m, Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.003}, Epochs: 1 + b.N, Devices: devices(b, 1, host.Spec{Threads: 2}), Sampling: Sampling{BatchSize: 1024, Fanout: fan}}
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
