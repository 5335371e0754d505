package minibatch

import (
	"context"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/pipeline/layered"
)

// tables returns where the dense rows of layer 0 come from, ÂX first, which is still to be made; none: features are sparse, and stay so.
func (d *design) tables(p *learn.Problem, m gnn.Config) (list []table) {
	if d.sparse {
		return nil
	}
	cols := p.Features.Cols
	if d.sums {
		list = append(list, table{cols: cols})
		if !m.ReadsOwn() {
			return list
		}
	}
	if p.Features.Sparse() || p.Shards != nil {
		return append(list, table{cols: cols, of: p})
	}
	return append(list, table{cols: cols, data: p.Features.Dense})
}

func (d *design) evaluation(p *learn.Problem, o *Options) layered.Options {
	return layered.Options{Model: o.Model, Devices: o.Devices, Part: o.Part, Rows: d.scored, Scaling: d.scaling, WaitDeadline: o.WaitDeadline, ChunkBytes: d.chunk,
		Precomputed: o.readsSums(p), Fanout: o.EvalFanout, Shares: true, Storage: o.Storage}
}

// evaluate scores each split by exact logits, or estimates, and returns the loss of validation. It ends with ctx, within a chunk.
func (t *Trainer) evaluate(ctx context.Context) (learn.Metrics, error) {
	w, err := t.Crew.Weights(t.Weights)
	if err != nil {
		return learn.Metrics{}, err
	}
	if ctx.Err() != nil { // all ranks see it here, or none does
		return learn.Metrics{}, ctx.Err()
	}
	for _, w := range t.workers {
		if w.Device.Info().Kind == gpu.CPU {
			w.give()
		}
	}
	own := make([]learn.Evidence, len(t.workers))
	both, done := context.WithCancel(t.Hub.Context())
	defer done()
	if !t.o.Several() {
		defer context.AfterFunc(ctx, done)()
	}
	err = t.exact.Logits(both, w, func(ids []graph.NodeID, rows []float32) error { // of one part
		part := 0
		if t.o.Part != nil {
			part = int(t.o.Part[ids[0]]) - t.own().Lo
		}
		t.Task.Count(&own[part], ids, rows)
		return nil
	})
	if err != nil {
		return learn.Metrics{}, err
	}
	t.Received() // what travels to evaluate counts for no epoch
	m, err := t.Scores(own)
	m.Estimated = t.o.EvalFanout != nil
	return m, err
}

func (d *design) bounds(p *learn.Problem, o *Options) (layered.Bound, error) {
	return layered.Bounds(p, d.evaluation(p, o))
}
