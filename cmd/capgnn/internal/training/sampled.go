package training

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/number"
	"capgnn/minibatch"
	"capgnn/pipeline"
)

// settleSampled settles what sampled training takes from the data: fan-outs. Vertices stay in the order of the data set.
func (t *Run) settleSampled() {
	if !t.Config.Sampled() {
		return
	}
	p := t.Data.Problem
	t.Config.Order = runfolder.OrderNone
	t.Config.SettleFanout(p.Features.Sparse())
}

// settleShares settles which share of a step's roots each part computes: by the speed of its device, unless parts take roots of their own.
func (t *Run) settleShares(ctx context.Context) error {
	if t.Parts == 1 || t.Config.Sampling.Value.Local || t.Config.Isolated.Value != nil {
		return nil
	}
	profile := t.Profile
	if t.Config.Targets == "" {
		var err error
		if profile, err = t.knownDevices(ctx); err != nil {
			return err
		}
	}
	var err error
	t.shares, err = t.targets(profile)
	return err
}

// sampledOptions returns what decides how the trainer on samples lays out the problem, on devices that stand for those of the run.
func (t *Run) sampledOptions() minibatch.Options { return t.sampledOn(t.partDevices()) }

// sampledOn is sampledOptions on other devices, by part.
func (t *Run) sampledOn(list []gpu.Device) minibatch.Options {
	p, c := t.Data.Problem, &t.Config
	s := c.SettledSampling(list)
	model := c.Network(p.Features.Cols, p.Classes, p.Targets != nil)
	opt := minibatch.Options{
		Model: model, Optimizer: c.UpdateRule(model), Schedule: c.Schedule.Value, Task: t.labels, Epochs: c.Epochs, EvalEvery: c.EvalEvery, EvalFanout: c.EvalFanout.Value, Patience: c.Patience, BestByLoss: c.BestByLoss(),
		Sampling: minibatch.Sampling{BatchSize: c.BatchSize, Fanout: c.Fanout.Value, Ladies: c.Sampler == runfolder.SamplerLadies, Local: s.Local, Place: s.Place, NoMerge: s.NoMerge, MeasureMerge: s.Measured, NoGather: s.NoGather,
			Fetch: s.Fetch, RowCache: c.RowCacheSize(), Resident: c.ResidentSize(), Prefetch: s.Prefetch},
		Shares: t.shares, Storage: c.ElementType(), Lock: devices.LockFor(t.ownSpecs()),
	}
	if i := c.Isolated.Value; i != nil {
		opt.Isolated = &minibatch.Isolated{Isolated: i.Isolated, Of: t.Plan.Part}
		opt.Isolated.Chunks = t.Parts
	} else if t.Plan != nil {
		opt.Part = t.Plan.Part
	}
	if s.Place == minibatch.Hop && !s.NoMerge {
		opt.Sampling.Merged = c.Merged.Value
	}
	opt.Devices = list
	if t.Ranks != nil {
		opt.Ranks = t.Ranks
	}
	return opt
}

// partDevices returns the device of each part; nil: it is of another rank.
func (t *Run) partDevices() []gpu.Device {
	devices, own := make([]gpu.Device, t.Workers()), t.ownParts()
	for part := own.Lo; part < own.Hi; part++ {
		devices[part] = t.Devices[t.deviceOf(part)-t.firstDevice()]
	}
	return devices
}

// settledSampling returns how steps are made on the run's devices.
func (t *Run) settledSampling() runfolder.Sampling { return t.Config.SettledSampling(t.partDevices()) }

// sampledJob places the run on its devices, together with other ranks if there are some, and returns what trains it on samples.
func (t *Run) sampledJob(ctx context.Context) (*job, error) {
	whole := context.WithoutCancel(ctx) // an interruption is for the steps
	metrics, events := t.files()
	opt := t.sampledOptions()
	steps := minibatch.Steps(t.Data.Problem, opt)
	watch := &sampledWatch{run: t, steps: steps, board: newBoard(t)}
	opt.CheckpointDir, opt.Resume, opt.Identity = t.Dir.Checkpoints(), t.Resume, t.identity()
	opt.CheckpointEvery, opt.CheckpointSteps = checkpoints(t.Config.CheckpointEvery, steps)
	opt.Log = slog.New(&term.NoteHandler{Console: t.Console})
	opt.OnStep = watch.step
	opt.OnTrain, opt.Meter = t.tracing(), t.readMeters
	opt.OnEpoch = func(s minibatch.EpochStats) error {
		watch.epoch(s)
		if err := cmp.Or(t.keeps(), t.Data.Unchanged()); err != nil {
			return err
		}
		if err := metrics.AppendSampled(s); err != nil {
			return err
		}
		return events.AppendSampled(s)
	}
	opt.OnBest = t.keepBest
	var err error
	opt.Init, err = t.loadInitial(opt.Model)
	if err := t.Ranks.Agree(whole, err); err != nil {
		return nil, err
	}
	if err := t.shareInitial(whole, opt.Model, &opt.Init); err != nil {
		return nil, err
	}
	if err := t.Ranks.Agree(whole, t.Data.Unchanged()); err != nil {
		return nil, err
	}
	trainer, err := minibatch.New(ctx, t.Data.Problem, opt)
	if err != nil {
		return nil, t.Ranks.Fail(t.BeforeTraining(term.AsUsage(t.Explain(err))))
	}
	t.Ranks.SayWaits(trainer.Waits)
	t.Console.OnStop("after this step")
	return &job{total: int64(t.Config.Epochs) * int64(steps), unit: "steps", metrics: metrics, events: events, reached: watch.reached,
		placed: func() error { return nil }, // steps read the graph and the features
		close:  func() error { return errors.Join(trainer.Close(), t.Data.Release()) },
		run: func(ctx context.Context) (*pipeline.Result, error) {
			r, err := trainer.Run(ctx)
			if err != nil {
				return nil, err
			}
			t.sampled = &r.Totals
			if r.Merged != nil {
				t.Config.RecordMerged(*r.Merged)
			}
			return asResult(r), nil
		}}, nil
}

// stepsPerEpoch returns how many steps an epoch has.
func (t *Run) stepsPerEpoch() int {
	n := t.Data.Problem.TrainingVertices()
	return max(1, (n+t.Config.BatchSize-1)/t.Config.BatchSize)
}

// TrainSamples trains on the run's open devices, calls each behind every epoch, and keeps nothing.
func (t *Run) TrainSamples(ctx context.Context, each func(minibatch.EpochStats)) (*pipeline.Result, error) {
	opt := t.sampledOptions()
	opt.OnEpoch = func(e minibatch.EpochStats) error {
		each(e)
		return nil
	}
	trainer, err := minibatch.New(ctx, t.Data.Problem, opt)
	if err != nil {
		return nil, term.AsUsage(t.Explain(err))
	}
	r, err := trainer.Run(ctx)
	if err := errors.Join(err, trainer.Close()); err != nil {
		return nil, t.Explain(err)
	}
	return asResult(r), nil
}

// checkpoints returns how many epochs, and inside an epoch how many steps, lie between checkpoints.
func checkpoints(c runfolder.Cadence, stepsPerEpoch int) (epochs, steps int) {
	switch {
	case c.Steps == 0:
		return c.Epochs, 0
	case c.Steps < stepsPerEpoch:
		return 1, c.Steps
	}
	return c.Steps / stepsPerEpoch, 0
}

// asResult returns what both trainers leave behind.
func asResult(r *minibatch.Result) *pipeline.Result {
	return &pipeline.Result{Epochs: r.Epochs, FinalLoss: r.FinalLoss, Best: r.Best, Last: r.Last, BestEpoch: r.BestEpoch, MetricName: r.MetricName, Stopped: r.Stopped,
		EpochTime: r.EpochTime, Totals: pipeline.Totals{Usage: r.Usage, Gradients: r.Gradients, EvalTime: r.EvalTime, CPU: r.CPU,
			Switches: r.Switches, SwitchTime: r.SwitchTime, Covered: r.Covered}, PeakHost: r.PeakHost, PeakDevice: r.PeakDevice,
		WeightsSHA: r.WeightsSHA, Weights: r.Weights, BestWeights: r.BestWeights}
}

// sampledWatch shows how far a run on samples has come.
type sampledWatch struct {
	run   *Run
	steps int
	board *board
	last  minibatch.Progress
	edges int64         // sampled by the first part in the epochs that are over
	took  time.Duration // of these epochs, without evaluation
	loss  float64       // of the last epoch
	val   *float64
	some  bool // there was one
}

// step is called behind every step.
func (w *sampledWatch) step(p minibatch.Progress) {
	w.last = p
	w.run.bar.At(int64(p.Epoch)*int64(w.steps)+int64(p.Step), w.detail(p))
}

// detail is what the bar says behind a step.
func (w *sampledWatch) detail(p minibatch.Progress) string {
	text := fmt.Sprintf("epoch %d/%d", p.Epoch+1, w.run.Config.Epochs)
	if took := w.took + p.Elapsed; took > 0 {
		text += "  " + runfolder.EdgeRate(float64(w.edges+p.Edges)*float64(w.run.Workers())/took.Seconds())
	}
	if w.some {
		text += "  loss " + number.Plain.Text(w.loss)
	}
	if w.val != nil {
		text += "  val " + term.Score(w.val)
		if w.run.Config.EvalFanout.Value != nil {
			text += " (estimated)"
		}
	}
	return text
}

// epoch is called behind every epoch.
func (w *sampledWatch) epoch(s minibatch.EpochStats) {
	if w.loss, w.some = s.Loss, true; s.Eval {
		w.val = s.Metrics.Val
	}
	w.board.addSampled(&s)
	w.run.bar.Table = w.board.lines(time.Now())
	w.last = minibatch.Progress{Epoch: s.Epoch, Step: w.steps, Steps: w.steps}
	w.edges, w.took = w.edges+s.Edges/int64(w.run.Workers()), w.took+s.Train
	w.run.bar.At(int64(s.Epoch+1)*int64(w.steps), w.detail(w.last))
}

// reached says where a run stands that was interrupted.
func (w *sampledWatch) reached(r *pipeline.Result) string {
	if w.last.Step == 0 || w.last.Epoch < r.Epochs {
		return fmt.Sprintf("after epoch %d of %d", r.Epochs, w.run.Config.Epochs)
	}
	return fmt.Sprintf("in epoch %d of %d, after step %d of %d", w.last.Epoch+1, w.run.Config.Epochs, w.last.Step, w.steps)
}
