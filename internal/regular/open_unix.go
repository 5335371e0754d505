//go:build unix

package regular

import (
	"io/fs"
	"syscall"
)

const (
	// withoutWaiting keeps the opening of a FIFO, which took a file's name after the look at it, from waiting for its writer.
	withoutWaiting = syscall.O_NONBLOCK
	// withoutLinks keeps what a link, which took a file's name after the look at it, leads to from being opened.
	withoutLinks = syscall.O_NOFOLLOW
)

// names returns how many names a file has.
func names(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
