package training

import (
	"context"
	"time"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/learn"
)

// LoadGraph reads the data set. One without features or labels will do: it is cut, and nothing is said about training.
func (t *Run) LoadGraph(ctx context.Context) error {
	started := time.Now()
	d, err := datasets.Read(ctx, t.Console, &t.Config)
	if err != nil {
		return term.AsUsage(err)
	}
	if d.Features.Present() && (d.Labels != nil || d.Targets != nil) {
		if t.Data, err = datasets.Prepare(ctx, t.Console, &t.Config, d, started); err != nil {
			return term.AsUsage(err)
		}
		t.cutting = true
		return t.Load(ctx)
	}
	p := &learn.Problem{Graph: d.Graph, Loops: datasets.LoopsOf(&t.Config)}
	if !d.Drawn {
		p.Train = d.Train
	}
	t.cutting, t.Bare = true, true
	t.Data = &datasets.Input{Name: d.Name, Problem: p, Sums: diskcache.SumsOf(p), CloseFiles: d.Close}
	t.Console.Note("%s: %s, %s, nothing to learn from: times and memory of training cannot be told", d.Name,
		term.Counted(p.Vertices(), "vertex"), term.Counted(p.Graph.Edges(), "edge"))
	return nil
}
