package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/graph/dataset"
	"capgnn/internal/atomicfile"
	"capgnn/internal/lockfile"
	"capgnn/internal/regular"
	"capgnn/internal/shell"
	"capgnn/report"
)

// seedRuns are runs that differ in their seeds, one after another.
type seedRuns struct {
	dir      runfolder.SeedsDir
	lock     *lockfile.Lock              // of dir
	readOnly bool                        // the runs have ended, and this user may only read dir
	what     *runfolder.Seeds            // as seeds.json has it
	undo     func()                      // removes what a new folder of runs has until one of them is in it
	epochs   int                         // of each run that is resumed
	lengths  []int                       // epochs that each run is to have
	begin    func(t *training.Run) error // reads the settings of a new run, but for its seed and folder
}

// seedsWanted reports whether train is to train several seeds: new ones, or those of a folder.
func seedsWanted(c *cli.Context) bool {
	return c.IsSet("seeds") || c.IsSet("resume") && runfolder.SeedsDir(c.String("resume")).HoldsSeeds()
}

// trainSeeds trains a run with each of several seeds, and says what they have together.
func trainSeeds(c *cli.Context, k *term.Console) error {
	begin := newSeeds
	if c.IsSet("resume") {
		begin = resumedSeeds
	}
	ctx, stop := term.Interruptible(c.Context, k, "after this epoch") // before there is a folder
	defer stop()
	s, err := begin(c, k)
	if err != nil {
		return err
	}
	defer s.lock.Release()
	var results []*runfolder.Result
	for i, seed := range s.what.Seeds {
		k.Note("seed %d (%d of %d)", seed, i+1, len(s.what.Seeds))
		r, err := s.train(ctx, k, seed)
		if halted := (*term.InterruptedError)(nil); errors.As(err, &halted) {
			return &term.InterruptedError{Note: s.goesOn(fmt.Sprintf("in the run of seed %d, %d of %d", seed, i+1, len(s.what.Seeds)))}
		}
		if err != nil {
			if s.undo != nil && i == 0 && !s.dir.Run(seed).HoldsRun() {
				s.undo()
			}
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		results = append(results, r)
	}
	sum := s.dir.Summarise(s.what.Seeds, results)
	if least, most := slices.Min(s.lengths), slices.Max(s.lengths); least < most {
		k.Note("note: the runs are of %d to %d epochs: `capgnn train --resume %s --epochs %d` makes them alike", least, most,
			shell.Word(s.dir), most)
	}
	if s.readOnly {
		return sum.Print(k, s.dir.Report())
	}
	if err := s.dir.WriteSummary(sum); err != nil {
		return err
	}
	if err := s.report(); err != nil {
		k.Note("note: no report: %s", term.OneLine(err))
	}
	return sum.Print(k, s.dir.Report())
}

// goesOn says how runs go on that were interrupted somewhere.
func (s *seedRuns) goesOn(where string) string {
	return fmt.Sprintf("%s: continue with `capgnn train --resume %s`", where, shell.Word(s.dir))
}

// report draws all runs onto one page.
func (s *seedRuns) report() error {
	runs, together, err := s.dir.Describe()
	if err != nil {
		return err
	}
	return atomicfile.Write(s.dir.Report(), func(w io.Writer) error { return report.WriteSeeds(w, runs, together) })
}

// newSeeds reads the settings of new runs, and makes their folder.
func newSeeds(c *cli.Context, k *term.Console) (*seedRuns, error) {
	seeds, err := runfolder.ParseSeeds(c.String("seeds"))
	if err != nil {
		return nil, term.Usagef("--seeds: %w", err)
	}
	if c.IsSet("seed") {
		return nil, term.Usagef("--seeds with --seed: each run has a seed of its own: drop one of them")
	}
	s := &seedRuns{begin: func(t *training.Run) error { return newTraining(c, t) }}
	t := training.New(k, c.Command.Name, runfolder.Default())
	if err := s.begin(t); err != nil {
		return nil, err
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	config, err := runfolder.FormatConfig(&t.Config)
	if err != nil {
		return nil, err
	}
	var made []string
	if path := c.String("run-dir"); path != "" {
		made = runfolder.Missing(path)
	}
	if s.dir, err = makeSeedsDir(c.String("run-dir"), t.Overwrite, t.Config.Dataset, t.Config.ModelName()); err != nil {
		return nil, err
	}
	if made == nil && c.String("run-dir") == "" {
		made = []string{string(s.dir)}
	}
	s.undo = func() {
		s.dir.Remove()
		s.lock.Release()
		runfolder.RemoveEmpty(made)
	}
	if s.lock, err = lockSeeds("--run-dir", s.dir); err != nil {
		runfolder.RemoveEmpty(made)
		return nil, err
	}
	s.what = &runfolder.Seeds{Seeds: seeds, Config: string(config)}
	if err = s.dir.Free(true); err == nil { // another process may have had it
		k.OnInterrupt(s.goesOn("before the first epoch"))
		err = s.dir.Write(s.what)
	}
	if err != nil {
		s.lock.Release()
		runfolder.RemoveEmpty(made)
	}
	return s, err
}

// lockSeeds keeps other processes from training the runs of a folder.
func lockSeeds(flag string, d runfolder.SeedsDir) (*lockfile.Lock, error) {
	lock, err := lockfile.Take(d.Lock())
	if err != nil && !errors.Is(err, lockfile.ErrUnsupported) {
		return nil, runfolder.Unlocked(flag, string(d), err)
	}
	return lock, nil
}

// makeSeedsDir makes the folder of new runs: the one that is named, or one below ./runs.
func makeSeedsDir(named string, overwrite bool, dataset, model string) (runfolder.SeedsDir, error) {
	if named == "" {
		d, err := runfolder.Make(filepath.Base(dataset)+"-seeds", model, time.Now())
		return runfolder.SeedsDir(d), err
	}
	d := runfolder.SeedsDir(filepath.Clean(named))
	if err := d.Free(overwrite); err != nil {
		return d, err
	}
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return d, term.Usagef("--run-dir %s: %w", d, err)
	}
	return d, nil
}

// resumedSeeds reads what a folder says of its runs. Flags beside --resume may only make them longer.
func resumedSeeds(c *cli.Context, k *term.Console) (s *seedRuns, err error) {
	d := runfolder.SeedsDir(filepath.Clean(c.String("resume")))
	if !d.HoldsSeeds() {
		return nil, term.Usagef("--resume %s: there are no runs of several seeds: drop --seeds", d)
	}
	lock, locked := lockSeeds("--resume", d)
	if locked != nil && !runfolder.Denied(locked) { // without a lock runs that have ended can be read
		return nil, locked
	}
	defer func() {
		if err != nil {
			lock.Release()
		}
	}()
	what, cfg, err := d.Read()
	if err != nil {
		return nil, term.Usagef("--resume: %w", err)
	}
	if locked != nil && !d.Ended(what.Seeds) {
		return nil, locked
	}
	was := cfg.Epochs
	if epochs, err := strconv.Atoi(c.String("epochs")); err == nil && epochs > was {
		cfg.Epochs = epochs
	}
	given := append([]string{"seeds", "config", "run-dir", "overwrite"}, runfolder.FlagNames(runfolder.Option.Setting)...)
	for _, name := range given {
		if name == "epochs" && c.IsSet(name) && cfg.Epochs == was {
			return nil, fewerEpochs(d, c.String(name), was)
		}
		if c.IsSet(name) && name != "epochs" {
			return nil, term.Usagef("--resume %s takes everything from its runs: drop --%s", d, name)
		}
	}
	if cfg.Epochs > was {
		if locked != nil {
			return nil, locked
		}
		config, err := runfolder.FormatConfig(cfg)
		if err := errors.Join(err, cfg.Validate()); err != nil {
			return nil, term.Usagef("--resume %s: %w", d, err)
		}
		what.Config = string(config)
		if err := d.Write(what); err != nil {
			return nil, err
		}
	}
	s = &seedRuns{dir: d, lock: lock, readOnly: locked != nil, what: what, epochs: cfg.Epochs, begin: func(t *training.Run) error {
		t.Config = *cfg
		return nil
	}}
	k.OnInterrupt(s.goesOn("before the runs went on"))
	return s, nil
}

// train returns the result of the run of a seed: of one that has ended, that is continued, or that begins.
func (s *seedRuns) train(ctx context.Context, k *term.Console, seed uint64) (*runfolder.Result, error) {
	d := s.dir.Run(seed)
	if err := regular.CheckFolder(string(d)); err != nil { // a link would lead to somebody else's run
		return nil, term.AsUsage(err)
	}
	t := training.New(k, "train", runfolder.Default())
	t.Whole = string(s.dir)
	if d.HoldsRun() {
		t.Dir, t.PlanFile, t.Resume = d, d.Plan(), true
		if err := d.ReadConfig(&t.Config); err != nil {
			return nil, err
		}
		if err := s.isOwn(t, seed); err != nil {
			return nil, err
		}
		s.lengths = append(s.lengths, max(t.Config.Epochs, s.epochs))
		if t.Config.Epochs < s.epochs {
			t.Lengthen(s.epochs)
		} else if r, err := t.Finished(); r != nil || err != nil {
			return r, err
		}
	} else {
		if err := s.begin(t); err != nil {
			return nil, err
		}
		t.Config.Seed, t.RunPath = seed, string(d)
		s.lengths = append(s.lengths, t.Config.Epochs)
	}
	t.OnData = func() error { return s.sameData(t) }
	if err := t.Check(); err != nil {
		return nil, err
	}
	if _, err := t.Do(ctx); err != nil {
		return nil, err
	}
	return d.ReadResult() // with as many digits as when it is read again
}

// isOwn refuses a run in the folder of a seed that is another one's.
func (s *seedRuns) isOwn(t *training.Run, seed uint64) error {
	_, all, err := s.dir.Read()
	if err != nil {
		return err
	}
	if other := runfolder.Stranger(&t.Config, all, seed); other != "" {
		return term.Usagef("%s: the run of seed %d differs from the others in %s: move its folder away, and resume %s",
			s.dir, seed, other, shell.Word(s.dir))
	}
	return nil
}

// sameData refuses a data set that is not that of the other runs. The first run says in seeds.json which that is, and
// where it lies: a folder of runs may be resumed from elsewhere.
func (s *seedRuns) sameData(t *training.Run) error {
	data := t.Data.IdentityApart(strings.HasPrefix(t.Config.Features, dataset.FeaturesRandom))
	switch was := s.what.Data; {
	case was == data || t.Config.DatasetPath == "": // a data set without a file is drawn by each seed
		return nil
	case was != "":
		return term.Usagef("%s: data set %s is not what its other runs are trained on: restore it, or start new runs",
			s.dir, t.Data.Name)
	}
	cfg := runfolder.Default()
	if err := runfolder.ParseConfig([]byte(s.what.Config), &cfg); err != nil {
		return err
	}
	cfg.DatasetPath, cfg.ModelSHA256 = t.Config.DatasetPath, t.Config.ModelSHA256
	config, err := runfolder.FormatConfig(&cfg)
	if err != nil {
		return err
	}
	s.what.Config, s.what.Data = string(config), data
	return s.dir.Write(s.what)
}
