package jaca

import "testing"

// TestSchedule follows every class through many epochs, for all bounds, with and without pipeline: it is due exactly once in
// any p epochs, used versions were made in an epoch in which it was due and early enough, they never fall back, and their
// ages are at most s and reach it.
func TestSchedule(t *testing.T) {
	for s := range MaxStaleness + 1 {
		for _, pipeline := range []bool{false, true} {
			for _, start := range []int{0, 7} {
				sched, err := NewSchedule(s, pipeline, start)
				if err != nil {
					t.Fatal(err)
				}
				want := s + 1
				if pipeline && s > 0 {
					want = s
				}
				if sched.Period != want || sched.Bound() != s || sched.Lag == 1 != (pipeline && s > 0) {
					t.Fatalf("s = %d, pipeline %v: %+v", s, pipeline, sched)
				}
				for class := range sched.Period {
					follow(t, sched, class, s)
				}
			}
		}
	}
	for _, s := range []int{-1, MaxStaleness + 1} {
		if _, err := NewSchedule(s, false, 0); err == nil {
			t.Errorf("staleness %d was accepted", s)
		}
	}
}

func follow(t *testing.T, sched Schedule, class, s int) {
	t.Helper()
	before, oldest := sched.Start, 0
	for epoch := sched.Start; epoch < sched.Start+200; epoch++ {
		v := sched.Version(class, epoch)
		if err := CheckAge(v, epoch, s); err != nil {
			t.Fatalf("%+v, class %d: %v", sched, class, err)
		}
		if !sched.Due(class, v) || v < before || v > max(sched.Start, epoch-sched.Lag) {
			t.Fatalf("%+v, class %d: epoch %d uses version %d after %d", sched, class, epoch, v, before)
		}
		for e := v + 1; e <= epoch-sched.Lag; e++ {
			if sched.Due(class, e) {
				t.Fatalf("%+v, class %d: epoch %d uses version %d, %d is newer", sched, class, epoch, v, e)
			}
		}
		before, oldest = v, max(oldest, epoch-v)
		due := 0
		for e := range sched.Period {
			if sched.Due(class, epoch+1+e) {
				due++
			}
		}
		if due != 1 {
			t.Fatalf("%+v, class %d: due %d times in %d epochs behind %d", sched, class, due, sched.Period, epoch)
		}
		if f := sched.Fresh(epoch); f != max(sched.Start, epoch-sched.Lag) || epoch-f > 1 {
			t.Fatalf("%+v: rows without a slot are of epoch %d in %d", sched, f, epoch)
		}
	}
	if oldest != s {
		t.Errorf("%+v, class %d: oldest version %d epochs, want %d", sched, class, oldest, s)
	}
}

// TestScheduleKnown is s = 3 by hand: classes are due by their number, all of them in the first epoch.
func TestScheduleKnown(t *testing.T) {
	for _, tc := range []struct {
		pipeline bool
		class    int
		want     []int // version by epoch
	}{
		{false, 0, []int{0, 0, 0, 0, 4, 4, 4, 4, 8}}, {false, 2, []int{0, 0, 2, 2, 2, 2, 6, 6, 6}}, {false, 3, []int{0, 0, 0, 3, 3, 3, 3, 7, 7}},
		{true, 0, []int{0, 0, 0, 0, 3, 3, 3, 6, 6}}, {true, 1, []int{0, 0, 1, 1, 1, 4, 4, 4, 7}}, {true, 2, []int{0, 0, 0, 2, 2, 2, 5, 5, 5}},
	} {
		sched, err := NewSchedule(3, tc.pipeline, 0)
		if err != nil {
			t.Fatal(err)
		}
		for epoch, want := range tc.want {
			if got := sched.Version(tc.class, epoch); got != want {
				t.Errorf("pipeline %v, class %d, epoch %d: version %d, want %d", tc.pipeline, tc.class, epoch, got, want)
			}
		}
	}
}

// TestCheckAge: an age above the bound and a version of the future are refused.
func TestCheckAge(t *testing.T) {
	for _, tc := range []struct {
		version, epoch, s int
		ok                bool
	}{{5, 5, 0, true}, {4, 5, 0, false}, {1, 5, 4, true}, {0, 5, 4, false}, {6, 5, 4, false}} {
		if err := CheckAge(tc.version, tc.epoch, tc.s); (err == nil) != tc.ok {
			t.Errorf("version %d in epoch %d, bound %d: %v", tc.version, tc.epoch, tc.s, err)
		}
	}
}
