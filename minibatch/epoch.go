package minibatch

import (
	"context"
	"fmt"
	"time"

	"capgnn/gpu"
	"capgnn/internal/checkpoint"
	"capgnn/internal/learn"
	"capgnn/internal/trainer"
)

// engine computes samples, in as many steps of an epoch as there are batches.
type engine struct{ *Trainer }

var _ trainer.Engine = engine{}

// Parts run so many steps, for about so long, before their losses are looked at: one that is no number ends the run
// then. On devices with a clock of their own steps alone count, so that their times do not depend on the host's.
const (
	longest = 256
	looks   = 10 * time.Second
)

// watch is what progress is counted from: when an epoch began, or the run went on inside it, and with which step.
type watch struct {
	epoch, since int
	began        time.Time
	edges        int64 // of the first part, but for those of the stretch under way
}

func (t engine) Stretch(epoch, from int) (lo, hi int) {
	lo, hi = from, t.roots.steps
	if i := t.roots.isolation; i != nil {
		lo, hi = i.stretch(epoch, from)
	}
	hi = min(hi, lo+longest)
	if every := t.Options.EverySteps; every > 0 {
		hi = min(hi, (lo/every+1)*every)
	}
	return lo, min(hi, t.roots.steps)
}

// Begin implements trainer.Engine: samplers and workers have what they need.
func (t engine) Begin(epoch, step int) error {
	if t.progressed.epoch != epoch {
		t.progressed = watch{epoch: epoch, since: step, began: time.Now()}
		t.p.ByRows(true)
	}
	if err := t.sample(epoch*t.roots.steps + step); err != nil {
		return err
	}
	return t.each((*worker).take)
}

func (t *Trainer) stretch(epoch, lo, hi int) *stretch {
	return &stretch{epoch: epoch, from: lo, next: lo, end: hi, ctx: t.Asked, consensus: t.consensus,
		first: epoch * t.roots.steps, scale: func(batch int) float64 { return t.scale(epoch, batch) }}
}

// Run implements trainer.Engine: it runs as many steps as begin before the run is asked to end.
func (t engine) Run(epoch, lo, hi int) (next int, stop bool, err error) {
	s := t.stretch(epoch, lo, hi)
	if trainer.ClockOf(t.Options.Devices) == nil {
		s.until = time.Now().Add(t.looks)
	}
	err = t.each(func(w *worker) error { return t.runPart(w, s) })
	return s.next, s.halted, err
}

func (t engine) Count(own []trainer.Record, lo, next int, done []trainer.Done) {
	own[0].Switch, t.switching = t.switching, 0
	for i, w := range t.workers {
		x, work, by := &own[i], w.counts, done[i]
		x.Loss = w.Losses((next - lo) * t.roots.units)
		if w.migrator != nil {
			x.Carried = by.Of(w.migrator.queue)
		}
		var rows gpu.Usage
		if w.rows != nil {
			rows = by.Of(w.rows)
		}
		compute, upload := by.Of(w.Compute), by.Of(w.prefetch).Time
		for phase, d := range compute.Time {
			if phase != int(gpu.PhaseWait) && phase != int(gpu.PhaseTransfer) {
				x.Computed += d
			}
		}
		work.Time.Compute += x.Computed
		work.Time.Upload += upload[gpu.PhaseTransfer] + upload[gpu.PhasePick]
		if w.fetcher != nil && w.fetcher.linked != nil { // its queue is some steps ahead, as many as there was time for
			x.Usage.Peer += w.linked - rows.Peer
		}
		work.Time.Fetch += rows.Time[gpu.PhaseTransfer]
		work.Time.Wait += compute.Time[gpu.PhaseWait]
		x.Work = work
		if s := t.roots.isolation; s != nil && lo == s.steps[s.phase(lo)] {
			x.Covered = append(x.Covered, w.stage.pair.covered)
		}
	}
	t.progressed.edges += t.workers[0].counts.Edges
}

// terms is what the roots of a step weigh in the loss.
func (t *Trainer) terms(epoch, batch int) float64 {
	return t.Task.Terms(t.roots.count(epoch, batch), t.roots.all(epoch*t.roots.steps+batch))
}

func (t *Trainer) scale(epoch, batch int) float64 {
	if terms := t.terms(epoch, batch); terms > 0 {
		return 1 / terms
	}
	return 0
}

// Share implements trainer.Engine: as many as the step has roots, or their part of what all weigh.
func (t engine) Share(epoch, batch int) float64 {
	return t.terms(epoch, batch) * float64(t.roots.total) / t.weighs
}

func (t engine) Diverged(epoch, step int, loss float64) error {
	return &Diverged{Epoch: epoch, Step: step, Loss: loss}
}

func (t engine) Describe(epoch int, e *EpochStats) {
	if i := t.roots.isolation; i != nil {
		trainer.Describe(&i.Course, epoch, e)
	}
	e.TimeSteps = t.roots.units - t.state.Merging.of(epoch)
}

func (t engine) Evaluate(ctx context.Context) (learn.Metrics, error) {
	t.p.ByRows(false) // it reads all of them in order
	t.progressed.epoch = noEpoch
	return t.evaluate(ctx)
}

// noEpoch is before the first epoch, or behind one.
const noEpoch = -1

func (t engine) Over(e *EpochStats) {
	t.state.Merging.over(e.Epoch, e.Train)
	t.roots.merge(t.state.Merging)
}

func (t engine) Complete(r *Result) {
	if m := &t.state.Merging; m.most > 0 {
		kept := m.kept()
		r.Merged = &kept
	}
}

func (t engine) State() any { return &t.state }

// Save implements trainer.Engine: what row caches remember lies in sections.
func (t engine) Save(c *checkpoint.File) ([]trainer.Held, error) { return nil, t.save(c) }

func (t engine) Restore(c *checkpoint.File, _ []byte) error {
	return t.take(c)
}

func (t engine) Where() string {
	return fmt.Sprintf("epoch %d: weights after step %d", t.state.Epochs, t.state.Batch)
}
