package diskcache

import (
	"io/fs"
	"syscall"
)

// inode returns when a file's content or attributes last changed, in nanoseconds, and its number.
func inode(info fs.FileInfo) (changed int64, number uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim.Nano(), s.Ino
	}
	return 0, 0
}
