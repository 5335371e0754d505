package learn

import (
	"math/rand/v2"
	"testing"

	"capgnn/graph"
)

// The scores of class 0 are those of class 1 of the problem whose classes are swapped.
func TestPositiveFirst(t *testing.T) {
	const n = 200
	rng := rand.New(rand.NewPCG(1, 2))
	p, swapped := &Problem{Classes: 2, PositiveFirst: true}, &Problem{Classes: 2}
	logits, other, ids := make([]float32, 2*n), make([]float32, 2*n), make([]graph.NodeID, n)
	for v := range n {
		ids[v] = graph.NodeID(v)
		y := int32(0)
		if rng.IntN(10) > 0 {
			y = 1
		}
		p.Labels, swapped.Labels = append(p.Labels, y), append(swapped.Labels, 1-y)
		logits[2*v], logits[2*v+1] = float32(rng.IntN(20)), float32(rng.IntN(20)) // with ties
		other[2*v], other[2*v+1] = logits[2*v+1], logits[2*v]
		for _, q := range []*Problem{p, swapped} {
			q.Train, q.Val, q.Test = append(q.Train, v%3 == 0), append(q.Val, v%3 == 1), append(q.Test, v%3 == 2)
		}
	}
	for _, m := range []Metric{AveragePrecision, ROCAUC} {
		score := func(q *Problem, logits []float32) float64 {
			j, e := judgeOf(q, m), Evidence{}
			j.Count(&e, ids, logits)
			return *MetricsOf(j, []Evidence{e}).Test
		}
		got, want := score(p, logits), score(swapped, other)
		p.PositiveFirst = false
		second := score(p, logits)
		p.PositiveFirst = true
		if got != want || m == AveragePrecision && second == got {
			t.Errorf("%s of class 0 is %v, want %v; of class 1 %v", m, got, want, second)
		}
	}
}
