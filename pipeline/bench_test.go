package pipeline

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/internal/published"
	"capgnn/rapa"
)

func publishedProblem(tb testing.TB, name string, kind named.Kind) (*learn.Problem, named.Model) {
	tb.Helper()
	d, err := formats.Load(published.Path(tb, name), dataset.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	closeAfter(tb, d)
	g := d.Graph.WithoutLoops()
	if kind.AddsLoops() {
		g = g.WithLoops()
	}
	p := &learn.Problem{Graph: g, Features: learn.Features(d.Features), Labels: d.Labels, Targets: d.Targets, Classes: d.Classes,
		Train: d.Train, Val: d.Val, Test: d.Test}
	if p.Train == nil {
		if p.Train, p.Val, p.Test, err = dataset.Split(g.Rows(), d.Labels, 1, [3]float64{0.7, 0.2, 0.1}); err != nil {
			tb.Fatal(err)
		}
	}
	return p, named.Model{Kind: kind, Layers: 3, Hidden: 256, In: d.Features.Cols, Out: d.Classes, Heads: 4, Alpha: 0.3, Theta: 0.7, Dropout: 0.5,
		Multi: d.Targets != nil, Seed: 1}
}

// BenchmarkEpoch is a training epoch with the defaults of the program, on one device with two threads.
func BenchmarkEpoch(b *testing.B) {
	for _, name := range []string{"coauthor_physics", "coauthor_cs", "amazon_photo", "cora_ml"} {
		for _, kind := range named.Kinds {
			b.Run(fmt.Sprintf("%s/%s", name, kind), func(b *testing.B) {
				p, m := publishedProblem(b, name, kind)
				d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 2})
				if err != nil {
					b.Fatal(err)
				}
				closeAfter(b, d)
				tr := newTrainer(b, p, m, []gpu.Device{d}, make([]int32, p.Vertices()), nil)
				var u gpu.Usage
				var e EpochStats
				for b.Loop() {
					e = nextEpoch(b, tr)
					u = u.Add(e.Usage)
				}
				for _, ph := range []gpu.Phase{gpu.PhaseAggregation, gpu.PhaseMM, gpu.PhaseOther} {
					b.ReportMetric(float64(u.Time[ph].Milliseconds())/float64(b.N), ph.String()+"-ms/op")
				}
				b.ReportMetric(float64(e.Usage.SpMM), "entries×width/op")
			})
		}
	}
}

// BenchmarkPruned is an epoch of two trainers in turn, each with four one-thread devices: one exchanges everything, one does
// without half of the replicas. It reports their medians and the ratios to the first.
func BenchmarkPruned(b *testing.B) {
	for _, name := range []string{"coauthor_physics", "ppi"} {
		for _, kind := range named.Kinds {
			b.Run(fmt.Sprintf("%s/%s", name, kind), func(b *testing.B) { benchPruned(b, name, kind) })
		}
	}
}

func benchPruned(b *testing.B, name string, kind named.Kind) {
	const parts = 4
	p, m := publishedProblem(b, name, kind)
	plan, err := rapa.Partition(context.Background(), p.Graph, p.Train, rapa.Options{Method: "streaming", Parts: parts, Seed: 1}, nil)
	if err != nil {
		b.Fatal(err)
	}
	runs := []struct {
		name  string
		share float64 // of the replicas dropped
		tr    *Trainer
		ms    []float64
		last  EpochStats
	}{{name: "whole"}, {name: "half", share: 0.5}}
	for i := range runs {
		r := &runs[i]
		var devices []gpu.Device
		for range parts {
			d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1})
			if err != nil {
				b.Fatal(err)
			}
			closeAfter(b, d)
			devices = append(devices, d)
		}
		r.tr = newTrainer(b, p, m, devices, plan.Part, func(o *Options) {
			o.Dropped = dropReplicas(p.Graph, plan.Part, parts, r.share)
		})
	}
	for b.Loop() {
		for i := range runs {
			r := &runs[i]
			r.last = nextEpoch(b, r.tr)
			r.ms = append(r.ms, r.last.Train.Seconds()*1e3)
		}
	}
	for i := range runs {
		slices.Sort(runs[i].ms)
		ms := runs[i].ms[len(runs[i].ms)/2]
		gradients := 2 * 4 * len(runs[i].tr.Weights.Flat) * (parts - 1)
		b.ReportMetric(ms, runs[i].name+"-ms")
		b.ReportMetric(ms/runs[0].ms[len(runs[0].ms)/2], runs[i].name+"/whole")
		b.ReportMetric((float64(runs[i].last.Usage.Peer)-float64(gradients))/(1<<20), runs[i].name+"-halo-MiB")
	}
	b.ReportMetric(0, "ns/op")
}
