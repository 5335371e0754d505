package pipeline

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/internal/learn"
	"capgnn/internal/published"
	"capgnn/rapa"
)

func publishedProblem(tb testing.TB, name string, kind gnn.Kind) (*learn.Problem, gnn.Config) {
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
	return p, gnn.Config{Kind: kind, Layers: 3, Hidden: 256, In: d.Features.Cols, Out: d.Classes, Heads: 4, Alpha: 0.3, Theta: 0.7, Dropout: 0.5,
		Multi: d.Targets != nil, Seed: 1}
}

// BenchmarkEpoch is a training epoch with the defaults of the program, on one device with two threads.
func BenchmarkEpoch(b *testing.B) {
	for _, name := range []string{"coauthor_physics", "coauthor_cs", "amazon_photo", "cora_ml"} {
		for _, kind := range gnn.Kinds {
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
					e = EpochStats{Epoch: tr.state.Epochs}
					if err := tr.trainEpoch(&e); err != nil {
						b.Fatal(err)
					}
					tr.state.Epochs++
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

// BenchmarkSavings is a training epoch on two one-thread devices with all exact optimisations of docs/mathematics.md, with each of them
// switched off alone, and with none: docs/bench/savings.md.
func BenchmarkSavings(b *testing.B) {
	off := []struct {
		name string
		s    Savings
	}{
		{"all", Savings{}},
		{"no-precompute", Savings{NoPrecompute: true}},
		{"no-transform-first", Savings{NoTransformFirst: true}},
		{"no-sparse", Savings{NoSparse: true}},
		{"no-needed-rows", Savings{NoNeededRows: true}},
		{"no-fold-scale", Savings{NoFoldScale: true}},
		{"no-fuse", Savings{NoFuse: true}},
		{"no-reuse", Savings{NoReuse: true}},
		{"none", Savings{true, true, true, true, true, true, true}},
	}
	for _, name := range []string{"coauthor_physics", "ppi"} {
		for _, kind := range []gnn.Kind{gnn.GCN, gnn.SAGE} {
			for _, o := range off {
				b.Run(fmt.Sprintf("%s/%s/%s", name, kind, o.name), func(b *testing.B) { benchSavings(b, name, kind, o.s) })
			}
		}
	}
}

func benchSavings(b *testing.B, name string, kind gnn.Kind, s Savings) {
	p, m := publishedProblem(b, name, kind)
	plan, err := rapa.Partition(context.Background(), p.Graph, p.Train, rapa.Options{Method: "streaming", Parts: 2, Seed: 1}, nil)
	if err != nil {
		b.Fatal(err)
	}
	devices := make([]gpu.Device, 2)
	for i := range devices {
		d, err := host.Open(host.Spec{Name: fmt.Sprintf("cpu:%d", i), Threads: 1})
		if err != nil {
			b.Fatal(err)
		}
		closeAfter(b, d)
		devices[i] = d
	}
	tr := newTrainer(b, p, m, devices, plan.Part, func(o *Options) { o.Savings = s })
	var e EpochStats
	var ms []float64
	for b.Loop() {
		e = EpochStats{Epoch: tr.state.Epochs}
		if err := tr.trainEpoch(&e); err != nil {
			b.Fatal(err)
		}
		tr.state.Epochs++
		ms = append(ms, e.Train.Seconds()*1e3)
	}
	slices.Sort(ms)
	gradients := 2 * 4 * len(tr.weights.Flat) * (len(devices) - 1)
	b.ReportMetric(ms[len(ms)/2], "median-ms/epoch")
	b.ReportMetric(float64(e.Usage.SpMM)/1e6, "Mentries×width/epoch")
	b.ReportMetric((float64(e.Usage.Peer)-float64(gradients))/(1<<20), "halo-MiB/epoch")
	b.ReportMetric(float64(devices[0].Memory().HighWater+devices[1].Memory().HighWater)/(1<<20), "device-MiB")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPruned is an epoch of three trainers in turn, each with four one-thread devices: one exchanges everything, one does
// without half of the replicas, one of these does not rescale. It reports their medians and the ratios to the first.
func BenchmarkPruned(b *testing.B) {
	for _, name := range []string{"coauthor_physics", "ppi"} {
		for _, kind := range gnn.Kinds {
			b.Run(fmt.Sprintf("%s/%s", name, kind), func(b *testing.B) { benchPruned(b, name, kind) })
		}
	}
}

func benchPruned(b *testing.B, name string, kind gnn.Kind) {
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
	}{{name: "whole"}, {name: "half", share: 0.5}, {name: "half-not-rescaled", share: 0.5}}
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
			o.Dropped, o.NoRescale = dropReplicas(p.Graph, plan.Part, parts, r.share), i == 2
		})
	}
	for b.Loop() {
		for i := range runs {
			r := &runs[i]
			r.last = EpochStats{Epoch: r.tr.state.Epochs}
			if err := r.tr.trainEpoch(&r.last); err != nil {
				b.Fatal(err)
			}
			r.tr.state.Epochs++
			r.ms = append(r.ms, r.last.Train.Seconds()*1e3)
		}
	}
	for i := range runs {
		slices.Sort(runs[i].ms)
		ms := runs[i].ms[len(runs[i].ms)/2]
		gradients := 2 * 4 * len(runs[i].tr.weights.Flat) * (parts - 1)
		b.ReportMetric(ms, runs[i].name+"-ms")
		b.ReportMetric(ms/runs[0].ms[len(runs[0].ms)/2], runs[i].name+"/whole")
		b.ReportMetric((float64(runs[i].last.Usage.Peer)-float64(gradients))/(1<<20), runs[i].name+"-halo-MiB")
	}
	b.ReportMetric(0, "ns/op")
}
