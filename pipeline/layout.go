package pipeline

import (
	"log/slog"

	"capgnn/graph"
	"capgnn/hostmem"
)

// Layout is a problem cut into parts. It may serve several trainers, one after the other: ledgers that say what a run would
// take, then the run.
type Layout struct {
	cut  *graph.Cut
	key  string // under which Options.Prepared keeps the cut, "": it does not
	lent Kept   // where the cut's edges lie, nil: on the heap
}

// Lay cuts a problem for a trainer with these options on this many devices, or takes the cut that an earlier run has kept.
// Release must be called when the last trainer has been made of it.
func Lay(p *Problem, o Options, parts int) (*Layout, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return lay(p, &o, parts)
}

func lay(p *Problem, o *Options, parts int) (*Layout, error) {
	var seeds []bool // that the loss is taken at; nil: every row of every layer is wanted
	if !o.Savings.NoNeededRows {
		seeds = make([]bool, p.Vertices())
		for v := range seeds {
			seeds[v] = p.trains(graph.NodeID(v))
		}
	}
	l := &Layout{key: cutKey(p, o, parts, seeds)}
	if l.fetch(o, parts) {
		return l, nil
	}
	level := graph.AllNeeded(p.Vertices(), o.Model.Layers)
	if seeds != nil {
		level = graph.Needed(p.Graph, seeds, o.Model.Layers)
	}
	var err error
	l.cut, err = graph.SplitLoops(p.Graph, p.Loops, o.Part, parts, level, o.Model.Layers, o.Rank)
	if err == nil && l.key != "" {
		o.Prepared.Put(l.key, "partitioned graph", cutPieces(l.cut))
	}
	return l, err
}

// cutKey identifies a cut; "" if it is not kept. Levels follow from the seeds and the layers.
func cutKey(p *Problem, o *Options, parts int, seeds []bool) string {
	if o.Prepared == nil || p.GraphKey == "" || !hostmem.LittleEndian() {
		return ""
	}
	trained := make([]int32, 0, len(seeds))
	for v, s := range seeds {
		if s {
			trained = append(trained, int32(v))
		}
	}
	return keyOf("cut 1", p.GraphKey, p.Loops, o.Model.Layers, parts, o.Part, seeds == nil, trained, o.Rank)
}

// fetch takes the cut that is kept and reports whether there is one.
func (l *Layout) fetch(o *Options, parts int) bool {
	if l.key == "" {
		return false
	}
	kept := o.Prepared.Get(l.key)
	if kept == nil {
		return false
	}
	c, err := cutOf(kept, o.Part, parts, o.Model.Layers)
	if err != nil {
		kept.Close()
		o.Log.Warn("what was prepared is not used", "error", err)
		return false
	}
	l.cut, l.lent = c, kept
	return true
}

// Release gives up the edges on the host; trainers keep what they need besides. No trainer may be made of it any more.
func (l *Layout) Release() {
	if l.cut != nil {
		for _, p := range l.cut.Parts {
			for _, b := range []*graph.Block{&p.In, &p.Out} {
				b.Inner, b.Halo = nil, graph.HaloRows{}
			}
		}
		l.cut.InDegree, l.cut.OutDegree = nil, nil
	}
	if l.lent != nil {
		l.lent.Close()
		l.lent = nil
	}
}
