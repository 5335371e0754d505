package lockfile

import (
	"errors"
	"fmt"
	"os"
	"time"

	"capgnn/internal/atomicfile"
	"capgnn/internal/regular"
)

// ErrUnsupported says that the file system or the operating system has no locks.
var ErrUnsupported = errors.New("there are no file locks here")

// Held says that another process holds a lock.
type Held struct {
	Path string
	By   Holder
}

func (e *Held) Error() string { return fmt.Sprintf("lock %s: held by %v", e.Path, e.By) }

// Lock is a lock that this process holds.
type Lock struct {
	f    *os.File
	gone func() // its file needs no removal any more at a sudden end of the process
}

// patience is how long Take waits: a holder has the lock a moment before it has written its name, and the system needs a while to
// take the lock from a process that was killed.
const patience = time.Second

// Take locks the file path, made as needed. Where another process holds it for longer than a second the error is a *Held.
func Take(path string) (*Lock, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		f, err := regular.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		free, err := tryLock(f)
		if free && regular.LeadsTo(path, f) { // else its holder has removed it since
			if err = write(f); err == nil {
				l := &Lock{f: f}
				l.gone = atomicfile.Kept(path, func() { removeOwn(f) })
				return l, nil
			}
			_ = os.Remove(path) // on a full disk, say: nobody holds it
		}
		by := read(f)
		f.Close()
		switch {
		case errors.Is(err, ErrUnsupported):
			_ = os.Remove(path) // nobody holds it, so it means nothing
			return nil, err
		case err != nil:
			return nil, err
		case !free && time.Now().After(deadline):
			return nil, &Held{path, by}
		}
	}
}

// Wrote reports whether path is the file of a lock, whoever holds it or has left it: what says so, or has not come to say anything.
func Wrote(path string) bool {
	f, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	return err == nil && (info.Size() == 0 || read(f).PID > 0)
}

// Lost reports whether the file of the lock has been removed or replaced, so that another process may hold the lock, too. A nil
// lock is none.
func (l *Lock) Lost() bool { return l != nil && l.f != nil && !regular.LeadsTo(l.f.Name(), l.f) }

// Release gives the lock up and removes its file, but not that of another holder. A nil lock is none.
func (l *Lock) Release() {
	if l == nil || l.f == nil {
		return
	}
	removeOwn(l.f)
	l.f.Close()
	l.gone()
	l.f = nil
}

// removeOwn removes the file of a lock, but not one that has taken its place. What stays is no obstacle.
func removeOwn(f *os.File) {
	if regular.LeadsTo(f.Name(), f) {
		_ = os.Remove(f.Name())
	}
}
