package hostmem

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/edsrzf/mmap-go"

	"capgnn/internal/regular"
)

// MapArray is an array in a mapped file.
type MapArray[T Numeric] struct {
	Data   []T // read-only; invalid after Close
	region mmap.MMap
}

// Map maps n elements of a file, beginning at byte offset, in this machine's byte order. The file may be longer. It is an
// error if the file is too short or offset is not a multiple of the element size. Nothing is read yet.
func Map[T Numeric](path string, offset int64, n int) (*MapArray[T], error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := int64(unsafe.Sizeof(*new(T)))
	switch {
	case offset < 0 || n < 0:
		return nil, fmt.Errorf("map %s: %d elements at byte %d: negative", path, n, offset)
	case offset%size != 0:
		return nil, fmt.Errorf("map %s: byte %d is not a multiple of the element size %d", path, offset, size)
	case offset > info.Size() || int64(n) > (info.Size()-offset)/size:
		return nil, fmt.Errorf("map %s: %d elements of %d bytes at byte %d exceed the file's %d bytes", path, n, size, offset, info.Size())
	case n == 0:
		return &MapArray[T]{}, nil
	}
	end := offset + int64(n)*size
	if int64(int(end)) != end {
		return nil, fmt.Errorf("map %s: %d bytes exceed the address space", path, end)
	}
	region, err := mmap.MapRegion(f, int(end), mmap.RDONLY, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return &MapArray[T]{Data: Of[T](region[offset:end:end]), region: region}, nil
}

// Rest removes the array's pages from the process, so that they no longer count as its memory. A later read of Data maps them
// again, from the system's file cache while they are in it.
func (m *MapArray[T]) Rest() {
	if m.region != nil {
		restPages(m.region)
	}
}

// ByRows tells the system how the array will be read: in scattered pieces, so that it loads only these, or, as after
// Map, in order, so that it reads ahead.
func (m *MapArray[T]) ByRows(on bool) {
	if m.region != nil {
		adviseOrder(m.region, on)
	}
}

// Close removes the mapping. Data must not be used afterwards, by anyone. Closing again does nothing.
func (m *MapArray[T]) Close() error {
	m.Data = nil
	if m.region == nil {
		return nil
	}
	if err := m.region.Unmap(); err != nil {
		return errors.Join(errors.New("unmap"), err)
	}
	return nil
}
