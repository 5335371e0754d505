//go:build !linux

package hostmem

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/edsrzf/mmap-go"
)

// pageMemory is memory of this process in pages of its own.
var pageMemory = mapper{"pages", func(n int) ([]byte, func() error, error) {
	mem, err := mmap.MapRegion(nil, n, mmap.RDWR, mmap.ANON, 0)
	if err != nil {
		return nil, nil, err
	}
	return mem, func() error { return mem.Unmap() }, nil
}}

// widePages is pageMemory: nothing is known of wider ones.
var widePages = pageMemory

// memoryFile does not exist here.
func memoryFile() (*os.File, func() error, error) {
	return nil, nil, fmt.Errorf("memfd on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// reserve makes f n bytes long, all of them written.
func reserve(f *os.File, n int64) error { return writeZeros(f, n) }

func temporaryDir() string { return os.TempDir() }
