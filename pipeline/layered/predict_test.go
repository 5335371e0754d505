package layered_test

import (
	"context"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/internal/learn"
	"capgnn/pipeline"
	"capgnn/pipeline/layered"
)

func init() { layered.Predicted = predicted }

// predicted returns the logits of pipeline.Predict.
func predicted(t testing.TB, p *learn.Problem, m gnn.Config, w *gnn.Weights) []float32 {
	t.Helper()
	d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	rows, err := pipeline.Predict(context.Background(), p, pipeline.PredictOptions{Model: m, Weights: w, Devices: []gpu.Device{d}, Part: make([]int32, p.Vertices())})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
