package pipeline

import (
	"context"
	"fmt"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/pipeline/layered"
)

// layers makes what isolated parts have layer by layer, before anything else is on the devices of this process: ÂX of the whole graph, which pairs take rows of,
// and where parts take turns the evaluator, which stays.
func (t *Trainer) layers(ctx context.Context) error {
	s := t.isolation
	if s == nil {
		return nil
	}
	evaluates := t.o.phased() && t.Options.Leads()
	sums := t.plan.Input == gnn.Precomputed && !t.workers[0].drops
	if !evaluates && !sums {
		return nil
	}
	if !evaluates {
		table, _, err := layered.Sums(ctx, s.p, t.layered(true))
		if err != nil {
			return fmt.Errorf("aggregate features: %w", err)
		}
		s.Table, s.ax = table, hostmem.Of[float32](table.Bytes())
		return nil
	}
	var err error
	if t.exact, err = layered.New(ctx, s.p, t.layered(false)); err != nil {
		return fmt.Errorf("prepare evaluation: %w", err)
	}
	if sums {
		if s.ax, err = t.exact.Aggregated(ctx); err != nil {
			return fmt.Errorf("aggregate features: %w", err)
		}
	}
	return nil
}

// layered returns the options of an evaluator. sums says that it makes ÂX alone.
//
// An evaluator of the first kind takes no more of a device than a part's rows of ÂX. One that stays beside pairs of
// chunks takes as much as their features and the rows of a layer, however many parts train at a time. Its order of
// operations and a range of vertices for each device are fixed, so its bits depend on neither.
func (t *Trainer) layered(sums bool) layered.Options {
	s, devices := t.isolation, t.o.Devices
	o := layered.Options{Model: t.o.Model, Precomputed: t.plan.Input == gnn.Precomputed, Scaling: &s.scale, WaitDeadline: t.o.WaitDeadline,
		Storage: t.o.Storage}
	o.Dense = s.p.Features.Sparse() && (s.stored == nil || o.Precomputed)
	chunk := 4 * gpu.Bytes(len(s.Train)/s.Course.Chunks)
	if sums {
		o.Devices, o.Part, o.ChunkBytes = devices, t.o.Part, chunk*gpu.Bytes(t.o.Model.In)
		return o
	}
	for _, d := range devices {
		if !slices.Contains(o.Devices, d) {
			o.Devices = append(o.Devices, d)
		}
	}
	o.AggregateFirst = true
	widest := 0
	for l := range t.o.Model.Layers {
		_, out := t.o.Model.Width(l)
		widest = max(widest, out)
	}
	o.ChunkBytes = max(leastChunk, 2*chunk*gpu.Bytes(t.o.Model.In+widest))
	if n := len(o.Devices); n > 1 {
		o.Part = make([]int32, len(s.Train))
		for v := range o.Part {
			o.Part[v] = int32(v * n / len(o.Part))
		}
	}
	return o
}

// leastChunk is what evaluation takes of a device at least: small graphs are evaluated in one piece.
const leastChunk = gpu.Bytes(1 << 20)

// layeredLogits is logits of parts that take turns: layer by layer, at rank 0 of the whole graph, and elsewhere of nothing.
func (t *Trainer) layeredLogits(count func(at int, ids []graph.NodeID, rows []float32)) error {
	if t.exact == nil {
		return nil
	}
	w, err := t.Crew.Weights(t.Weights)
	if err != nil {
		return err
	}
	return t.exact.Logits(t.Hub.Context(), w, func(ids []graph.NodeID, rows []float32) error {
		count(0, ids, rows)
		return nil
	})
}
