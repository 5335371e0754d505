package adjacency

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"capgnn/graph"
	"capgnn/internal/room"
)

// IDs is a set of vertex ids with gaps, which become vertices in ascending order.
type IDs struct {
	Sorted []int64
	fresh  []int64 // not sorted in yet; may repeat
	shift  uint    // ids with equal id>>shift have neighbouring places
	begin  []int32 // place of the first id with id>>shift = k
}

// freshIDs are collected before they are sorted in, and half as many as there are already, so that sorting stays cheap
// and memory below three times the ids.
const freshIDs = 1 << 16

// Add adds an id, which may be there.
func (s *IDs) Add(id int64) error {
	s.fresh = append(s.fresh, id)
	if len(s.fresh) < cap(s.fresh) || len(s.fresh) < freshIDs {
		return nil
	}
	return s.merge()
}

// merge sorts the fresh ids in.
func (s *IDs) merge() error {
	slices.Sort(s.fresh)
	s.fresh = slices.Compact(s.fresh)
	extra := 0
	for a, b := s.Sorted, s.fresh; len(b) > 0; b = b[1:] {
		k, found := slices.BinarySearch(a, b[0])
		if a = a[k:]; !found {
			extra++
		}
	}
	if len(s.Sorted)+extra >= math.MaxInt32-1 {
		return fmt.Errorf("there are more than %d vertices", math.MaxInt32-1)
	}
	if err := room.For(8 * int64(len(s.Sorted)+extra)); err != nil {
		return err
	}
	all := make([]int64, 0, len(s.Sorted)+extra)
	a, b := s.Sorted, s.fresh
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			all, a = append(all, a[0]), a[1:]
		case a[0] > b[0]:
			all, b = append(all, b[0]), b[1:]
		default:
			all, a, b = append(all, a[0]), a[1:], b[1:]
		}
	}
	s.Sorted = append(append(all, a...), b...)
	s.fresh = s.fresh[:0]
	if want := len(s.Sorted) / 2; want > cap(s.fresh) {
		s.fresh = make([]int64, 0, want)
	}
	return nil
}

// Finish makes place usable.
func (s *IDs) Finish() error {
	if err := s.merge(); err != nil {
		return err
	}
	s.fresh = nil
	if len(s.Sorted) == 0 {
		return nil
	}
	// About four ids share an entry of begin if they are spread evenly.
	largest := uint64(s.Sorted[len(s.Sorted)-1])
	s.shift = uint(max(0, bits.Len64(largest)-bits.Len(uint(len(s.Sorted)/4))))
	s.begin = make([]int32, largest>>s.shift+2)
	k := 0
	for place, id := range s.Sorted {
		for ; k <= int(uint64(id)>>s.shift); k++ {
			s.begin[k] = int32(place)
		}
	}
	for ; k < len(s.begin); k++ {
		s.begin[k] = int32(len(s.Sorted))
	}
	return nil
}

// Place returns the vertex of an id; false if it is not in the set.
func (s *IDs) Place(id int64) (graph.NodeID, bool) {
	k := uint64(id) >> s.shift
	if id < 0 || k+1 >= uint64(len(s.begin)) {
		return 0, false
	}
	lo := s.begin[k]
	at, found := slices.BinarySearch(s.Sorted[lo:s.begin[k+1]], id)
	return lo + graph.NodeID(at), found
}
