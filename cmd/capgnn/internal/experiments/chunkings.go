package experiments

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/graph"
	"capgnn/internal/bench"
	"capgnn/internal/learn"
	"capgnn/pipeline/chunks"
	"capgnn/rapa"
)

// chunking is a graph cut into chunks by a partitioner: what isolated parts see of it is counted, nothing is trained.
type chunking struct {
	dataset string
	chunks  int
	method  rapa.Method // or gpmetis
	seed    uint64
}

// counting is the cell of a chunking.
func (c chunking) cell(b *Bench) cell {
	id := bench.Cell{"kind": "chunks", "dataset": c.dataset, "chunks": strconv.Itoa(c.chunks), "partitioner": string(c.method), "seed": strconv.FormatUint(c.seed, 10)}
	return cell{id, func(ctx context.Context) (*bench.Line, error) { return b.countChunks(ctx, c) }}
}

// countChunks cuts the graph and goes through a sweep.
func (b *Bench) countChunks(ctx context.Context, c chunking) (*bench.Line, error) {
	t := training.New(b.quietly(), "", runfolder.Default())
	t.Config.Dataset, t.Config.Seed = c.dataset, c.seed
	if err := b.load(ctx, t); err != nil {
		return nil, err
	}
	p := t.Data.Problem
	l := newLine()
	if err := chunks.Check(c.chunks, p.Vertices()); err != nil {
		l.Text["misfit"] = err.Error()
		return l, nil
	}
	undirected := p.Graph.Symmetrise().WithoutLoops()
	part, seconds, err := c.partition(ctx, p, undirected)
	if err != nil {
		return nil, err
	}
	cut, err := chunks.New(part, c.chunks)
	if err != nil {
		l.Text["misfit"] = err.Error() // gpmetis leaves parts empty where there are many
		return l, nil
	}
	l.Values["partition_s"] = seconds
	l.Values["cut_share"] = float64(edgeCut(undirected, part)) / float64(max(1, undirected.Edges()/2))
	turn := chunks.Rotation{Chunks: c.chunks}
	var all []chunks.Coverage
	least, rows, edges := 1.0, 0, int64(0)
	for shift := 1; shift <= turn.Shifts(); shift++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for part := range c.chunks {
			v := cut.View(p.Graph, turn.Pair(part, shift))
			seen := v.Coverage(chunks.Base, p.Train)
			all = append(all, seen)
			least = min(least, seen.Ratio)
			inside := int64(0)
			for _, n := range v.Local {
				inside += int64(n)
			}
			rows, edges = max(rows, len(v.IDs)), max(edges, inside)
		}
	}
	sweep := chunks.Total(all)
	l.Values["coverage"], l.Values["least_coverage"] = sweep.Ratio, least
	l.Values["alone"] = float64(sweep.Alone) / float64(max(1, sweep.Targets))
	l.Values["rows"], l.Values["edges"] = float64(rows)/float64(p.Vertices()), float64(edges)/float64(max(1, p.Graph.Edges()))
	return l, nil
}

// partition cuts the graph, which undirected is without directions and loops, and says how many seconds that takes.
func (c chunking) partition(ctx context.Context, p *learn.Problem, undirected *graph.CSR) ([]int32, float64, error) {
	if c.method == gpmetis {
		return runMETIS(ctx, undirected, c.chunks, c.seed)
	}
	plan, err := rapa.Partition(ctx, p.Graph, p.Train, rapa.Options{Method: c.method, Parts: c.chunks, Seed: c.seed}, nil)
	if err != nil {
		return nil, 0, err
	}
	return plan.Part, plan.Seconds, nil
}

// chunkings is the table of them.
func (b *Bench) chunkings(list []chunking) bench.Table {
	t := bench.Table{Title: "Tables 8 and 10: chunks by partitioner", Columns: []string{"data set", "chunks", "partitioner", "partitioning s", "edges cut %", "neighbours seen %", "least of a part %", "targets without one %", "largest part: vertices %", "edges %"},
		Note: "Neighbours seen: mean over the targets of all parts and super-epochs of a sweep, of local over all in-neighbours; least: of one part in one super-epoch. Largest part: its two chunks, of the graph. gpmetis is there where the program is installed, and its seconds are those of one thread. Grappa (papers100M, 4, 16, 64 parts): 2110, 2568, 2345 s with random chunks, 6262, 6523, 7292 s with METIS."}
	for _, c := range list {
		l := b.line(c.cell(b).id)
		if l.Text["misfit"] != "" {
			t.Add(shortDataset(c.dataset), strconv.Itoa(c.chunks), string(c.method), l.Text["misfit"], "", "", "", "", "", "")
			continue
		}
		t.Add(shortDataset(c.dataset), strconv.Itoa(c.chunks), string(c.method), fmt.Sprintf("%.2f", l.Value("partition_s")), percentOf(l, "cut_share"), percentOf(l, "coverage"), percentOf(l, "least_coverage"),
			percentOf(l, "alone"), percentOf(l, "rows"), percentOf(l, "edges"))
	}
	return t
}

// seen draws how much of their neighbourhoods targets see, by number of chunks.
func (b *Bench) seen(list []chunking) bench.Figure {
	p := bench.Panel{Title: "in-neighbours in the part, over a sweep", X: "chunks", Y: "share, %", LogX: true, FromZero: true}
	for _, c := range list {
		l := b.line(c.cell(b).id)
		if !l.Has("coverage") {
			continue
		}
		name := shortDataset(c.dataset) + ", " + string(c.method)
		k := slices.IndexFunc(p.Series, func(s bench.Series) bool { return s.Name == name })
		if k < 0 {
			k, p.Series = len(p.Series), append(p.Series, bench.Series{Name: name})
		}
		s := &p.Series[k]
		s.X, s.Y = append(s.X, float64(c.chunks)), append(s.Y, 100*l.Value("coverage"))
	}
	return bench.Figure{Title: "Neighbours that isolated parts see", Panels: []bench.Panel{p}}
}
