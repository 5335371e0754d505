//go:build unix

package ranks

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether a file is of this user.
func owned(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
