package cluster

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestRanges(t *testing.T) {
	r, err := RangesOf([]int{3, 1, 2})
	if err != nil || !slices.Equal(r, Ranges{0, 3, 4, 6}) || r.Ranks() != 3 || r.Parts() != 6 {
		t.Fatalf("%v, %v", r, err)
	}
	for part, want := range []int{0, 0, 0, 1, 2, 2} {
		rank := r.Rank(part)
		if begin, end := r.Of(rank); rank != want || part < begin || part >= end {
			t.Errorf("part %d is of rank %d, which has %d to %d; want rank %d", part, rank, begin, end, want)
		}
	}
	if _, err := RangesOf([]int{1, 0}); err == nil || !strings.Contains(err.Error(), "rank 1 has no part") {
		t.Error(err)
	}
}

func TestSpread(t *testing.T) {
	for _, tc := range []struct {
		parts         int
		devices, want []int
	}{
		{4, []int{4}, []int{4}},
		{4, []int{2, 2}, []int{2, 2}},
		{4, []int{3, 1}, []int{3, 1}},
		{4, []int{1, 1, 1, 1}, []int{1, 1, 1, 1}},
		{4, []int{1, 1}, []int{2, 2}},
		{5, []int{1, 1}, []int{3, 2}},
		{2, []int{8, 1}, []int{1, 1}},
		{3, []int{8, 1}, []int{2, 1}},
		{18, []int{8, 1}, []int{16, 2}},
		{5, []int{1, 3}, []int{1, 4}},
		{0, nil, nil},
	} {
		if got, err := Spread(tc.parts, tc.devices); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%d parts on %v: %v, %v, want %v", tc.parts, tc.devices, got, err, tc.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 { // as many on each device as there are for it
		devices, times := make([]int, 1+r.IntN(9)), 1+r.IntN(4)
		total := 0
		for i := range devices {
			devices[i] = 1 + r.IntN(8)
			total += devices[i]
		}
		got, err := Spread(total*times, devices)
		for i := range got {
			if got[i] != devices[i]*times {
				t.Fatalf("%d parts on %v: %v, %v", total*times, devices, got, err)
			}
		}
	}
	for says, f := range map[string]func() ([]int, error){
		"1 part cannot be spread over 2 ranks, each has at least one: raise their number to 2":  func() ([]int, error) { return Spread(1, []int{1, 1}) },
		"3 parts cannot be spread over 4 ranks, each has at least one: raise their number to 4": func() ([]int, error) { return Spread(3, []int{1, 1, 1, 1}) },
		"rank 1 has no device": func() ([]int, error) { return Spread(3, []int{1, 0}) },
	} {
		if got, err := f(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, %v, want an error with %q", got, err, says)
		}
	}
}
