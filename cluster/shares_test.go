package cluster

import (
	"strings"
	"testing"
)

func TestShareOf(t *testing.T) {
	for _, tc := range []struct {
		ranks, devices, cores int
		want                  []Share
	}{
		{1, 4, 16, []Share{{0, 4, 16}}},
		{2, 4, 16, []Share{{0, 2, 8}, {2, 2, 8}}},
		{4, 4, 2, []Share{{0, 1, 1}, {1, 1, 1}, {2, 1, 1}, {3, 1, 1}}},
		{2, 5, 7, []Share{{0, 3, 4}, {3, 2, 3}}},
		{3, 0, 8, []Share{{0, 0, 3}, {0, 0, 3}, {0, 0, 2}}},
		{2, 0, 1, []Share{{0, 0, 1}, {0, 0, 1}}},
		{1, 0, 0, []Share{{0, 0, 1}}},
	} {
		for i, want := range tc.want {
			if got, err := ShareOf(i, tc.ranks, tc.devices, tc.cores); err != nil || got != want {
				t.Errorf("rank %d of %d, %d devices, %d cores: %+v, %v, want %+v", i, tc.ranks, tc.devices, tc.cores, got, err, want)
			}
		}
	}
	for ranks := 1; ranks < 12; ranks++ {
		for devices := ranks; devices < 20; devices++ {
			next, smallest, largest := 0, devices, 0
			for i := range ranks {
				s, err := ShareOf(i, ranks, devices, 5)
				if err != nil || s.First != next || s.Threads < 1 {
					t.Fatalf("rank %d of %d, %d devices: %+v, %v", i, ranks, devices, s, err)
				}
				next, smallest, largest = s.First+s.Devices, min(smallest, s.Devices), max(largest, s.Devices)
			}
			if next != devices || largest-smallest > 1 {
				t.Errorf("%d ranks have %d of %d devices, from %d to %d each", ranks, next, devices, smallest, largest)
			}
		}
	}
	if _, err := ShareOf(0, 8, 4, 16); err == nil || !strings.Contains(err.Error(), "8 ranks on this machine have 4 devices: start 4 here, or give each its own with --devices") {
		t.Error(err)
	}
	for _, local := range []int{-1, 2} {
		if _, err := ShareOf(local, 2, 2, 2); err == nil {
			t.Errorf("local rank %d of 2 got a share", local)
		}
	}
}
