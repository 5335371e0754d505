package training

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
	"unicode/utf8"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/atomicfile"
	"capgnn/internal/learn"
	"capgnn/internal/lockfile"
	"capgnn/internal/room"
	"capgnn/minibatch"
	"capgnn/pipeline"
	"capgnn/profiler"
	"capgnn/rapa"
)

// Values of pipeline.Result.Stopped.
const (
	StoppedBySignal   = "interrupted"
	stoppedByPatience = "patience"
)

// Run is one run on its way: what is set at the start, and what each step adds.
type Run struct {
	Console *term.Console
	Command string // that the user called, for errors; "" inside another one
	Config  runfolder.Config
	RunPath string // --run-dir, "" = a new folder below ./runs
	// Overwrite says that RunPath may hold files that no run has written.
	Overwrite bool
	PlanFile  string // a plan that may fit, looked at before the cache; "" = none
	Resume    bool
	Longer    bool // a run that is resumed goes on behind its last epoch (Lengthen)
	Trace     *int // the epoch of which a trace is written; nil: none
	// Anonymous says that parts are for no devices in particular, cutting that a plan is wanted even of one part.
	// Bare that there is nothing to learn from, trying that it is tried whether the run fits with more memory.
	Anonymous, cutting, Bare, trying bool

	Free func() (free, total int64, err error) // of the host; nil: hostmem.Free

	Ranks *ranks.Members // the processes that train together; nil: this one alone
	Own   Own            // with Ranks: what is said for this one
	Given []string       // names of the flags beside --config

	Data      *datasets.Input // set beforehand by demo for a generated graph; else loaded
	Specs     []devices.Spec
	Parts     int
	Profile   *profiler.Profile // of the devices, nil where nothing had to be known of them
	Plan      *rapa.Plan        // nil with one part
	place     *placement        // of parts on devices of several ranks; nil: all are of this process
	rank      []int32           // place of every vertex in the order of the parts' rows, nil = by number
	arranged  arrangement
	Devices   []gpu.Device // of this process
	layout    *pipeline.Layout
	own       MemUse                   // what the process had when memory was planned; of a run in phases, before it was cut
	may       gpu.Bytes                // what it may have in all; 0: not asked
	shares    []float64                // of the roots of a step of sampled training, by part; nil: equal ones
	sampled   *minibatch.Totals        // what steps have done, once a run has trained on samples
	Aging     *runfolder.StaleForecast // why some layers may read stale halo rows; nil: not decided by a forecast
	Dir       runfolder.Dir            // set beforehand when resuming
	madeDir   bool                     // by this run
	above     []string                 // folders above that one which this run has made, too
	lock      *lockfile.Lock
	folder    *os.Root        // Dir since it was locked, open so that no other folder gets its number; nil: not of this process
	written   bool            // the folder holds the run
	settings  []string        // files that it holds as long as the run lasts
	traced    bool            // the epoch of Trace has been trained
	sets      *runfolder.Sets // by vertex; of several ranks rank 0 has those of all
	settled   func()          // the folder that this run has made holds it now; nil: it has made none
	labels    learn.Labels    // loss and scores
	initial   *gnn.Weights    // of --init, nil without
	initOrder [2][]int        // where each of its columns, and classes, stands in the data set; nil: in the same place
	meters    *devices.Meters // of this process, nil: none
	start     time.Duration   // from the start of the program to the first epoch
	bar       *term.Progress  // of the epochs
}

// Do trains. The steps before training change nothing but the cache.
func (t *Run) Do(ctx context.Context) (*runfolder.Result, error) {
	defer t.UnlockRunDir()
	if err := t.Ranks.Agree(ctx, t.LockRunDir()); err != nil {
		return nil, err
	}
	if t.Ranks == nil {
		if result, err := t.Finished(); result != nil || err != nil { // another process has just ended it
			return result, err
		}
	}
	t.BeginStages("prepare")
	defer t.Console.EndStages()
	t.Console.OnInterrupt(t.unbegun())
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	result, err := t.Train(ctx)
	return result, devices.CloseAfter(err, t.Devices)
}

// prepare takes the steps before training. Of several ranks all take them, or none does.
func (t *Run) prepare(ctx context.Context) error {
	steps := t.Preparations()
	if t.Ranks != nil {
		var cancel context.CancelFunc
		ctx, cancel = t.Ranks.Until(ctx)
		defer cancel()
		steps = t.preparationsTogether()
	}
	for _, step := range steps {
		if err := t.Ranks.Agree(ctx, t.BeforeTraining(errors.Join(step(ctx), ctx.Err()))); err != nil {
			return err
		}
	}
	return nil
}

// Preparations are the steps of a run before it trains.
func (t *Run) Preparations() []func(context.Context) error {
	if t.Config.Sampled() {
		return append(t.BeforeMemory(), t.preflightSampled)
	}
	return append(t.BeforeMemory(), t.preflight)
}

// BeforeMemory are those of Preparations after which it is looked at what memory the run takes.
func (t *Run) BeforeMemory() []func(context.Context) error {
	if t.Config.Sampled() {
		return []func(context.Context) error{t.Load, t.prove, t.compareInitial, t.ChooseDevices, t.mapShards, t.Divide, t.settleShares, t.Open}
	}
	return []func(context.Context) error{t.Load, t.prove, t.compareInitial, t.ChooseDevices, t.mapShards, t.Divide, t.SettleCache, t.SettleAging, t.Arrange, t.Open}
}

// Open opens the devices.
func (t *Run) Open(ctx context.Context) error {
	devices, err := t.openOwn()
	t.Devices = devices
	if err != nil {
		return err
	}
	return t.checkSize(ctx)
}

// Train runs the epochs and writes the run folder.
func (t *Run) Train(ctx context.Context) (_ *runfolder.Result, err error) {
	defer func() { t.adviseResume(err) }()
	whole := context.WithoutCancel(ctx) // an interruption is for the epochs
	if err := t.makeRunDir(whole); err != nil {
		return nil, err
	}
	if err := t.shareSets(whole); err != nil {
		return nil, err
	}
	t.noteSets()
	t.Console.Enter(term.Placing)
	place := t.fullBatchJob
	if t.Config.Sampled() {
		place = t.sampledJob
	}
	job, err := place(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if term.ExitCode(err) != term.ExitLost {
			err = errors.Join(err, job.close())
		}
	}()
	if err := t.Ranks.Agree(whole, errors.Join(job.placed(), t.writeSettings())); err != nil {
		return nil, err
	}
	t.written = true
	if t.settled != nil {
		t.settled()
	}
	t.Console.OnInterrupt(fmt.Sprintf("in the middle of an epoch: continue from the last checkpoint with `capgnn train --resume %s`", t.resuming(0)))
	room.Release() // what is left of placing the graph goes back before the activations take its place
	if err := t.openMeters(whole); err != nil {
		return nil, err
	}
	defer t.meters.Close()
	t.start = time.Since(term.Began)
	t.Console.EndStages()
	t.bar = t.Console.Begin("train", job.total, job.unit, 0)
	t.meters.Read(true) // from now on
	result, err := job.run(ctx)
	t.bar.End()
	gone := t.keeps()
	if t.Ranks.Leads() && gone == nil { // a run without an epoch has an empty file
		err = errors.Join(err, job.metrics.Close(), job.events.Close())
	}
	if err := cmp.Or(gone, err); err != nil {
		return nil, t.Ranks.Fail(cmp.Or(gone, t.Data.Unchanged(), t.Explain(err)))
	}
	if result.Stopped == StoppedBySignal {
		if t.Ranks.Leads() {
			if err := t.writeReport(); err != nil {
				return nil, err
			}
		}
		return nil, &term.InterruptedError{Note: fmt.Sprintf("%s: continue with `capgnn train --resume %s`", job.reached(result), t.resuming(result.Epochs))}
	}
	return t.finishTogether(whole, result)
}

// Finished returns the result of a run that is to be resumed and has ended; nil if there is something to do. It writes the report, if the run was
// killed before that.
func (t *Run) Finished() (*runfolder.Result, error) {
	if !t.Resume || t.Longer {
		return nil, nil
	}
	result, err := t.Dir.ReadResult()
	if result == nil || err != nil {
		return nil, err
	}
	t.Console.Note("%s is finished; this is its result", t.Dir)
	atomicfile.Sweep(string(t.Dir))
	result.RunDir = string(t.Dir)
	if !term.Exists(t.Dir.Report()) {
		err = t.writeReport()
	}
	return result, err
}

// Check reports what is wrong with the settings as far as it can be told without data: also a device that is not there.
func (t *Run) Check() error {
	if err := t.Config.Validate(); err != nil {
		return t.AsUsage(err)
	}
	for _, o := range runfolder.Options {
		if text := fmt.Sprint(o.Value(&t.Config)); !utf8.ValidString(text) {
			return term.Usagef("%s %q: is not UTF-8, which the files of a run need: rename it", runfolder.Label(o.Name), text)
		}
	}
	if t.Ranks != nil { // each looks at its own
		return checkTogether(&t.Config)
	}
	return devices.Check(t.Config.Devices)
}
