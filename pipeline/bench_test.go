package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph/dataset"
)

// sharedData returns a folder of published graphs, found through $CAPGNN_SHARED or beside the repository.
func sharedData(tb testing.TB, name string) string {
	tb.Helper()
	root := os.Getenv("CAPGNN_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "shared")
	}
	path := filepath.Join(root, "data", name)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("published graphs are not here: %v", err)
	}
	return path
}

func publishedProblem(tb testing.TB, name string, kind gnn.Kind) (*Problem, gnn.Config) {
	tb.Helper()
	d, err := dataset.Load(sharedData(tb, name), dataset.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { d.Close() })
	g := d.Graph.WithoutLoops()
	if kind == gnn.GCN || kind == gnn.GAT {
		g = g.WithLoops()
	}
	p := &Problem{Graph: g, Features: Features(d.Features), Labels: d.Labels, Targets: d.Targets, Classes: d.Classes,
		Train: d.Train, Val: d.Val, Test: d.Test}
	if p.Train == nil {
		if p.Train, p.Val, p.Test, err = dataset.Split(g.Rows(), d.Labels, 1, [3]float64{0.7, 0.2, 0.1}); err != nil {
			tb.Fatal(err)
		}
	}
	return p, gnn.Config{Kind: kind, Layers: 3, Hidden: 256, In: d.Features.Cols, Out: d.Classes, Heads: 4, Dropout: 0.5,
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
				b.Cleanup(func() { d.Close() })
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
