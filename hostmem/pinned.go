package hostmem

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"syscall"
)

// Pinned is page-locked memory in pages of its own: the system does not move it and a device's copy engine reaches it.
type Pinned struct {
	owner, name string
	bytes       []byte // size bytes
	pages       []byte // the whole pages that hold them
	kind        string
	unmap       func() error // nil: nothing is mapped
	pinner      Pinner       // nil: not locked
	unlocked    error
	closed      atomic.Bool
}

// NewPinned returns size zero bytes of page-locked memory, aligned to a page. owner (a device, the trainer) and name (what
// it is for) appear in errors. Memory that is not free, or that may not be locked, fails with *Limit before it is taken.
// size must not be negative.
func NewPinned(owner, name string, size int64, o LockOptions) (*Pinned, error) {
	return newPinned(owner, name, size, o, pageMemory)
}

// newPinned takes the memory from the first of maps that has it. Limits are checked before: on memory, and on locking unless that
// is optional.
func newPinned(owner, name string, size int64, o LockOptions, maps ...mapper) (*Pinned, error) {
	if size < 0 {
		panic(fmt.Sprintf("hostmem: lock %q: negative size %d", name, size))
	}
	p := &Pinned{owner: owner, name: name, pinner: o.Pinner}
	if p.pinner == nil {
		p.pinner = MLock{}
	}
	switch {
	case o.Heap:
		maps, p.pinner, p.unlocked = []mapper{heapMemory}, nil, errors.New("memory of the Go heap is not locked")
	case o.maps != nil:
		maps = o.maps
	case o.Unlocked:
		maps = []mapper{widePages}
	}
	if o.Unlocked && !o.Heap {
		p.pinner, p.unlocked = nil, errors.New("nobody asked for locked memory")
	}
	page := int64(os.Getpagesize())
	whole := (min(size, maxBlock) + page - 1) / page * page
	if most := int64(min(maxBlock, math.MaxInt)); size > most || whole > most {
		return nil, &Limit{Owner: owner, Name: name, Need: size, Left: most, Allowed: most, What: "address space"}
	}
	if whole == 0 {
		p.bytes, p.pinner = []byte{}, nil
		return p, nil
	}
	if !o.Heap || o.room != nil {
		if err := checkRoom(owner, name, whole, o.room); err != nil {
			return nil, err
		}
	}
	if err := p.mayLock(whole, o.Optional); err != nil {
		return nil, err
	}
	if err := p.take(int(whole), maps); err != nil {
		return nil, err
	}
	p.bytes = p.pages[:size:size]
	if err := p.lock(o.Optional); err != nil {
		return nil, errors.Join(err, p.unmap())
	}
	return p, nil
}

// take maps n bytes.
func (p *Pinned) take(n int, maps []mapper) error {
	var all []error
	for _, m := range maps {
		mem, unmap, err := m.open(n)
		if err == nil {
			p.pages, p.unmap, p.kind = mem, unmap, m.kind
			return nil
		}
		all = append(all, fmt.Errorf("%s: %w", m.kind, err))
		if errors.Is(err, syscall.ENOMEM) {
			break // memory of another kind takes as much room
		}
	}
	return fmt.Errorf("%s: map %d bytes for %q: %w", p.owner, n, p.name, errors.Join(all...))
}

// mayLock finds out what it can about n bytes before they are taken.
func (p *Pinned) mayLock(n int64, optional bool) error {
	m, ok := p.pinner.(MLock)
	if !ok {
		return nil
	}
	_, err := m.check(n)
	return p.refused(err, optional)
}

// lock registers the pages.
func (p *Pinned) lock(optional bool) error {
	if p.pinner == nil {
		return nil
	}
	return p.refused(p.pinner.Register(p.pages), optional)
}

// refused returns err with the owner's name, nil if there is none. Optional memory is used unlocked and keeps err as the reason.
func (p *Pinned) refused(err error, optional bool) error {
	var limit *Limit
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limit):
		limit.Owner, limit.Name = p.owner, p.name
	default:
		err = fmt.Errorf("%s: lock %q: %w", p.owner, p.name, err)
	}
	if !optional {
		return err
	}
	p.pinner, p.unlocked = nil, err
	return nil
}

// Bytes returns the memory; nil after Close.
func (p *Pinned) Bytes() []byte { return p.bytes }

// Unlocked returns nil if the memory is page-locked, else the reason why it is not.
func (p *Pinned) Unlocked() error { return p.unlocked }

// Close unlocks the memory and gives it back. Nobody may use Bytes afterwards. Closing again is an error.
func (p *Pinned) Close() error {
	if p.closed.Swap(true) {
		return p.isClosed()
	}
	var unpin, unmap error
	if p.pinner != nil {
		unpin = p.pinner.Unregister(p.pages)
	}
	if p.unmap != nil {
		unmap = p.unmap()
	}
	p.bytes, p.pages = nil, nil
	if err := errors.Join(unpin, unmap); err != nil {
		return fmt.Errorf("%s: release %q: %w", p.owner, p.name, err)
	}
	return nil
}

// isClosed is the error of use after Close.
func (p *Pinned) isClosed() error { return fmt.Errorf("%s: %q: %w", p.owner, p.name, os.ErrClosed) }
