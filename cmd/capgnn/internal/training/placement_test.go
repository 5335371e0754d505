package training

import (
	"slices"
	"testing"
)

// Parts lie in rank order, and take turns on the devices of their rank; a rank leaves devices unused that have no part.
func TestPlacement(t *testing.T) {
	for _, tc := range []struct {
		parts          int
		counts         []int
		devices, first []int
	}{
		{2, []int{1, 1}, []int{0, 1}, []int{0, 1, 2}},
		{4, []int{3, 1}, []int{0, 1, 2, 3}, []int{0, 3, 4}},
		{4, []int{1, 1}, []int{0, 0, 1, 1}, []int{0, 1, 2}},
		{5, []int{2, 1}, []int{0, 1, 0, 1, 2}, []int{0, 2, 3}},
		{3, []int{4, 2}, []int{0, 1, 2}, []int{0, 2, 3}},
		{2, []int{2, 2}, []int{0, 1}, []int{0, 1, 2}},
	} {
		p, err := newPlacement(tc.parts, tc.counts)
		if err != nil || !slices.Equal(p.devices, tc.devices) || !slices.Equal(p.first, tc.first) {
			t.Errorf("%d parts on %v: %+v, %v; want devices %v, first %v", tc.parts, tc.counts, p, err, tc.devices, tc.first)
		}
	}
	for parts, counts := range map[int][]int{2: {1, 1, 1}, 3: {1, 0}} {
		if p, err := newPlacement(parts, counts); err == nil {
			t.Errorf("%d parts on %v: %+v", parts, counts, p)
		}
	}
}
