package experiments

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/bench"
	"capgnn/internal/learn"
	"capgnn/minibatch"
	"capgnn/minibatch/sample"
	"capgnn/rapa"
)

// hopExperiment is Table 1 and Fig. 5, 7, 14, 16, 18, 19, 22 and 23 of HopGNN, as far as they are counted.
func hopExperiment() Experiment {
	return Experiment{Name: "hop", Usage: "HopGNN's Table 1, Fig. 5, 7, 14, 16, 18, 19, 22 and 23, counted: fetched rows by place of the roots, parts, batch size and fan-outs; with --ranks Fig. 11 and 20",
		full: []string{"coauthor_physics", "reddit-like:0.1", "products-like:0.4"}, quick: quickGraphs, plan: planHop}
}

// placings are where roots are computed, in the order of the tables' columns; the first is DGL, as HopGNN runs it.
func placings(s traced) []traced {
	batch, apart, hop, merged, home, local := s, s, s, s, s, s
	apart.place, apart.noGather = minibatch.Hop, true
	hop.place, home.place, local.local = minibatch.Hop, minibatch.Home, true
	merged.place, merged.merged = minibatch.Hop, 1
	return []traced{batch, apart, hop, merged, home, local}
}

// Their places in lists.
const (
	atBatch = iota
	atHopApart
	atHop
	atHopMerged
	atHome
	atLocal
)

var placingNames = []string{"batch", "hop", "hop, gathered", "and 1 merged", "home", "local"}

// micro is the kind of cells about samples of single roots.
const micro = "micrographs"

// hops is what the experiment counts.
type hops struct {
	b        *Bench
	datasets []string
	methods  []rapa.Method
	numbers  []int // of parts
	epochs   int
	others   []traced // of Fig. 22 and 23: other batches, fan-outs and layers
	large    []traced // of Fig. 19
}

func planHop(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	h := &hops{b: b, datasets: datasets, methods: []rapa.Method{rapa.Multilevel, rapa.Random}, numbers: []int{2, 4, 8}, epochs: max(2, b.epochs(2, 2))}
	batches, fans := []int{512, 2048, 8192}, [][]int{{5, 5}, {10, 10, 10}, {15, 10, 5}}
	if b.opt.Quick {
		h.numbers, batches, fans = []int{2, 4}, []int{512}, fans[:1]
	}
	last, large := datasets[max(0, len(datasets)-1):], largeGraphs[0]
	if b.opt.Quick {
		large = largeGraphs[1]
	}
	if b.opt.Datasets == nil {
		h.large = append(h.large, h.at(large, rapa.Multilevel, 4))
	}
	for _, data := range last {
		for _, batch := range batches {
			s := h.at(data, rapa.Multilevel, 4)
			s.batch = batch
			h.others = append(h.others, s)
		}
		for _, fanout := range fans {
			s := h.at(data, rapa.Multilevel, 4)
			s.fanout = fanout
			h.others = append(h.others, s)
		}
	}
	return h.cells(), h.show, nil
}

// at is a run with 500 roots a part and step.
func (h *hops) at(data string, method rapa.Method, parts int) traced {
	return traced{dataset: data, method: method, parts: parts, batch: 500 * parts, fanout: fanouts, epochs: h.epochs, seed: h.b.opt.Seeds[0]}
}

// each calls do with the runs of the first two tables.
func (h *hops) each(do func(s traced)) {
	for _, data := range h.datasets {
		for _, method := range h.methods {
			for _, parts := range h.numbers {
				do(h.at(data, method, parts))
			}
		}
	}
}

func (h *hops) cells() (cells []cell) {
	add := func(s traced) {
		for _, x := range placings(s) {
			cells = append(cells, h.b.counting("hop", x, []way{onDemand}))
		}
	}
	h.each(func(s traced) {
		add(s)
		cells = append(cells, h.b.ordered(micro, s, s.micrographs))
	})
	for _, s := range slices.Concat(h.others, h.large) {
		add(s)
	}
	return append(cells, h.more()...)
}

// placed returns the lines of a run by place.
func (h *hops) placed(s traced) (lines []*bench.Line) {
	for _, x := range placings(s) {
		lines = append(lines, h.b.line(x.id("hop")))
	}
	return lines
}

func (h *hops) show() bench.Section {
	return bench.Section{Title: "HopGNN: rows by place of the roots", Text: []string{countedText,
		fmt.Sprintf("500 roots a part and step, fan-outs %s, no cache. batch: each part computes its share of the step's roots (HopGNN's DGL). hop: a root is computed at its home, in the time step in which its model comes by, each with a request of its own (+MG), or with one for all (gathered, +PG); merged: the time step with fewest roots is spread over the others, which begins with the second epoch: rows of the last. home: all roots of the step at their home in one block, at most 1.05 times the mean. local: each part has an order of its own training vertices (DistDGL).", drawing{fanout: fanouts}.text())},
		Tables: []bench.Table{h.rows(), h.localityTable(), h.micrographTable(), h.mergingTable(), h.otherRows(), h.alpha(), h.naiveTable()}, Figures: []bench.Figure{h.figure()}}
}

// placedColumns are what placedCells writes of a run.
var placedColumns = append(append([]string{"steps"}, placingNames...), "miss %, batch", "hop", "home", "batch / hop", "batch / home", "home / local", "rows, hop / gathered", "requests")

func placedCells(l []*bench.Line) []string {
	rows := func(i int) float64 { return l[i].Value("demand rows") }
	out := []string{millions(l[atBatch].Value("steps"))}
	for i := range l {
		x := rows(i)
		if series := l[i].Series["demand rows"]; i == atHopMerged && len(series) > 0 {
			x = series[len(series)-1]
		}
		out = append(out, millions(x))
	}
	for _, i := range []int{atBatch, atHopApart, atHome} {
		out = append(out, percent(rows(i)/max(1, l[i].Value("demand read"))))
	}
	return append(out, ratio(rows(atBatch), rows(atHopApart)), ratio(rows(atBatch), rows(atHome)), ratio(rows(atHome), rows(atLocal)), ratio(rows(atHopApart), rows(atHop)),
		ratio(l[atHopApart].Value("demand requests"), l[atHop].Value("demand requests")))
}

func (h *hops) rows() bench.Table {
	t := bench.Table{Title: "Rows of other parts in an epoch (Fig. 14 and 16; of a large graph 19)", Columns: append([]string{"data set", "partitioner", "parts", "cut %"}, placedColumns...),
		Note: "miss: share of the rows read that come from other parts. HopGNN: it falls from 74 to 43 % (arxiv), 77 to 22 (products), 78 to 19 (UK), 77 to 9.2 (IN); gathering saves 1.4 times the rows and 1.9 times the requests. Fig. 19 (IT, 1.15 billion edges): from 75.6 to 7.7 %."}
	add := func(s traced) {
		lines := h.placed(s)
		t.Add(append([]string{shortDataset(s.dataset), string(s.method), strconv.Itoa(s.parts), percent(lines[0].Value("cut"))}, placedCells(lines)...)...)
	}
	h.each(add)
	for _, s := range h.large {
		add(s)
	}
	return t
}

func (h *hops) micrographTable() bench.Table {
	t := bench.Table{Title: "Table 1 and section 5.1: R_micro, share of a root's sample that is at its home, and roots", Columns: []string{"data set", "partitioner", "parts", "R_micro %", "R_sub %", "roots at home, largest / mean", "steps within 10 % of the mean %"},
		Note: "R_sub: share at the part that computes the root in the order of the batch. HopGNN, 2 layers: R_micro 75 % (arxiv, 2 ranks) to 63 % (16), products 95 to 86 %, R_sub 50 to 6 %; load differs by less than 10 % in 97.3 % of the iterations. Ours is before roots beyond 1.05 times the mean move."}
	h.each(func(s traced) {
		l := h.b.line(s.id(micro))
		t.Add(shortDataset(s.dataset), string(s.method), strconv.Itoa(s.parts), percent(l.Value("micro")), percent(l.Value("sub")), fmt.Sprintf("%.2f", l.Value("imbalance")), percent(l.Value("even")))
	})
	return t
}

func (h *hops) otherRows() bench.Table {
	t := bench.Table{Title: "Fig. 22 and 23: batch and fan-outs, 4 parts, multilevel", Columns: append([]string{"data set", "roots", "fan-outs"}, placedColumns...)}
	for _, s := range h.others {
		lines := h.placed(s)
		roots := s.drawn(int(lines[0].Value("roots")))
		t.Add(append([]string{shortDataset(s.dataset), strconv.Itoa(roots), drawing{fanout: s.fanout}.text()}, placedCells(lines)...)...)
	}
	return t
}

func (h *hops) alpha() bench.Table {
	t := bench.Table{Title: "Fig. 5: α, bytes that a part fetches in a step over bytes of the model, 4 parts, multilevel", Columns: []string{"data set", "hidden 16, batch", "home", "hidden 128, batch", "home"}, Note: "HopGNN: 13.4 to 2368."}
	for _, data := range h.datasets {
		s := h.at(data, rapa.Multilevel, 4)
		lines, m, row := h.placed(s), h.b.line(s.id(micro)), []string{shortDataset(data)}
		for _, hidden := range hiddens {
			for _, i := range []int{atBatch, atHome} {
				row = append(row, fmt.Sprintf("%.1f", lines[i].Value("demand bytes")/max(1, lines[i].Value("steps"))/4/m.Value(modelName(hidden))))
			}
		}
		t.Add(row...)
	}
	return t
}

func (h *hops) figure() bench.Figure {
	f := bench.Figure{Title: "Rows of an epoch by place of the roots"}
	for _, data := range h.datasets {
		for _, method := range h.methods {
			panel := bench.Panel{Title: shortDataset(data) + ", " + string(method), X: "parts", Y: "rows of an epoch", FromZero: true}
			for i, name := range placingNames {
				series := bench.Series{Name: name}
				for _, parts := range h.numbers {
					series.X, series.Y = append(series.X, float64(parts)), append(series.Y, h.placed(h.at(data, method, parts))[i].Value("demand rows"))
				}
				panel.Series = append(panel.Series, series)
			}
			f.Panels = append(f.Panels, panel)
		}
	}
	return f
}

// hiddens are the widths of HopGNN's models.
var hiddens = []int{16, 128}

// modelName names the value that is a model's bytes.
func modelName(hidden int) string { return fmt.Sprint("model ", hidden) }

// micrographs samples roots one by one, and counts which of what they read is at home, beside the root and beside the part that computes it in the order of the batch. It
// also says how evenly roots fall on parts, and how large models are.
func (s traced) micrographs(r *ordered, l *bench.Line) {
	p := r.p
	s.nearby(l, r, shallowRoots)
	s.balance(l, r.order, r.batch, r.part)
	if !p.Features.Sparse() {
		s.naive(l, p, r.order, r.batch)
	}
	for _, hidden := range hiddens {
		c := runfolder.Default()
		c.Model, c.Layers, c.Hidden = "sage", len(s.fanout), hidden
		if m, err := c.NetworkOf(p); err == nil {
			l.Values[modelName(hidden)] = 4 * float64(gnn.FlatLen(m))
		}
	}
}

// ordered is the roots of a run's first epoch.
type ordered struct {
	p     *learn.Problem
	part  []int32
	order []graph.NodeID
	batch int // roots of a step
}

// ordered is the cell of what do counts of it.
func (b *Bench) ordered(kind string, s traced, do func(r *ordered, l *bench.Line)) cell {
	return cell{s.id(kind), func(ctx context.Context) (*bench.Line, error) {
		t, p, d, err := b.trace(ctx, s)
		if err != nil {
			return nil, err
		}
		var train []graph.NodeID
		for v := range graph.NodeID(p.Vertices()) {
			if p.Trains(v) {
				train = append(train, v)
			}
		}
		l := newLine()
		do(&ordered{p, d.part, sample.Order(train, s.seed, 0, nil), (len(train) + t.Steps - 1) / t.Steps}, l)
		return l, nil
	}}
}

// nearby writes R_micro and R_sub of the first so many roots.
func (s traced) nearby(l *bench.Line, r *ordered, most int) {
	rules := sample.Rules{Seed: s.seed, Fanout: s.fanout}
	if s.ladies {
		rules.Ladies = 1
	}
	sampler, part := sample.New(sample.Topology{Graph: r.p.Graph, Loops: r.p.Loops}, rules), r.part
	var st sample.Stack
	home, same, all := 0, 0, 0
	for i, root := range r.order[:min(len(r.order), most)] {
		sampler.Draw(&st, 0, []graph.NodeID{root})
		for _, v := range st.IDs[1:] {
			all++
			if part[v] == part[root] {
				home++
			}
			if int(part[v]) == i%s.parts {
				same++
			}
		}
	}
	l.Values["micro"], l.Values["sub"] = float64(home)/float64(max(1, all)), float64(same)/float64(max(1, all))
}

// balance writes how many of a step's roots are at home at one part, and how often all parts have within 10 % of the mean.
func (s traced) balance(l *bench.Line, order []graph.NodeID, batch int, part []int32) {
	steps, even, mean := len(order)/max(1, batch), 0, float64(batch)/float64(s.parts)
	for step := range steps {
		count := make([]int, s.parts)
		for _, v := range order[step*batch:][:batch] {
			count[part[v]]++
		}
		most, least := float64(slices.Max(count)), float64(slices.Min(count))
		l.Values["imbalance"] = max(l.Values["imbalance"], most/mean)
		if most <= 1.1*mean && least >= 0.9*mean {
			even++
		}
	}
	l.Values["even"] = float64(even) / float64(max(1, steps))
}
