package main

import (
	"context"
	"path/filepath"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/pipeline"
)

// learnable is a data set made ready for one run.
type learnable struct {
	name    string
	problem *pipeline.Problem
}

// loadData reads the data set of cfg and makes the problem of it.
func loadData(ctx context.Context, k *console, cfg *trainConfig) (*learnable, error) {
	d, err := readDataset(k, cfg)
	if err != nil {
		return nil, err
	}
	p, err := newProblem(d, cfg)
	if err != nil {
		return nil, usagef("--dataset %s: %w", cfg.Dataset, err)
	}
	return &learnable{name: d.Name, problem: p}, ctx.Err()
}

// readDataset finds and reads the data set of cfg, which then says where it lies. What is worth knowing is noted.
func readDataset(k *console, cfg *trainConfig) (*dataset.Dataset, error) {
	path := cfg.DatasetPath
	if path == "" && cfg.Dataset == generatedName {
		return generate(cfg.Seed)
	}
	if path == "" {
		found, err := dataset.Resolve(cfg.Dataset, dataRoots())
		if err != nil {
			return nil, usagef("--dataset %s: %w", cfg.Dataset, err)
		}
		if path, err = filepath.Abs(found); err != nil {
			return nil, usagef("--dataset %s: %w", cfg.Dataset, err)
		}
	}
	row, _ := splitNumber(cfg.Split)
	d, err := dataset.Load(path, dataset.Options{Edges: cfg.Edges, Standardize: cfg.Standardize, MaskRow: max(row, 0)})
	if err != nil {
		return nil, usagef("--dataset %s: %w", cfg.Dataset, err)
	}
	cfg.DatasetPath = path
	for _, note := range d.Notes {
		k.note("note: %s", note)
	}
	return d, nil
}

// newProblem splits the vertices and settles the self-loops.
func newProblem(d *dataset.Dataset, cfg *trainConfig) (*pipeline.Problem, error) {
	if !d.Features.Present() {
		return nil, usagef("the data set has no features (x): nothing can be learned from it")
	}
	if d.Labels == nil && d.Targets == nil {
		return nil, usagef("the data set has no labels (y): nothing can be learned from it")
	}
	p := &pipeline.Problem{
		Graph:    withLoops(d.Graph, cfg.SelfLoops, cfg.Model),
		Features: pipeline.Features{Cols: d.Features.Cols, Dense: d.Features.Dense, Indptr: d.Features.Indptr, Indices: d.Features.Indices, Data: d.Features.Data},
		Labels:   d.Labels, Targets: d.Targets, Classes: d.Classes,
		Train: d.Train, Val: d.Val, Test: d.Test,
	}
	if _, numbered := splitNumber(cfg.Split); numbered {
		if d.Splits == 0 {
			return nil, usagef("the data set has no numbered splits: leave --split %s away", cfg.Split)
		}
		return p, nil
	}
	fractions, given, err := parseSplit(cfg.Split)
	if err != nil {
		return nil, err
	}
	if d.Train != nil {
		if given {
			return nil, usagef("the data set has a train_mask: leave --split away")
		}
		return p, nil
	}
	p.Train, p.Val, p.Test, err = dataset.Split(d.Graph.Rows(), d.Labels, cfg.Seed, fractions)
	return p, err
}

// withLoops returns g with the self-loops that a run wants: auto removes them and adds one per vertex for the models whose
// definition has them.
func withLoops(g *graph.CSR, choice, model string) *graph.CSR {
	switch choice {
	case "keep":
		return g
	case "add":
		return g.WithLoops()
	case "auto":
		if model == "gcn" || model == "gat" {
			return g.WithLoops()
		}
	}
	return g.WithoutLoops()
}
