package pipeline

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"capgnn/graph"
	"capgnn/internal/learn"
)

// Scores by rank over several ranks have the bits of one process, for any number of labels, and where ranks have no vertex of a split.
func TestScoresOfRanks(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(26, 3))
	for round := range 12 {
		n, classes, parts := 5+r.IntN(60), 1+r.IntN(4), 2+r.IntN(5)
		p := &learn.Problem{Graph: &graph.CSR{Indptr: make([]int64, n+1), Cols: n}, Classes: classes, Targets: make([]uint8, n*classes), Train: make([]bool, n), Val: make([]bool, n)}
		logits := make([]float32, n*classes)
		for i := range logits {
			logits[i], p.Targets[i] = float32(r.IntN(9)), uint8(r.IntN(2))
		}
		for v := range n {
			p.Train[v], p.Val[v] = v%3 == 0, v%3 == 1
		}
		judge := learn.NewJudge(p, []learn.Metric{learn.ROCAUC, learn.AveragePrecision, learn.MacroF1}[round%3])
		own := make([]learn.Evidence, parts)
		for v := range n {
			judge.Count(&own[r.IntN(1+r.IntN(parts))], []graph.NodeID{graph.NodeID(v)}, logits[v*classes:][:classes])
		}
		want, loss := judge.Metrics(own)
		groups := []graph.Range{{Lo: 0, Hi: 1}, {Lo: 1, Hi: parts}}
		for rank, err := range eachRank(groups, parts, func(tr *Trainer, at graph.Range) error {
			tr.p, tr.judge, tr.joined = p, judge, true
			got, is, err := tr.scores(own[at.Lo:at.Hi])
			if err == nil && (same(got) != same(want) || *is != *loss) {
				err = fmt.Errorf("%s, want %s; loss %v, want %v", same(got), same(want), *is, *loss)
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
	for _, x := range []*float64{m.Train, m.Val, m.Test} {
		if text += " null"; x != nil {
			text = text[:len(text)-4] + fmt.Sprintf("%b", *x)
		}
	}
	return text
}
