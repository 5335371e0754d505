//go:build unix

package room

import (
	"math"
	"syscall"
)

// probe maps n bytes, does not touch them, and gives them back.
func probe(n int64) bool {
	if n < 0 || n > math.MaxInt {
		return false
	}
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return false
	}
	// It cannot fail for a range that was mapped as a whole.
	_ = syscall.Munmap(b)
	return true
}
