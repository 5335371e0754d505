package pipeline

import (
	"cmp"
	"log/slog"

	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/contentkey"
	"capgnn/internal/learn"
	"capgnn/pipeline/halo"
)

// Layout is a problem cut into parts. Several trainers can use it one after another: first ledgers, which find out
// what a run would take, then the run.
type Layout struct {
	cut  *graph.Cut // of the whole graph: for evaluation, and the first layer
	kept *graph.Cut // what Options.Dropped leaves of it, for the other layers of training; cut itself if that is all
	key  string     // under which Options.Prepared keeps the cut, "": it does not
	lent Kept       // where the cut's edges lie, nil: on the heap
	// problem and pruning are what the cuts are made of; pruning is nil if nothing is dropped.
	problem *learn.Problem
	pruning *graph.Pruning
}

// NewLayout cuts a problem for a trainer with these options on this many devices, which have the parts from o.First
// on, or takes the cut from o.Prepared. Release must be called after the last trainer has been made.
func NewLayout(p *learn.Problem, o Options, parts int) (*Layout, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Parts = cmp.Or(o.Parts, parts)
	return newLayout(p, &o, graph.Range{Lo: o.First, Hi: o.First + parts})
}

// newLayout cuts a problem for the process that has the parts of a range.
func newLayout(p *learn.Problem, o *Options, own graph.Range) (*Layout, error) {
	var seeds []bool // that the loss is taken at; nil: every row of every layer is wanted
	if !o.everyRow && !o.Model.AllRows() {
		seeds = make([]bool, p.Vertices())
		for v := range seeds {
			seeds[v] = p.Trains(graph.NodeID(v))
		}
	}
	if o.phased() {
		cut, err := graph.Arrange(p.Graph, p.Loops, o.Part, o.chunks(), seeds, o.Model.Layers, o.Rank)
		return &Layout{cut: cut, kept: cut, problem: p}, err
	}
	pruning, err := graph.NewPruning(o.Part, o.Parts, o.Dropped)
	if err != nil {
		return nil, err
	}
	l := &Layout{key: cutKey(p, o, own, seeds, pruning != nil), problem: p, pruning: pruning}
	if l.fetch(o, own) {
		l.kept = l.cut.Without(pruning)
		return l, nil
	}
	if l.cut, err = split(p, o, own, seeds, pruning); err != nil {
		return nil, err
	}
	if l.key != "" {
		o.Prepared.Put(l.key, "partitioned graph", cutPieces(l.cut))
	}
	l.kept = l.cut.Without(pruning)
	return l, nil
}

// split cuts a problem, whole or kept in shards.
func split(p *learn.Problem, o *Options, own graph.Range, seeds []bool, pruning *graph.Pruning) (*graph.Cut, error) {
	if p.Shards != nil {
		if err := p.Shards.Covers(own); err != nil {
			return nil, err
		}
		return graph.SplitOutline(&p.Shards.Outline, p.Shards.RowsOf, p.Loops, own, seeds != nil, o.Model.Layers, o.Rank)
	}
	level := graph.AllNeeded(p.Vertices(), o.Model.Layers)
	if seeds != nil {
		level = graph.Needed(p.Graph, seeds, o.Model.Layers, pruning)
	}
	return graph.SplitRange(p.Graph, p.Loops, o.Part, o.Parts, own, level, o.Model.Layers, o.Rank, pruning)
}

// cuts are the cuts by which layers exchange and aggregate.
func (l *Layout) cuts() *halo.Cuts { return &halo.Cuts{Whole: l.cut, Kept: l.kept} }

// cutKey identifies a cut; "" if it is not kept. Levels follow from the seeds, the layers and what is dropped, and so does
// the order of rows.
func cutKey(p *learn.Problem, o *Options, own graph.Range, seeds []bool, pruned bool) string {
	if o.Prepared == nil || p.GraphKey == "" || !hostmem.LittleEndian() {
		return ""
	}
	trained := make([]int32, 0, len(seeds))
	for v, s := range seeds {
		if s {
			trained = append(trained, int32(v))
		}
	}
	things := []any{p.GraphKey, p.Loops, o.Model.Layers, o.Parts, o.Part, seeds == nil, trained, o.Rank}
	if pruned {
		for _, ids := range o.Dropped {
			things = append(things, ids)
		}
	}
	if own.Hi-own.Lo < o.Parts {
		things = append(things, own)
	}
	return contentkey.Of("cut 2", things...)
}

// fetch takes the cut that is kept and reports whether there is one.
func (l *Layout) fetch(o *Options, own graph.Range) bool {
	if l.key == "" {
		return false
	}
	kept := o.Prepared.Get(l.key)
	if kept == nil {
		return false
	}
	c, err := cutOf(kept, o.Part, o.Parts, own, o.Model.Layers, l.pruning != nil)
	if err != nil {
		kept.Close()
		o.Log.Warn("what was prepared is not used", "error", err)
		return false
	}
	l.cut, l.lent = c, kept
	return true
}

// Release frees the edges in host memory. No trainer may be made of the layout afterwards; existing trainers keep
// what they need.
func (l *Layout) Release() {
	for _, c := range []*graph.Cut{l.cut, l.kept} {
		if c == nil {
			continue
		}
		for _, p := range c.Parts {
			for _, b := range []*graph.Block{&p.In, &p.Out} {
				b.Inner, b.Halo, b.Edges, b.Left = nil, graph.HaloRows{}, nil, nil
			}
		}
		c.InDegree, c.OutDegree = nil, nil
	}
	l.problem, l.pruning = nil, nil
	if l.lent != nil {
		l.lent.Close()
		l.lent = nil
	}
}
