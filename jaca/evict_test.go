package jaca

import (
	"slices"
	"testing"
)

// slowCache is what a policy says, on plain lists: newest first.
type slowCache struct {
	policy Policy
	slots  int
	rows   []int32
}

// read returns whether the row was held.
func (c *slowCache) read(row int32) bool {
	if k := slices.Index(c.rows, row); k >= 0 {
		if c.policy == LRU {
			c.rows = slices.Insert(slices.Delete(c.rows, k, k+1), 0, row)
		}
		return true
	}
	if c.slots == 0 {
		return false
	}
	if len(c.rows) == c.slots {
		c.rows = c.rows[:c.slots-1]
	}
	c.rows = slices.Insert(c.rows, 0, row)
	return false
}

// TestCaches compares each dynamic policy with its twin over random, skewed and cyclic reads.
func TestCaches(t *testing.T) {
	d := &draw{seed: 2}
	for _, policy := range []Policy{FIFO, LRU} {
		for slots := range 9 {
			const rows = 12
			c, twin := NewCache(policy, rows, slots), &slowCache{policy: policy, slots: slots}
			at := map[int32]int32{} // slots of the rows held
			hits := 0
			for n := range 3000 {
				row := int32(d.below(rows))
				switch {
				case n >= 2000:
					row = int32(n % rows)
				case n >= 1000:
					row = int32(d.below(1 + d.below(rows)))
				}
				slot, held := c.Read(row)
				if want := twin.read(row); held != want {
					t.Fatalf("%s with %d slots, read %d of row %d: held %v, want %v", policy, slots, n, row, held, want)
				}
				if held {
					hits++
					if at[row] != slot {
						t.Fatalf("%s: row %d moved from slot %d to %d", policy, row, at[row], slot)
					}
				}
				if slots == 0 && slot != -1 || slots > 0 && (slot < 0 || int(slot) >= slots) {
					t.Fatalf("%s with %d slots gave slot %d", policy, slots, slot)
				}
				at[row] = slot
				for r, s := range at {
					if r != row && s == slot && slices.Contains(twin.rows, r) {
						t.Fatalf("%s: rows %d and %d share slot %d", policy, r, row, slot)
					}
				}
			}
			if (hits > 0) != (slots > 0) {
				t.Errorf("%s with %d slots: %d hits", policy, slots, hits)
			}
		}
	}
}

// TestCacheKnown takes the policies through reads by hand, with three slots. Capitals are hits.
//
//	fifo:  d evicts a, a b, e c, b d, c a, a e
//	lru:   d evicts b, b c, c d, e b, d c, b e, c a, a d
func TestCacheKnown(t *testing.T) {
	const reads = "abcadbaceadbca"
	for _, tc := range []struct {
		policy Policy
		want   string
	}{
		{FIFO, "abcAdBaCeADbca"}, {LRU, "abcAdbAceAdbca"},
	} {
		c := NewCache(tc.policy, 5, 3)
		got := ""
		for _, x := range reads {
			if _, held := c.Read(int32(x - 'a')); held {
				x -= 'a' - 'A'
			}
			got += string(x)
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.policy, got, tc.want)
		}
	}
}
