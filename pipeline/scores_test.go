package pipeline

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"capgnn/graph"
	"capgnn/internal/learn"
)

// Scores by rank and by class over several ranks have the bits of one process, for any number of labels, and where ranks have no vertex of a split.
func TestScoresOfRanks(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(26, 3))
	for round := range 24 {
		n, classes, parts := 5+r.IntN(60), 1+r.IntN(4), 2+r.IntN(5)
		p := &learn.Problem{Graph: &graph.CSR{Indptr: make([]int64, n+1), Cols: n}, Classes: classes, Targets: make([]uint8, n*classes), Train: make([]bool, n), Val: make([]bool, n), Test: make([]bool, n)}
		logits := make([]float32, n*classes)
		for i := range logits {
			logits[i], p.Targets[i] = float32(r.IntN(9)), uint8(r.IntN(2))
		}
		for v := range n {
			p.Train[v], p.Val[v], p.Test[v] = v%4 == 0, v%4 == 1, v%4 > 1
		}
		metric := []learn.Metric{learn.ROCAUC, learn.AveragePrecision, learn.MacroF1, learn.Auto}[round%4]
		if classes > 2 && round%2 == 1 || metric == learn.MacroF1 { // of one label per vertex
			p.Labels, p.Targets = make([]int32, n), nil
			for v := range n {
				p.Labels[v] = int32(r.IntN(classes+1) - 1)
			}
		}
		if _, err := metric.Of(p); err != nil {
			metric = learn.Auto
		}
		judge, err := learn.Labels{Metric: metric}.Of(p)
		if err != nil {
			t.Fatal(err)
		}
		own := make([]learn.Evidence, parts)
		for v := range n {
			judge.Count(&own[r.IntN(1+r.IntN(parts))], []graph.NodeID{graph.NodeID(v)}, logits[v*classes:][:classes])
		}
		want := learn.MetricsOf(judge, own)
		groups := []graph.Range{{Lo: 0, Hi: 1}, {Lo: 1, Hi: parts}}
		for rank, err := range eachRank(groups, parts, func(tr *Trainer, at graph.Range) error {
			tr.p, tr.Task, tr.Joined = p, judge, true
			got, err := tr.Scores(own[at.Lo:at.Hi])
			if err == nil && same(got) != same(want) {
				err = fmt.Errorf("%s, want %s", same(got), same(want))
			}
			return err
		}) {
			if err != nil {
				t.Errorf("round %d, rank %d: %v", round, rank, err)
			}
		}
	}
}

// same is what scores are compared by.
func same(m learn.Metrics) (text string) {
	for _, x := range []*float64{m.Train, m.Val, m.Test, m.ValLoss} {
		if text += " null"; x != nil {
			text = text[:len(text)-4] + fmt.Sprintf("%b", *x)
		}
	}
	by, _ := json.Marshal(m.ByClass)
	return text + " " + string(by)
}
