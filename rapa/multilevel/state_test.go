package multilevel

import (
	"fmt"
	"slices"
	"testing"

	"capgnn/graph/synth"
)

// TestGains makes random moves and compares what a state says of them with cuts and volumes counted by definition.
func TestGains(t *testing.T) {
	for _, k := range []int{2, 5} {
		t.Run(fmt.Sprint(k, " parts"), func(t *testing.T) { testGains(t, k) })
	}
}

func testGains(t *testing.T, k int) {
	u := must(t)(synth.RMAT(7, 4, 1))
	c := &crew{t.Context(), 2}
	g := newLevel(u, []Constraint{{}})
	lim := newLimits(k, []Constraint{{Bound: slices.Repeat([]int64{128}, k), Hard: true}})
	r := random{7}
	part := make([]int32, g.n)
	for v := range part {
		part[v] = int32(r.below(k))
	}
	var lent []int32
	s := c.newState(g, lim, part)
	c.tabulate(s, nil, &lent)
	price := make([]int64, k)
	var free prices // no part is full, so that moves are worth what they take from the cut
	free.appraise(s, 1)
	for range 500 {
		v := int32(r.below(g.n))
		cut, volume := cutSlow(u, s.part), volumeSlow(u, s.part)
		if got := c.cutOf(s); got != cut {
			t.Fatalf("cut %d, counted %d", got, cut)
		}
		if got := c.volume(s); got != volume {
			t.Fatalf("volume %d, counted %d", got, volume)
		}
		to, gain := s.best(v, s.of(v, nil), false)
		if p, worth := free.best(s, v); p != to || p >= 0 && worth != int64(gain) {
			t.Fatalf("vertex %d: part %d at prices, gain %d, want part %d, gain %d", v, p, worth, to, gain)
		}
		if r.below(2) == 0 {
			var fell, drop int64
			if to, fell, drop = s.volumeGain(v, price, false); to >= 0 {
				s.move(v, to)
				if now := volumeSlow(u, s.part); now != volume-fell || cutSlow(u, s.part) != cut-drop {
					t.Fatalf("vertex %d: volume falls from %d to %d, want by %d", v, volume, now, fell)
				}
			}
		} else if to >= 0 {
			s.move(v, to)
			if now := cutSlow(u, s.part); now != cut-int64(gain) {
				t.Fatalf("vertex %d: cut falls from %d to %d, want by %d", v, cut, now, gain)
			}
		}
	}
}

// TestHeap compares a heap with a list.
func TestHeap(t *testing.T) {
	var h heap
	h.fit(60)
	r, want := random{1}, map[int32]int64{}
	for range 5000 {
		v := int32(r.below(60))
		switch r.below(4) {
		case 0, 1:
			want[v] = int64(r.below(20)) - 10
			h.set(v, want[v])
		case 2:
			if h.has(v) {
				h.drop(v)
			}
			delete(want, v)
		default:
			if h.len() != len(want) {
				t.Fatalf("heap holds %d, want %d", h.len(), len(want))
			}
			if h.len() == 0 {
				continue
			}
			v, key := h.pop()
			for u, x := range want {
				if x > key || x == key && u < v {
					t.Fatalf("popped %d (key %d) before %d (key %d)", v, key, u, x)
				}
			}
			delete(want, v)
		}
	}
}

// TestDescent wants searches to end where gains lead away, and to go on where they stray as far as that.
func TestDescent(t *testing.T) {
	for _, tc := range []struct {
		name  string
		gains []int64 // again and again
		want  int     // moves
	}{
		{"the same loss", []int64{-1}, 11},
		{"losses about as high", []int64{-2, -3}, 11},
		{"small losses among large moves", []int64{-9, 8, -9, 8, -9, 9}, 0},
		{"nothing", []int64{0}, 11},
		{"losses that grow again after they have been made up for", []int64{-1, 1}, 12},
	} {
		d, moves := descent{least: 10}, 0
		for !d.hopeless() && moves < 100 {
			d.add(tc.gains[moves%len(tc.gains)])
			moves++
		}
		if tc.want == 0 {
			tc.want = 100
		}
		if moves != tc.want {
			t.Errorf("%s: %d moves, want %d", tc.name, moves, tc.want)
		}
		if d.restart(); d.hopeless() {
			t.Errorf("%s: hopeless after a new best partition", tc.name)
		}
	}
}
