package datasets

import (
	"context"
	"errors"
	"os"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/graph/synth"
)

// Synthesise makes the data set of a preset, and says what a perfect model would score.
func Synthesise(ctx context.Context, k *term.Console, p synth.Preset, seed uint64) (*dataset.Dataset, float64, error) {
	var bar *term.Progress
	shown := ""
	defer func() {
		if bar != nil {
			bar.End()
		}
	}()
	k.Note("%s: %s vertices, %s directed edges, in the manner of %s", p.Name, term.Grouped(int64(p.Vertices)), term.Grouped(2*p.Pairs), p.Like)
	s, err := p.Make(ctx, seed, synth.Options{Progress: func(stage string, done, total int) {
		if stage != shown {
			if bar != nil {
				bar.End()
			}
			shown, bar = stage, k.Begin(stage, int64(total), "blocks", term.LinePause)
		}
		bar.At(int64(done), "")
	}})
	if err != nil {
		return nil, 0, err
	}
	d := &dataset.Dataset{
		Name: p.Name, Graph: s.Graph, Labels: s.Labels, Targets: s.Targets, Classes: s.Classes,
		Features: dataset.Features{Cols: s.Cols, Dense: s.Dense, Indptr: s.Indptr, Indices: s.Indices, Data: s.Data},
	}
	if s.Labels != nil || s.Targets != nil {
		d.Train, d.Val, d.Test, err = dataset.Split(p.Vertices, nil, seed, p.Split)
	}
	return d, s.Ceiling, err
}

// WriteError marks an error about where to write as the user's; a full disk is none.
func WriteError(err error) error {
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrExist) || errors.Is(err, os.ErrNotExist) {
		return term.AsUsage(err)
	}
	return err
}
