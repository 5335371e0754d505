package hostmem

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/edsrzf/mmap-go"
)

// mapper gets memory from one place.
type mapper struct {
	kind string // what the memory is: "memfd", "temporary file" or "Go heap"; "" of an empty region
	// open returns n zero bytes, n > 0 and a multiple of the page size, and what gives them back.
	open func(n int) (mem []byte, unmap func() error, err error)
}

var (
	// heapMemory is memory of the Go heap.
	heapMemory = mapper{"Go heap", func(n int) ([]byte, func() error, error) {
		return aligned(n), func() error { return nil }, nil
	}}
	// sharedMemory is an anonymous file of the kernel.
	sharedMemory = mapper{"memfd", func(n int) ([]byte, func() error, error) { return mapFile(n, memoryFile) }}
	// fileMemory is a file without a name, for systems without memfd.
	fileMemory = mapper{"temporary file", func(n int) ([]byte, func() error, error) { return mapFile(n, fileIn(temporaryDir())) }}
)

// mapFile maps a new file of n bytes for reading and writing. The file's blocks are there before it is mapped: a full disk
// or memory is an error now, not a bus error when a page is first written.
func mapFile(n int, create func() (f *os.File, remove func() error, err error)) ([]byte, func() error, error) {
	f, remove, err := create()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() // the mapping keeps the file's memory
	if err := reserve(f, int64(n)); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("reserve %d bytes: %w", n, err), f.Close(), remove())
	}
	mem, err := mmap.MapRegion(f, n, mmap.RDWR, 0, 0)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("map %d bytes: %w", n, err), f.Close(), remove())
	}
	return mem, func() error { return errors.Join(mem.Unmap(), remove()) }, nil
}

// fileIn returns what makes an empty file in a folder that no name leads to. Where a system keeps the name of an open file, remove takes
// it away when the memory is given back.
func fileIn(dir string) func() (f *os.File, remove func() error, err error) {
	return func() (*os.File, func() error, error) {
		f, err := os.CreateTemp(dir, "capgnn-shared-*")
		if err != nil {
			return nil, nil, err
		}
		if os.Remove(f.Name()) == nil {
			return f, func() error { return nil }, nil
		}
		return f, func() error { return os.Remove(f.Name()) }, nil
	}
}

// writeZeros makes f n bytes long by writing them.
func writeZeros(f *os.File, n int64) error {
	zeros := make([]byte, 1<<20)
	for left := n; left > 0; {
		k, err := f.Write(zeros[:min(left, int64(len(zeros)))])
		if err != nil {
			return err
		}
		if k == 0 {
			return io.ErrShortWrite
		}
		left -= int64(k)
	}
	return nil
}
