package training

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/atomicfile"
	"capgnn/internal/checkpoint"
	"capgnn/internal/fit"
	"capgnn/internal/number"
	"capgnn/internal/room"
	"capgnn/internal/shell"
	"capgnn/jaca"
	"capgnn/minibatch"
	"capgnn/pipeline"
)

// Values of pipeline.Result.Stopped.
const (
	StoppedBySignal   = "interrupted"
	stoppedByPatience = "patience"
)

// Run is one run on its way: it takes the steps in their order, which change what it embeds, and trains.
type Run struct {
	Planner
	Folder
	Live
	Longer bool         // a run that is resumed goes on behind its last epoch (Lengthen)
	OnData func() error // is called when the data set has been read; its error ends the run; nil: nothing is
}

// New returns a run of a command by its settings, which speaks on a console.
func New(k *term.Console, command string, c runfolder.Config) *Run {
	t := &Run{}
	t.Console, t.Command, t.Config = k, command, c
	return t
}

// Check reports what is wrong with the settings as far as it can be told without data: also a device that is not there,
// and an epoch to trace that the run does not have.
func (t *Run) Check() error {
	if err := t.Config.Validate(); err != nil {
		return t.AsUsage(err)
	}
	for _, o := range runfolder.Options {
		if text := fmt.Sprint(o.Value(&t.Config)); !utf8.ValidString(text) {
			return term.Usagef("%s %q: is not UTF-8, which the files of a run need: rename it", runfolder.Label(o.Name), text)
		}
	}
	if t.Resume && t.Config.CutEdited() {
		return term.Usagef("--resume %s: %s was changed in what decides the parts%s: %s",
			t.Dir, filepath.Base(t.Dir.Config()), t.changed(), t.restore())
	}
	check := checkTogether(&t.Config)
	if t.Ranks == nil { // else each looks at its own
		check = devices.Check(t.Config.Devices)
	}
	if n := t.Config.Epochs; check == nil && t.Trace != nil && (*t.Trace < 0 || *t.Trace >= n) {
		return term.Usagef("--trace %d with --epochs %d: epochs are 0 to %d: name one of them", *t.Trace, n, n-1)
	}
	return check
}

// restore is what to do where the settings of a run that is resumed are not those that it began with.
func (t *Run) restore() string {
	return "restore it, or " + t.anew()
}

func (t *Run) anew() string { return "start a new run with --config " + shell.Word(t.Dir.Config()) }

// changed is what changes says of the settings that are there and those of the last checkpoint; "" without one.
func (t *Run) changed() string {
	c, _, err := checkpoint.LoadLatest(t.Dir.Checkpoints())
	if err != nil {
		return ""
	}
	defer c.Close()
	return t.changes(c.Identity, t.began(true))
}

// edited explains that a run goes on with other settings than what says are changed.
func (t *Run) edited(what string) error {
	return term.Usagef("--resume %s: %s is not what the run began with%s: %s", t.Dir, filepath.Base(t.Dir.Config()), what, t.restore())
}

// Lengthen has a run that is resumed go on to so many epochs, more than it was to have, and notes why its weights are
// not those of a run that had so many from the start, where they are not.
func (t *Run) Lengthen(epochs int) {
	c := &t.Config
	was, of := c.Epochs, c.HaloCache().ExactEpochs
	var unlike []string
	say := func(format string, a ...any) { unlike = append(unlike, fmt.Sprintf(format, a...)) }
	if of > 0 && c.ExactEpochs.Value < 0 {
		say("--staleness exact auto was %s", number.Counted(of, "epoch"))
	}
	c.BegunEpochs = cmp.Or(c.BegunEpochs, was)
	if why := c.Lengthened(); why != "" {
		say("%s", why)
	}
	result, err := t.Dir.ReadResult()
	more := err == nil && result != nil && (c.EvalEvery == 0 || was%c.EvalEvery != 0)
	if more && (unlike != nil || c.Patience > 0 || c.Schedule.Value.Kind == fit.Plateau) {
		say("one evaluation more, behind epoch %d, counts for the best weights, --patience and plateaus", was)
	} else if more {
		t.Console.Note("note: the evaluation after epoch %d counts for the best weights of %s; "+
			"a run of %d epochs from the start has none there, and the same weights at its end", was, t.Dir, epochs)
	}
	c.Epochs, t.Longer = epochs, true
	if unlike != nil {
		t.Console.Note("note: %s goes on from %d to %d epochs, not as a run of %d from the start would: %s",
			t.Dir, was, epochs, epochs, strings.Join(unlike, "; "))
	}
}

// Finished returns the result of a run that is to be resumed and has ended; nil if there is something to do. It writes
// the report, if the run was killed before that.
func (t *Run) Finished() (*runfolder.Result, error) {
	if !t.Resume || t.Longer {
		return nil, nil
	}
	result, err := t.Dir.ReadResult()
	if result == nil || err != nil {
		return nil, err
	}
	t.Console.Note("%s is finished; this is its result", t.Dir)
	if what := t.changed(); what != "" {
		t.Console.Note("note: %s was edited after the run%s: its result is that of before", t.Dir.Config(), what)
	}
	atomicfile.Sweep(string(t.Dir))
	result.RunDir = string(t.Dir)
	if !term.Exists(t.Dir.Report()) {
		err = t.writeReport(t.Console)
	}
	return result, err
}

// Do trains. The steps before training change nothing but the cache.
func (t *Run) Do(ctx context.Context) (*runfolder.Result, error) {
	defer func() { t.Unlock(t.Resume) }()
	err := error(nil)
	if t.Ranks.Leads() {
		err = t.Lock(&t.Input)
	}
	if err := t.Ranks.Agree(ctx, err); err != nil {
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
	ctx, cancel := t.Ranks.Until(ctx)
	defer cancel()
	for _, step := range t.Steps() {
		if err := t.Ranks.Agree(ctx, t.BeforeTraining(errors.Join(step(ctx), ctx.Err()))); err != nil {
			return err
		}
	}
	return nil
}

// Train runs the epochs and writes the run folder.
func (t *Run) Train(ctx context.Context) (_ *runfolder.Result, err error) {
	defer func() { t.adviseResume(err) }()
	whole := context.WithoutCancel(ctx) // an interruption is for the epochs
	if err := t.makeFolder(whole); err != nil {
		return nil, err
	}
	if err := t.shareSets(whole, t.Ranks); err != nil {
		return nil, err
	}
	if t.Ranks.Leads() {
		t.noteSets(&t.Config)
	}
	t.Console.Enter(term.Placing)
	job, err := t.place(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if term.ExitCode(err) != term.ExitLost {
			err = errors.Join(err, job.Close())
			if job.reads {
				err = errors.Join(err, t.Data.Release())
			}
		}
	}()
	if !job.reads {
		err = t.Data.Release()
	}
	if err := t.Ranks.Agree(whole, errors.Join(err, t.writeBeginning())); err != nil {
		return nil, err
	}
	t.written = true
	if t.settled != nil {
		t.settled()
	}
	folder, resume := t.Dir.Checkpoints(), t.resuming(t.resumed(), 0)
	t.Console.OnInterruptSay(func() string {
		from := "the last checkpoint"
		if t.Ranks.Leads() && !checkpoint.There(folder) {
			from = "the beginning"
		}
		return fmt.Sprintf("in the middle of an epoch: continue from %s with `capgnn train --resume %s`", from, resume)
	})
	room.Release() // what is left of placing the graph goes back before the activations take its place
	if err := t.openMeters(whole, &t.Where, t.Console); err != nil {
		return nil, err
	}
	defer t.meters.Close()
	t.start = time.Since(term.Began)
	t.Console.EndStages()
	t.bar = t.Console.Begin("train", job.total, job.unit, 0)
	t.meters.Read(true) // from now on
	result, err := job.Run(ctx)
	t.bar.End()
	gone := t.keeps(&t.Forecaster)
	if t.Ranks.Leads() && gone == nil { // a run without an epoch has an empty file
		err = errors.Join(err, job.metrics.Close(), job.events.Close())
	}
	if err := cmp.Or(gone, err); err != nil {
		return nil, t.Ranks.Fail(cmp.Or(gone, t.Data.Unchanged(), t.explain(err)))
	}
	if result.Stopped == StoppedBySignal {
		if t.Ranks.Leads() {
			if err := t.writeReport(t.Console); err != nil {
				return nil, err
			}
		}
		return nil, &term.InterruptedError{Note: fmt.Sprintf("%s: continue with `capgnn train --resume %s`",
			t.reached(result.Epochs, t.Config.Epochs), t.resuming(t.resumed(), result.Epochs))}
	}
	var written *runfolder.Result // by rank 0
	if err = nil; t.Ranks.Leads() {
		written, err = t.finish(result)
	}
	return written, t.Ranks.Agree(whole, err)
}

// makeFolder makes the folder of a run for which none was named, and tells all ranks which one it is.
func (t *Run) makeFolder(ctx context.Context) (err error) {
	if t.Dir == "" && t.Ranks.Leads() {
		err = t.lockNew(t.Console, t.Data.Name, t.Config.ModelName())
	}
	if err = t.Ranks.Agree(ctx, err); err == nil {
		t.Dir, err = ranks.First(ctx, t.Ranks, t.Dir)
	}
	return err
}

// writeBeginning writes the settings of a new run, and makes the folder of a longer one that of a run which is not
// finished.
func (t *Run) writeBeginning() error {
	if !t.Resume && t.Ranks.Leads() {
		return t.writeSettings(&t.Forecaster)
	}
	t.settings = t.Dir.Settings()
	if !t.Longer || !t.Ranks.Leads() {
		return nil
	}
	if err := t.Dir.Unfinish(); err != nil {
		return err
	}
	return t.writeConfig(&t.Config)
}

// finish writes what a finished run leaves behind.
func (t *Run) finish(r *pipeline.Result) (*runfolder.Result, error) {
	if err := t.writeWeights(&t.Forecaster, r); err != nil {
		return nil, err
	}
	if r.Stopped == stoppedByPatience {
		what := "score"
		if t.Config.BestByLoss() {
			what = "loss"
		}
		t.Console.Note("stopped after %d epochs: %d evaluations without a better validation %s",
			r.Epochs, t.Config.Patience, what)
	}
	result, err := t.result(&t.Forecaster, r)
	if err != nil {
		return nil, err
	}
	result.TimeS.Start = t.start.Seconds()
	if r.Merged != nil {
		t.Config.RecordMerged(*r.Merged)
	}
	if t.Config.Merged.Value != nil { // known by now
		if err := t.writeConfig(&t.Config); err != nil {
			return nil, err
		}
	}
	if t.Config.Sampled() {
		result.AddSampling(&t.Config, t.Config.SettledSampling(t.partDevices()), &r.Totals)
	}
	if err := t.Dir.WriteResult(result); err != nil {
		return nil, err
	}
	return result, t.writeReport(t.Console)
}

// SayUntraced says of a run that has ended that the epoch to trace was not trained.
func (t *Run) SayUntraced() {
	if t.Trace != nil && !t.traced && t.Ranks.Leads() {
		t.Console.Note("note: no trace: epoch %d was not trained now", *t.Trace)
	}
}

// adviseResume adds to the line with which all ranks end how the run goes on, once it has a folder.
func (t *Run) adviseResume(err error) {
	if there := (*term.Elsewhere)(nil); t.written && errors.As(err, &there) && there.Code != term.ExitInterrupted &&
		!strings.Contains(there.Line, vanished) {
		there.Line += fmt.Sprintf(": continue from the last checkpoint with --resume %s", t.resuming(t.resumed(), 0))
	}
}

// unbegun says what an interruption leaves before the run trains.
func (t *Run) unbegun() string {
	if !t.Resume && t.Whole == "" {
		return "before the first epoch: nothing was written"
	}
	more := ""
	if t.Longer && t.Whole == "" { // which no file says yet
		more = fmt.Sprintf(" --epochs %d", t.Config.Epochs)
	}
	return fmt.Sprintf("before the run went on: continue with `capgnn train --resume %s%s`", t.resumed(), more)
}

// BeforeTraining says of an interruption that nothing was lost by it.
func (t *Run) BeforeTraining(err error) error {
	if errors.Is(err, context.Canceled) {
		return &term.InterruptedError{Note: t.unbegun()}
	}
	return err
}

// explain is Explain, which also says of a run that lost a device how it goes on.
func (t *Run) explain(err error) error {
	if other := (*checkpoint.Other)(nil); errors.As(err, &other) {
		if !json.Valid([]byte(other.Identity)) {
			return term.Usagef("--resume %s: an earlier version of capgnn wrote its checkpoints: %s", t.Dir, t.anew())
		}
		return t.edited(t.changes(other.Identity, t.began(true)))
	}
	if is := Explain(err); is != err || term.ExitCode(err) != term.ExitLost || t.Ranks != nil || !t.Dir.HoldsRun() {
		return is
	}
	return fmt.Errorf("%w: continue from the last checkpoint with `capgnn train --resume %s`", err, t.resuming(t.resumed(), 0))
}

// Explain adds to an error of a trainer what the user can do about it.
func Explain(err error) error {
	var oom *gpu.OutOfMemory
	var large *jaca.TooLarge
	var limit *hostmem.Limit
	var step *minibatch.TooLarge
	switch {
	case errors.As(err, &large), errors.As(err, &limit), errors.Is(err, syscall.ENOMEM):
		return runfolder.ExplainCache(err)
	case errors.As(err, &step):
		return &term.FitError{Err: fmt.Errorf("place steps of %s: %w", term.Counted(step.Batch, "root"), step.Memory),
			Remedy: fittingBatch(step.Fits)}
	case errors.As(err, &oom):
		return &term.FitError{Err: err, Remedy: MoreMemory(oom)}
	}
	return err
}

// MoreMemory says what a device that ran out of memory lacks: its budget, or memory of the system that its budget
// counts on.
func MoreMemory(e *gpu.OutOfMemory) string {
	if e.Have >= e.Need {
		return "give this process more memory (ulimit -v, container, machine)"
	}
	return fmt.Sprintf("give %s at least %s more memory (mem=)", e.Device, term.Size(e.Need-e.Have))
}
