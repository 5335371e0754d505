package experiments

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/bench"
	"capgnn/minibatch"
	"capgnn/minibatch/sample"
	"capgnn/rapa"
)

// hopExperiment is Table 1, Fig. 5, 14, 16 and 22 of HopGNN, as far as they are counted.
func hopExperiment() Experiment {
	return Experiment{Name: "hop", Usage: "HopGNN's Table 1, Fig. 5, 14, 16, 22 and 23, counted: rows by place of the roots, parts, batch and fan-outs",
		full: []string{"coauthor_physics", "reddit-like:0.1", "products-like:0.4"}, quick: quickGraphs, plan: planHop}
}

// placings are where roots are computed, in the order of the tables' columns; the first is DGL, as HopGNN runs it.
func placings(s traced) []traced {
	batch, apart, hop, home, local := s, s, s, s, s
	apart.place, apart.noGather = minibatch.Hop, true
	hop.place, home.place, local.local = minibatch.Hop, minibatch.Home, true
	return []traced{batch, apart, hop, home, local}
}

func planHop(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	numbers, methods := b.numbers(2, 8), []rapa.Method{rapa.Multilevel, rapa.Random}
	if !b.opt.Quick {
		numbers = []int{2, 4, 8}
	}
	seed, epochs := b.opt.Seeds[0], b.epochs(2, 1)
	at := func(data string, method rapa.Method, parts int) traced {
		return traced{dataset: data, method: method, parts: parts, batch: 500 * parts, fanout: fanouts, epochs: epochs, seed: seed}
	}
	// Fig. 22 and 23: batches, fan-outs and layers, in 4 parts.
	var others []traced
	for _, data := range datasets[len(datasets)-1:] {
		for _, batch := range []int{512, 2048, 8192} {
			x := at(data, rapa.Multilevel, 4)
			x.batch = batch
			others = append(others, x)
		}
		for _, fanout := range [][]int{{5, 5}, {10, 10, 10}, {15, 10, 5}} {
			x := at(data, rapa.Multilevel, 4)
			x.fanout = fanout
			others = append(others, x)
		}
	}
	var cells []cell
	add := func(s traced) {
		for _, x := range placings(s) {
			cells = append(cells, cell{x.id("hop"), func(ctx context.Context) (*bench.Line, error) { return b.countWays(ctx, x, []way{onDemand}) }})
		}
	}
	for _, data := range datasets {
		for _, method := range methods {
			for _, parts := range numbers {
				s := at(data, method, parts)
				add(s)
				cells = append(cells, cell{s.id("micrographs"), func(ctx context.Context) (*bench.Line, error) { return b.micrographs(ctx, s) }})
			}
		}
	}
	for _, s := range others {
		add(s)
	}
	return cells, func() bench.Section {
		s := bench.Section{Title: "HopGNN: rows by place of the roots", Text: []string{countedText,
			fmt.Sprintf("500 roots a part and step, fan-outs %s, no cache. batch: each part computes its share of the step's roots (HopGNN's DGL). hop: a root is computed at its home, model by model, each unit with a request of its own (+MG), or with one for the step (+PG). home: all roots of the step at their home in one block, at most 1.05 times the mean. local: each part has an order of its own training vertices (DistDGL).", drawing{fanout: fanouts}.text())}}
		rows := bench.Table{Title: "Rows of other parts in an epoch (Fig. 14 and 16)", Columns: []string{"data set", "partitioner", "parts", "cut %", "batch", "miss %", "hop", "hop, gathered", "home", "miss %", "local", "batch / hop", "batch / home", "home / local", "requests, hop / gathered"},
			Note: "HopGNN: misses fall from 74 to 43 % (arxiv), 77 to 22 (products), 78 to 19 (UK), 77 to 9.2 (IN); gathering saves 1.4 times the rows and 1.9 times the requests. miss: share of the rows read that come from other parts."}
		micro := bench.Table{Title: "Table 1: R_micro, share of a root's sample that is at its home", Columns: []string{"data set", "partitioner", "parts", "R_micro %", "R_sub %", "roots at home, largest / mean", "steps within 10 % of the mean %"},
			Note: "HopGNN, 2 layers: arxiv 75 % (2 ranks) to 63 % (16), products 95 to 86 %, R_sub 50 to 6 %; load differs by less than 10 % in 97.3 % of the iterations. R_sub: the same for the step's roots dealt out in order. The largest share is before roots beyond 1.05 times the mean move."}
		f := bench.Figure{Title: "Rows of an epoch by place of the roots"}
		for _, data := range datasets {
			for _, method := range methods {
				panel := bench.Panel{Title: shortDataset(data) + ", " + string(method), X: "parts", Y: "rows of an epoch", FromZero: true}
				panel.Series = slices.Clone([]bench.Series{{Name: "batch"}, {Name: "hop"}, {Name: "hop, gathered"}, {Name: "home"}, {Name: "local"}})
				for _, parts := range numbers {
					x := at(data, method, parts)
					lines := b.placed(x)
					rows.Add(append([]string{shortDataset(data), string(method), strconv.Itoa(parts), percent(lines[0].Value("cut"))}, placedCells(lines)...)...)
					m := b.line(x.id("micrographs"))
					micro.Add(shortDataset(data), string(method), strconv.Itoa(parts), percent(m.Value("micro")), percent(m.Value("sub")), fmt.Sprintf("%.2f", m.Value("imbalance")), percent(m.Value("even")))
					for i, l := range lines {
						panel.Series[i].X, panel.Series[i].Y = append(panel.Series[i].X, float64(parts)), append(panel.Series[i].Y, l.Value("demand rows"))
					}
				}
				f.Panels = append(f.Panels, panel)
			}
		}
		by := bench.Table{Title: "Fig. 22 and 23: batch and fan-outs, 4 parts, multilevel", Columns: []string{"data set", "roots", "steps", "fan-outs", "batch", "miss %", "hop", "hop, gathered", "home", "miss %", "local", "batch / hop", "batch / home", "home / local", "requests, hop / gathered"}}
		for _, x := range others {
			lines := b.placed(x)
			by.Add(append([]string{shortDataset(x.dataset), strconv.Itoa(x.batch), millions(lines[0].Value("steps")), drawing{fanout: x.fanout}.text()}, placedCells(lines)...)...)
		}
		alpha := bench.Table{Title: "Fig. 5: α, bytes of rows that a step fetches over bytes of the model, 4 parts, multilevel", Columns: []string{"data set", "hidden 16, batch", "hidden 16, home", "hidden 128, batch", "hidden 128, home"}, Note: "HopGNN: 13.4 to 2368."}
		for _, data := range datasets {
			lines := b.placed(at(data, rapa.Multilevel, 4))
			row := []string{shortDataset(data)}
			for _, hidden := range []int{16, 128} {
				m := b.line(at(data, rapa.Multilevel, 4).id("micrographs"))
				for _, l := range []*bench.Line{lines[0], lines[3]} {
					row = append(row, fmt.Sprintf("%.1f", l.Value("demand bytes")/l.Value("steps")/4/m.Value(fmt.Sprint("model ", hidden))))
				}
			}
			alpha.Add(row...)
		}
		s.Tables, s.Figures = []bench.Table{rows, micro, by, alpha}, []bench.Figure{f}
		return s
	}, nil
}

// placed returns the lines of a run by place.
func (b *Bench) placed(s traced) (lines []*bench.Line) {
	for _, x := range placings(s) {
		lines = append(lines, b.line(x.id("hop")))
	}
	return lines
}

// placedCells are the columns from batch on.
func placedCells(l []*bench.Line) []string {
	rows := func(i int) float64 { return l[i].Value("demand rows") }
	miss := func(i int) string { return percent(rows(i) / max(1, l[i].Value("demand read"))) }
	return []string{millions(rows(0)), miss(0), millions(rows(1)), millions(rows(2)), millions(rows(3)), miss(3), millions(rows(4)), ratio(rows(0), rows(1)), ratio(rows(0), rows(3)), ratio(rows(3), rows(4)),
		ratio(l[1].Value("demand requests"), l[2].Value("demand requests"))}
}

// micrographs samples roots one by one, and counts which of what they read is at home: beside the root, and beside the part that computes it in the order of the batch. It
// also says how evenly roots fall on parts, and how large models are.
func (b *Bench) micrographs(ctx context.Context, s traced) (*bench.Line, error) {
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
	order := sample.Order(train, s.seed, 0, nil)
	l := newLine()
	sampler := sample.New(sample.Topology{Graph: p.Graph, Loops: p.Loops}, sample.Rules{Seed: s.seed, Fanout: s.fanout})
	var st sample.Stack
	near, same, others := 0, 0, 0
	for i, root := range order[:min(len(order), 2000)] {
		sampler.Draw(&st, 0, []graph.NodeID{root})
		for _, v := range st.IDs[1:] {
			others++
			if d.part[v] == d.part[root] {
				near++
			}
			if int(d.part[v]) == i%s.parts {
				same++
			}
		}
	}
	l.Values["micro"], l.Values["sub"] = float64(near)/float64(max(1, others)), float64(same)/float64(max(1, others))
	batch, even := (len(order)+t.Steps-1)/max(1, t.Steps), 0
	for first := 0; first+batch <= len(order); first += batch {
		count := make([]int, s.parts)
		for _, v := range order[first : first+batch] {
			count[d.part[v]]++
		}
		mean := float64(batch) / float64(s.parts)
		l.Values["imbalance"] = max(l.Values["imbalance"], float64(slices.Max(count))/mean)
		if float64(slices.Max(count)) <= 1.1*mean && float64(slices.Min(count)) >= 0.9*mean {
			even++
		}
	}
	l.Values["even"] = float64(even) / float64(max(1, len(order)/batch))
	for _, hidden := range []int{16, 128} {
		m := gnn.Config{Kind: gnn.SAGE, Layers: len(s.fanout), Hidden: hidden, In: p.Features.Cols, Out: p.Classes}
		l.Values[fmt.Sprint("model ", hidden)] = 4 * float64(len(gnn.NewWeights(m).Flat))
	}
	return l, nil
}
