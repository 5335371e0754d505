//go:build cuda

package cuda

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"capgnn/hostmem"
)

// ranges are the registered parts of host memory, in order of their addresses.
type ranges struct {
	mu   sync.RWMutex
	list []extent
}

// extent is the addresses lo to hi, hi excluded.
type extent struct{ lo, hi uintptr }

func extentOf(mem []byte) extent {
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	return extent{lo, lo + uintptr(len(mem))}
}

func (r *ranges) add(e extent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := slices.BinarySearchFunc(r.list, e, func(a, b extent) int { return compare(a.lo, b.lo) })
	r.list = slices.Insert(r.list, i, e)
}

func (r *ranges) remove(e extent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(o extent) bool { return o == e })
}

// hold reports whether one registered range holds all of mem.
func (r *ranges) hold(mem []byte) bool {
	e := extentOf(mem)
	r.mu.RLock()
	defer r.mu.RUnlock()
	i, found := slices.BinarySearchFunc(r.list, e.lo, func(a extent, lo uintptr) int { return compare(a.lo, lo) })
	if !found {
		i--
	}
	return i >= 0 && e.hi <= r.list[i].hi
}

func compare(a, b uintptr) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// pinner registers host memory with the driver, for all its GPUs.
type pinner struct{ driver *Driver }

// Pinner returns what page-locks host memory so that every GPU of the process copies from and to it by itself. It works while
// a device is open.
func (d *Driver) Pinner() hostmem.Pinner { return pinner{d} }

// Register implements hostmem.Pinner.
func (p pinner) Register(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	ctx, err := p.driver.context()
	if err == nil {
		err = registerMemory(ctx, mem)
	}
	if err != nil {
		return fmt.Errorf("page-lock %d bytes: %w", len(mem), err)
	}
	p.driver.pinned.add(extentOf(mem))
	return nil
}

// Unregister implements hostmem.Pinner. Memory that outlives the last device was released with it.
func (p pinner) Unregister(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	p.driver.pinned.remove(extentOf(mem))
	ctx, err := p.driver.context()
	if err != nil {
		return nil
	}
	return unregisterMemory(ctx, mem)
}
