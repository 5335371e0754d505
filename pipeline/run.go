package pipeline

import (
	"context"
	"fmt"
	"time"

	"capgnn/graph"
	"capgnn/internal/checkpoint"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
	"capgnn/pipeline/chunks"
	"capgnn/pipeline/halo"
)

// engine computes whole parts, in one step of an epoch: isolated ones that take turns in a step for each phase.
type engine struct{ *Trainer }

var _ trainer.Engine = engine{}

// Stretch implements trainer.Engine: one phase.
func (t engine) Stretch(epoch, from int) (lo, hi int) {
	phases := t.phases()
	for from < phases && t.shareOf(epoch, from) == 0 {
		from++
	}
	return from, min(from+1, phases)
}

func (t engine) Begin(epoch, phase int) error { return t.hold(epoch, phase) }

func (t engine) Run(epoch, phase, next int) (int, bool, error) {
	err := t.runParts(epoch, phase)
	return next, t.Joined && t.Asked.Err() != nil, err
}

func (t engine) Count(own []trainer.Record, _, _ int, _ []trainer.Done) {
	own[0].Reduce = trainer.Now(t.o.Devices) - t.backwardDone()
	own[0].Switch, t.switching = t.switching, 0
	for i, w := range t.workers {
		r := &own[i]
		r.Loss = w.Losses(1)
		r.Halo, r.Checking = w.ep.TakeStats()
		if h := w.hold; h != nil {
			r.Covered = []chunks.Coverage{h.coverage}
			r.Copied, h.copied = h.copied, 0
		}
	}
}

func (t engine) Share(epoch, phase int) float64 { return t.shareOf(epoch, phase) }

func (t engine) Describe(epoch int, e *EpochStats) {
	if s := t.isolation; s != nil {
		trainer.Describe(&s.Course, epoch, e)
	}
	t.halo.EndEpoch(epoch)
}

func (t engine) Evaluate(context.Context) (learn.Metrics, error) { return t.evaluate() }

func (t engine) Over(*EpochStats) {}

func (t engine) Complete(r *Result) {
	r.Caches = t.halo.Caches()
	if t.isolation != nil {
		return // training reads none
	}
	for _, p := range t.layout.kept.Parts {
		r.HaloRows += int64(len(p.In.IDs))
		if t.o.Parts <= MaxPairParts {
			r.HaloPairs = append(r.HaloPairs, rowsByOwner(&p.In, t.o.Parts))
		}
	}
}

func (t engine) State() any { return &t.Trainer.State }

// Save implements trainer.Engine: halo rows lie in sections.
func (t engine) Save(c *checkpoint.File) ([]trainer.Held, error) {
	for _, w := range t.workers { // rows may be under way to the next epoch
		if err := w.Sync(); err != nil {
			return nil, err
		}
	}
	if err := t.halo.Save(c); err != nil {
		return nil, err
	}
	return t.holdings(c)
}

func (t engine) Restore(c *checkpoint.File, piece []byte) error {
	by := halo.Resuming{Each: func(f func(part int) error) error {
		return t.each(func(w *worker) error { return f(w.Index) })
	}}
	if t.Joined && t.Ages() {
		if err := t.resumeTogether(c, &by); err != nil {
			return err
		}
	}
	return t.halo.Restore(c, piece, by)
}

func (t engine) Where() string {
	return fmt.Sprintf("epoch %d: weights after its update", t.Trainer.State.Epochs-1)
}

func (t *Trainer) runParts(epoch, phase int) error {
	scale := t.isolation.shareOfTarget() / (t.terms * t.shareOf(epoch, phase))
	return t.each(func(w *worker) error { return t.trainPart(w, epoch, scale) })
}

// trainPart runs an epoch on one part, and waits for it.
func (t *Trainer) trainPart(w *worker, epoch int, scale float64) error {
	err := meet.Guard(func() {
		done := func(layer int) { t.Reduce.Done(w.At, layer) }
		if w.hold != nil && w.hold.idle {
			w.Clear()
			clear(w.LossHost)
			w.Pass.Absent(w.Compute)
			trainer.Idle(t.o.Model.Layers, done)
		} else {
			w.turns.run(ofTraining)
			w.runTrain(epoch, scale, done)
			w.turns.over()
		}
		w.backward = w.Compute.Record()
		if t.Joined { // Finish waits for other ranks
			w.Compute.Call("note the time", func() error {
				w.backwardAt = trainer.HostNow()
				return nil
			})
		}
		t.Reduce.Finish(w.At)
	})
	if err != nil {
		return err
	}
	if err := w.Waits.Await(w.backward); err != nil {
		return err
	}
	if !t.Joined {
		w.backwardAt = trainer.HostNow()
	}
	return w.finish()
}

// backwardDone returns when the last part had done its backward pass, in the time of now.
func (t *Trainer) backwardDone() time.Duration {
	last, clock := time.Duration(0), trainer.ClockOf(t.o.Devices)
	for _, w := range t.workers {
		at := w.backwardAt
		if clock != nil {
			at = clock.At(w.backward)
		}
		last = max(last, at)
	}
	return last
}

// MaxPairParts bounds the parts of which a result has every pair.
const MaxPairParts = 64

func rowsByOwner(b *graph.Block, parts int) []int64 {
	rows := make([]int64, parts)
	for k, o := range b.Owners.Parts {
		rows[o] = int64(b.Owners.At[k+1] - b.Owners.At[k])
	}
	return rows
}
