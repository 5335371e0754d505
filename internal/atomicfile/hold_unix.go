//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"capgnn/internal/regular"
)

// hold makes a temporary file or folder and holds it until held is closed. Between being made and being held it may look
// like a dead writer's and be swept away; then it is made again.
func hold(create func() (name string, err error)) (name string, held *os.File, err error) {
	const tries = 100
	for range tries {
		if name, err = create(); err != nil {
			return "", nil, err
		}
		if held, err = os.Open(name); errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return "", nil, errors.Join(err, os.Remove(name))
		}
		err = syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && regular.LeadsTo(name, held) {
			return name, held, nil // on a file system without locks nobody can hold it, and so nobody sweeps it away
		}
		held.Close()
	}
	return "", nil, fmt.Errorf("make a temporary file: it was removed %d times", tries)
}

// removeAbandoned removes a temporary file or folder that no process holds. It is held meanwhile, so that a writer who has just
// made it notices.
func removeAbandoned(name string) {
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && regular.LeadsTo(name, f) {
		_ = os.RemoveAll(name) // what stays takes room and does no harm
	}
}
