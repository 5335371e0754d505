package dataset_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
	"capgnn/graph/dataset"
)

// sets writes the set of every vertex as a letter.
func sets(d *dataset.Dataset) string {
	out := []byte(strings.Repeat(".", d.Graph.Rows()))
	for i, m := range d.Masks() {
		for v, in := range *m.Of {
			if in {
				out[v] = "tve"[i]
			}
		}
	}
	return string(out)
}

// labelled returns a graph without edges whose vertices have these labels.
func labelled(t testing.TB, labels []int32) *dataset.Dataset {
	g, err := graph.FromEdges(len(labels), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &dataset.Dataset{Graph: g, Labels: labels}
	for _, y := range labels {
		d.Classes = max(d.Classes, int(y)+1)
	}
	return d
}

// classesOf returns labels, so many of each class, in an order by chance.
func classesOf(sizes ...int) []int32 {
	var labels []int32
	for c, m := range sizes {
		labels = append(labels, slices.Repeat([]int32{int32(c)}, m)...)
	}
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	return labels
}

// drawn returns how many vertices of each class each set has.
func drawn(t testing.TB, d *dataset.Dataset, w dataset.Draw) (count [3][]int, err error) {
	err = d.SettleSets(dataset.Options{Draw: &w})
	for i, m := range d.Masks() {
		count[i] = make([]int, d.Classes)
		for v, in := range *m.Of {
			if in {
				count[i][d.Labels[v]]++
			}
		}
	}
	return count, err
}

// The draws of a seed stay what they were: results of runs are compared over versions.
func TestDrawsStay(t *testing.T) {
	for _, c := range []struct {
		shares [3]float64
		want   string
	}{
		{dataset.DefaultFractions, "ttt.tevtt.tteetvttvtvtttttttvttvtvvttttt"},
		{[3]float64{0.1, 0.3, 0.2}, "ev..t..ee.ev..v.ve.v.tettv.e.vv....e.vvv"},
		{[3]float64{0.01, 0, 0}, "........................t..............."},
	} {
		d := labelled(t, make([]int32, 40))
		d.Labels[3], d.Labels[9] = -1, -1
		if _, err := drawn(t, d, dataset.Draw{Shares: c.shares, Seed: 7}); err != nil || sets(d) != c.want {
			t.Errorf("%v: %v\ngot  %s\nwant %s", c.shares, err, sets(d), c.want)
		}
	}
}

// Counts by hand, after the rule of Stratified.
func TestStratified(t *testing.T) {
	for _, c := range []struct {
		have   []int
		shares [3]float64
		want   [3][]int
	}{
		{[]int{50, 30, 20}, dataset.DefaultFractions, [3][]int{{35, 21, 14}, {10, 6, 4}, {5, 3, 2}}},
		// 8 of 11 train: shares 5.09, 2.18, 0.73. 2 of the others validate: 1.33 of 2, 0.67 of 1.
		{[]int{7, 3, 1}, dataset.DefaultFractions, [3][]int{{5, 2, 1}, {1, 1, 0}, {1, 0, 0}}},
		{[]int{40, 40, 20}, [3]float64{0.1, 0.05, 0.25}, [3][]int{{4, 4, 2}, {2, 2, 1}, {10, 10, 5}}},
		// One of 20 trains by its share, but each class has one; an empty class has none. 10 of the others validate: 8.82 of
		// 15, 0.59 of 1 and 1.
		{[]int{16, 0, 2, 2}, [3]float64{0.05, 0.5, 0.45}, [3][]int{{1, 0, 1, 1}, {9, 0, 1, 0}, {6, 0, 0, 1}}},
	} {
		d := labelled(t, classesOf(c.have...))
		d.Classes = len(c.have)
		if got, err := drawn(t, d, dataset.Draw{By: dataset.Stratified, Shares: c.shares}); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v by %v: got %v, %v, want %v", c.have, c.shares, got, err, c.want)
		}
	}
}

// Of classes of any size: sets are disjoint and as large as without classes, training vertices of a class differ from
// its share by less than one, and so do those of each later set from its share of what is left.
func TestStratifiedKeepsShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 200 {
		have := make([]int, 1+rng.IntN(12))
		for c := range have {
			have[c] = 3 + rng.IntN(100)
		}
		labels := classesOf(have...)
		shares := [3]float64{0.4 + 0.2*rng.Float64(), 0.1 + 0.1*rng.Float64(), 0.1 + 0.1*rng.Float64()}
		d, plain := labelled(t, labels), labelled(t, labels)
		got, err := drawn(t, d, dataset.Draw{By: dataset.Stratified, Shares: shares, Seed: uint64(trial)})
		whole, err2 := drawn(t, plain, dataset.Draw{Shares: shares})
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		left := slices.Clone(have)
		for i := range got {
			sum, all := 0, 0
			for c := range have {
				sum, all = sum+whole[i][c], all+left[c]
			}
			for c := range have {
				ideal := float64(left[c]) * float64(sum) / float64(all)
				if x := float64(got[i][c]); x <= ideal-1 || x >= ideal+1 {
					t.Fatalf("trial %d: set %d has %v of class %d, want %v", trial, i, x, c, ideal)
				}
			}
			for c := range have {
				sum -= got[i][c]
				left[c] -= got[i][c]
			}
			if sum != 0 {
				t.Fatalf("trial %d: set %d has %d vertices less than without classes", trial, i, sum)
			}
		}
	}
}

func TestPerClass(t *testing.T) {
	for _, c := range []struct {
		have   []int
		counts [3]int
		want   [3]int // vertices in each set
		train  []int
		text   string // of the note, or of the error
	}{
		{[]int{30, 50, 21}, [3]int{20, 15, 25}, [3]int{60, 15, 25}, []int{20, 20, 20}, ""},
		{[]int{30, 20, 5, 1}, [3]int{20, 10, 12}, [3]int{34, 10, 12}, []int{20, 10, 3, 1}, "too few vertices in classes 1, 2, 3: half of each train"},
		{[]int{30, 30}, [3]int{20, 10, 10}, [3]int{40, 10, 10}, []int{20, 20}, ""},
		{[]int{30, 30}, [3]int{20, 10, 11}, [3]int{}, nil, "--split x: 20 vertices are left for validation and test, 21 are asked for"},
	} {
		d := labelled(t, append(classesOf(c.have...), -1))
		got, err := drawn(t, d, dataset.Draw{By: dataset.PerClass, Counts: c.counts, Text: "x"})
		if c.train == nil {
			if err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v: got %v, want %q", c.have, err, c.text)
			}
			continue
		}
		var sum [3]int
		for i := range got {
			for _, m := range got[i] {
				sum[i] += m
			}
		}
		if notes := strings.Join(d.Notes, "\n"); err != nil || sum != c.want || !slices.Equal(got[0], c.train) || !strings.Contains(notes, c.text) || (notes == "") != (c.text == "") {
			t.Errorf("%v: sets of %v, training %v, %v, %q; want %v, %v, %q", c.have, sum, got[0], err, notes, c.want, c.train, c.text)
		}
	}
}

// A draw by class depends on its seed, and is the same again.
func TestDrawsBySeed(t *testing.T) {
	for _, w := range []dataset.Draw{{By: dataset.Stratified, Shares: dataset.DefaultFractions}, {By: dataset.PerClass, Counts: [3]int{5, 5, 5}}} {
		seen := map[string]int{}
		for _, seed := range []uint64{1, 1, 2, 1 << 63} {
			d := labelled(t, classesOf(20, 30))
			if w.Seed = seed; d.SettleSets(dataset.Options{Draw: &w}) != nil {
				t.Fatal("no draw")
			}
			seen[fmt.Sprint(sets(d))]++
		}
		if len(seen) != 3 {
			t.Errorf("three seeds give %d splits", len(seen))
		}
	}
}
