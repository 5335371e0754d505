package jaca

import (
	"errors"
	"slices"
	"testing"

	"capgnn/gpu"
)

// TestCapacity is Algorithm 1 by hand: four has slots of 40 + 24 bytes, unions of part 0 {2, 3} and part 1, 2 two rows at most,
// and of all {0, 1, 2, 3} backward, {0, 2, 3} forward.
func TestCapacity(t *testing.T) {
	forward, backward := four(t)
	device := []gpu.Bytes{64*1 + 100, 64*2 - 1 + 100, 1 << 30}
	for _, tc := range []struct {
		name   string
		m      Memory
		local  []int
		global int
	}{
		{"all fits", Memory{}, []int{2, 2, 2}, 4},
		{"device memory", Memory{Device: device, DeviceReserve: 100}, []int{1, 1, 2}, 4},
		{"reserve", Memory{Device: device, DeviceReserve: 101}, []int{0, 1, 2}, 4},
		{"reserve above memory", Memory{Device: device, DeviceReserve: 1000}, []int{0, 0, 2}, 4},
		{"two generations", Memory{Host: 128*3 + 127 + 50, HostReserve: 50}, []int{2, 2, 2}, 3},
		{"no host memory", Memory{Host: 1, HostReserve: 50}, []int{2, 2, 2}, 0},
		{"rows", Memory{Local: Rows(1), Global: Rows(3)}, []int{1, 1, 1}, 3},
		{"shares", Memory{Local: Percent(50), Global: Percent(50)}, []int{1, 1, 1}, 2},
		{"bytes", Memory{Local: Size{sizeBytes, 127}, Global: Size{sizeBytes, 256}}, []int{1, 1, 1}, 2},
	} {
		c, err := Capacity([]Exchange{forward, backward}, tc.m)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if c.Slot != 64 || !slices.Equal(c.Local, tc.local) || c.Global != tc.global || c.GlobalUnion != 4 || !slices.Equal(c.LocalUnion, []int{2, 2, 2}) {
			t.Errorf("%s: %+v, want local %v, global %d", tc.name, c, tc.local, tc.global)
		}
	}
	_, err := Capacity([]Exchange{forward}, Memory{Device: []gpu.Bytes{1 << 20, 1 << 20, 79}, Local: Rows(2), Host: 80, Global: Rows(2)})
	if large := (*TooLarge)(nil); !errors.As(err, &large) || large.Cache != "global cache" && large.Cache != "local cache of part 2" || large.Fit != 1 {
		t.Errorf("what does not fit: %v", err)
	}
	if _, err := Capacity([]Exchange{forward}, Memory{Device: []gpu.Bytes{1}}); err == nil {
		t.Error("one device for three parts was accepted")
	}
}

// TestTopK: with k = 1 each reader keeps the best row of each owner. Part 2 reads rows 1 and 2 of part 0 and row 3 of part 1;
// part 1 reads rows 0 and 1, so R(1) = 2 and that is what both keep of part 0.
func TestTopK(t *testing.T) {
	x := Exchange{Layer: 1, RowBytes: 4, Halos: []Halo{
		{},
		{IDs: ids(0, 1), Owners: owners(0, 2), Count: []int{2}, Edges: []int32{1, 1}},
		{IDs: ids(1, 2, 3), Owners: owners(0, 2, 3), Count: []int{2, 1}, Edges: []int32{1, 9, 1}},
	}}
	for _, tc := range []struct {
		k      int
		local  []int
		global int
	}{{-1, []int{0, 2, 3}, 4}, {0, []int{0, 2, 3}, 4}, {1, []int{0, 1, 2}, 2}, {2, []int{0, 2, 3}, 4}} {
		c, err := Capacity([]Exchange{x}, Memory{TopK: tc.k})
		if err != nil || !slices.Equal(c.Local, tc.local) || c.Global != tc.global {
			t.Errorf("k = %d: %+v, %v, want %v, %d", tc.k, c, err, tc.local, tc.global)
		}
	}
	// Both readers have both rows: the one with most edges into the part is best, of equal ones the first.
	x.Halos[2] = Halo{IDs: ids(0, 1), Owners: owners(0, 2), Count: []int{2}, Edges: []int32{9, 1}}
	if c, err := Capacity([]Exchange{x}, Memory{TopK: 1}); err != nil || c.GlobalUnion != 1 {
		t.Errorf("rows that are read as often: %+v, %v", c, err)
	}
}
