package rowcache

import (
	"encoding/binary"
	"errors"
	"fmt"

	"capgnn/graph"
)

// state is what Save returns: the kind, the step that is next (0: not known, else its number plus 1), how many slots there are, the ids of
// the slots, and then what a policy keeps beside them; all as 8-byte little-endian words.
type state struct {
	bytes []byte
	err   error // of reading
}

func newState(k Kind, c clock, ids []graph.NodeID) *state {
	s := &state{}
	next := uint64(0)
	if c.known {
		next = uint64(c.next) + 1
	}
	s.put(uint64(k))
	s.put(next)
	s.put(uint64(len(ids)))
	for _, v := range ids {
		s.put(uint64(v + 1))
	}
	return s
}

func (s *state) put(x uint64) { s.bytes = binary.LittleEndian.AppendUint64(s.bytes, x) }

// readState reads what newState wrote, for as many slots, to ids, which are -1. Rows are distinct and below vertices.
func readState(b []byte, k Kind, ids []graph.NodeID, vertices int) (*state, clock, error) {
	s := &state{bytes: b}
	kind, next, slots := s.get(), s.get(), s.get()
	switch {
	case s.err != nil:
		return nil, clock{}, s.err
	case kind != uint64(k):
		return nil, clock{}, fmt.Errorf("cached rows of policy %d, want %d", kind, k)
	case slots != uint64(len(ids)):
		return nil, clock{}, fmt.Errorf("%d slots of cached rows, want %d", slots, len(ids))
	case next > 1<<40:
		return nil, clock{}, fmt.Errorf("step %d behind cached rows", next-1)
	}
	seen := make([]uint64, (vertices+63)/64)
	for slot := range ids {
		v := s.get()
		if v == 0 {
			continue
		}
		v--
		if v >= uint64(vertices) || seen[v/64]>>(v%64)&1 != 0 {
			return nil, clock{}, fmt.Errorf("cached row %d of slot %d is no vertex, or in another slot, too", v, slot)
		}
		seen[v/64] |= 1 << (v % 64)
		ids[slot] = graph.NodeID(v)
	}
	return s, clock{int(max(next, 1)) - 1, next > 0}, s.err
}

func (s *state) get() uint64 {
	if len(s.bytes) < 8 {
		s.bytes, s.err = nil, errors.New("cached rows end early")
		return 0
	}
	x := binary.LittleEndian.Uint64(s.bytes)
	s.bytes = s.bytes[8:]
	return x
}

// end reports whether all has been read, and well.
func (s *state) end() error {
	if s.err == nil && len(s.bytes) > 0 {
		return fmt.Errorf("%d bytes behind cached rows", len(s.bytes))
	}
	return s.err
}
