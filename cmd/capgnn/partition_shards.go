package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/shards"
	"capgnn/hostmem"
	"capgnn/profiler"
	"capgnn/rapa"
)

// sharding is what --shards asks of a partition.
type sharding struct {
	dir      string
	list     string   // of --machines
	machines []int    // parts of each
	profiles []string // of machines; nil: these are equal
}

// shardingOf reads --shards and what goes with it; nil without it.
func shardingOf(c *cli.Context) (*sharding, error) {
	if !c.IsSet("shards") {
		return nil, nil
	}
	cfg := runfolder.Default()
	given, err := runfolder.ApplyFlags(c, &cfg)
	if err != nil {
		return nil, err
	}
	s := &sharding{dir: c.String("shards"), list: cfg.Machines.String()}
	switch {
	case c.IsSet("devices"):
		return nil, term.Usagef("--shards with --devices: shards are sized for machines, by --profile: drop --devices")
	case s.list == "":
		return nil, term.Usagef("--shards %s: say for how many machines: --machines 2, or how many parts each has, as in --machines 4,2", s.dir)
	case cfg.MaxPrune > 0 || cfg.Prune > 0:
		return nil, term.Usagef("--shards %s: has every edge: drop --prune", s.dir)
	}
	if err := shards.CheckNew(s.dir); err != nil {
		return nil, term.Usagef("--shards: %w", err)
	}
	if text := c.String("profile"); text != "" {
		s.profiles = strings.Split(text, ",")
		err = c.Set("profile", "") // which is of devices of this machine
	}
	if !slices.Contains(given, "partitioner") || cfg.Partitioner != string(rapa.Multilevel) {
		err = errors.Join(err, c.Set("machines", "")) // which are cut first by multilevel only
	}
	return s, err
}

// settle makes t a partition for machines.
func (s *sharding) settle(c *cli.Context, t *training.Run) error {
	cfg := &t.Config
	t.Anonymous = true
	cfg.Set("machines", s.list)
	if s.machines = cfg.Machines.Value; s.machines == nil {
		return t.Check() // it says what is wrong with the list
	}
	if !c.IsSet("parts") {
		cfg.Parts = 0
		for _, n := range s.machines {
			cfg.Parts += n
		}
	}
	var err error
	if s.machines, err = cfg.PartsOfMachines(cfg.Parts); err != nil || s.profiles == nil {
		return err
	}
	if len(s.profiles) != len(s.machines) {
		return term.Usagef("--profile %s: %s for %s: give one for each, in their order", strings.Join(s.profiles, ","), term.Counted(len(s.profiles), "profile"), term.Counted(len(s.machines), "machine"))
	}
	targets, err := s.targets(cfg.Alpha)
	if err == nil {
		cfg.Targets = runfolder.FormatFloats(targets)
	}
	return err
}

// targets returns the share of each part, by what the profiles of machines say of their devices together.
func (s *sharding) targets(alpha float64) ([]float64, error) {
	var rates []rapa.Rate
	var of []int // machine of each device
	for m, path := range s.profiles {
		p, err := profiler.Read(path)
		if err != nil {
			return nil, term.Usagef("--profile %s: %w", path, err)
		}
		for _, d := range p.Devices {
			rates, of = append(rates, rapa.Rate{Class: d.UUID, MM: d.MM.Median, SpMM: d.SpMM.Median}), append(of, m)
		}
	}
	share, err := rapa.Targets(rates, alpha, 0)
	if err != nil {
		return nil, term.AsUsage(err)
	}
	sums := make([]float64, len(s.machines))
	for i, x := range share {
		sums[of[i]] += x
	}
	var out []float64
	for m, parts := range s.machines {
		for range parts {
			out = append(out, sums[m]/float64(parts))
		}
	}
	return out, nil
}

// choosePartitioner takes the streaming partitioner for a graph that is larger than half of memory, unless the user has chosen one.
func (s *sharding) choosePartitioner(c *cli.Context, t *training.Run) error {
	if t.Bare {
		return term.Usagef("--shards %s: the data set has no features or no labels, so that nothing can be trained on: add them", s.dir)
	}
	g := t.Data.Problem.Graph
	_, total, err := hostmem.Free()
	if bytes := 8*int64(len(g.Indptr)) + 4*int64(len(g.Indices)+len(g.Weights)); err == nil && !c.IsSet("partitioner") && bytes > total/2 {
		t.Config.Partitioner = string(rapa.Streaming)
		t.Console.Note("note: the graph takes %s, more than half of memory: --partitioner %s, which makes no copy of it", term.Size(gpu.Bytes(bytes)), rapa.Streaming)
	}
	return nil
}

// write makes the folder of a partition that is cut.
func (s *sharding) write(ctx context.Context, t *training.Run) error {
	p := t.Data.Problem
	plan, err := t.Plan.MarshalBinary()
	if err != nil {
		return err
	}
	cut := &shards.Cut{Part: t.Plan.Part, Machines: s.machines, Plan: plan, Seeds: make([]bool, p.Vertices()), Data: &dataset.Dataset{
		Name: t.Data.Name, Graph: p.Graph, Labels: p.Labels, Targets: p.Targets, Classes: p.Classes, ClassNames: t.Data.Names.Classes, ColumnNames: t.Data.Names.Columns, Train: p.Train, Val: p.Val, Test: p.Test,
		Scaling: t.Data.Scaling, IDs: t.Data.IDs, VertexNames: t.Data.VertexNames,
		Features: dataset.Features{Cols: p.Features.Cols, Dense: p.Features.Dense, Indptr: p.Features.Indptr, Indices: p.Features.Indices, Data: p.Features.Data}}}
	for v := range cut.Seeds {
		cut.Seeds[v] = p.Trains(graph.NodeID(v))
	}
	cut.Head = shards.Head{Plan: t.Plan.Key, Graph: t.Data.Sums.Graph, FeaturesSum: t.Data.Sums.Features, Identity: map[string]string{}, Settled: datasets.Settled(&t.Config)}
	cut.Head.Settled[datasets.Standardised] = t.Data.Names.Standardized
	random := strings.HasPrefix(t.Config.Features, dataset.FeaturesRandom)
	for what, drawn := range map[string]bool{"split": t.Data.Drawn, "features": random} {
		if drawn {
			cut.Head.Settled[datasets.SeedOf(what)] = fmt.Sprint(t.Config.Seed)
		}
	}
	for _, loops := range []graph.Loops{graph.LoopsKept, graph.LoopsAdded, graph.LoopsRemoved} {
		q := *p
		q.Loops = loops
		cut.Head.Identity[loops.String()] = diskcache.Identify(&q, t.Data.Sums)
	}
	watch := &term.DataWatch{Ctx: ctx, Console: t.Console, Verb: "write"}
	err = shards.Write(s.dir, cut, watch.At)
	watch.End()
	if errors.Is(err, context.Canceled) {
		return &term.InterruptedError{Note: fmt.Sprintf("while %s was written: nothing is left of it", s.dir)}
	}
	if err != nil {
		return term.Usagef("--shards: %w", err)
	}
	return nil
}
