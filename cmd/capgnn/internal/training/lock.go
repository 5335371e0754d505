package training

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/atomicfile"
	"capgnn/internal/lockfile"
)

// LockRunDir makes the folder of a run, if it is named and not there, and keeps other processes from writing to it until
// UnlockRunDir is called. It comes first, so that a folder that cannot be written to costs no work.
func (t *Run) LockRunDir() error {
	if !t.leads() {
		return nil
	}
	if t.Resume {
		return t.lockDir("--resume")
	}
	if t.RunPath == "" {
		return nil
	}
	t.Dir, t.madeDir = runfolder.Dir(t.RunPath), !term.Exists(t.RunPath)
	if err := t.lockDir("--run-dir"); err != nil {
		return err
	}
	return t.Dir.Free()
}

// lockNewRunDir makes the folder of a run for which none was named.
func (t *Run) lockNewRunDir() (err error) {
	if t.Dir, err = runfolder.Make(t.Data.Name, t.Config.Model, time.Now()); err != nil {
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
		return nil
	case err != nil:
		return term.Usagef("%s %s: %w", flag, t.Dir, err)
	}
	if t.madeDir { // removed when this process ends before it holds a run
		_, t.settled, err = atomicfile.Unfinished(func() (string, error) { return string(t.Dir), nil })
	}
	atomicfile.Sweep(string(t.Dir))
	atomicfile.Sweep(t.Dir.Checkpoints())
	return err
}

// UnlockRunDir unlocks the run's folder, and removes it if this process has made it and written no run into it.
func (t *Run) UnlockRunDir() {
	t.lock.Release()
	if t.settled != nil {
		t.settled()
	}
	if t.madeDir && !t.Dir.HoldsRun() {
		// Not empty or not there: then it stays as it is.
		_ = os.Remove(string(t.Dir))
	}
}
