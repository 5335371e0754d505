package datasets

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/fetch"
	"capgnn/graph/dataset/formats"
	"capgnn/graph/dataset/stores"
	"capgnn/internal/learn"
)

// Input is a data set made ready for one run.
type Input struct {
	Name        string
	Problem     *learn.Problem
	Names       runfolder.DataNames
	IDs         []int64          // of the vertices; nil: their numbers, or VertexNames
	VertexNames []string         // nil: vertices have no ids but numbers
	Scaling     *dataset.Scaling // of the features; nil: they are as stored
	Sums        diskcache.Sums   // of graph and features
	CloseFiles  func() error     // gives their memory back
	Shards      *Shards          // where the data set is kept in shards; nil: Problem has all of it
	Drawn       bool             // the files have no set: the program drew all three
	Degrees     []int            // vertices with 0, 1, 2–3, 4–7, … in-neighbours, loops as they are stored; nil: not counted
}

// ID returns what gives the id of a vertex; nil: vertices have none.
func (l *Input) ID() func(v int) string {
	if l.IDs == nil && l.VertexNames == nil {
		return nil
	}
	return (&dataset.Dataset{IDs: l.IDs, VertexNames: l.VertexNames}).ID
}

// Size says how many vertices, edges and features there are.
func (l *Input) Size() string {
	p := l.Problem
	return term.Counted(p.Vertices(), "vertex") + ", " + term.Counted(p.Edges(), "edge") + ", " + term.Counted(p.Features.Cols, "feature")
}

// Release gives graph and features back, which must not be used any more.
func (l *Input) Release() error {
	l.Problem.Graph, l.Problem.Features = nil, learn.Features{}
	if l.Problem.Shards != nil {
		l.Problem.Shards.Release()
	}
	return l.CloseFiles()
}

// Load reads the data set of cfg and makes the problem of it.
func Load(ctx context.Context, k *term.Console, cfg *runfolder.Config) (*Input, error) {
	started := time.Now()
	if in, err := InShards(ctx, k, cfg); in != nil || err != nil {
		return in, err
	}
	d, err := Read(ctx, k, cfg)
	if err != nil {
		return nil, err
	}
	return Prepare(ctx, k, cfg, d, started)
}

// locate returns where the data set of cfg lies, "" for one that is generated.
func locate(k *term.Console, cfg *runfolder.Config) (string, error) {
	if cfg.DatasetPath != "" || cfg.Dataset == Generated {
		return cfg.DatasetPath, renamed(cfg)
	}
	found, err := Find(k, cfg.Dataset)
	if err != nil {
		return "", term.Usagef("--dataset %s: %w", cfg.Dataset, err)
	}
	path, err := filepath.Abs(found)
	if err != nil {
		return "", term.Usagef("--dataset %s: %w", cfg.Dataset, err)
	}
	return path, nil
}

// renamed returns an error if the config file of a run names another data set than that whose path it has. A relative
// name that lies elsewhere now has the same last element.
func renamed(cfg *runfolder.Config) error {
	base := filepath.Base(cfg.Dataset)
	if base == filepath.Base(cfg.DatasetPath) || base == "." || base == ".." {
		return nil
	}
	found, _, err := fetch.Resolve(cfg.Dataset, term.DataRoots())
	switch {
	case err != nil && base == cfg.Dataset: // a name of a folder that is not there now
		return nil
	case err == nil:
		if path, err := filepath.Abs(found); err != nil || path == cfg.DatasetPath {
			return err
		}
	}
	return term.Usagef("dataset %s does not lie at dataset-path %s: name it with --dataset, or leave dataset-path empty "+
		"in the config file", cfg.Dataset, cfg.DatasetPath)
}

// Prepare makes the problem of a data set that was read from started on.
func Prepare(ctx context.Context, k *term.Console, cfg *runfolder.Config, d *dataset.Dataset, started time.Time) (*Input, error) {
	p, err := newProblem(d, cfg)
	if err != nil {
		return nil, term.Usagef("--dataset %s: %w", cfg.Dataset, err)
	}
	c, err := diskcache.Open(k)
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	reading := fmt.Sprintf("edges=%s standardize=%s", cfg.Edges, cfg.Standardize)
	if cfg.MakesFeatures() {
		reading += fmt.Sprintf(" features=%s seed=%d", cfg.Features, cfg.Seed)
	}
	if cfg.IgnoreWeights {
		reading += " ignore-weights"
	}
	if d.Scaling != nil { // the split chose the rows to standardise with
		reading += fmt.Sprintf(" split=%s", cfg.Split)
		switch {
		case d.Drawn:
			reading += fmt.Sprintf(" seed=%d", cfg.Seed)
		case d.TrainsRest:
			reading += " train=rest"
		}
	}
	names := NamesOf(d)
	s, degrees := c.Recall(d.Source, reading, started, p)
	d.Rest() // a run that finds everything prepared does not read the graph again
	p.GraphKey, p.FeaturesKey = s.Graph, s.Features
	if m, invalid := cfg.NetworkOf(p); invalid == nil { // else Run.Load says it
		if p, err = p.For(m); err != nil {
			return nil, term.Usagef("--model %s: %w", cfg.Model, err)
		}
	}
	return &Input{Name: d.Name, Names: names, IDs: d.IDs, VertexNames: d.VertexNames, Problem: p, Scaling: d.Scaling, Drawn: d.Drawn, Sums: s, CloseFiles: d.Close, Degrees: degrees}, nil
}

// NamesOf returns the names that a run on the data set keeps.
func NamesOf(d *dataset.Dataset) runfolder.DataNames {
	return runfolder.DataNames{Columns: d.ColumnNames, Classes: d.ClassNames, Weighted: d.Graph.Weights != nil, Symmetric: d.Graph.Symmetric(), Standardized: d.Standardised}
}

// Read finds and reads the data set of cfg to learn from it, which then says where it lies. What is worth knowing is noted.
func Read(ctx context.Context, k *term.Console, cfg *runfolder.Config) (*dataset.Dataset, error) {
	opt := dataset.Options{Standardize: cfg.Standardize, AllowOverlap: cfg.AllowOverlap}
	cfg.Split.Value.Read(&opt, cfg.Seed)
	return read(ctx, k, cfg, opt)
}

// ReadInput is Read for a prediction, which needs no sets. scaling is what to standardise the features with,
// nil: as cfg says; columns are the names by which they are ordered, nil: they are not.
func ReadInput(ctx context.Context, k *term.Console, cfg *runfolder.Config, scaling *dataset.Scaling, columns []string) (*dataset.Dataset, error) {
	opt := dataset.Options{Standardize: cfg.Standardize, Scaling: scaling, Columns: columns, AllowOverlap: true}
	opt.SetsAsGiven = scaling != nil || cfg.Standardize != dataset.StandardizeTrain // whose rows are those of the training set
	cfg.Split.Value.Read(&opt, cfg.Seed)
	return read(ctx, k, cfg, opt)
}

// read finds and reads the data set of cfg by what opt says beside it.
func read(ctx context.Context, k *term.Console, cfg *runfolder.Config, opt dataset.Options) (*dataset.Dataset, error) {
	path, err := locate(k, cfg)
	if err != nil {
		return nil, err
	}
	opt.Edges, opt.IgnoreWeights, opt.Features, opt.Seed = cfg.Edges, cfg.IgnoreWeights, cfg.Features, cfg.Seed
	if path == "" {
		if opt.Numbered {
			return nil, term.Usagef("--dataset %s: has no numbered splits: there is no split %d", cfg.Dataset, opt.MaskRow)
		}
		d, err := Generate(cfg.Seed)
		if err == nil && cfg.MakesFeatures() {
			err = d.MakeFeatures(cfg.Features, cfg.Seed)
		}
		if err == nil {
			err = d.SettleSets(opt)
		}
		return d, err
	}
	if !utf8.ValidString(path) {
		return nil, term.Usagef("--dataset %q: is not UTF-8, which the files of a run need: rename it", path)
	}
	known, remember, err := lookedThrough(k, cfg, path)
	if err != nil {
		return nil, err
	}
	watch := &term.DataWatch{Ctx: ctx, Console: k, Verb: "read"}
	opt.Known, opt.Watch = known, watch.At
	d, err := formats.Load(path, opt)
	watch.End()
	if err != nil {
		return nil, term.Unreadable(fmt.Errorf("--dataset %s: %w", cfg.Dataset, err), "while the data set was read")
	}
	if d.Huge == 0 { // which is noted every time
		remember()
	}
	cfg.DatasetPath = path
	for _, note := range d.Notes {
		k.Note("note: %s", note)
	}
	return d, nil
}

// lookedThrough reports whether the files of a store are those that were looked through before, and returns what remembers that they were.
func lookedThrough(k *term.Console, cfg *runfolder.Config, path string) (known bool, remember func(), err error) {
	if !term.Exists(filepath.Join(path, stores.MetaFile)) { // other formats are read as a whole
		return false, func() {}, nil
	}
	c, err := diskcache.Open(k)
	if err != nil {
		return false, nil, err
	}
	what := "values"
	if cfg.IgnoreWeights {
		what += " without weights"
	}
	known, remember = c.Seen(path, what, time.Now())
	return known, remember, nil
}

// Overlooked refuses data that lack what is wanted (dataset.LooksFeatures, …) where a file of their folder, which was not read,
// seems to hold it: training would do without, or make it up.
func Overlooked(d *dataset.Dataset, wanted ...string) error {
	lacks := map[string]bool{
		dataset.LooksFeatures: !d.Features.Present(), dataset.LooksLabels: d.Labels == nil && d.Targets == nil, dataset.LooksSplit: d.Drawn || d.TrainsRest,
		dataset.LooksWeights: d.Graph.Weights == nil,
	}
	instead := map[string]string{
		dataset.LooksFeatures: "; or make features of the graph: --features degree",
		dataset.LooksWeights:  "; or leave weights out: --ignore-weights",
	}
	if d.Drawn {
		instead[dataset.LooksSplit] = "; or draw a split: --split 0.7,0.2,0.1"
	}
	for _, u := range d.Unread {
		if lacks[u.Looks] && slices.Contains(wanted, u.Looks) {
			return term.Usagef("%s was not read, though its name looks like %s: %s", u.Name, u.Looks, formats.Wanted(d, u.Looks)+instead[u.Looks])
		}
	}
	return nil
}

// newProblem refuses what a run cannot learn from, and settles the self-loops.
func newProblem(d *dataset.Dataset, cfg *runfolder.Config) (*learn.Problem, error) {
	wanted := []string{dataset.LooksFeatures, dataset.LooksLabels}
	if cfg.Split.String() == "" {
		wanted = append(wanted, dataset.LooksSplit)
	}
	if !cfg.IgnoreWeights {
		wanted = append(wanted, dataset.LooksWeights)
	}
	if err := Overlooked(d, wanted...); err != nil {
		return nil, err
	}
	if !d.Features.Present() {
		return nil, term.Usagef("the data set has no features (x): add them, or make them of the graph: --features degree, onehot or random:64")
	}
	if d.Labels == nil && d.Targets == nil {
		return nil, term.Usagef("the data set has no labels (y): nothing can be learned from it")
	}
	p := &learn.Problem{
		Graph: d.Graph, Loops: LoopsOf(cfg),
		Features: learn.Features{Cols: d.Features.Cols, Dense: d.Features.Dense, Indptr: d.Features.Indptr, Indices: d.Features.Indices, Data: d.Features.Data},
		Labels:   d.Labels, Targets: d.Targets, Classes: d.Classes,
		Train: d.Train, Val: d.Val, Test: d.Test, Files: d,
	}
	return p, SuitsWeights(p, cfg)
}

// SuitsWeights refuses edge weights that the model of a run does not go with.
func SuitsWeights(p *learn.Problem, cfg *runfolder.Config) error {
	m, err := cfg.NetworkOf(p)
	if err != nil {
		return nil // Run.Load says it
	}
	if err := p.SuitsWeights(m); err != nil {
		whence := "leave them out with --ignore-weights"
		if p.Shards != nil {
			whence = "cut it with --ignore-weights, which leaves them out"
		}
		return term.Usagef("--model %s: %w; the edges of the data set have weights: %s", cfg.Model, err, whence)
	}
	return nil
}

// LoopsOf returns what becomes of the self-loops in a run: auto adds one to each vertex that has none for the models whose
// definition has them, and removes them for the others. A program that adds or removes loops does so whatever is said, and auto keeps those of the data
// for one that does neither.
func LoopsOf(cfg *runfolder.Config) graph.Loops {
	choice, auto := cfg.SelfLoops, graph.LoopsRemoved
	if of, fixed := cfg.Loops(); fixed {
		return of
	} else if choice == "auto" {
		auto = of
	}
	switch choice {
	case "keep":
		return graph.LoopsKept
	case "add":
		return graph.LoopsAdded
	}
	return auto
}
