package jaca

import "testing"

// Ages count the rows that were used, by their age in epochs. One Ages belongs to one exchange, or to one goroutine; Add puts
// them together.
type Ages struct {
	Rows    int64 // row uses
	Sum     int64 // of their ages, in epochs
	AtBound int64 // of the rows those as old as allowed, where any age is
	Max     int   // greatest age, in epochs
}

// Use counts rows of one version that are used in an epoch, and returns an error, without counting, if that version is older
// than the bound allows or not made yet.
func (a *Ages) Use(rows, version, epoch, bound int) error {
	if err := CheckAge(version, epoch, bound); err != nil {
		return err
	}
	age := epoch - version
	a.Rows += int64(rows)
	a.Sum += int64(rows) * int64(age)
	if age == bound && bound > 0 {
		a.AtBound += int64(rows)
	}
	if rows > 0 {
		a.Max = max(a.Max, age)
	}
	return nil
}

// Add adds what another counted.
func (a *Ages) Add(o Ages) {
	a.Rows += o.Rows
	a.Sum += o.Sum
	a.AtBound += o.AtBound
	a.Max = max(a.Max, o.Max)
}

// Mean is the mean age of the rows used, in epochs; 0 without any.
func (a *Ages) Mean() float64 { return share(a.Sum, a.Rows) }

// ShareAtBound is the share of the rows used that were as old as allowed; 0 without any, and where none may be stale.
func (a *Ages) ShareAtBound() float64 { return share(a.AtBound, a.Rows) }

// ClassRows returns how many rows of each class a part reads in an exchange, and behind them how many that have no slot: what
// Ages.Use takes. Rows that have a global slot only belong to its class.
func (t *Table) ClassRows(part int) []int {
	n := make([]int, t.Period+1)
	t.Halos[part].each(func(_, k int) {
		class := t.Readers[part].Class[k]
		if class < 0 {
			class = int32(t.Period)
		}
		n[class]++
	})
	return n
}

// TestAges: counting whole classes comes to what a replay counts row by row, and to the mean that the schedule has over whole
// periods.
func TestAges(t *testing.T) {
	d := &draw{seed: 17}
	for s := range MaxStaleness + 1 {
		for n := range 4 * len(Policies) {
			policy := Policies[n%len(Policies)]
			sched, err := NewSchedule(s, n%2 == 1, 5)
			if err != nil {
				t.Fatal(err)
			}
			plan := randomPlan(t, d, policy, sched.Period)
			table := plan.Tables[0]
			var sum Ages
			atBound, slotted := int64(0), 0
			for part := range table.Readers {
				var a Ages
				rows := table.ClassRows(part)
				for epoch := 5; epoch < 45; epoch++ {
					for class, n := range rows {
						version := sched.Fresh(epoch)
						if class < sched.Period {
							version = sched.Version(class, epoch)
						}
						if err := a.Use(n, version, epoch, sched.Bound()); err != nil {
							t.Fatal(err)
						}
						if epoch-version == s && s > 0 {
							atBound += int64(n)
						}
					}
				}
				for _, n := range rows[:sched.Period] {
					slotted += n
				}
				sum.Add(a)
			}
			want := NewReplay(plan, []Schedule{sched}).Run(5, 45)
			if sum.Rows != want.Lookups || sum.Sum != want.AgeSum || sum.Max != want.AgeMax || sum.AtBound != atBound || sum.Mean() != want.MeanAge() {
				t.Fatalf("%s, s = %d: %+v, want %+v, %d at bound", policy, s, sum, want, atBound)
			}
			if slotted > 0 && sum.Max != s {
				t.Fatalf("%s, s = %d: oldest %d", policy, s, sum.Max)
			}
		}
	}
}

// TestAgesRefused: a version that is too old or not made yet is an error and not counted.
func TestAgesRefused(t *testing.T) {
	var a Ages
	if err := a.Use(10, 6, 10, 4); err != nil {
		t.Fatal(err)
	}
	if err := a.Use(0, 3, 7, 4); err != nil {
		t.Fatal(err)
	}
	for _, version := range []int{5, 11} {
		if a.Use(1, version, 10, 4) == nil {
			t.Errorf("version %d was used in epoch 10", version)
		}
	}
	if a != (Ages{Rows: 10, Sum: 40, AtBound: 10, Max: 4}) || a.ShareAtBound() != 1 {
		t.Errorf("%+v", a)
	}
}
