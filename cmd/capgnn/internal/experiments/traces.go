package experiments

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/graph"
	"capgnn/internal/bench"
	"capgnn/internal/learn"
	"capgnn/minibatch"
	"capgnn/minibatch/rowcache"
	"capgnn/rapa"
)

// traced is a run on samples whose rows are counted, not moved: GraphSAGE of two layers, unless fan-outs say otherwise.
type traced struct {
	dataset  string
	method   rapa.Method // "" = multilevel
	parts    int
	batch    int // roots of a step over all parts, before drawn
	fanout   []int
	place    minibatch.Place
	local    bool
	noGather bool
	ladies   bool // layers are drawn
	merged   int  // time steps
	epochs   int
	seed     uint64
}

// fanouts is what the experiments sample, nearest the roots first: MassiveGNN's, where RapidGNN gives none.
var fanouts = []int{10, 25}

func (s traced) id(kind string) bench.Cell {
	c := bench.Cell{"kind": kind, "dataset": s.dataset, "method": string(cmp.Or(s.method, rapa.Multilevel)), "parts": strconv.Itoa(s.parts), "batch": strconv.Itoa(s.batch),
		"fanout": drawing{fanout: s.fanout}.text(), "roots": s.rootsText(), "epochs": strconv.Itoa(s.epochs), "seed": strconv.FormatUint(s.seed, 10)}
	if s.ladies {
		c["sampler"] = runfolder.SamplerLadies
	}
	return c
}

// rootsText says which roots a part computes.
func (s traced) rootsText() string {
	switch {
	case s.local:
		return "local"
	case s.noGather:
		return "hop, no gathering"
	case s.merged > 0:
		return "hop, merged " + strconv.Itoa(s.merged)
	}
	return s.place.String()
}

// drawn is how many roots a step over all parts has, with so many training vertices: an epoch has eight steps at least.
func (s traced) drawn(roots int) int { return min(s.batch, max(1, roots/8)) }

// divided is a graph in parts, kept from one cell to the next.
type divided struct {
	key  string
	part []int32
	cut  float64 // share of the edges
}

// trace loads the data set, cuts it and returns the trace, with the problem and homes. Parts are balanced by training vertices, too, as those of train are.
func (b *Bench) trace(ctx context.Context, s traced) (*minibatch.Trace, *learn.Problem, *divided, error) {
	t := training.New(b.quietly(), "", runfolder.Default())
	t.Config.Dataset, t.Config.Model, t.Config.Seed, t.Config.Layers = s.dataset, "sage", s.seed, len(s.fanout)
	if err := b.load(ctx, t); err != nil {
		return nil, nil, nil, err
	}
	p := t.Data.Problem
	if s.parts > p.Vertices() {
		return nil, nil, nil, term.Usagef("--datasets %s: %d vertices for %d parts", s.dataset, p.Vertices(), s.parts)
	}
	key := fmt.Sprint(s.dataset, s.method, s.parts, s.seed)
	if b.divided == nil || b.divided.key != key {
		plan, err := diskcache.Cut(ctx, t.Console, p.Graph, p.Train, rapa.Options{Method: cmp.Or(s.method, rapa.Multilevel), Parts: s.parts, Seed: s.seed, Graph: t.Data.Sums.Graph, Trials: 1}, "")
		if err != nil {
			return nil, nil, nil, err
		}
		b.divided = &divided{key, plan.Part, cutOf(p.Graph, plan.Part)}
	}
	m, err := t.Config.NetworkOf(p)
	if err != nil {
		return nil, nil, nil, err
	}
	o := minibatch.Options{
		Training: minibatch.Training{Model: m},
		Part:     b.divided.part, Sampling: minibatch.Sampling{BatchSize: s.drawn(p.TrainingVertices()), Fanout: s.fanout, Ladies: s.ladies, Local: s.local, Place: s.place, NoGather: s.noGather},
	}
	if s.merged > 0 {
		o.Sampling.Merged = &s.merged
	}
	return minibatch.NewTrace(p, o, s.parts), p, b.divided, nil
}

// cutOf returns the share of a graph's edges that are between parts.
func cutOf(g *graph.CSR, part []int32) float64 {
	cut := 0
	for v := range part {
		for _, u := range g.Row(v) {
			if part[u] != part[v] {
				cut++
			}
		}
	}
	return float64(cut) / float64(max(1, g.Edges()))
}

// way is one way to fetch rows.
type way struct {
	name  string
	rules rowcache.Rules
	share float64 // slots, as share of the rows of other parts that an epoch reads; 0: as many as there are vertices
}

// Ways that several experiments have.
var (
	onDemand  = way{name: "demand"}
	toTheEnd  = rowcache.Rules{Kind: rowcache.Planned, Lookahead: rowcache.All}
	inAnEpoch = rowcache.Rules{Kind: rowcache.Rapid}
	pulled    = rowcache.Rules{Kind: rowcache.Rapid, Pull: true}
	someAhead = rowcache.Rules{Kind: rowcache.Planned}
)

// countWays counts what ways move, and writes it into a line: values "WAY rows", "WAY requests" and so on, means over epochs, and the series of rows by epoch.
func (b *Bench) countWays(ctx context.Context, s traced, ways []way) (*bench.Line, error) {
	t, p, d, err := b.trace(ctx, s)
	if err != nil {
		return nil, err
	}
	distinct, err := t.Distinct(ctx)
	if err != nil {
		return nil, err
	}
	var list []minibatch.Way
	for _, w := range ways {
		x := minibatch.Way{Rules: w.rules}
		for _, n := range distinct {
			slots := p.Vertices()
			if w.share > 0 {
				slots = int(w.share * float64(n))
			}
			x.Slots = append(x.Slots, slots)
		}
		list = append(list, x)
	}
	counts, err := t.Count(ctx, s.epochs, list)
	if err != nil {
		return nil, err
	}
	l := newLine()
	l.Values["steps"], l.Values["roots"], l.Values["cut"] = float64(t.Steps), float64(p.TrainingVertices()), d.cut
	for _, n := range distinct {
		l.Values["distinct"] += float64(n)
	}
	for i, w := range ways {
		addCounts(l, w.name, counts[i])
	}
	return l, nil
}

// counting is the cell of a run by ways to fetch rows.
func (b *Bench) counting(kind string, s traced, ways []way) cell {
	return cell{s.id(kind), func(ctx context.Context) (*bench.Line, error) { return b.countWays(ctx, s, ways) }}
}

// addCounts writes what a way moves: rows are all that came from other parts.
func addCounts(l *bench.Line, name string, epochs []minibatch.Counts) {
	n := float64(len(epochs))
	for _, c := range epochs {
		r := c.Rows
		rows := float64(r.Fetched + r.Prefilled)
		for key, x := range map[string]float64{"rows": rows, "prefilled": float64(r.Prefilled), "evicted": float64(r.Evicted), "requests": float64(c.Requests), "bytes": float64(c.Bytes.Rows + c.Bytes.IDs),
			"read": float64(r.Read), "remote": float64(r.Hit + r.Fetched), "hits": float64(r.Hit)} {
			l.Values[name+" "+key] += x / n
		}
		l.Series[name+" rows"] = append(l.Series[name+" rows"], rows)
		l.Series[name+" hits"] = append(l.Series[name+" hits"], float64(r.Hit)/max(1, float64(r.Hit+r.Fetched)))
	}
}

// millions writes a number of rows.
func millions(x float64) string {
	if x < 1e5 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3f M", x/1e6)
}

// times writes how many times less than demand a way fetches.
func times(l *bench.Line, name string) string {
	return ratio(l.Value("demand rows"), l.Value(name+" rows"))
}

// shareText writes a share of rows.
func shareText(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*x), ".0") + " %" }

// countedText says what is counted.
const countedText = "Counted, not timed: samples are drawn as training would, and every policy decides on them; no row is moved. Rows are all that come from other parts, refills with them, means over epochs. A batch has at most an eighth of the training vertices. Stand-ins (-like) are generated graphs."
