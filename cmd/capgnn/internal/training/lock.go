package training

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/internal/atomicfile"
	"capgnn/internal/lockfile"
	"capgnn/internal/regular"
)

// LockRunDir makes the folder of a run, if it is named and not there, and keeps other processes from writing to it until
// UnlockRunDir is called. It comes first, so that a folder that cannot be written to costs no work.
func (t *Run) LockRunDir() error {
	if !t.Ranks.Leads() {
		return nil
	}
	if t.Resume {
		return t.lockDir("--resume")
	}
	if t.RunPath == "" {
		return nil
	}
	t.Dir = runfolder.Dir(t.RunPath)
	if err := t.Dir.Free(t.Overwrite); err != nil { // before its lock is written
		return err
	}
	t.above = runfolder.Missing(filepath.Dir(t.RunPath))
	t.madeDir = !term.Exists(t.RunPath)
	if err := t.lockDir("--run-dir"); err != nil {
		return err
	}
	return t.Dir.Free(true) // another process may have had it
}

// lockNewRunDir makes the folder of a run for which none was named.
func (t *Run) lockNewRunDir() (err error) {
	if t.Dir, err = runfolder.Make(t.Data.Name, t.Config.ModelName(), time.Now()); err != nil {
		return err
	}
	t.madeDir = true
	return t.lockDir("run folder")
}

// lockDir locks the run's folder and removes the unfinished files of killed writers from it. flag is the flag that named the folder.
func (t *Run) lockDir(flag string) (err error) {
	for try := 0; ; try++ {
		if t.madeDir {
			if err := os.MkdirAll(string(t.Dir), 0o755); err != nil {
				t.madeDir = false // what is there is not ours
				return term.Usagef("%s %s: %w", flag, t.Dir, err)
			}
		}
		t.lock, err = lockfile.Take(t.Dir.Lock())
		if try == 2 || !errors.Is(err, fs.ErrNotExist) { // a process that fails removes the folder that it has made
			break
		}
	}
	var held *lockfile.Held
	switch {
	case errors.As(err, &held):
		return term.Usagef("%s %s: in use by %v: wait until it has ended, or end it", flag, t.Dir, held.By)
	case errors.Is(err, lockfile.ErrUnsupported):
		t.Console.Note("note: %s: %v: make sure that no other process uses this folder", t.Dir, err)
		t.folder, err = os.OpenRoot(string(t.Dir))
		return err
	case err != nil:
		return term.Usagef("%s %s: %w", flag, t.Dir, err)
	}
	if t.madeDir { // removed when this process ends before it holds a run
		_, t.settled, err = atomicfile.Unfinished(func() (string, error) { return string(t.Dir), nil })
	}
	if err == nil {
		t.folder, err = os.OpenRoot(string(t.Dir))
	}
	if err == nil {
		err = term.AsUsage(regular.CheckFolder(t.Dir.Checkpoints()))
	}
	if err != nil {
		return err
	}
	atomicfile.Sweep(string(t.Dir))
	atomicfile.Sweep(t.Dir.Checkpoints())
	return nil
}

// vanished stands in the error of a run whose folder is not there any more.
const vanished = "was removed or replaced during the run"

// stays reports a run folder that has been removed, or is another one by now.
func (t *Run) stays() error {
	if t.folder == nil {
		return nil
	}
	was, err := t.folder.Stat(".")
	if is, err2 := os.Stat(string(t.Dir)); err != nil || err2 != nil || !os.SameFile(was, is) {
		return fmt.Errorf("run folder %s %s, so nothing more can be written to it: train again, or --resume it where it lies now", t.Dir, vanished)
	}
	return nil
}

// keeps is stays of a folder that holds the run, which also writes again what somebody has removed of its settings.
func (t *Run) keeps() error {
	if err := t.stays(); err != nil || t.folder == nil {
		return err
	}
	for _, path := range t.settings {
		if !term.Exists(path) {
			t.Console.Note(runfolder.Again, path)
			return t.writeFiles()
		}
	}
	return nil
}

// keepBest writes the weights of the best evaluation so far.
func (t *Run) keepBest(epoch int, w *gnn.Weights) error {
	if err := t.stays(); err != nil {
		return err
	}
	return gnn.WriteSafetensors(t.Dir.Best(), w, t.metadata(epoch))
}

// UnlockRunDir unlocks the run's folder, and removes it if this process has made it and written no run into it.
func (t *Run) UnlockRunDir() {
	gone := t.stays()
	if t.lock != nil && gone == nil && !t.Resume && !t.Overwrite && !t.Dir.HoldsRun() { // what this run, or one that was killed, had of a run
		for _, path := range t.Dir.Settings() {
			os.Remove(path)
		}
	}
	t.lock.Release()
	if t.folder != nil {
		t.folder.Close()
	}
	if t.settled != nil {
		t.settled()
	}
	if t.madeDir && gone == nil && !t.Dir.HoldsRun() {
		// Not empty or not there: then it stays as it is.
		runfolder.RemoveEmpty(append([]string{string(t.Dir)}, t.above...))
	}
}
