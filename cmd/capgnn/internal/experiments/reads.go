package experiments

import (
	"context"
	"fmt"
	"math/bits"

	"capgnn/internal/bench"
)

// readsOfRows is the kind of cells that say how often rows are read; also their series.
const readsOfRows = "reads"

// reads counts, over all parts, the rows of other parts that a part reads 2^i to 2^(i+1)-1 times in the run, for each i: element i of the series.
func (b *Bench) reads(ctx context.Context, s traced) (*bench.Line, error) {
	t, p, _, err := b.trace(ctx, s)
	if err != nil {
		return nil, err
	}
	byPart, err := t.Reads(ctx, s.epochs)
	if err != nil {
		return nil, err
	}
	l := newLine()
	l.Values["roots"] = float64(p.TrainingVertices())
	for _, reads := range byPart {
		for _, n := range reads {
			if n == 0 {
				continue
			}
			i := bits.Len32(uint32(n)) - 1
			for len(l.Series[readsOfRows]) <= i {
				l.Series[readsOfRows] = append(l.Series[readsOfRows], 0)
			}
			l.Series[readsOfRows][i]++
		}
	}
	return l, nil
}

// histogram is Fig. 7.
func (h *hottest) histogram() bench.Table {
	t := bench.Table{Title: fmt.Sprintf("Fig. 7: rows of other parts by how often a part reads them in %d epochs", h.epochs), Columns: rapidColumns[:3:3],
		Note: "RapidGNN, of an unnamed run: a long tail; about 60,000 rows with some 189 reads, fewer than 5,000 above 1,400."}
	h.each(func(s traced) {
		for i := len(t.Columns) - len(rapidColumns); i < len(h.b.line(s.id(readsOfRows)).Series[readsOfRows]); i++ {
			text := "1"
			if i > 0 {
				text = fmt.Sprintf("%d to %d", 1<<i, 2<<i-1)
			}
			t.Columns = append(t.Columns, text)
		}
	})
	h.each(func(s traced) {
		l := h.b.line(s.id(readsOfRows))
		row := s.named(l)
		for _, n := range l.Series[readsOfRows] {
			row = append(row, fmt.Sprintf("%.0f", n))
		}
		for len(row) < len(t.Columns) {
			row = append(row, "0")
		}
		t.Add(row...)
	})
	return t
}
