package gnn

import (
	"math"
	"testing"
)

var (
	quietNaN = float32(math.NaN())
	plusInf  = float32(math.Inf(1))
)

func TestAccuracy(t *testing.T) {
	all := func(n int) []bool {
		m := make([]bool, n)
		for i := range m {
			m[i] = true
		}
		return m
	}
	cases := []struct {
		name           string
		logits         []float32
		classes        int
		labels         []int32
		mask           []bool
		correct, total int
	}{
		{"right, wrong", []float32{1, 2, 3, 1}, 2, []int32{1, 1}, all(2), 1, 2},
		{"first of equals", []float32{5, 5, 5, 5}, 2, []int32{0, 1}, all(2), 1, 2},
		{"unlabelled", []float32{1, 2, 3, 1}, 2, []int32{-1, 0}, all(2), 1, 1},
		{"masked", []float32{1, 2, 3, 1}, 2, []int32{1, 0}, []bool{false, true}, 1, 1},
		{"no mask", []float32{1, 2}, 2, []int32{1}, nil, 0, 0},
		{"no vertex", nil, 2, nil, nil, 0, 0},
		{"NaN first", []float32{quietNaN, 1}, 2, []int32{1}, all(1), 1, 1},
		{"NaN everywhere", []float32{quietNaN, quietNaN}, 2, []int32{0}, all(1), 0, 1},
		{"minus infinity", []float32{-plusInf, -plusInf}, 2, []int32{0}, all(1), 1, 1},
		{"one class", []float32{-3}, 1, []int32{0}, all(1), 1, 1},
		{"label beyond the classes", []float32{1, 2}, 2, []int32{7}, all(1), 0, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			correct, total := Accuracy(c.logits, c.classes, c.labels, c.mask)
			if correct != c.correct || total != c.total {
				t.Errorf("got %d/%d, want %d/%d", correct, total, c.correct, c.total)
			}
		})
	}
}

func TestMicroF1(t *testing.T) {
	logits := []float32{
		1, -1, 0, // predicted: 0
		2, 3, quietNaN, // predicted: 0, 1
		1, 1, 1, // masked out
	}
	targets := []uint8{
		1, 1, 1, // tp, fn, fn
		0, 1, 1, // fp, tp, fn
		0, 0, 0,
	}
	got := MicroF1(logits, 3, targets, []bool{true, true, false})
	if want := (F1Counts{TP: 2, FP: 1, FN: 3}); got != want {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if s := got.Score(); s != 0.5 { // 4 / (4 + 1 + 3)
		t.Errorf("score %g, want 0.5", s)
	}
	if s := (F1Counts{}).Score(); s != 0 {
		t.Errorf("score of nothing is %g", s)
	}
	if n := MicroF1(logits, 3, targets, nil); n != (F1Counts{}) {
		t.Errorf("an empty mask counted %+v", n)
	}
}

// TestMetricsAddUp: counts of the parts of a vertex set add up to the counts of the whole.
func TestMetricsAddUp(t *testing.T) {
	const n, classes = 101, 5
	logits := make([]float32, n*classes)
	uniform(logits, 3, "logits", 1)
	labels, targets, mask := make([]int32, n), make([]uint8, n*classes), make([]bool, n)
	for v := range n {
		labels[v] = int32(v*7%(classes+1)) - 1
		mask[v] = v%3 != 0
		for c := range classes {
			targets[v*classes+c] = uint8((v + c) % 2)
		}
	}
	correct, total := Accuracy(logits, classes, labels, mask)
	f1 := MicroF1(logits, classes, targets, mask)
	var sumCorrect, sumTotal int
	var sum F1Counts
	for _, r := range [][2]int{{0, 1}, {1, 40}, {40, 40}, {40, n}} {
		lo, hi := r[0], r[1]
		c, k := Accuracy(logits[lo*classes:hi*classes], classes, labels[lo:hi], mask[lo:hi])
		sumCorrect, sumTotal = sumCorrect+c, sumTotal+k
		sum = sum.Add(MicroF1(logits[lo*classes:hi*classes], classes, targets[lo*classes:hi*classes], mask[lo:hi]))
	}
	if sumCorrect != correct || sumTotal != total || sum != f1 {
		t.Errorf("parts give %d/%d %+v, the whole %d/%d %+v", sumCorrect, sumTotal, sum, correct, total, f1)
	}
	if total == 0 || correct == 0 || f1.TP == 0 || f1.FP == 0 || f1.FN == 0 {
		t.Errorf("the case is too easy: %d/%d %+v", correct, total, f1)
	}
}
