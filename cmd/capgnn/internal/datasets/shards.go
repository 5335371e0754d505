package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/shards"
	"capgnn/internal/learn"
	"capgnn/rapa"
)

// Shards is a data set that is kept in shards, of which a process maps those of its parts.
type Shards struct {
	*shards.Folder
	Plan   *rapa.Plan
	mapped []int // machines
}

// SettledByShards are the options that say how a data set is read, which it was when its shards were cut.
var SettledByShards = []string{"edges", "standardize", "features", "split"}

// Standardised is the key in Head.Settled of how the features have been standardised.
const Standardised = "standardised"

// SeedOf returns the key in Head.Settled of the seed that something of the data set was drawn with, split or features.
func SeedOf(what string) string { return what + "-seed" }

// Settled returns what the settings say of them.
func Settled(cfg *runfolder.Config) map[string]string {
	out := map[string]string{}
	for _, o := range runfolder.Options {
		if slices.Contains(SettledByShards, o.Name) {
			out[o.Name] = fmt.Sprint(o.Value(cfg))
		}
	}
	return out
}

// InShards returns the data set of cfg if it is kept in shards; nil: it is not.
func InShards(ctx context.Context, k *term.Console, cfg *runfolder.Config) (*Input, error) {
	path, err := locate(k, cfg)
	if err != nil || path == "" || !shards.Is(path) {
		return nil, err
	}
	return loadShards(ctx, k, cfg, path)
}

// loadShards reads what all machines know of a data set in shards. Nothing of its graph and features is here before MapShards.
func loadShards(ctx context.Context, k *term.Console, cfg *runfolder.Config, path string) (*Input, error) {
	fault := func(err error) error {
		return term.Unreadable(fmt.Errorf("--dataset %s: %w", cfg.Dataset, err), "while the data set was read")
	}
	c, err := diskcache.Open(k)
	if err != nil {
		return nil, err
	}
	known, remember := c.Seen(shards.Common(path), "", time.Now())
	watch := &term.DataWatch{Ctx: ctx, Console: k, Verb: "check"}
	f, err := shards.Open(path, shards.Options{Known: known, Watch: watch.At})
	watch.End()
	if err != nil {
		return nil, fault(err)
	}
	remember()
	if f.Weighted && cfg.IgnoreWeights {
		return nil, fault(term.Usagef("--ignore-weights: the edges of the shards have weights: cut them with `capgnn partition --ignore-weights`"))
	}
	in, err := inputOf(f, LoopsOf(cfg))
	if err == nil {
		err = SuitsWeights(in.Problem, cfg)
	}
	if err != nil {
		return nil, fault(err)
	}
	cfg.DatasetPath = path
	if cfg.Sampled() {
		if err := in.mapGraph(ctx, k); err != nil {
			return nil, fault(err)
		}
	}
	return in, ctx.Err()
}

// mapGraph maps what sampled training reads of all parts.
func (l *Input) mapGraph(ctx context.Context, k *term.Console) error {
	s := l.Shards
	c, err := diskcache.Open(k)
	if err != nil {
		return err
	}
	known, remember := c.Seen(s.GraphPath(), s.WholeSum(), time.Now())
	watch := &term.DataWatch{Ctx: ctx, Console: k, Verb: "check"}
	w, err := s.MapWhole(&l.Problem.Shards.Outline, shards.Options{Known: known, Watch: watch.At})
	watch.End()
	if err != nil {
		return err
	}
	remember()
	w.Data.Rest()
	l.Problem.Files = w.Data
	l.Problem.WithGraph(w.Data.Graph, w.Data.Labels, w.Data.Targets, w.Entries)
	l.CloseFiles = w.Data.Close
	return nil
}

// inputOf makes the input of a run of a folder of shards.
func inputOf(f *shards.Folder, loops graph.Loops) (*Input, error) {
	plan := new(rapa.Plan)
	if err := plan.UnmarshalBinary(f.Plan); err != nil {
		return nil, err
	}
	f.Plan = nil
	if plan.Key != f.Head.Plan || plan.Graph != f.Graph || len(plan.Part) != f.Vertices || len(plan.Parts) != f.Parts() || plan.Dropped != nil {
		return nil, fmt.Errorf("%s: the plan is another one than that of the tables beside it", shards.Common(f.Dir))
	}
	o, err := f.Outline(plan.Part)
	if err != nil {
		return nil, err
	}
	s := learn.NewShards(*o, f.Edges, f.FeatureEntries)
	p := &learn.Problem{Loops: loops, Classes: f.Classes, Shards: s, GraphKey: f.Graph, FeaturesKey: f.FeaturesSum}
	if p.Features = (learn.Features{Cols: f.Features}); f.Sparse {
		p.Features.Indptr = []int64{}
	}
	if p.Labels = []int32{}; f.MultiLabel {
		p.Labels, p.Targets = nil, []uint8{}
	}
	names := runfolder.DataNames{Columns: dataset.Composed(f.ColumnNames), Classes: dataset.Composed(f.ClassNames), Weighted: f.Weighted, Symmetric: f.Symmetric,
		Standardized: f.Settled[Standardised]}
	return &Input{Name: f.Name, Names: names, Problem: p, Scaling: f.Scaling, Sums: diskcache.Sums{Graph: f.Graph, Features: f.FeaturesSum},
		CloseFiles: func() error { return nil }, Shards: &Shards{Folder: f, Plan: plan}}, nil
}

// ReadIDs gives the input the ids of the vertices of a data set that is kept in shards, which not every machine needs.
func (l *Input) ReadIDs() (err error) {
	if s := l.Shards; s != nil {
		if l.IDs, l.VertexNames, err = s.IDs(); err != nil {
			err = term.Usagef("--dataset %s: %w", s.Dir, err)
		}
	}
	return err
}

// Identity returns the SHA-256 of the problem: graph, features, labels and splits.
func (l *Input) Identity() string {
	if l.Shards != nil {
		return l.Shards.Head.Identity[l.Problem.Loops.String()]
	}
	return diskcache.Identify(l.Problem, l.Sums)
}

// IdentityApart is Identity without what is drawn by the seed of a run: the split, if the files have none, features that
// are scaled by its training rows, and features where that is said.
func (l *Input) IdentityApart(features bool) string {
	if l.Shards != nil {
		return l.Identity()
	}
	p, sums := *l.Problem, l.Sums
	if l.Drawn {
		p.Train, p.Val, p.Test = nil, nil, nil
	}
	if features || l.Drawn && l.Scaling != nil {
		sums.Features = ""
	}
	return diskcache.Identify(&p, sums)
}

// MapShards maps the shards that have parts of a range; for a data set that is not in shards it does nothing.
func (l *Input) MapShards(ctx context.Context, k *term.Console, own graph.Range) error {
	s := l.Shards
	if s == nil {
		return nil
	}
	c, err := diskcache.Open(k)
	if err != nil {
		return err
	}
	masks := map[string]*[]bool{"train_mask": &l.Problem.Train, "val_mask": &l.Problem.Val, "test_mask": &l.Problem.Test}
	for _, key := range s.Masks {
		if mask := masks[key]; mask != nil && *mask == nil {
			*mask = make([]bool, s.Vertices)
		}
	}
	for m := range s.Machines {
		if r := s.Machines[m].Range(); r.Hi <= own.Lo || own.Hi <= r.Lo || slices.Contains(s.mapped, m) {
			continue
		}
		known, remember := c.Seen(s.Path(m), s.Sum(m), time.Now())
		watch := &term.DataWatch{Ctx: ctx, Console: k, Verb: "check"}
		h, err := s.Shard(m, shards.Options{Known: known, Watch: watch.At})
		watch.End()
		if err != nil {
			return term.Unreadable(fmt.Errorf("--dataset %s: %w", s.Dir, err), "while the data set was read")
		}
		closed := l.CloseFiles
		l.CloseFiles = func() error { return errors.Join(closed(), h.Close()) }
		if err := l.add(m, h); err != nil {
			return term.Usagef("--dataset %s: %w", s.Dir, err)
		}
		remember()
		h.Rest()
		s.mapped = append(s.mapped, m)
	}
	return ctx.Err()
}

// add makes a mapped shard part of the problem.
func (l *Input) add(machine int, h *shards.Shard) error {
	p, m, x := l.Problem, &l.Shards.Machines[machine], &h.In.Features
	s := &learn.Shard{Parts: m.Range(), Own: m.Vertices, IDs: narrow(h.In.IDs), In: h.In.Graph, Out: h.Out.Graph, OutWeights: h.OutWeights, Labels: h.Labels.Labels, Targets: h.Labels.Targets,
		Features: learn.Features{Cols: x.Cols, Dense: x.Dense, Indptr: x.Indptr, Indices: x.Indices, Data: x.Data}, Files: h}
	if s.OutIDs = s.IDs; h.Out != h.In {
		s.OutIDs = narrow(h.Out.IDs)
	}
	h.In.IDs, h.Out.IDs = nil, nil
	err := p.Shards.Add(s)
	if err == nil && p.Graph != nil {
		err = p.SuitsGraph(s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.Shards.Path(machine), err)
	}
	for _, mask := range []struct{ all, own []bool }{{p.Train, h.Labels.Train}, {p.Val, h.Labels.Val}, {p.Test, h.Labels.Test}} {
		for k, in := range mask.own {
			mask.all[s.IDs[k]] = in
		}
	}
	return nil
}

// narrow returns ids as they are used here; what is no id stays none.
func narrow(ids []int64) []graph.NodeID {
	out := make([]graph.NodeID, len(ids))
	for k, v := range ids {
		if out[k] = graph.NodeID(v); int64(out[k]) != v {
			out[k] = -1
		}
	}
	return out
}

// Unchanged says what has become of mapped shards since, as far as the sizes of their files tell.
func (l *Input) Unchanged() error {
	if l.Shards == nil {
		return nil
	}
	if l.Problem.Graph != nil {
		if err := l.Shards.WholeUnchanged(); err != nil {
			return term.Usagef("--dataset %s: %w", l.Shards.Dir, err)
		}
	}
	for _, m := range l.Shards.mapped {
		if err := l.Shards.Folder.Unchanged(m); err != nil {
			return term.Usagef("--dataset %s: %w", l.Shards.Dir, err)
		}
	}
	return nil
}
