package runfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/lockfile"
	"capgnn/internal/regular"
	"capgnn/internal/runfile"
	"capgnn/internal/shell"
)

// Dir is a run folder. config.yaml is its mark: a folder that has one holds a run.
type Dir string

// Config is the file of the settings, as FormatConfig writes them.
func (d Dir) Config() string { return filepath.Join(string(d), "config.yaml") }

// Metrics is the file with a line for each epoch.
func (d Dir) Metrics() string { return filepath.Join(string(d), "metrics.jsonl") }

// Best is the file of the weights of the best validation epoch.
func (d Dir) Best() string { return filepath.Join(string(d), "model.safetensors") }

// Last is the file of the weights after the last epoch.
func (d Dir) Last() string { return filepath.Join(string(d), "last.safetensors") }

// Checkpoints is the folder that package internal/checkpoint writes to.
func (d Dir) Checkpoints() string { return filepath.Join(string(d), "checkpoint") }

// Report is the web page about the run.
func (d Dir) Report() string { return filepath.Join(string(d), "report.html") }

// Initial is the file of the weights that --init gave.
func (d Dir) Initial() string { return filepath.Join(string(d), "init.safetensors") }

// Plan is the file of the parts (rapa.WritePlan).
func (d Dir) Plan() string { return filepath.Join(string(d), "plan.bin") }

// Model is the file of the program that --model named.
func (d Dir) Model() string { return filepath.Join(string(d), "model.json") }

// Lock is the file that a process holds as long as it writes to the folder.
func (d Dir) Lock() string { return filepath.Join(string(d), "lock") }

// result is the file of the Result, which only a finished run has.
func (d Dir) result() string { return filepath.Join(string(d), "result.json") }

// scaling is the file of what features were standardised with.
func (d Dir) scaling() string { return filepath.Join(string(d), "standardize.npz") }

// names is the file of what columns and classes are called.
func (d Dir) names() string { return filepath.Join(string(d), "names.json") }

// components is the file that `predict --what pca` writes of the run's own data set.
func (d Dir) components() string { return filepath.Join(string(d), "pca.json") }

// Trace is the trace of an epoch.
func (d Dir) Trace() string { return filepath.Join(string(d), "trace.json") }

// HoldsRun reports whether the folder already holds a run.
func (d Dir) HoldsRun() bool { return term.Exists(d.Config()) }

// Missing returns which of a folder and those above it are not there, the deepest first.
func Missing(path string) (all []string) {
	for path = filepath.Clean(path); !term.Exists(path); path = filepath.Dir(path) {
		all = append(all, path)
	}
	return all
}

// RemoveEmpty removes folders, the deepest first, up to one that is not empty.
func RemoveEmpty(folders []string) {
	for _, path := range folders {
		if os.Remove(path) != nil {
			return
		}
	}
}

// NoRun says why the folder holds no run, and which runs are in it.
func (d Dir) NoRun() string {
	list, err := os.ReadDir(string(d))
	inside := slices.DeleteFunc(list, func(e fs.DirEntry) bool { return !Dir(filepath.Join(string(d), e.Name())).HoldsRun() })
	info, unknown := os.Stat(string(d))
	to, unread := os.Readlink(string(d))
	switch {
	case len(inside) > 0:
		return fmt.Sprintf("the folder has runs in it, as --seeds makes them: name one, such as %s (of %d)", filepath.Join(string(d), inside[0].Name()), len(inside))
	case unknown != nil && unread == nil:
		return fmt.Sprintf("it is a link to %s, which is not there", to)
	case errors.Is(unknown, fs.ErrNotExist):
		return "there is no such folder"
	case unknown == nil && !info.IsDir():
		return fmt.Sprintf("it is %s, no folder", regular.Kind(info.Mode()))
	case err != nil:
		return fmt.Sprintf("it cannot be read: %v", err)
	}
	return "the folder has no config.yaml"
}

// Settings returns the files there that say what the run is.
func (d Dir) Settings() []string {
	return slices.DeleteFunc([]string{d.Plan(), d.Initial(), d.Model(), d.scaling(), d.names(), d.splitFile(), d.Config()}, func(path string) bool { return !term.Exists(path) })
}

// Again notes that a file of a run, which it names, was not where the run had left it.
const Again = "note: %s was removed or replaced during the run: it is written again"

// Make makes the folder of a new run where none was named: ./runs/DATASET-MODEL-TIME with a number behind it until the
// name is new.
func Make(dataset, model string, now time.Time) (Dir, error) {
	base := filepath.Join("runs", fmt.Sprintf("%s-%s-%s", FileName(dataset), model, now.Format("20060102-150405")))
	if err := os.MkdirAll("runs", 0o755); err != nil {
		return "", term.Usagef("make run folder: %w: choose a place with --run-dir", err)
	}
	for k, name := 2, base; ; k, name = k+1, fmt.Sprintf("%s-%d", base, k) {
		err := os.Mkdir(name, 0o755)
		switch {
		case err == nil:
			return Dir(name), nil
		case !errors.Is(err, fs.ErrExist):
			return "", term.Usagef("make run folder: %w: choose a place with --run-dir", err)
		}
	}
}

// FileName turns a data set's name, which a file may have chosen, into a harmless part of a file name.
func FileName(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '_'
	}, name)
	return strings.TrimLeft(safe[:min(len(safe), 80)], ".")
}

// Free refuses a folder that already holds a run, one of the checkpoints of another run, and, but to overwrite them, one
// with files that no run has written.
func (d Dir) Free(overwrite bool) error {
	if err := regular.CheckPlace(string(d)); err != nil {
		return term.Usagef("--run-dir: %w", err)
	}
	if run := d.keeps(); run != "" {
		return term.Usagef("--run-dir %s is for checkpoints of the run in %s: choose another folder", d, run)
	}
	foreign := d.foreign() // first: a run that has begun meanwhile is one
	if d.HoldsRun() {
		return term.Usagef("--run-dir %s already holds a run: continue it with --resume %s or choose another folder", d, shell.Word(d))
	}
	if foreign != "" && !overwrite {
		return term.Usagef("--run-dir %s holds %s and no run: name an empty folder, move that away, or add --overwrite to train", d, foreign)
	}
	for _, path := range append(d.Settings(), d.Metrics(), d.Best(), d.Last(), d.Report(), d.result(), d.Trace()) {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return term.Usagef("--run-dir %s: %s is %s, where a run writes a file: remove it", d, filepath.Base(path), regular.Kind(info.Mode()))
		}
	}
	if info, err := os.Stat(d.Checkpoints()); err == nil && !info.IsDir() {
		return term.Usagef("--run-dir %s: %s is %s, where a run makes a folder: remove it", d, filepath.Base(d.Checkpoints()), regular.Kind(info.Mode()))
	}
	return nil
}

// keeps returns the run for whose checkpoints the folder is; "": for none.
func (d Dir) keeps() (run Dir) {
	path, err := filepath.Abs(string(d))
	if real, unreal := filepath.EvalSymlinks(path); unreal == nil {
		path = real
	}
	if run = Dir(filepath.Dir(path)); err != nil || path != run.Checkpoints() || !run.HoldsRun() {
		return ""
	}
	return run
}

// foreign returns the name of a file that no run has written into a folder without a run; "" = there is none. What is left where a
// run was killed before it held one is beside its lock.
func (d Dir) foreign() string {
	list, err := os.ReadDir(string(d))
	if err != nil {
		return "" // locking it says why
	}
	ours := []string{}
	if lockfile.Wrote(d.Lock()) {
		for _, path := range []string{d.Lock(), d.Plan(), d.Initial(), d.Model(), d.scaling(), d.names(), d.splitFile(), d.Config(), SeedsDir(d).plan()} {
			ours = append(ours, filepath.Base(path))
		}
	}
	for _, e := range list {
		if name, _, _ := strings.Cut(e.Name(), ".tmp-"); !slices.Contains(ours, name) {
			return e.Name()
		}
	}
	return ""
}

// WriteResult writes result.json, the mark of a finished run.
func (d Dir) WriteResult(r *Result) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("format result: %w", err)
	}
	return term.WriteFile(d.result(), append(data, '\n'))
}

// Unfinish takes that mark from a run that goes on.
func (d Dir) Unfinish() error {
	if err := os.Remove(d.result()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove result: %w", err)
	}
	return nil
}

// ReadResult returns the result of a finished run, nil if the run is not finished.
func (d Dir) ReadResult() (*Result, error) {
	f, err := regular.Open(d.result())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, term.Usagef("read result: %w", err)
	}
	defer f.Close()
	r, err := d.readResult(f)
	if err != nil {
		return nil, term.Usagef("read result %s: %w", d.result(), err)
	}
	return &Result{Result: *r}, nil
}

// readResult reads a result. Its errors say how one that is damaged is made again.
func (d Dir) readResult(from io.Reader) (*runfile.Result, error) {
	r, err := runfile.ReadResult(from)
	if err != nil {
		err = fmt.Errorf("%w: remove it, and `capgnn train --resume %s` trains the last epochs again", err, shell.Word(d))
	}
	return r, err
}

// Denied reports whether err is of a folder that this user may only read.
func Denied(err error) bool { return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) }

// Unlocked is the error of a folder, named by a flag, whose lock could not be taken.
func Unlocked(flag, dir string, err error) error {
	held := (*lockfile.Held)(nil)
	switch {
	case errors.As(err, &held):
		return term.Usagef("%s %s: in use by %v: wait until it has ended, or end it", flag, dir, held.By)
	case !Denied(err):
		return term.Usagef("%s %s: %w", flag, dir, err)
	case flag == "--resume":
		return term.Usagef("%s %s: %w: make it writable, or resume a copy of the folder", flag, dir, err)
	}
	return term.Usagef("%s %s: %w: make it writable, or choose another folder", flag, dir, err)
}
