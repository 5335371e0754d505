package learn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/graph"
)

// says returns logits of three classes that predict class c; those of −1 are no numbers.
func says(c int) []float32 {
	row := []float32{0, 0, 0}
	if c < 0 {
		bad := float32(math.NaN())
		return []float32{bad, bad, bad}
	}
	row[c] = 1
	return row
}

// counted judges the vertices of a problem, a few at a time, as so many parts would.
func counted(p *Problem, m Metric, logits []float32, parts int, r *rand.Rand) Metrics {
	j, all := judgeOf(p, m), make([]Evidence, parts)
	for _, v := range r.Perm(p.Vertices()) {
		j.Count(&all[r.IntN(parts)], []graph.NodeID{graph.NodeID(v)}, logits[v*p.Classes:][:p.Classes])
	}
	if parts > 1 {
		Fold(all[:2])
	}
	return MetricsOf(j, all)
}

// judgeOf returns the judge of a problem's labels.
func judgeOf(p *Problem, m Metric) Task {
	t, err := Labels{Metric: m}.Of(p)
	if err != nil {
		panic(err)
	}
	return t
}

// text writes a score.
func text(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.6f", *x)
}

// table writes scores by class as a line each.
func table(b *ByClass) (lines []string) {
	for _, s := range b.Scores() {
		lines = append(lines, fmt.Sprintf("%d: %d %s %s %s", s.Class, s.Support, text(s.Precision), text(s.Recall), text(s.F1)))
	}
	return lines
}

// Scores by class and pairs of classes are what is computed by hand, by any metric and whoever counts which vertices. Vertices without a label, and outside of the test
// split, count for nothing.
func TestByClass(t *testing.T) {
	for _, c := range []struct {
		name      string
		is, said  []int
		lines     []string
		confusion [][]int
	}{
		{"some of each", []int{0, 0, 0, 0, 1, 1, 2, 2, 2, 2}, []int{0, 0, 0, 1, 1, 2, 2, 2, 0, 1},
			// 0: 3 right of 4 said and of 4; 1: 1 right of 3 said and of 2; 2: 2 right of 3 said and of 4
			[]string{"0: 4 0.750000 0.750000 0.750000", "1: 2 0.333333 0.500000 0.400000", "2: 4 0.666667 0.500000 0.571429"},
			[][]int{{3, 1, 0}, {0, 1, 1}, {1, 1, 2}}},
		{"one class", []int{1, 1, 1}, []int{1, 1, 0}, []string{"0: 0 0.000000 - 0.000000", "1: 3 1.000000 0.666667 0.800000", "2: 0 - - -"},
			[][]int{{0, 0, 0}, {1, 2, 0}, {0, 0, 0}}},
		{"a class that is never predicted", []int{0, 2, 2}, []int{0, 0, 0}, []string{"0: 1 0.333333 1.000000 0.500000", "1: 0 - - -", "2: 2 - 0.000000 0.000000"},
			[][]int{{1, 0, 0}, {0, 0, 0}, {2, 0, 0}}},
		{"logits that are no numbers", []int{0, 1}, []int{-1, 1}, []string{"0: 1 - 0.000000 0.000000", "1: 1 1.000000 1.000000 1.000000", "2: 0 - - -"},
			[][]int{{0, 0, 0}, {0, 1, 0}, {0, 0, 0}}},
		{"unlabelled", []int{-1, 2}, []int{0, 2}, []string{"0: 0 - - -", "1: 0 - - -", "2: 1 1.000000 1.000000 1.000000"},
			[][]int{{0, 0, 0}, {0, 0, 0}, {0, 0, 1}}},
		{"nothing", []int{-1}, []int{0}, nil, nil},
	} {
		n := len(c.is) + 3 // the last ones are of training
		p := &Problem{Graph: &graph.CSR{Indptr: make([]int64, n+1), Cols: n}, Classes: 3, Train: make([]bool, n), Test: make([]bool, n), Labels: make([]int32, n)}
		var logits []float32
		for v := range n {
			if p.Test[v] = v < len(c.is); p.Test[v] {
				p.Labels[v] = int32(c.is[v])
				logits = append(logits, says(c.said[v])...)
			} else {
				p.Train[v] = true
				logits = append(logits, says(2)...)
			}
		}
		r := rand.New(rand.NewPCG(1, uint64(n)))
		for round := range 12 {
			got := counted(p, []Metric{Accuracy, MacroF1}[round%2], logits, 1+round/2, r).ByClass
			if c.lines == nil {
				if got != nil {
					t.Errorf("%s: %+v of no vertex", c.name, got)
				}
				continue
			}
			if got == nil || !slices.Equal(table(got), c.lines) || !slices.Equal(got.Largest, []int{0, 1, 2}) || !reflect.DeepEqual(got.Confusion, c.confusion) {
				t.Errorf("%s: %+v, want %q and %v", c.name, got, c.lines, c.confusion)
			}
		}
	}
}

// Of multi-label problems each label has scores of its own, and none is taken for another.
func TestByLabel(t *testing.T) {
	p := &Problem{Graph: &graph.CSR{Indptr: make([]int64, 5), Cols: 4}, Classes: 3, Train: []bool{false, false, false, true}, Test: []bool{true, true, true, false},
		Targets: []uint8{1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1}}
	logits := []float32{1, 1, -1, -1, 1, -1, -1, 1, -1, -1, -1, -1} // label 0: one right, one missed; 1: two right, one too many; 2: never
	want := []string{"0: 2 1.000000 0.500000 0.666667", "1: 2 0.666667 1.000000 0.800000", "2: 0 - - -"}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		got := counted(p, []Metric{MicroF1, MacroF1, ROCAUC}[round%3], logits, 1+round/2, r).ByClass
		if got == nil || !slices.Equal(table(got), want) || got.Confusion != nil || got.Largest != nil {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}

// The scores agree with accuracy and macro-F1 of the test split. Of many classes the largest are confused, of more none, and of very many nothing is kept.
func TestByClassOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, classes := range []int{1, 2, 20, 21, 60, maxConfused, maxConfused + 1, MaxClasses, MaxClasses + 1} {
		n := 600
		p := &Problem{Graph: &graph.CSR{Indptr: make([]int64, n+1), Cols: n}, Classes: classes, Test: slices.Repeat([]bool{true}, n), Labels: make([]int32, n)}
		logits, right := make([]float32, n*classes), 0
		size := make([]int, classes)
		for v := range n {
			is := min(r.IntN(classes), r.IntN(classes))
			p.Labels[v] = int32(is)
			size[is]++
			for c := range classes {
				logits[v*classes+c] = r.Float32()
			}
			logits[v*classes+is] += 0.7
		}
		m := counted(p, MacroF1, logits, 3, r)
		if classes > MaxClasses {
			if m.ByClass != nil {
				t.Errorf("%d classes: %d of them", classes, len(m.ByClass.Counts))
			}
			continue
		}
		sum, some, support := 0.0, 0, 0
		for _, s := range m.ByClass.Scores() {
			if support += s.Support; s.F1 != nil {
				sum, some = sum+*s.F1, some+1
			}
			if s.Support != size[s.Class] {
				t.Fatalf("%d classes: class %d has %d vertices, want %d", classes, s.Class, s.Support, size[s.Class])
			}
			right += m.ByClass.Counts[s.Class].TP
		}
		if !slices.Equal(m.ByClass.Counts, gnn.ClassCounts(logits, classes, p.Labels, p.Test)) {
			t.Errorf("%d classes: other counts than those of package gnn", classes)
		}
		correct, total := gnn.Accuracy(logits, classes, p.Labels, p.Test)
		if accuracy := counted(p, Accuracy, logits, 2, r).Test; correct != right || total != n || support != n || math.Abs(sum/float64(some)-*m.Test) > 1e-12 || float64(right)/float64(n) != *accuracy {
			t.Errorf("%d classes: %d of %d vertices right, mean F1 %v, the metrics say %v and %v", classes, right, support, sum/float64(some), *accuracy, *m.Test)
		}
		b := m.ByClass
		if (b.Confusion != nil) != (classes <= maxConfused) {
			t.Errorf("%d classes: confusion of %d", classes, len(b.Confusion))
			continue
		}
		if b.Confusion == nil {
			continue
		}
		if len(b.Largest) != min(classes, MaxConfusion) || !slices.IsSorted(b.Largest) {
			t.Errorf("%d classes: %v are the largest", classes, b.Largest)
		}
		for c := range classes {
			for _, l := range b.Largest {
				if !slices.Contains(b.Largest, c) && size[c] > size[l] {
					t.Errorf("%d classes: %d with %d vertices is left out, %d with %d is not", classes, c, size[c], l, size[l])
				}
			}
		}
		for i, is := range b.Largest {
			row := 0
			for k, x := range b.Confusion[i] {
				if row += x; i == k && x != b.Counts[is].TP {
					t.Errorf("%d classes: %d on the diagonal of class %d, %+v", classes, x, is, b.Counts[is])
				}
			}
			if row > size[is] || classes <= MaxConfusion && row != size[is] {
				t.Errorf("%d classes: row of class %d has %d vertices of %d", classes, is, row, size[is])
			}
		}
	}
}

// What another process says is not believed: counts of another length end nothing.
func TestPairsOfAnotherLength(t *testing.T) {
	p := &Problem{Graph: &graph.CSR{Indptr: make([]int64, 2), Cols: 1}, Classes: 3, Test: []bool{true}, Labels: []int32{1}}
	for _, pairs := range [][]int{nil, {}, {1}, make([]int, 20)} {
		if m := judgeOf(p, Accuracy).Counted([]Evidence{{Confused: pairs}, {}}); m.Test != nil || m.ByClass != nil {
			t.Errorf("%d counts: %+v", len(pairs), m)
		}
		if m := judgeOf(p, Accuracy).Counted([]Evidence{{Confused: pairs}, {Confused: make([]int, 12)}}); m.Test != nil {
			t.Errorf("%d counts and 12: %+v", len(pairs), m)
		}
	}
}

// Vertices of each class are counted by split; those of two splits count twice, those without a label nowhere.
func TestClassSizes(t *testing.T) {
	p := &Problem{Classes: 3, Labels: []int32{0, 0, 1, -1, 2, 2}, Train: []bool{true, false, true, true, false, false}, Val: []bool{true, false, false, false, false, false}}
	if got, want := p.ClassSizes(), map[string][]int{"train": {1, 1, 0}, "val": {1, 0, 0}, "test": {0, 0, 0}, "none": {1, 0, 2}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	p = &Problem{Classes: 2, Targets: []uint8{1, 1, 0, 1, 0, 0, 1, 0}, Train: []bool{true, true, false, false}, Test: []bool{false, false, true, false}}
	if got, want := p.ClassSizes(), map[string][]int{"train": {1, 2}, "val": {0, 0}, "test": {0, 0}, "none": {1, 0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("several labels: got %v, want %v", got, want)
	}
	if got := (&Problem{Classes: 2, Labels: []int32{}, Shards: &Shards{}}).ClassSizes(); got != nil {
		t.Errorf("in shards: %v", got)
	}
}
