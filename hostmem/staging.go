package hostmem

import (
	"fmt"
	"os"
	"sync"
)

// Staging is the page-locked memory through which rows leave a device that their reader cannot reach. It has two halves:
// one is filled while the other is drained.
//
// A half has one owner at a time: the staging, then whoever took it, until Release. Halves are handed out in turn.
type Staging struct {
	mem   *Pinned
	mu    sync.Mutex
	turn  int
	halfs [2]Half
}

// Half is one half of a staging.
type Half struct {
	staging *Staging
	index   int
	bytes   []byte
	holder  string // "" = the staging
}

// NewStaging returns the staging of a device with two halves of at least half bytes; each begins at a page. Fails as
// NewPinned does. half must not be negative.
func NewStaging(device string, half int64, o LockOptions) (*Staging, error) {
	page := int64(os.Getpagesize())
	each := (min(half, maxBlock) + page - 1) / page * page
	mem, err := NewPinned(device, "staging", 2*each, o)
	if err != nil {
		return nil, err
	}
	s := &Staging{mem: mem}
	for i := range s.halfs {
		lo := int64(i) * each
		s.halfs[i] = Half{staging: s, index: i, bytes: mem.Bytes()[lo : lo+half : lo+half]}
	}
	return s, nil
}

// Take hands out the half whose turn it is. holder says for what; it appears in the error of who comes while the half is
// out. Nothing waits: a half that is not back yet is an error.
func (s *Staging) Take(holder string) (*Half, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.halfs[s.turn]
	switch {
	case s.mem.closed.Load():
		return nil, s.mem.isClosed()
	case holder == "":
		return nil, fmt.Errorf("%s: take half %d of the staging: no holder named", s.mem.owner, h.index)
	case h.holder != "":
		return nil, fmt.Errorf("%s: take half %d of the staging for %s: %s has it", s.mem.owner, h.index, holder, h.holder)
	}
	s.turn = 1 - s.turn
	h.holder = holder
	return h, nil
}

// Bytes returns the half's memory. It belongs to the holder until Release; nil after the staging's Close.
func (h *Half) Bytes() []byte { return h.bytes }

// Release gives the half back, by any goroutine: when its last use has ended, or is enqueued where the next holder's first
// use waits for it. Releasing what nobody holds is an error.
func (h *Half) Release() error {
	s := h.staging
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.mem.closed.Load():
		return s.mem.isClosed()
	case h.holder == "":
		return fmt.Errorf("%s: release half %d of the staging: nobody has it", s.mem.owner, h.index)
	}
	h.holder = ""
	return nil
}

// Unlocked returns nil if the staging is page-locked, else the reason why it is not.
func (s *Staging) Unlocked() error { return s.mem.Unlocked() }

// Close gives the memory back, also of a half that is out: the owner closes when nobody uses it. Closing again is an error.
func (s *Staging) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.halfs {
		s.halfs[i].bytes = nil
	}
	return s.mem.Close()
}
