package pipeline

import (
	"context"
	"fmt"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
)

// emitter receives rows of some vertices, and must not keep them.
type emitter func(ids []graph.NodeID, rows []float32) error

// emit hands the rows of all parts to f, in their order: those of this process, and at rank 0 then those of the others, which they give it a chunk at a time.
func (t *Trainer) emit(ctx context.Context, out []gpu.Matrix, width int, f emitter) error {
	if !t.Joined {
		return t.emitOwn(ctx, out, f)
	}
	counts := make([]int, len(out))
	for i, m := range out {
		counts[i] = m.Rows
	}
	counts, err := trainer.Gather(&t.core, trainer.TagOutputs, counts)
	if err != nil {
		return err
	}
	if t.Options.Leads() {
		if err := t.emitOwn(ctx, out, f); err != nil {
			return err
		}
	}
	for part, rows := range counts {
		switch {
		case t.RankOf[part] == 0:
		case t.o.own().Has(part):
			err = t.worker(part).emit(ctx, out[part-t.o.First], t.giveOutputs)
		default:
			err = t.passOutputs(part, rows, width, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// emitOwn hands the rows of the parts of this process to f.
func (t *Trainer) emitOwn(ctx context.Context, out []gpu.Matrix, f emitter) error {
	for i, w := range t.workers {
		if err := w.emit(ctx, out[i], f); err != nil {
			return err
		}
	}
	return nil
}

// emitInTurns is rows and emit of parts that take turns: a part hands its rows to f in its last turn, behind the parts
// before it. Those have theirs without it, since the parts of a device come in their order.
func (t *Trainer) emitInTurns(ctx context.Context, o *PredictOptions, f emitter) error {
	emitted := make([]chan struct{}, len(t.workers))
	for i := range emitted {
		emitted[i] = make(chan struct{}, 1)
	}
	return t.each(func(w *worker) error {
		var out gpu.Matrix
		err := meet.Guard(func() {
			w.turns.run(ofEvaluation)
			if out = o.rows(w); w.At > 0 {
				meet.Receive(t.Hub, emitted[w.At-1], w.Index, w.Index-1, "to emit rows")
			}
		})
		if err == nil {
			err = w.Sync()
		}
		if err == nil {
			err = w.emit(ctx, out, f)
		}
		if err != nil {
			return err
		}
		w.turns.over()
		emitted[w.At] <- struct{}{}
		return nil
	})
}

// giveOutputs gives a chunk to rank 0: ids, then rows.
func (t *Trainer) giveOutputs(ids []graph.NodeID, rows []float32) error {
	_, err := t.Talk().Collect(t.Hub.Context(), trainer.TagOutputs, append(append([]byte(nil), hostmem.Bytes(ids)...), hostmem.Bytes(rows)...))
	return err
}

// passOutputs has a part of another rank give its rows to rank 0, which hands them to f.
func (t *Trainer) passOutputs(part, rows, width int, f emitter) error {
	step := max(1, emittedValues/width)
	for lo := 0; lo < rows; lo += step {
		all, err := t.Talk().Collect(t.Hub.Context(), trainer.TagOutputs, nil)
		if err != nil {
			return err
		}
		if !t.Options.Leads() {
			continue
		}
		n, b := min(step, rows-lo), all[t.RankOf[part]]
		if len(b) != 4*n*(1+width) {
			return fmt.Errorf("read predictions of part %d: rank %d sent %d bytes, not %d", part, t.RankOf[part], len(b), 4*n*(1+width))
		}
		ids, chunk := make([]graph.NodeID, n), make([]float32, n*width)
		copy(hostmem.Bytes(ids), b)
		copy(hostmem.Bytes(chunk), b[4*n:])
		for _, v := range ids {
			if v < 0 || int(v) >= len(t.o.Part) || int(t.o.Part[v]) != part {
				return fmt.Errorf("read predictions of part %d: rank %d sent vertex %d", part, t.RankOf[part], v)
			}
		}
		if err := f(ids, chunk); err != nil {
			return err
		}
	}
	return nil
}
