package minibatch

import (
	"context"
	"errors"
	"time"

	"gorgonia.org/tensor"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/layered"
	"capgnn/internal/learn"
)

// PredictOptions configures Predict and PredictRows.
type PredictOptions struct {
	Model        gnn.Config
	Weights      *gnn.Weights  // of Model; read-only
	Devices      []gpu.Device  // one part each, in order; a device may appear more than once
	Part         []int32       // part of every vertex; nil: there is one part
	Storage      gpu.DType     // as in Options: that of a run gives the logits that it evaluated
	WaitDeadline time.Duration // bounds every wait for a device; 0 = 5 minutes
}

// Predict runs the network over every vertex and all of its neighbours, without dropout and without labels or splits. It returns logits by vertex id, float32
// [vertices, outputs].
//
// Memory: devices hold a chunk of a part at a time, the host two tables of a layer's rows, and the result.
func Predict(ctx context.Context, p *learn.Problem, o PredictOptions) (*tensor.Dense, error) {
	width := o.Model.Out
	rows := make([]float32, p.Vertices()*width)
	err := PredictRows(ctx, p, o, func(ids []graph.NodeID, chunk []float32) error {
		for i, v := range ids {
			copy(rows[int(v)*width:], chunk[i*width:][:width])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return tensor.New(tensor.WithShape(p.Vertices(), width), tensor.WithBacking(rows)), nil
}

// PredictRows is Predict that passes rows to emit instead of keeping them: row i of a chunk belongs to vertex ids[i].
// Every vertex is emitted once. emit must not keep its slices. It runs on the caller's goroutine; its error ends the
// prediction.
func PredictRows(ctx context.Context, p *learn.Problem, o PredictOptions, emit func(ids []graph.NodeID, rows []float32) error) error {
	if o.Weights == nil {
		return errors.New("no weights to predict with")
	}
	d := design{sparse: p.Features.Sparse()}
	e, err := layered.New(ctx, p, d.evaluation(p, &Options{Model: o.Model, Devices: o.Devices, Part: o.Part, Storage: o.Storage, WaitDeadline: o.WaitDeadline}))
	if err != nil {
		return err
	}
	return errors.Join(e.Logits(ctx, o.Weights, emit), e.Close())
}
