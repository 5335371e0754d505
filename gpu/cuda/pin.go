//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// ranges are the registered parts of host memory, in order of their addresses.
type ranges struct {
	mu   sync.RWMutex
	list []extent
}

// extent is the addresses lo to hi, hi excluded, and the context that they were registered in.
type extent struct {
	lo, hi uintptr
	ctx    contextHandle
}

func extentOf(mem []byte, ctx contextHandle) extent {
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	return extent{lo, lo + uintptr(len(mem)), ctx}
}

func (r *ranges) add(e extent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := slices.BinarySearchFunc(r.list, e, func(a, b extent) int { return compare(a.lo, b.lo) })
	r.list = slices.Insert(r.list, i, e)
}

// remove takes the range that begins where mem does off the list and returns its context, 0 if it was not on it.
func (r *ranges) remove(mem []byte) (ctx contextHandle) {
	e := extentOf(mem, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(o extent) bool {
		if o.lo == e.lo {
			ctx = o.ctx
		}
		return o.lo == e.lo
	})
	return ctx
}

// end unregisters what was registered in the contexts that are named and takes it off the list. The first error counts that is not
// of a lost GPU.
func (r *ranges) end(of func(contextHandle) bool) (first error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(o extent) bool {
		if !of(o.ctx) {
			return false
		}
		if err := unregisterMemory(o.ctx, o.lo); first == nil && !errors.Is(err, gpu.ErrDeviceLost) {
			first = err
		}
		return true
	})
	return first
}

// hold reports whether one registered range holds all of mem.
func (r *ranges) hold(mem []byte) bool {
	e := extentOf(mem, 0)
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
	p.driver.pinned.add(extentOf(mem, ctx))
	return nil
}

// Unregister implements hostmem.Pinner. What was registered is undone with the last device that is closed, at the latest.
func (p pinner) Unregister(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	ctx := p.driver.pinned.remove(mem)
	if ctx == 0 {
		return nil
	}
	return unregisterMemory(ctx, extentOf(mem, ctx).lo)
}
