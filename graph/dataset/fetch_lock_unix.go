//go:build unix

package dataset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder makes sure that no other process downloads into dir until unlock is called; the lock ends with the process.
func lockFolder(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another process is downloading into %s; wait for it", dir)
		}
		return func() {}, nil // a file system without locks: checksums tell when two downloads get mixed
	}
	return func() { f.Close() }, nil
}
