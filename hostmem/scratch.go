package hostmem

import (
	"fmt"
	"os"
)

// Scratch is large memory that is written and read at any place: of the process, or of a file that the system may write pages to where
// memory is short.
type Scratch struct {
	owner, name string
	bytes       []byte
	unmap       func() error // nil: nothing is mapped
}

// NewScratch returns size zero bytes, aligned to a page: memory of the process if dir is empty, else of an unnamed
// file in dir, which disappears when the process ends. owner and name (what it is for) appear in errors. Too little
// free memory is a *Limit before any is taken; too little space on the disk is an error here, not a fault when a page
// is written. size must not be negative.
func NewScratch(owner, name, dir string, size int64) (*Scratch, error) {
	if size < 0 {
		panic(fmt.Sprintf("hostmem: scratch %q: negative size %d", name, size))
	}
	s := &Scratch{owner: owner, name: name, bytes: []byte{}}
	page := int64(os.Getpagesize())
	whole := (size + page - 1) / page * page
	switch {
	case size > maxBlock || int64(int(whole)) != whole:
		return nil, &Limit{Owner: owner, Name: name, Need: size, Left: maxBlock, Allowed: maxBlock, What: "address space"}
	case whole == 0:
		return s, nil
	case dir == "":
		if err := checkRoom(owner, name, whole, nil); err != nil {
			return nil, err
		}
		mem, err := mapAnonymous(int(whole))
		if err != nil {
			return nil, &Limit{Owner: owner, Name: name, Need: size, Left: -1, Allowed: -1, Err: err}
		}
		s.bytes, s.unmap = mem[:size:size], func() error { unmap(mem); return nil }
		return s, nil
	}
	mem, unmap, err := mapFile(int(whole), fileIn(dir))
	if err != nil {
		return nil, fmt.Errorf("%s: %q needs a file of %d bytes in %s: %w; free room there, or set TMPDIR to another folder", owner, name, whole, dir, err)
	}
	s.bytes, s.unmap = mem[:size:size], unmap
	return s, nil
}

// Bytes returns the memory; nil after Close.
func (s *Scratch) Bytes() []byte { return s.bytes }

// Close gives the memory back. Nobody may use Bytes afterwards. Closing again does nothing.
func (s *Scratch) Close() error {
	give := s.unmap
	s.bytes, s.unmap = nil, nil
	if give == nil {
		return nil
	}
	if err := give(); err != nil {
		return fmt.Errorf("%s: release %q: %w", s.owner, s.name, err)
	}
	return nil
}
