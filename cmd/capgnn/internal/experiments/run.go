package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/bench"
	"capgnn/internal/lockfile"
	"capgnn/internal/regular"
)

// Bench is a run of experiments that write into one folder.
type Bench struct {
	k       *term.Console
	opt     Options
	journal *bench.Journal
	lock    *lockfile.Lock // of its folder
	loaded  *loadedData    // the data set that was used last
	divided *divided       // how the graph was cut that was traced last
	noted   map[string]bool
	about   []bench.Fact // where the results come from
	// peersOnly says that nothing but peers is asked for, so that a missing --python is an error.
	peersOnly bool
}

// New opens the folder of the results. peersOnly says that nothing but peers is asked for.
func New(k *term.Console, o Options, peersOnly bool) (*Bench, error) {
	b := &Bench{k: k, opt: o, noted: map[string]bool{}, peersOnly: peersOnly}
	if _, err := b.datasets(Experiment{}); err != nil { // those that are named, before there is a folder
		return nil, err
	}
	err := regular.CheckPlace(o.Out)
	if err == nil {
		err = os.MkdirAll(o.Out, 0o755)
	}
	if err != nil {
		return nil, term.Usagef("--out: %w", err)
	}
	if o.Place.Rank == 0 { // other ranks write nothing there
		var held *lockfile.Held
		if b.lock, err = lockfile.Take(filepath.Join(o.Out, "lock")); errors.As(err, &held) {
			return nil, term.Usagef("--out %s: in use by %v: wait until it has ended, or end it", o.Out, held.By)
		} else if err != nil && !errors.Is(err, lockfile.ErrUnsupported) {
			return nil, term.Usagef("--out: %w", err)
		}
	}
	if b.journal, err = bench.Open(filepath.Join(o.Out, "cells.jsonl")); err != nil {
		b.lock.Release()
		return nil, term.Usagef("--out: %w", err)
	}
	return b, nil
}

// Run runs experiments and prints what they show; with report, it also writes one page about all of them.
func (b *Bench) Run(ctx context.Context, list []Experiment, report bool) error {
	defer b.lock.Release()
	sections, err := b.all(ctx, list)
	if err == nil && report {
		err = bench.WriteReport(b.opt.Out, "capgnn bench all", b.about, sections)
	}
	if err := errors.Join(err, b.forget(), b.journal.Close()); err != nil {
		if ctx.Err() != nil {
			return &term.InterruptedError{Note: "results so far are in " + b.opt.Out + ": the same command continues"}
		}
		return err
	}
	if b.opt.follows() {
		return nil
	}
	return b.print(sections)
}

// all runs the experiments and writes what they show.
func (b *Bench) all(ctx context.Context, list []Experiment) ([]bench.Section, error) {
	b.noteLoad()
	if !b.opt.follows() {
		if err := b.writeEnvironment(); err != nil {
			return nil, err
		}
	}
	var sections []bench.Section
	for _, e := range list {
		if b.opt.Ranks > 0 {
			e = overRanks(e)
		}
		s, err := b.one(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("bench %s: %w", e.Name, err)
		}
		if s == nil {
			continue
		}
		if err := errors.Join(s.Write(b.opt.Out), s.Remove(b.opt.Out), s.WritePage(b.opt.Out, b.about)); err != nil {
			return nil, err
		}
		sections = append(sections, *s)
	}
	return sections, nil
}

// one measures what has no line yet and returns what the experiment shows; nil: there is nothing that it could run on.
func (b *Bench) one(ctx context.Context, e Experiment) (*bench.Section, error) {
	names, err := b.datasets(e)
	if err != nil {
		return nil, err
	}
	cells, show, err := e.plan(b, names)
	if err != nil || len(cells) == 0 {
		return nil, err
	}
	if err := b.suitWeights(ctx, cells); err != nil {
		return nil, err
	}
	bar := b.k.Begin("bench "+e.Name, int64(len(cells)), "cells", 2*time.Second)
	defer bar.End()
	for i, c := range cells {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if b.journal.Find(c.id) == nil {
			start := time.Now()
			l, err := c.measure(ctx)
			if err := errors.Join(err, ctx.Err()); err != nil {
				return nil, err
			}
			if l.Cell, l.Seconds = c.id, time.Since(start).Seconds(); b.opt.follows() {
				continue
			}
			if err := b.journal.Append(l); err != nil {
				return nil, err
			}
		}
		bar.At(int64(i+1), c.id["dataset"])
	}
	bar.End()
	if b.opt.follows() {
		return nil, nil
	}
	s := show()
	s.Name = e.Name
	return &s, nil
}

// line returns what was measured for a cell.
func (b *Bench) line(id bench.Cell) *bench.Line { return b.journal.Find(id) }

// quietly is a console for what runs inside a cell.
func (b *Bench) quietly() *term.Console {
	return &term.Console{Out: b.k.Err, Err: b.k.Err, Quiet: true}
}

// print says where the results are: a JSON object, or the tables.
func (b *Bench) print(sections []bench.Section) error {
	type shown struct {
		Experiment string        `json:"experiment"`
		Title      string        `json:"title"`
		Tables     []bench.Table `json:"tables"`
	}
	if b.k.JSON {
		out := struct {
			Out     string  `json:"out"`
			Results []shown `json:"results"`
		}{Out: b.opt.Out}
		for _, s := range sections {
			out.Results = append(out.Results, shown{s.Name, s.Title, s.Tables})
		}
		return json.NewEncoder(b.k.Out).Encode(out)
	}
	for _, s := range sections {
		if err := s.Print(b.k.Out); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(b.k.Out, "results: %s\n", b.opt.Out)
	return err
}
