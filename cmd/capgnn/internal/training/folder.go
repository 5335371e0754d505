package training

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/internal/atomicfile"
	"capgnn/internal/learn"
	"capgnn/internal/lockfile"
	"capgnn/internal/regular"
	"capgnn/internal/runfile"
	"capgnn/internal/shell"
	"capgnn/jaca"
	"capgnn/pipeline"
	"capgnn/rapa"
	"capgnn/report"
)

// Folder is the run folder: who may write to it, whether it is still there, and what a run writes into it. Of several
// ranks rank 0 alone has it.
type Folder struct {
	RunPath   string        // --run-dir, "" = a new folder below ./runs
	Overwrite bool          // RunPath may hold files that no run has written
	Dir       runfolder.Dir // set beforehand when resuming
	Whole     string        // folder of the runs of several seeds that this is one of; "" = it is by itself
	made      bool          // by this run
	above     []string      // folders above that one which this run has made, too
	lock      *lockfile.Lock
	root      *os.Root // Dir since it was locked, open so that no other folder gets its number; nil: not of this process
	unwatch   func()   // with root: files that are made while Dir is another folder go again
	written   bool     // it holds the run
	settings  []string // files that it holds as long as the run lasts
	settled   func()   // the folder that this run has made holds it now; nil: it has made none
}

// resumed is the folder that --resume takes, as a word of a command.
func (f *Folder) resumed() string { return shell.Word(cmp.Or(f.Whole, string(f.Dir))) }

// Lock makes the folder of a run, if it is named and not there, and keeps other processes from writing to it until
// Unlock is called. It comes first, so that a folder that cannot be written to costs no work.
func (f *Folder) Lock(in *Input) error {
	if in.Resume {
		return f.lockDir(in.Console, "--resume")
	}
	if f.RunPath == "" {
		return nil
	}
	f.Dir = runfolder.Dir(f.RunPath)
	if err := f.Dir.Free(f.Overwrite); err != nil { // before its lock is written
		return err
	}
	f.above, f.made = runfolder.Missing(filepath.Dir(f.RunPath)), !term.Exists(f.RunPath)
	if err := f.lockDir(in.Console, "--run-dir"); err != nil {
		return err
	}
	return f.Dir.Free(true) // another process may have had it
}

// lockNew makes and locks the folder of a run for which none was named.
func (f *Folder) lockNew(k *term.Console, data, model string) (err error) {
	if f.Dir, err = runfolder.Make(data, model, time.Now()); err != nil {
		return err
	}
	f.made = true
	return f.lockDir(k, "run folder")
}

// lockDir locks the folder and removes the unfinished files of killed writers from it. flag is the flag that named it.
func (f *Folder) lockDir(k *term.Console, flag string) (err error) {
	for try := 0; ; try++ {
		if f.made {
			if err := os.MkdirAll(string(f.Dir), 0o755); err != nil {
				f.made = false // what is there is not ours
				return runfolder.Unlocked(flag, string(f.Dir), err)
			}
		}
		f.lock, err = lockfile.Take(f.Dir.Lock())
		if try == 2 || !errors.Is(err, fs.ErrNotExist) { // a process that fails removes the folder that it has made
			break
		}
	}
	switch {
	case errors.Is(err, lockfile.ErrUnsupported):
		k.Note("note: %s: %v: make sure that no other process uses this folder", f.Dir, err)
		return f.open()
	case err != nil:
		return runfolder.Unlocked(flag, string(f.Dir), err)
	}
	if f.made { // removed when this process ends before it holds a run
		_, f.settled, err = atomicfile.Unfinished(func() (string, error) { return string(f.Dir), nil })
	}
	if err == nil {
		err = f.open()
	}
	if err == nil {
		err = term.AsUsage(regular.CheckFolder(f.Dir.Checkpoints()))
	}
	if err != nil {
		return err
	}
	atomicfile.Sweep(string(f.Dir))
	atomicfile.Sweep(f.Dir.Checkpoints())
	return nil
}

// open opens the folder, and watches it.
func (f *Folder) open() (err error) {
	if f.root, err = os.OpenRoot(string(f.Dir)); err == nil {
		f.unwatch = atomicfile.Watch(string(f.Dir), f.stays)
	}
	return err
}

// Unlock unlocks the folder, and removes it if this process has made it and written no run into it.
func (f *Folder) Unlock(resumed bool) {
	gone := f.stays()
	if f.lock != nil && gone == nil && !resumed && !f.Overwrite && !f.Dir.HoldsRun() {
		for _, path := range f.Dir.Settings() { // what this run, or one that was killed, had of a run
			os.Remove(path)
		}
	}
	f.lock.Release()
	if f.root != nil {
		f.unwatch()
		f.root.Close()
	}
	if f.settled != nil {
		f.settled()
	}
	if f.made && gone == nil && !f.Dir.HoldsRun() { // not empty or not there: then it stays as it is
		runfolder.RemoveEmpty(append([]string{string(f.Dir)}, f.above...))
	}
}

// sameNames refuses a resumed run on a data set whose columns or classes have got other names: its numbers are those of
// the run, what they mean is not.
func (f *Folder) sameNames(in *Input) error {
	was, err := f.Dir.ReadNames()
	if err != nil {
		return err
	}
	for _, names := range []struct {
		of       string
		was, are []string
	}{{"column", was.Columns, in.Data.Names.Columns}, {"class", was.Classes, in.Data.Names.Classes}} {
		if names.was == nil || names.are == nil || len(names.was) != len(names.are) {
			continue
		}
		for i, name := range names.was {
			if names.are[i] != name {
				return term.Usagef("--resume %s: %s %.60q of data set %s was %.60q when the run was begun: "+
					"restore it, or start a new run", f.Dir, names.of, names.are[i], in.Data.Name, name)
			}
		}
	}
	return nil
}

// vanished stands in the error of a run whose folder is not there any more.
const vanished = "was removed or replaced during the run"

// stays reports a folder that has been removed, or is another one by now.
func (f *Folder) stays() error {
	if f.root == nil {
		return nil
	}
	was, err := f.root.Stat(".")
	if is, err2 := os.Stat(string(f.Dir)); err != nil || err2 != nil || !os.SameFile(was, is) {
		return fmt.Errorf("run folder %s %s, so nothing more can be written to it: "+
			"train again, or --resume it where it lies now", f.Dir, vanished)
	}
	return nil
}

// keeps is stays of a folder that holds the run, which also writes again what somebody has removed of its settings.
func (f *Folder) keeps(t *Forecaster) error {
	if err := f.stays(); err != nil || f.root == nil {
		return err
	}
	for _, path := range f.settings {
		if !term.Exists(path) {
			t.Console.Note(runfolder.Again, path)
			return f.writeFiles(t)
		}
	}
	return nil
}

// growing returns the files that grow while the run trains.
func (f *Folder) growing(t *Forecaster) (*runfolder.Metrics, *runfolder.Events) {
	lost := func(path string) error {
		err := f.stays()
		if err == nil {
			t.Console.Note(runfolder.Again, path)
		}
		return err
	}
	c := &t.Config
	return &runfolder.Metrics{Path: f.Dir.Metrics(), Policy: c.Cache, Staleness: c.Staleness, Lost: lost},
		&runfolder.Events{Dir: f.Dir, Metric: string(t.metric(c)), Lost: lost}
}

// writeSettings writes config.yaml, which makes the folder a run, after the plan and the initial weights, which a
// resumed run must find as they were. What it has written goes again where there is no room for all.
func (f *Folder) writeSettings(t *Forecaster) error {
	if err := f.stays(); err != nil {
		return err
	}
	if t.sets.TooLong() {
		t.Console.Note("note: split.npz has no ids, only rows in the order of the vertices: " +
			"as text they take more than 64 MiB, as the longest sets the width of all")
	}
	others := f.Dir.Settings()
	err := f.writeFiles(t)
	f.settings = f.Dir.Settings()
	if err != nil && !f.Dir.HoldsRun() {
		for _, path := range f.settings {
			if !slices.Contains(others, path) {
				_ = os.Remove(path)
			}
		}
	}
	return err
}

// writeFiles writes the files of the settings.
func (f *Folder) writeFiles(t *Forecaster) error {
	if t.Plan != nil {
		if err := rapa.WritePlan(f.Dir.Plan(), t.Plan); err != nil {
			return err
		}
	}
	if t.initial != nil {
		if err := gnn.WriteSafetensors(f.Dir.Initial(), t.initial, t.metadata(t.Data.Name, -1)); err != nil {
			return err
		}
	}
	if err := f.Dir.WriteModel(&t.Config); err != nil {
		return err
	}
	if err := errors.Join(f.Dir.WriteScaling(t.Data.Scaling), f.Dir.WriteNames(&t.Data.Names)); err != nil {
		return err
	}
	if err := f.Dir.WriteSets(t.sets); err != nil {
		return err
	}
	return f.writeConfig(&t.Config)
}

// writeConfig writes what repeats the run.
func (f *Folder) writeConfig(c *runfolder.Config) error {
	data, err := runfolder.FormatConfig(c)
	if err != nil {
		return err
	}
	return term.WriteFile(f.Dir.Config(), data)
}

// keepBest returns what writes the weights of the best evaluation so far.
func (f *Folder) keepBest(t *Forecaster) func(epoch int, w *gnn.Weights) error {
	return func(epoch int, w *gnn.Weights) error {
		if err := f.stays(); err != nil {
			return err
		}
		return gnn.WriteSafetensors(f.Dir.Best(), w, t.metadata(t.Data.Name, epoch))
	}
}

// periods returns the refresh period of every layer with slots; nil: none has slots.
func periods(caches *jaca.Plan) map[string]int {
	if caches == nil {
		return nil
	}
	out := map[string]int{}
	for _, table := range caches.Tables {
		if table.Slots() > 0 {
			out[strconv.Itoa(table.Layer)] = table.Period
		}
	}
	return out
}

// writeWeights writes the best and the last weights of a run that has ended.
func (f *Folder) writeWeights(t *Forecaster, r *pipeline.Result) error {
	best, epoch := r.BestWeights, r.BestEpoch
	if best == nil {
		best, epoch = r.Weights, r.Epochs-1
	}
	if err := gnn.WriteSafetensors(f.Dir.Best(), best, t.metadata(t.Data.Name, epoch)); err != nil {
		return err
	}
	return gnn.WriteSafetensors(f.Dir.Last(), r.Weights, t.metadata(t.Data.Name, r.Epochs-1))
}

// result returns what is written of a run that has ended: also what the folder holds of its epochs.
func (f *Folder) result(t *Forecaster, r *pipeline.Result) (*runfolder.Result, error) {
	c, p := &t.Config, t.Data.Problem
	result := runfolder.NewResult(c, t.Data.Name, t.Specs, t.Parts, f.Dir, r)
	result.Staleness.Forecast = (*runfile.StaleForecast)(t.Aging)
	result.Several = p.Targets != nil && t.metric(c) != learn.MicroF1
	result.Positive, result.Classes, result.Data = t.positive(c), t.Data.Names.Classes, t.shape()
	result.Staleness.Period = periods(r.Caches)
	result.Order, result.Storage, result.TimeS.Order = c.Order, c.Storage, t.arranged.Seconds
	meters, err := runfolder.ReadMeters(f.Dir.Metrics())
	if err != nil {
		return nil, err
	}
	for _, m := range meters {
		result.Meters = append(result.Meters, runfile.Metered(m))
	}
	if t.Ranks != nil {
		if result.Pairs, err = runfolder.ReadTraffic(f.Dir.Metrics()); err != nil {
			return nil, err
		}
		for _, m := range t.Ranks.Members() {
			result.Hosts = append(result.Hosts, m.Host)
		}
	}
	return result, nil
}

// writeReport draws the run into its folder. A picture that could not be written is no reason to fail a run that was,
// unless its folder is gone.
func (f *Folder) writeReport(k *term.Console) error {
	run, err := f.Dir.Describe()
	if err == nil {
		err = atomicfile.Write(f.Dir.Report(), func(w io.Writer) error { return report.WriteRun(w, run) })
	}
	gone := f.stays()
	if err != nil && gone == nil {
		k.Note("note: no report: %s", term.OneLine(err))
	}
	return gone
}
