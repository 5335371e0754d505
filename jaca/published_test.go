package jaca

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/internal/published"
	"capgnn/rapa"
)

// tables asks for all that docs/bench/caches.md shows; tests take one graph.
var tables = flag.Bool("tables", false, "all graphs, numbers of parts and capacities")

// publishedGraphs are the graphs of docs/bench/caches.md.
var publishedGraphs = []struct{ name, path string }{
	{"ppi", "ppi"}, {"coauthor_physics", "coauthor_physics"}, {"tolokers", "heterophilous/tolokers.npz"},
}

// cutGraphs are those of this run, by name: tests read the same ones.
var cutGraphs = map[string][]Exchange{}

// exchangesOf is cutPublished, done once.
func exchangesOf(t testing.TB, path string, parts int) []Exchange {
	name := fmt.Sprint(parts, " ", path)
	g, ok := cutGraphs[name]
	if !ok {
		g = cutPublished(t, path, parts)
		cutGraphs[name] = g
	}
	return g
}

// cutPublished cuts a published graph and returns the exchanges of a GCN with 3 layers, hidden 256, which trains on the data
// set's training vertices, or 70 % of all where it has no masks.
func cutPublished(t testing.TB, path string, parts int) []Exchange {
	d, err := formats.Load(published.Path(t, filepath.FromSlash(path)), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	g, train := d.Graph.WithoutLoops(), d.Train
	if train == nil {
		if train, _, _, err = dataset.Split(g.Rows(), d.Labels, 1, [3]float64{0.7, 0.2, 0.1}); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := rapa.Partition(t.Context(), g, train, rapa.Options{Parts: parts, Seed: 1, Trials: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const layers, hidden = 3, 256
	cut, err := graph.Split(g, graph.LoopsKept, plan.Part, parts, graph.Needed(g, train, layers, nil), layers, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []Exchange
	width := func(l int) gpu.Bytes {
		if l == layers-1 {
			return gpu.Bytes(min(hidden, d.Classes))
		}
		return hidden
	}
	for l := 1; l < layers; l++ {
		list = append(list, NewExchange(cut, l, Forward, 4*width(l)))
	}
	for l := layers - 1; l > 0; l-- {
		list = append(list, NewExchange(cut, l, Backward, 4*width(l)))
	}
	return list
}

// steady replays a period of epochs behind a warm-up and returns the mean epoch's statistics, and the plan.
func steady(t testing.TB, x []Exchange, policy Policy, local, global Size, sched Schedule) (Stats, *Plan) {
	caps, err := Capacity(x, Memory{Local: local, Global: global})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Build(x, caps, Options{Policy: policy, Period: sched.Period})
	if err != nil {
		t.Fatal(err)
	}
	r := NewReplay(plan, slices.Repeat([]Schedule{sched}, len(x)))
	warm := 1
	if policy.Dynamic() {
		warm = sched.Period
	}
	r.Run(0, warm)
	return r.Run(warm, warm+sched.Period), plan
}

// TestFig14 is the coverage of policy paper against low-overlap, both caches at 20 %: equal where every R is 1, as always with
// 2 parts, and higher elsewhere.
func TestFig14(t *testing.T) {
	sched, _ := NewSchedule(4, false, 0)
	for _, g := range publishedGraphs {
		if !*tables && g.name != "tolokers" {
			continue
		}
		line := fmt.Sprintf("| %s |", g.name)
		for parts := 2; parts <= 8; parts++ {
			if !*tables && parts > 3 {
				continue
			}
			x := exchangesOf(t, g.path, parts)
			high, _ := steady(t, x, Paper, Percent(20), Percent(20), sched)
			low, _ := steady(t, x, LowOverlap, Percent(20), Percent(20), sched)
			h, l := high.Coverage(), low.Coverage()
			line += fmt.Sprintf(" %.1f / %.1f |", 100*h, 100*l)
			_, r := Overlap(&x[0])
			if most := slices.Max(r); most == 1 && h != l || most > 1 && h <= l || parts == 2 && most > 1 {
				t.Errorf("%s in %d parts, R up to %d: coverage %.4f of high overlap, %.4f of low", g.name, parts, most, h, l)
			}
		}
		t.Log(line)
	}
}

// TestFig15 is coverage and bytes of every policy against capacity at s = 4: jaca's coverage is not lower and its bytes not
// higher than any other's.
func TestFig15(t *testing.T) {
	for _, g := range publishedGraphs {
		for _, parts := range []int{2, 4, 8} {
			if !*tables && (g.name != "tolokers" || parts != 4) {
				continue
			}
			x := exchangesOf(t, g.path, parts)
			for _, pipeline := range []bool{false, true} {
				sched, _ := NewSchedule(4, pipeline, 0)
				compare(t, fmt.Sprintf("%s | %d", g.name, parts), x, sched)
			}
		}
	}
}

// compare tries the policies at every capacity, both caches and each alone.
func compare(t *testing.T, name string, x []Exchange, sched Schedule) {
	for _, percent := range []float64{1, 5, 10, 20, 40, 70, 100} {
		for _, caches := range []string{"both", "local", "global"} {
			if caches != "both" && (sched.Lag == 1 || percent != 20) || !*tables && (percent == 1 || percent == 10 || percent == 40) {
				continue
			}
			local, global := Percent(percent), Percent(percent)
			if caches == "local" {
				global = Rows(0)
			} else if caches == "global" {
				local = Rows(0)
			}
			var line strings.Builder
			var jaca Stats
			for _, policy := range allPolicies {
				s, plan := steady(t, x, policy, local, global, sched)
				fmt.Fprintf(&line, " %.1f / %.1f |", 100*s.Coverage(), float64(s.Bytes.Total())/float64(sched.Period)/(1<<20))
				if policy == JACA {
					jaca = s
					for e, tab := range plan.Tables {
						if u := tab.Uneven(); u > 1 {
							t.Errorf("%s, %g %%, exchange %d: classes differ by %d", name, percent, e, u)
						}
					}
				}
				if jaca.Covered < s.Covered || jaca.Bytes.Total() > s.Bytes.Total() {
					t.Errorf("%s, %g %%, %s, lag %d: coverage %d and %d bytes, policy %s has %d and %d", name, percent, caches, sched.Lag,
						jaca.Covered, jaca.Bytes.Total(), policy, s.Covered, s.Bytes.Total())
				}
				if s.AgeMax > 4 {
					t.Errorf("%s: policy %s uses rows of age %d", name, policy, s.AgeMax)
				}
			}
			if sched.Lag == 0 {
				t.Logf("| %s | %s %g %% |%s", name, caches, percent, line.String())
			}
		}
	}
}

// TestLargeCaches: with caches that hold everything a reader gets each row once a period, so that whole periods move at most
// 1/p of what `none` moves, and at s = 0 a device sends each row that is read once, whoever reads it.
func TestLargeCaches(t *testing.T) {
	for _, g := range publishedGraphs {
		for _, parts := range []int{4, 8} {
			if !*tables && (g.name != "tolokers" || parts != 4) {
				continue
			}
			x := exchangesOf(t, g.path, parts)
			var unique gpu.Bytes
			for e := range x {
				ids, _ := Overlap(&x[e])
				unique += gpu.Bytes(len(ids)) * x[e].RowBytes
			}
			exact, _ := steady(t, x, None, Size{}, Size{}, Schedule{Period: 1})
			line := fmt.Sprintf("| %s | %d | %.1f |", g.name, parts, float64(exact.Bytes.D2H)/(1<<20))
			for _, s := range []int{0, 1, 4, 8, 16} {
				sched, err := NewSchedule(s, false, 0)
				if err != nil {
					t.Fatal(err)
				}
				got, _ := steady(t, x, JACA, Size{}, Size{}, sched)
				if s == 0 {
					line += fmt.Sprintf(" %.1f |", float64(got.Bytes.D2H)/(1<<20))
					if got.Bytes.D2H != unique || got.Bytes.H2D != exact.Bytes.H2D {
						t.Errorf("%s in %d parts: %d bytes leave devices, unique rows have %d; %d arrive, %d without caches", g.name, parts,
							got.Bytes.D2H, unique, got.Bytes.H2D, exact.Bytes.H2D)
					}
				}
				share := float64(got.Bytes.Total()) / float64(sched.Period) / float64(exact.Bytes.Total())
				line += fmt.Sprintf(" %.1f |", 100*share)
				if share > 1/float64(sched.Period) {
					t.Errorf("%s in %d parts, s = %d: %.4f of the bytes without caches", g.name, parts, s, share)
				}
			}
			t.Log(line)
		}
	}
}
