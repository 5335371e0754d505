package rapa

import (
	"math"
	"slices"
	"testing"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/internal/long"
	"capgnn/internal/published"
)

// betweenMachines returns Σ_v (number of other machines in which v has a neighbour), where part p is on machine of[p].
func betweenMachines(u *graph.CSR, part, of []int32) int64 {
	machine := make([]int32, len(part))
	for v, p := range part {
		machine[v] = of[p]
	}
	_, volume := borders(u, machine, int(slices.Max(of))+1)
	return volume
}

// groupings calls f with every way to put parts on machines of equally many, but for the order of machines.
func groupings(parts, machines int, f func(of []int32)) {
	of, room := make([]int32, parts), slices.Repeat([]int{parts / machines}, machines)
	var put func(p, used int)
	put = func(p, used int) {
		if p == parts {
			f(of)
			return
		}
		for m := 0; m < machines && m <= used; m++ {
			if room[m] > 0 {
				room[m]--
				of[p] = int32(m)
				put(p+1, max(used, m+1))
				room[m]++
			}
		}
	}
	put(0, 0)
}

// TestMachinesFirst holds the rows between two and four machines of eight parts to those of one cut, whose parts are then put on machines in the best of
// all ways: never above, and in the geometric mean of real graphs below four fifths. Without CAPGNN_LONG=1 it takes one graph.
func TestMachinesFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("judges results of whole partitions: minutes with the race detector")
	}
	files := []string{"amazon_photo"}
	if long.Wanted() {
		files = append(files, "coauthor_physics", "ppi", "heterophilous/tolokers.npz")
	}
	sum, n := 0.0, 0
	for _, name := range files {
		d, err := formats.Load(published.Path(t, name), dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		g := d.Graph.WithoutLoops()
		u := g.Symmetrise()
		flat, err := Partition(t.Context(), g, nil, Options{Parts: 8, Seed: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, machines := range [][]int{{4, 4}, {2, 2, 2, 2}} {
			p, err := Partition(t.Context(), g, nil, Options{Parts: 8, Seed: 1, Machines: machines}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := checkPlan(p, g, make([]bool, g.Rows()), 1.03); err != nil {
				t.Error(err)
			}
			best := int64(math.MaxInt64)
			groupings(8, len(machines), func(of []int32) { best = min(best, betweenMachines(u, flat.Part, of)) })
			rows := BetweenMachines(g, p.Part, machines)
			t.Logf("%s on %d machines: %d rows between them, %.2f of the best grouping; %.2f of all rows between parts, in %.1f s against %.1f",
				name, len(machines), rows, float64(rows)/float64(best), float64(p.Volume)/float64(flat.Volume), p.Seconds, flat.Seconds)
			if rows > best {
				t.Errorf("%s on %d machines: %d rows between them, the best grouping of one cut has %d", name, len(machines), rows, best)
			}
			sum, n = sum+math.Log(float64(rows)/float64(best)), n+1
		}
		d.Close()
	}
	if mean := math.Exp(sum / float64(n)); mean > 0.8 {
		t.Errorf("between machines there are %.2f of the rows of the best grouping, want at most 0.8", mean)
	}
}

// TestMachines checks plans of unequal machines, with more parts than machines can have vertices for, and what is refused.
func TestMachines(t *testing.T) {
	targets := []float64{0.05, 0.15, 0.2, 0.25, 0.35}
	for name, g := range shapes(t) {
		for _, machines := range [][]int{{5}, {1, 4}, {2, 3}, {1, 1, 1, 1, 1}, {3, 1, 1}} {
			if g.Rows() < 5 {
				continue
			}
			for _, by := range [][]Quantity{nil, {ByVertices, ByEdges, ByTrain}, {ByVertices, ByMemory}} {
				opt := Options{Parts: 5, Targets: targets, Machines: machines, BalanceBy: by, Seed: 3, Effort: 1, Objective: Objectives[len(machines)%2]}
				if slices.Contains(by, ByMemory) {
					opt.Memory = Memory{Footprint{PerInner: 1}, slices.Repeat([]int64{int64(g.Rows()+1) / 2}, 5)}
				}
				train := slices.Repeat([]bool{true, false, false}, g.Rows())[:g.Rows()]
				p, err := Partition(t.Context(), g, train, opt, nil)
				if err == nil {
					err = checkPlan(p, g, train, 1.03)
				}
				if err != nil {
					t.Errorf("%s, machines %v, balanced by %v: %v", name, machines, by, err)
				}
			}
		}
	}
	g := shapes(t)["blocks"]
	base := Options{Parts: 5}
	for _, machines := range [][]int{{2, 2}, {6, -1}, {5, 0}} {
		with := base
		with.Machines = machines
		if _, err := Partition(t.Context(), g, nil, with, nil); err == nil {
			t.Errorf("machines %v of 5 parts are accepted", machines)
		}
	}
	one, two := base, base
	one.Machines, two.Machines = []int{5}, []int{2, 3}
	if Key(g, nil, base) != Key(g, nil, one) || Key(g, nil, base) == Key(g, nil, two) {
		t.Error("the key of a plan says something else than its machines")
	}
}

// TestMachinesProgress checks that progress ascends to its end.
func TestMachinesProgress(t *testing.T) {
	last, all := 0.0, 0.0
	_, err := Partition(t.Context(), shapes(t)["blocks"], nil, Options{Parts: 6, Machines: []int{2, 4}, Seed: 1}, func(done, total int) {
		if now := float64(done) / float64(total); now < last || now > 1 {
			t.Errorf("progress goes from %g to %g", last, now)
		} else {
			last, all = now, now
		}
	})
	if err != nil || all != 1 {
		t.Errorf("progress ends at %g, error %v", all, err)
	}
}
