package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
	"capgnn/internal/meet"
	"capgnn/jaca"
)

// state is what a run counts besides weights; it goes into checkpoints.
type state struct {
	Epochs    int // done
	Loss      float64
	BestEpoch int
	Best      Metrics
	Last      Metrics
	Waited    int // evaluations since the best one
	Stopped   string
	Bypass    jaca.Bypass
	Totals    Totals
	best      *gnn.Weights
}

func newState() state { return state{BestEpoch: -1} }

// Run trains until the last epoch, until patience runs out, or until ctx is cancelled: then the epoch under way is
// finished and a checkpoint written, and Result.Stopped is "interrupted". A device fault ends the run with its error, a loss
// that is no number with *Diverged.
func (t *Trainer) Run(ctx context.Context) (*Result, error) {
	r := &Result{MetricName: "accuracy"}
	if t.p.Targets != nil {
		r.MetricName = "micro-f1"
	}
	for t.state.Epochs < t.o.Epochs && t.state.Stopped == "" {
		if ctx.Err() != nil {
			t.state.Stopped = "interrupted"
			break
		}
		if err := t.epoch(r); err != nil {
			return nil, err
		}
	}
	if t.state.BestEpoch < 0 && t.state.Stopped != "interrupted" {
		if err := t.evaluateNow(&EpochStats{Epoch: t.state.Epochs - 1}); err != nil {
			return nil, err
		}
	}
	interrupted := t.state.Stopped == "interrupted"
	if interrupted {
		t.state.Stopped = "" // a resumed run goes on
	}
	if err := t.checkpoint(); err != nil {
		return nil, err
	}
	if interrupted {
		t.state.Stopped = "interrupted"
	}
	return r, t.finish(r)
}

// epoch runs one epoch with everything that belongs to it.
func (t *Trainer) epoch(r *Result) error {
	e, start := EpochStats{Epoch: t.state.Epochs}, time.Now()
	err := t.trainEpoch(&e)
	if err == nil {
		err = t.checkLoss(&e)
	}
	if late := new(meet.Late); errors.As(err, &late) { // it names the epoch
		return err
	}
	if err != nil {
		return fmt.Errorf("epoch %d: %w", e.Epoch, err)
	}
	t.state.Epochs++
	t.state.Loss = e.Loss
	r.EpochTime = append(r.EpochTime, e.Train)
	t.state.Totals.add(&e)
	last := t.state.Epochs == t.o.Epochs
	if last || t.o.EvalEvery > 0 && t.state.Epochs%t.o.EvalEvery == 0 {
		if err := t.evaluateNow(&e); err != nil {
			return fmt.Errorf("evaluate after epoch %d: %w", e.Epoch, err)
		}
	}
	if t.o.OnEpoch != nil {
		if err := t.o.OnEpoch(e); err != nil {
			return err
		}
	}
	planned := t.o.CheckpointEvery > 0 && t.state.Epochs%t.o.CheckpointEvery == 0
	if !last && (planned || t.overdue(time.Since(start))) {
		return t.checkpoint()
	}
	return nil
}

// slowEpoch is how long an epoch may take before a checkpoint follows it: who interrupts a run does not wait for the end of a
// slower one, and should not lose more than that epoch.
const slowEpoch = time.Second

// overdue reports whether a checkpoint is to follow an epoch that took so long. Checkpoints take a tenth of the time at most.
func (t *Trainer) overdue(epoch time.Duration) bool {
	return epoch > slowEpoch && time.Since(t.saved.at) >= 10*t.saved.took
}

// trainEpoch runs forward, backward and update on all parts.
func (t *Trainer) trainEpoch(e *EpochStats) error {
	before := t.usages()
	start := t.now()
	if err := t.runParts(e.Epoch); err != nil {
		return err
	}
	end := t.now()
	e.Reduce, e.Train = end-t.backwardDone(), end-start
	e.Parts = t.usages()
	for i, u := range before {
		e.Parts[i] = e.Parts[i].Sub(u)
		e.Usage = e.Usage.Add(e.Parts[i])
	}
	for _, w := range t.workers {
		e.Loss += w.lossValue()
		e.Halo.Add(w.stats)
		e.HaloParts, e.CheckParts = append(e.HaloParts, w.stats), append(e.CheckParts, w.checking)
		e.CheckCache += w.checking / time.Duration(len(t.workers))
		w.stats, w.checking = jaca.Stats{}, 0
	}
	e.Drift = t.observe(e.Epoch)
	t.beginAging(e.Epoch + 1)
	t.judge(e)
	return nil
}

// runParts runs an epoch on all parts.
func (t *Trainer) runParts(epoch int) error {
	t.hub.Epoch = epoch
	if t.follower != nil {
		if err := t.follower.plan(epoch); err != nil {
			return err
		}
	}
	scale := 1 / float64(t.terms)
	return t.each(func(w *worker) error {
		if t.o.Savings.NoReuse {
			if err := w.renew(); err != nil {
				return err
			}
		}
		return t.trainPart(w, epoch, scale)
	})
}

// trainPart runs an epoch on one part, and waits for it.
func (t *Trainer) trainPart(w *worker, epoch int, scale float64) error {
	err := meet.Guard(func() {
		w.runTrain(epoch, t.p, scale, func(layer int) { t.reduce.done(w, layer) })
		w.backward = w.compute.Record()
		t.reduce.finish(w)
	})
	if err != nil {
		return err
	}
	if err := w.waits.Await(w.backward); err != nil {
		return err
	}
	w.backwardAt = hostNow()
	return w.finish()
}

// backwardDone returns when the last part had done its backward pass, in the time of now.
func (t *Trainer) backwardDone() time.Duration {
	last, clock := time.Duration(0), clockOf(t.o.Devices)
	for _, w := range t.workers {
		at := w.backwardAt
		if clock != nil {
			at = clock.At(w.backward)
		}
		last = max(last, at)
	}
	return last
}

// renew allocates the activations anew (saving 7 off).
func (w *worker) renew() error {
	w.ws.Free()
	return w.ws.Alloc(w.dev)
}

// evaluateNow scores the current weights and keeps them if they are the best.
func (t *Trainer) evaluateNow(e *EpochStats) error {
	start := time.Now()
	m, loss, err := t.evaluate()
	if err != nil {
		return err
	}
	e.Eval, e.Metrics, e.ValLoss, e.EvalT = true, m, loss, time.Since(start)
	s := &t.state
	s.Totals.EvalTime += e.EvalT
	s.Last = m
	if better := m.Val == nil || s.Best.Val == nil || *m.Val > *s.Best.Val; !better {
		s.Waited++
		if t.o.Patience > 0 && s.Waited >= t.o.Patience {
			s.Stopped = "patience"
		}
		return nil
	}
	s.Best, s.BestEpoch, s.Waited = m, e.Epoch, 0
	if s.best, err = t.hostWeights(); err != nil {
		return err
	}
	if t.o.OnBest != nil {
		return t.o.OnBest(e.Epoch, s.best)
	}
	return nil
}

// hostWeights downloads the weights of part 0.
func (t *Trainer) hostWeights() (*gnn.Weights, error) {
	flat, err := t.workers[0].download(t.workers[0].params.Flat)
	if err != nil {
		return nil, err
	}
	w := t.weights.Clone()
	copy(w.Flat, flat)
	return w, nil
}

// usages returns what every worker has done so far.
func (t *Trainer) usages() []gpu.Usage {
	u := make([]gpu.Usage, len(t.workers))
	for i, w := range t.workers {
		u[i] = w.usage()
	}
	return u
}

// finish fills in what a result says about the whole run.
func (t *Trainer) finish(r *Result) error {
	s := &t.state
	r.Epochs, r.FinalLoss, r.Best, r.Last, r.BestEpoch, r.Stopped = s.Epochs, s.Loss, s.Best, s.Last, s.BestEpoch, s.Stopped
	r.Totals, r.Caches = s.Totals, t.caches
	var err error
	if r.Weights, err = t.hostWeights(); err != nil {
		return err
	}
	r.BestWeights, r.WeightsSHA = s.best, r.Weights.SHA256()
	if r.BestWeights == nil {
		r.BestWeights = r.Weights
	}
	for i, w := range t.workers {
		in := &t.layout.kept.Parts[i].In
		r.HaloRows += int64(len(in.IDs))
		if len(t.workers) <= MaxPairParts {
			r.HaloPairs = append(r.HaloPairs, rowsByOwner(in, len(t.workers)))
		}
		r.PeakDevice = append(r.PeakDevice, w.dev.Memory().HighWater)
	}
	peak, err := hostmem.PeakRSS()
	r.PeakHost = gpu.Bytes(peak)
	return err
}

// MaxPairParts bounds the parts of which a result has every pair.
const MaxPairParts = 64

// rowsByOwner returns how many halo vertices of a block each part owns.
func rowsByOwner(b *graph.Block, parts int) []int64 {
	rows := make([]int64, parts)
	for k, o := range b.Owners.Parts {
		rows[o] = int64(b.Owners.At[k+1] - b.Owners.At[k])
	}
	return rows
}

// checkpoint writes the run's state, if it is to be written anywhere.
func (t *Trainer) checkpoint() error {
	if t.o.CheckpointDir == "" {
		return nil
	}
	var err error
	start := time.Now()
	defer func() { t.saved.at, t.saved.took = time.Now(), time.Since(start) }()
	for _, w := range t.workers { // rows may be under way to the next epoch
		if err := w.sync(); err != nil {
			return err
		}
	}
	w, finite := t.workers[0], t.finiteWeights
	c := &checkpoint.File{Identity: t.o.Identity, Epoch: t.state.Epochs, Step: w.opt.steps, Weights: w.vector(w.params.Flat, finite),
		M: w.vector(w.opt.m, finite), V: w.vector(w.opt.v, finite), VMax: w.vector(w.opt.vmax, finite)}
	if t.state.best != nil {
		c.BestWeights = floats(t.state.best.Flat)
		if c.Best, err = json.Marshal(t.state.Best); err != nil {
			return err
		}
	}
	if err := t.keepHalo(c); err != nil {
		return err
	}
	if c.State, err = json.Marshal(t.state); err != nil {
		return err
	}
	err = checkpoint.Save(t.o.CheckpointDir, c, t.o.CheckpointKeep)
	if bad := new(notFinite); errors.As(err, &bad) {
		return bad
	}
	return err
}

// restore continues from the newest valid checkpoint; without any, the run starts from the beginning.
func (t *Trainer) restore() error {
	c, skipped, err := checkpoint.LoadLatest(t.o.CheckpointDir)
	for _, s := range skipped {
		t.o.Log.Warn("checkpoint skipped", "error", s)
	}
	if errors.Is(err, checkpoint.ErrNone) {
		t.o.Log.Warn("no valid checkpoint: starting from the first epoch", "dir", t.o.CheckpointDir)
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if c.Identity != t.o.Identity {
		return fmt.Errorf("resume: %s holds a run of other data or options", t.o.CheckpointDir)
	}
	w0 := t.workers[0]
	fits := func(s checkpoint.Section, elements int) bool { return checkpoint.Size(s) == 4*int64(elements) }
	if !fits(c.Weights, len(t.weights.Flat)) || !fits(c.M, w0.opt.m.Len) || !fits(c.V, w0.opt.v.Len) || !fits(c.VMax, w0.opt.vmax.Len) {
		return fmt.Errorf("resume: %s holds a model or optimiser of another size", t.o.CheckpointDir)
	}
	if err := json.Unmarshal(c.State, &t.state); err != nil {
		return fmt.Errorf("resume: read the state of %s: %w", t.o.CheckpointDir, err)
	}
	w0.opt.steps = c.Step
	piece := make([]byte, checkpoint.Piece)
	if err := t.takeWeights(c, piece); err != nil {
		return fmt.Errorf("resume: read %s: %w", t.o.CheckpointDir, err)
	}
	t.resumeBypass()
	t.o.Log.Info("resumed", "epoch", t.state.Epochs)
	return t.restoreHalo(c, piece)
}

// takeWeights puts weights and moments where they belong, by way of piece.
func (t *Trainer) takeWeights(c *checkpoint.File, piece []byte) error {
	w0, all := t.workers[0], []place(nil)
	for _, w := range t.workers {
		all = append(all, w.placeOf(w.params.Flat))
	}
	err := uploadSection(c.Weights, piece, all...)
	for _, part := range []struct {
		dst gpu.Vec
		src checkpoint.Section
	}{{w0.opt.m, c.M}, {w0.opt.v, c.V}, {w0.opt.vmax, c.VMax}} {
		if err == nil {
			err = uploadSection(part.src, piece, w0.placeOf(part.dst))
		}
	}
	if err == nil && checkpoint.Size(c.BestWeights) > 0 { // as many as weights
		t.state.best = t.weights.Clone()
		_, err = io.ReadFull(c.BestWeights, hostmem.Bytes(t.state.best.Flat))
	}
	return err
}
