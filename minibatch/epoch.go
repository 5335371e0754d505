package minibatch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"capgnn/chunks"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/together"
	"capgnn/internal/trainer"
)

// state is what a run counts besides weights; it goes into checkpoints.
type state struct {
	fit.State[learn.Metrics]
	Batch   int     // steps done of the epoch that is not over: all of them until it has been evaluated and reported
	Partial partial // of them
	Totals  Totals
	Merging merging
	Caches  []snapshot // by part: of the run that this one goes on from; nil: rows were not kept
	best    *gnn.Weights
}

// partial is what is known of the epoch that is not over.
type partial struct {
	Counts
	Loss      learn.Number // times roots
	Train     time.Duration
	Parts     []gpu.Usage
	Computed  []time.Duration // by part
	Work      []Counts        // by part
	Gradients gpu.Usage
	Carried   gpu.Usage
	Norm      learn.Number    `json:",omitzero"`  // of gradients, summed over
	Norms     int             `json:",omitempty"` // so many steps
	Pairs     []together.Pair `json:",omitempty"` // what ranks have sent each other
	Meters    []gpu.Metered   `json:",omitempty"` // once the epoch has been trained
	// Of isolated parts: what those that have begun see, in their order, and what switching took.
	Covered []chunks.Coverage `json:",omitempty"`
	Switch  time.Duration     `json:",omitempty"`
}

// Parts run so many steps, for about so long, before their losses are looked at: one that is no number ends the run then. On devices with a clock of their own steps alone
// count, so that their times do not depend on the host's.
const (
	longest = 256
	looks   = 10 * time.Second
)

// watch is what progress is counted from: when the epoch began, or the run went on inside it, and with which step.
type watch struct {
	since int
	began time.Time
	edges int64 // of the first part, but for those of the stretch under way
}

// Run trains until the last epoch, until patience runs out, or until ctx ends: then the steps under way are finished, or the evaluation is left for later, a checkpoint is written, and
// Result.Stopped is "interrupted". A device fault ends the run with its error, a loss that is no number with *Diverged.
func (t *Trainer) Run(ctx context.Context) (*Result, error) {
	r := &Result{MetricName: string(t.design.task.Metric())}
	o := fit.Options{Epochs: t.o.Epochs, EvalEvery: t.o.EvalEvery, Patience: t.o.Patience, SaveEvery: t.o.CheckpointEvery,
		Schedule: t.o.Schedule, Rate: t.o.Optimizer.LR, OnTrain: t.o.OnTrain}
	if t.asked = ctx; t.o.several() { // all end behind the step in which one of them says that it has been asked to
		ctx, t.stop = context.WithCancel(context.WithoutCancel(ctx))
		defer t.stop()
	}
	if err := fit.Run(ctx, &fitter{t: t, r: r, ctx: ctx}, o, &t.state.State); err != nil {
		return nil, err
	}
	err := t.finish(r)
	t.over = err == nil && r.Stopped != fit.Interrupted
	return r, err
}

// fitter is a trainer in the epoch loop.
type fitter struct {
	t   *Trainer
	r   *Result
	ctx context.Context // of Run

	rate *float64 // by a schedule; nil: there is none
}

var _ fit.Trainer[EpochStats, learn.Metrics] = (*fitter)(nil)

// Train implements fit.Trainer. It goes on behind the steps of the epoch that have been done, all of them where its evaluation was interrupted.
func (f *fitter) Train(epoch int, e *EpochStats) (float64, error) {
	t, s := f.t, &f.t.state
	whole := s.Batch == 0
	t.p.ByRows(true)
	defer t.p.ByRows(false) // an evaluation reads all of them in order
	t.watch = watch{since: s.Batch, began: time.Now()}
	for s.Batch < t.roots.steps {
		end := min(t.roots.steps, s.Batch+longest)
		if i := t.roots.isolation; i != nil {
			if s.Batch, end = i.stretch(epoch, s.Batch); s.Batch == t.roots.steps {
				break
			}
			end = min(end, s.Batch+longest)
		}
		if every := t.o.CheckpointSteps; every > 0 {
			end = min(end, (s.Batch/every+1)*every)
		}
		if err := t.run(t.asked, epoch, end); err != nil {
			return 0, f.named(epoch, err)
		}
		if s.Batch < end {
			if f.ctx.Err() != nil {
				return 0, fit.ErrInterrupted
			}
			continue // time to look at the losses
		}
		if t.o.CheckpointSteps > 0 && end < t.roots.steps && end%t.o.CheckpointSteps == 0 {
			if err := f.Save(); err != nil {
				return 0, err
			}
		}
	}
	s.Partial.report(epoch, e)
	e.Rate = f.rate
	if i := t.roots.isolation; i != nil {
		e.Isolated = &SuperEpoch{Shift: i.shift(epoch), Phases: i.course.Count(), Switches: i.course.Switches(epoch),
			Switch: s.Partial.Switch, Coverage: chunks.Total(s.Partial.Covered)}
	}
	e.TimeSteps = t.roots.units - s.Merging.of(epoch)
	if whole {
		f.r.EpochTime = append(f.r.EpochTime, e.Train)
	}
	return e.Loss, nil
}

// named returns an error that names the epoch.
func (f *fitter) named(epoch int, err error) error {
	if late := new(meet.Late); errors.As(err, &late) { // it does
		return err
	}
	if bad := new(Diverged); errors.As(err, &bad) {
		return err
	}
	return fmt.Errorf("epoch %d: %w", epoch, err)
}

// run runs the steps of an epoch that have not been done, up to one, or as many of them as begin before ctx ends.
func (t *Trainer) run(ctx context.Context, epoch, end int) error {
	from := t.state.Batch
	s := &stretch{epoch: epoch, from: from, next: from, end: end, ctx: ctx, consensus: t.consensus, first: epoch * t.roots.steps, scale: func(batch int) float64 { return t.scale(epoch, batch) }}
	if trainer.ClockOf(t.o.Devices) == nil {
		s.until = time.Now().Add(t.looks)
	}
	if t.hub.Epoch = epoch; t.o.several() {
		t.o.Ranks.SetEpoch(uint32(epoch))
	}
	if err := t.sample(epoch*t.roots.steps + from); err != nil {
		return err
	}
	if err := t.each((*worker).take); err != nil {
		return err
	}
	m := meter{t}
	before := m.usages()
	start, cpu := trainer.Now(t.o.Devices), hostmem.ProcessorTime()
	if err := t.each(func(w *worker) error { return t.runPart(w, s) }); err != nil {
		return err
	}
	own := m.count(before, s.next-from)
	t.covered(own, from)
	own[0].Train, own[0].CPU = trainer.Now(t.o.Devices)-start, hostmem.ProcessorTime()-cpu
	norm, norms := t.reduce.TakeNorms()
	own[0].Norm, own[0].Norms, own[0].Pairs = learn.Number(norm), norms, t.received()
	if s.next == t.roots.steps && t.o.Meter != nil {
		own[0].Meters = t.o.Meter(epoch)
	}
	all, err := together.Gather(t.hub.Context(), t.talk(), tagSteps, own)
	if err != nil {
		return err
	}
	if s.halted {
		t.stop()
	}
	t.state.Partial.Steps += s.next - from
	t.watch.edges += t.workers[0].counts.Edges
	t.state.Partial.take(all)
	t.state.Batch = s.next
	return t.sumLoss(epoch, from, all)
}

// terms is what the roots of a step weigh in the loss.
func (t *Trainer) terms(epoch, batch int) float64 {
	return t.design.task.Terms(t.roots.count(epoch, batch), t.roots.all(epoch*t.roots.steps+batch))
}

// scale is that of the loss of a step.
func (t *Trainer) scale(epoch, batch int) float64 {
	if terms := t.terms(epoch, batch); terms > 0 {
		return 1 / terms
	}
	return 0
}

// rootsIn is what the loss of a step counts in that of an epoch: as many as its roots, or their part of what all weigh.
func (t *Trainer) rootsIn(epoch, batch int) float64 {
	return t.terms(epoch, batch) * float64(t.roots.total) / t.weighs
}

// losses returns those of some steps of a stretch, by step and unit.
func (w *worker) losses(n int) (all []learn.Number) {
	for k := range n {
		all = append(all, learn.Number(math.Float64frombits(binary.NativeEndian.Uint64(w.lossHost[8*k:]))))
	}
	return all
}

// sumLoss adds the losses of the steps from one on, in the order of steps, parts and units.
func (t *Trainer) sumLoss(epoch, from int, all []partSteps) error {
	units := t.roots.units
	for b := from; b < t.state.Batch; b++ {
		loss := 0.0
		for part := range all {
			for u := range units {
				loss += float64(all[part].Loss[(b-from)*units+u])
			}
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return &Diverged{Epoch: epoch, Step: b, Loss: loss}
		}
		t.state.Partial.Loss += learn.Number(loss * t.rootsIn(epoch, b))
	}
	return nil
}

// Diverged says that the training loss became NaN or infinite. The weights after that step are useless; the last
// checkpoint is from before.
type Diverged struct {
	Epoch, Step int
	Loss        float64 // NaN or infinite
}

func (e *Diverged) Error() string {
	return fmt.Sprintf("epoch %d: loss of step %d is %v: try a lower learning rate, or look for extreme features or edge weights", e.Epoch, e.Step, e.Loss)
}

// finish fills in what a result says about the whole run.
func (t *Trainer) finish(r *Result) error {
	s := &t.state
	r.Epochs, r.FinalLoss, r.Best, r.Last, r.BestEpoch, r.Stopped = s.Epochs, s.Loss, s.Best, s.Last, s.BestEpoch, s.Stopped
	r.Totals = s.Totals
	if s.Merging.most > 0 {
		kept := s.Merging.kept()
		r.Merged = &kept
	}
	var err error
	if r.Weights, err = t.crew.Weights(t.weights); err != nil {
		return err
	}
	r.BestWeights, r.WeightsSHA = s.best, r.Weights.SHA256()
	if r.BestWeights == nil {
		r.BestWeights = r.Weights
	}
	host, err := hostmem.PeakRSS()
	if err != nil {
		return err
	}
	type peak struct{ Device, Host gpu.Bytes }
	var own []peak
	for _, w := range t.workers {
		own = append(own, peak{w.Device.Memory().HighWater, gpu.Bytes(host)})
	}
	all, err := together.Gather(t.hub.Context(), t.talk(), tagResult, own)
	for _, p := range all {
		r.PeakDevice, r.PeakHost = append(r.PeakDevice, p.Device), max(r.PeakHost, p.Host)
	}
	return err
}
