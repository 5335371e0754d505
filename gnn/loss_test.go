package gnn

import (
	"math"
	"testing"
)

// The losses are those of their definitions, by hand; what is not selected does not count.
func TestLossSums(t *testing.T) {
	logits := []float32{0, 0, 1, 3, 200, -200, 9, 9}
	labels := []int32{0, 1, 1, -1}
	all := []bool{true, true, true, true}
	got := CrossEntropy(logits, 2, labels, all)
	want := math.Log(2) + math.Log(1+math.Exp(-2)) + 400
	if got.Terms != 3 || math.Abs(got.Sum-want) > 1e-12*want {
		t.Errorf("cross-entropy: got %+v, want %v of 3", got, want)
	}
	if got := CrossEntropy(logits, 2, labels, []bool{false, true, false, false}); got.Terms != 1 || math.Abs(got.Mean()-math.Log(1+math.Exp(-2))) > 1e-15 {
		t.Errorf("one vertex: got %+v", got)
	}
	if got := CrossEntropy(logits[:2], 2, []int32{5}, all[:1]); !math.IsInf(got.Sum, 1) {
		t.Errorf("a label beyond the classes: got %+v", got)
	}
	targets := []uint8{1, 0, 0, 1, 1, 1, 0, 0}
	got = BinaryCrossEntropy(logits, 2, targets, []bool{true, true, true, false})
	want = 2*math.Log(2) + 1 + math.Log1p(math.Exp(-1)) + math.Log1p(math.Exp(-3)) + 200 // and nothing, to the last bit, for a logit of 200
	if got.Terms != 6 || math.Abs(got.Sum-want) > 1e-12*want {
		t.Errorf("binary cross-entropy: got %+v, want %v of 6", got, want)
	}
	for _, none := range []LossSum{CrossEntropy(nil, 2, nil, nil), BinaryCrossEntropy(nil, 2, nil, nil)} {
		if none.Terms != 0 || !math.IsNaN(none.Mean()) {
			t.Errorf("nothing selected: got %+v", none)
		}
	}
	if got := CrossEntropy([]float32{quietNaN, 1}, 2, []int32{1}, all[:1]); !math.IsNaN(got.Sum) {
		t.Errorf("a logit that is no number: got %+v", got)
	}
}
