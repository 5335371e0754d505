package cluster

import (
	"slices"
	"strings"
	"testing"
)

func TestAreas(t *testing.T) {
	list := []Area{{0, 1, 1, 10}, {1, 0, 0, 5}, {0, 1, 0, 7}, {2, 1, 0, 0}}
	a, err := NewAreas(3, list)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	b, err := NewAreas(3, list)
	if err != nil {
		t.Fatal(err)
	}
	if a.Digest() != b.Digest() {
		t.Error("the order of the list changes the digest")
	}
	if got := a.Between(0, 1); !slices.Equal(got, []Area{{0, 1, 0, 7}, {0, 1, 1, 10}}) {
		t.Errorf("between 0 and 1: %v", got)
	}
	if got, ok := a.Find(2, 1, 0); !ok || got.Bytes != 0 {
		t.Errorf("area 0 from 2 to 1: %v, %v", got, ok)
	}
	if _, ok := a.Find(1, 0, 1); ok {
		t.Error("area 1 from 1 to 0 was found")
	}
	if a.Bytes(1) != 17 || a.Bytes(0) != 5 || a.Bytes(2) != 0 {
		t.Errorf("bytes %d %d %d", a.Bytes(0), a.Bytes(1), a.Bytes(2))
	}
	for i, change := range []func(*Area){func(a *Area) { a.Bytes++ }, func(a *Area) { a.Number += 9 }, func(a *Area) { a.From = 2 - a.From }} {
		other := slices.Clone(list)
		change(&other[1])
		if c, err := NewAreas(3, other); err == nil && c.Digest() == a.Digest() {
			t.Errorf("change %d is not in the digest", i)
		}
	}
	if c, _ := NewAreas(4, list); c.Digest() == a.Digest() {
		t.Error("the number of ranks is not in the digest")
	}
}

func TestAreaRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		list []Area
		want string
	}{
		"to itself":     {[]Area{{0, 0, 0, 1}}, "from rank 0 to rank 0"},
		"rank beyond":   {[]Area{{0, 2, 0, 1}}, "to rank 2 of 2"},
		"negative rank": {[]Area{{-1, 1, 0, 1}}, "from rank -1"},
		"twice":         {[]Area{{0, 1, 4, 1}, {0, 1, 4, 2}}, "area 4 from rank 0 to rank 1 is there twice"},
		"negative size": {[]Area{{0, 1, 0, -1}}, "has -1 bytes"},
		"huge":          {[]Area{{0, 1, 0, MaxArea + 1}}, "bytes"},
	} {
		if _, err := NewAreas(2, tc.list); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
