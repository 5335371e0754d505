package main

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

// lockRunDir makes the folder of a run, if it is named and not there, and keeps other processes from writing to it until
// unlockRunDir is called. It comes first, so that a folder that cannot be written to costs no work.
func (t *training) lockRunDir() error {
	if t.resume {
		return t.lockDir("--resume")
	}
	if t.runPath == "" {
		return nil
	}
	t.dir, t.madeDir = runfolder.Dir(t.runPath), !term.Exists(t.runPath)
	if err := t.lockDir("--run-dir"); err != nil {
		return err
	}
	return t.dir.Free()
}

// lockNewRunDir makes the folder of a run for which none was named.
func (t *training) lockNewRunDir() (err error) {
	if t.dir, err = runfolder.Make(t.data.Name, t.cfg.Model, time.Now()); err != nil {
		return err
	}
	t.madeDir = true
	return t.lockDir("run folder")
}

// lockDir locks the run's folder and removes the unfinished files of killed writers from it. flag is the flag that named the folder.
func (t *training) lockDir(flag string) (err error) {
	for try := 0; ; try++ {
		if t.madeDir {
			if err := os.MkdirAll(string(t.dir), 0o755); err != nil {
				return term.Usagef("%s %s: %w", flag, t.dir, err)
			}
		}
		t.lock, err = lockfile.Take(t.dir.Lock())
		if try == 2 || !errors.Is(err, fs.ErrNotExist) { // a process that fails removes the folder that it has made
			break
		}
	}
	var held *lockfile.Held
	switch {
	case errors.As(err, &held):
		return term.Usagef("%s %s: in use by %v: wait until it has ended, or end it", flag, t.dir, held.By)
	case errors.Is(err, lockfile.ErrUnsupported):
		t.k.Note("note: %s: %v: make sure that no other process uses this folder", t.dir, err)
		return nil
	case err != nil:
		return term.Usagef("%s %s: %w", flag, t.dir, err)
	}
	if t.madeDir { // removed when this process ends before it holds a run
		_, t.settled, err = atomicfile.Unfinished(func() (string, error) { return string(t.dir), nil })
	}
	atomicfile.Sweep(string(t.dir))
	atomicfile.Sweep(t.dir.Checkpoints())
	return err
}

// unlockRunDir unlocks the run's folder, and removes it if this process has made it and written no run into it.
func (t *training) unlockRunDir() {
	t.lock.Release()
	if t.settled != nil {
		t.settled()
	}
	if t.madeDir && !t.dir.HoldsRun() {
		// Not empty or not there: then it stays as it is.
		_ = os.Remove(string(t.dir))
	}
}
