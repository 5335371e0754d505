package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"syscall"
	"time"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/atomicfile"
	"capgnn/internal/lockfile"
	"capgnn/internal/number"
	"capgnn/jaca"
	"capgnn/pipeline"
	"capgnn/profiler"
	"capgnn/rapa"
	"capgnn/report"
)

// Values of pipeline.Result.Stopped.
const (
	stoppedBySignal   = "interrupted"
	stoppedByPatience = "patience"
)

// training is one run on its way: what is set at the start, and what each step adds.
type training struct {
	k        *term.Console
	command  string // that the user called, for errors; "" inside another one
	cfg      runfolder.Config
	runPath  string // --run-dir, "" = a new folder below ./runs
	planFile string // a plan that may fit, looked at before the cache; "" = none
	resume   bool
	// anonymous says that parts are for no devices in particular, cutting that a plan is wanted even of one part.
	// bare that there is nothing to learn from.
	anonymous, cutting, bare bool

	data     *datasets.Input // set beforehand by demo for a generated graph; else loaded
	specs    []devices.Spec
	parts    int
	profile  *profiler.Profile // of the devices, nil where nothing had to be known of them
	plan     *rapa.Plan        // nil with one part
	rank     []int32           // place of every vertex in the order of the parts' rows, nil = by number
	arranged arrangement
	devices  []gpu.Device
	layout   *pipeline.Layout
	dir      runfolder.Dir // set beforehand when resuming
	madeDir  bool          // by this run
	lock     *lockfile.Lock
	settled  func()         // the folder that this run has made holds it now; nil: it has made none
	initial  *gnn.Weights   // of --init, nil without
	start    time.Duration  // from the start of the program to the first epoch
	bar      *term.Progress // of the epochs
}

// run trains. The steps before training change nothing but the cache.
func (t *training) run(ctx context.Context) (*runfolder.Result, error) {
	defer t.unlockRunDir()
	if err := t.lockRunDir(); err != nil {
		return nil, err
	}
	if result, err := t.finished(); result != nil || err != nil { // another process has just ended it
		return result, err
	}
	t.beginStages("prepare")
	defer t.k.EndStages()
	for _, step := range t.preparations() {
		if err := errors.Join(step(ctx), ctx.Err()); err != nil {
			return nil, t.beforeTraining(err)
		}
	}
	result, err := t.train(ctx)
	return result, devices.CloseAfter(err, t.devices)
}

// preparations are the steps of a run before it trains.
func (t *training) preparations() []func(context.Context) error {
	return []func(context.Context) error{t.load, t.chooseDevices, t.divide, t.settleCache, t.arrange, t.open, t.preflight}
}

// beforeTraining says of an interruption that nothing was lost by it.
func (t *training) beforeTraining(err error) error {
	if errors.Is(err, context.Canceled) {
		return &term.InterruptedError{Note: "before the first epoch: nothing was written"}
	}
	return err
}

// load reads the data set and checks it against what the run was made with.
func (t *training) load(ctx context.Context) error {
	if t.data == nil {
		data, err := datasets.Load(ctx, t.k, &t.cfg)
		if err != nil {
			return term.AsUsage(err)
		}
		t.data = data
	}
	p := t.data.Problem
	if err := p.Validate(); err != nil {
		return term.Usagef("--dataset %s: %w", t.cfg.Dataset, err)
	}
	if err := t.cfg.Network(p.Features.Cols, p.Classes, p.Targets != nil).Validate(); err != nil {
		return t.usage(err)
	}
	identity := diskcache.Identify(p, t.data.Sums)
	switch was := t.cfg.DataSHA256; {
	case was == "" || was == identity:
	case t.resume:
		return term.Usagef("--resume %s: data set %s is not what the run was trained on: restore it, or start a new run", t.dir, t.data.Name)
	default:
		t.k.Note("note: data set %s differs from the one the config file was written for", t.data.Name)
	}
	t.cfg.DataSHA256 = identity
	t.k.Note("%s: %s vertices, %s edges, %s features, %d classes", t.data.Name, term.Grouped(p.Vertices()), term.Grouped(p.Graph.Edges()), term.Grouped(p.Features.Cols), p.Classes)
	return nil
}

// usage marks an error as caused by the user's input to the command.
func (t *training) usage(err error) error {
	if t.command == "" {
		return term.AsUsage(err)
	}
	return term.Usagef("%s: %w", t.command, err)
}

// chooseDevices settles the devices and the number of parts.
func (t *training) chooseDevices(context.Context) error {
	list := t.cfg.Devices
	if t.anonymous && devices.IsAuto(list) {
		list = "cpu:0" // it stands for whatever there will be: no GPU is looked for
	}
	specs, err := devices.Parse(list)
	if err != nil {
		return err
	}
	devices.ShareCores(specs, devices.Cores())
	for i := range specs {
		specs[i].TF32 = specs[i].GPU && t.cfg.TF32
	}
	if devices.IsAuto(t.cfg.Devices) && !t.anonymous {
		_, why := devices.Auto()
		t.k.Note("devices: %s (%s)", devices.Format(specs), why)
	}
	t.parts = t.cfg.Parts
	if t.parts == 0 {
		t.parts = len(specs)
	}
	if t.parts < len(specs) {
		t.k.Note("note: %d parts use the first %d of %d devices", t.parts, t.parts, len(specs))
		specs = specs[:t.parts]
	}
	if n := t.data.Problem.Vertices(); t.parts > n {
		return term.Usagef("--parts %d: the graph has %d vertices: use at most that many parts", t.parts, n)
	}
	t.specs, t.cfg.Devices, t.cfg.Parts = specs, devices.Format(specs), t.parts
	t.estimateStages()
	return nil
}

// open opens the devices.
func (t *training) open(context.Context) error {
	devices, err := devices.Open(t.specs)
	t.devices = devices
	if err != nil {
		return err
	}
	return t.checkSize()
}

// train runs the epochs and writes the run folder.
func (t *training) train(ctx context.Context) (_ *runfolder.Result, err error) {
	if t.dir == "" {
		if err := t.lockNewRunDir(); err != nil {
			return nil, err
		}
	}
	t.k.Enter(term.Placing)
	metrics := &runfolder.Metrics{Path: t.dir.Metrics(), Policy: t.cfg.Cache, Staleness: t.cfg.MaxStaleness()}
	events := &runfolder.Events{Dir: t.dir, Metric: runfolder.MetricName(t.data.Problem)}
	opt, err := t.options(func(s pipeline.EpochStats) error { return errors.Join(metrics.Append(s), events.Append(s)) })
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory() // what is left of the steps before
	trainer, err := pipeline.New(ctx, t.data.Problem, opt)
	if err != nil {
		return nil, t.beforeTraining(term.AsUsage(t.explain(err)))
	}
	defer func() {
		if term.ExitCode(err) != term.ExitLost {
			err = errors.Join(err, trainer.Close())
		}
	}()
	metrics.Period = t.fixedPeriod(trainer.Caches())
	t.layout.Release()
	if err := errors.Join(t.data.Release(), t.writeSettings()); err != nil {
		return nil, err
	}
	if t.settled != nil {
		t.settled()
	}
	t.k.OnInterrupt(fmt.Sprintf("in the middle of an epoch: continue from the last checkpoint with `capgnn train --resume %s`", t.dir))
	debug.FreeOSMemory() // what is left of placing the graph goes back before the activations take its place
	t.start = time.Since(began)
	t.k.EndStages()
	t.bar = t.k.Begin("train", int64(t.cfg.Epochs), "epochs", 0)
	result, err := trainer.Run(ctx)
	t.bar.End()
	if err := errors.Join(err, metrics.Close(), events.Close()); err != nil {
		return nil, t.explain(err)
	}
	if result.Stopped == stoppedBySignal {
		t.writeReport()
		return nil, &term.InterruptedError{Note: fmt.Sprintf("after epoch %d of %d: continue with `capgnn train --resume %s`", result.Epochs, t.cfg.Epochs, t.dir)}
	}
	return t.finish(result)
}

// problemOptions returns what decides how the trainer lays out the problem; devices are missing.
func (t *training) problemOptions() pipeline.Options {
	p := t.data.Problem
	opt := pipeline.Options{
		Model: t.cfg.Network(p.Features.Cols, p.Classes, p.Targets != nil), Optimizer: t.cfg.UpdateRule(),
		Epochs: t.cfg.Epochs, EvalEvery: t.cfg.EvalEvery, Patience: t.cfg.Patience,
		Part: make([]int32, p.Vertices()), Rank: t.rank, Savings: t.cfg.Savings, Storage: t.cfg.ElementType(), Cache: t.cfg.HaloCache(),
	}
	// What does not read was refused by settleCache, or is not used any more.
	opt.Cache.Slots, _ = runfolder.ParseSlots(t.cfg.CacheSlots, t.parts)
	opt.Cache.Links, _ = parseLinks(t.cfg.CacheLinks, t.parts, len(t.specs))
	if t.plan != nil {
		opt.Part, opt.Dropped, opt.NoRescale = t.plan.Part, t.plan.Dropped, !t.cfg.Rescale
	}
	return opt
}

// options returns what the trainer needs; record keeps the numbers of every epoch.
func (t *training) options(record func(pipeline.EpochStats) error) (pipeline.Options, error) {
	opt := t.problemOptions()
	c, err := diskcache.Open(t.k)
	if err != nil {
		return opt, err
	}
	if c != nil {
		opt.Prepared = c
	}
	opt.Layout, opt.Cache.Host = t.layout, devices.LockFor(t.specs)
	opt.CheckpointDir, opt.CheckpointEvery, opt.Resume = t.dir.Checkpoints(), t.cfg.CheckpointEvery, t.resume
	opt.Identity, opt.Log = t.identity(), slog.New(&term.NoteHandler{Console: t.k})
	var val *float64 // of the last evaluation
	board := newBoard(t.k, t.specs, t.devices)
	opt.OnEpoch = func(s pipeline.EpochStats) error {
		if s.Eval {
			val = s.Metrics.Val
		}
		board.add(s)
		t.bar.Table = board.lines(time.Now())
		t.bar.At(int64(s.Epoch+1), epochDetail(s, val))
		return record(s)
	}
	opt.OnBest = func(epoch int, w *gnn.Weights) error {
		return gnn.WriteSafetensors(t.dir.Best(), w, t.metadata(epoch))
	}
	for p := range t.parts {
		opt.Devices = append(opt.Devices, t.devices[p%len(t.devices)])
	}
	if t.cfg.Init == "" {
		return opt, nil
	}
	path := t.cfg.Init
	if t.resume {
		path = t.dir.Initial()
	}
	t.initial, err = readInitial(path, opt.Model)
	if err != nil {
		return opt, term.Usagef("--init %s: %w", path, err)
	}
	opt.Init = t.initial.StateDict()
	return opt, nil
}

// readInitial reads the weights to start from.
func readInitial(path string, model gnn.Config) (*gnn.Weights, error) {
	tensors, err := gnn.ReadStateDict(path)
	if err != nil {
		return nil, err
	}
	w := gnn.NewWeights(model)
	return w, w.LoadStateDict(tensors)
}

// epochDetail is what the progress bar says about an epoch and the last evaluation.
func epochDetail(s pipeline.EpochStats, val *float64) string {
	text := "loss " + number.Plain.Text(s.Loss)
	if val != nil {
		text += "  val " + term.Score(val)
	}
	wall := s.Train.Seconds()
	return text + "  " + term.Duration(&wall)
}

// identity is the hash of everything that decides the bits of a run: data, settings and plan.
func (t *training) identity() string {
	cfg := t.cfg
	cfg.Dataset, cfg.DatasetPath, cfg.CheckpointEvery, cfg.Profile, cfg.Plan = "", "", 0, "", ""
	h := sha256.New()
	for _, o := range runfolder.Options {
		fmt.Fprintf(h, "%s=%v\n", o.Name, o.Value(&cfg))
	}
	if t.plan != nil {
		fmt.Fprintf(h, "plan=%s\n", t.plan.Key)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// metadata is what a weights file says about itself.
func (t *training) metadata(epoch int) map[string]string {
	return map[string]string{"format": "pt", "model": t.cfg.Model, "dataset": t.data.Name, "epoch": fmt.Sprint(epoch)}
}

// writeSettings writes config.yaml, which makes the folder a run, after the plan and the initial weights, which a resumed
// run must find as they were.
func (t *training) writeSettings() error {
	if t.resume {
		return nil
	}
	if t.plan != nil {
		if err := rapa.WritePlan(t.dir.Plan(), t.plan); err != nil {
			return err
		}
	}
	if t.initial != nil {
		if err := gnn.WriteSafetensors(t.dir.Initial(), t.initial, t.metadata(-1)); err != nil {
			return err
		}
	}
	if err := t.dir.WriteScaling(t.data.Scaling); err != nil {
		return err
	}
	data, err := runfolder.FormatConfig(&t.cfg)
	if err != nil {
		return err
	}
	return term.WriteFile(t.dir.Config(), data)
}

// moreMemory says what a device that ran out of memory lacks: its budget, or memory of the system that its budget counts on.
func moreMemory(e *gpu.OutOfMemory) string {
	if e.Have >= e.Need {
		return "give this process more memory (ulimit -v, container, machine)"
	}
	return fmt.Sprintf("give %s at least %s more memory (mem=)", e.Device, term.Size(e.Need-e.Have))
}

// explain adds to an error of the trainer what the user can do about it.
func (t *training) explain(err error) error {
	var oom *gpu.OutOfMemory
	var large *jaca.TooLarge
	var limit *hostmem.Limit
	switch {
	case errors.As(err, &large), errors.As(err, &limit), errors.Is(err, syscall.ENOMEM):
		return runfolder.ExplainCache(err)
	case errors.As(err, &oom):
		return &term.FitError{Err: err, Remedy: moreMemory(oom) + ", use more --parts, or a smaller --hidden"}
	case term.ExitCode(err) == term.ExitLost && t.dir.HoldsRun():
		return fmt.Errorf("%w: continue from the last checkpoint with `capgnn train --resume %s`", err, t.dir)
	}
	return err
}

// finish writes what a finished run leaves behind.
func (t *training) finish(r *pipeline.Result) (*runfolder.Result, error) {
	best, epoch := r.BestWeights, r.BestEpoch
	if best == nil {
		best, epoch = r.Weights, r.Epochs-1
	}
	err := gnn.WriteSafetensors(t.dir.Best(), best, t.metadata(epoch))
	if err == nil {
		err = gnn.WriteSafetensors(t.dir.Last(), r.Weights, t.metadata(r.Epochs-1))
	}
	if err != nil {
		return nil, err
	}
	if r.Stopped == stoppedByPatience {
		t.k.Note("stopped after %d epochs: %d evaluations without a better validation score", r.Epochs, t.cfg.Patience)
	}
	result := runfolder.NewResult(&t.cfg, t.data.Name, t.specs, t.parts, t.dir, r)
	result.TimeS.Start, result.Classes = t.start.Seconds(), t.data.ClassNames
	if result.Staleness.Period = t.fixedPeriod(r.Caches); t.cfg.MaxStaleness().Auto() {
		if result.Drift, result.Staleness.Period, err = runfolder.ReadDrifts(t.dir.Metrics()); err != nil {
			return nil, err
		}
	}
	result.Order, result.Storage, result.TimeS.Order = t.cfg.Order, t.cfg.Storage, t.arranged.Seconds
	if err := t.dir.WriteResult(result); err != nil {
		return nil, err
	}
	t.writeReport()
	return result, nil
}

// writeReport draws the run into its folder. A picture that could not be written is no reason to fail a run that was.
func (t *training) writeReport() {
	run, err := t.dir.Describe()
	if err == nil {
		err = atomicfile.Write(t.dir.Report(), func(w io.Writer) error { return report.WriteRun(w, run) })
	}
	if err != nil {
		t.k.Note("note: no report: %s", term.OneLine(err))
	}
}
