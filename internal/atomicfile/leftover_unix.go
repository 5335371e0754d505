//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// fresh is how long a temporary file is left alone even if nobody holds it: its writer may be about to.
const fresh = time.Minute

// hold marks a temporary file as somebody's; the mark ends with the file's closing or the process. Where the file system
// knows no such marks the file looks like a leftover after a minute without a write.
func hold(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// removeLeftovers removes temporary files that dead writers of path have left.
func removeLeftovers(path string) {
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range list {
		number, ours := strings.CutPrefix(e.Name(), filepath.Base(path)+suffix)
		if !ours || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		left := filepath.Join(filepath.Dir(path), e.Name())
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < fresh {
			continue
		}
		f, err := os.Open(left)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.Remove(left) // what stays takes room and does no harm
		}
		f.Close()
	}
}
