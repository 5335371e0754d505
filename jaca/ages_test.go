package jaca

import "testing"

// TestAges: counting whole classes comes to what a replay counts row by row, and to the mean that the schedule has over whole
// periods.
func TestAges(t *testing.T) {
	d := &draw{seed: 17}
	for s := range MaxStaleness + 1 {
		for n := range 4 * len(Policies) {
			policy := Policies[n%len(Policies)]
			if !policy.Static() {
				continue
			}
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
