package together

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"capgnn/gnn"
	"capgnn/hostmem"
	"capgnn/internal/learn"
)

// Scores returns the metrics and the loss of validation that follow from the evidence of all parts: that of this process is given. Evidence travels by one tag, scores of
// single vertices, where a metric ranks them, by another.
func Scores(ctx context.Context, t Talk, tag, ranked uint32, judge learn.Task, own []learn.Evidence) (learn.Metrics, error) {
	if t.Ranks == nil {
		return learn.MetricsOf(judge, own), nil
	}
	learn.Fold(own)
	all, err := Gather(ctx, t, tag, own)
	if err != nil {
		return learn.Metrics{}, err
	}
	m := judge.Counted(all)
	if judge.Ranks() {
		var r learn.Metrics
		r, err = rank(ctx, t, ranked, judge, own)
		m.Train, m.Val, m.Test = r.Train, r.Val, r.Test
	}
	return m, err
}

// rank returns the metrics by ranks of scores: rank 0 gets those of all, a label at a time, and tells the others what it makes of them.
func rank(ctx context.Context, t Talk, tag uint32, judge learn.Task, own []learn.Evidence) (learn.Metrics, error) {
	m, err := judge.Rank(func(split, label int) (r gnn.Ranked, err error) {
		for i := range own {
			if of := own[i].Ranked[split]; of != nil {
				r.Pos, r.Neg = append(r.Pos, of[label].Pos...), append(r.Neg, of[label].Neg...)
			}
		}
		head := binary.LittleEndian.AppendUint64(nil, uint64(len(r.Pos)))
		from, err := t.Collect(ctx, tag, slices.Concat(head, hostmem.Bytes(r.Pos), hostmem.Bytes(r.Neg)))
		if err != nil || !t.Leads() {
			return gnn.Ranked{}, err
		}
		for rank, b := range from[1:] {
			if len(b) < 8 || len(b)%4 != 0 || binary.LittleEndian.Uint64(b) > uint64(len(b)-8)/4 {
				return r, fmt.Errorf("read scores of rank %d: it sent %d bytes", rank+1, len(b))
			}
			scores := make([]float32, len(b)/4-2)
			copy(hostmem.Bytes(scores), b[8:])
			pos := binary.LittleEndian.Uint64(b)
			r.Pos, r.Neg = append(r.Pos, scores[:pos]...), append(r.Neg, scores[pos:]...)
		}
		return r, nil
	})
	if err != nil {
		return m, err
	}
	return First(ctx, t, tag, m)
}
