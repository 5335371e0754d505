package experiments

import (
	"context"
	"fmt"
	"strconv"

	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/graph"
	"capgnn/internal/bench"
	"capgnn/rapa"
)

// haloExperiment is Fig. 4 to 6: how many halo vertices parts have, how that goes with the cut, and how often parts share them.
func haloExperiment() Experiment {
	return Experiment{Name: "halo", Usage: "Fig. 4-6: numbers of halo vertices and inner vertices, cut edges and halo vertices, halo vertices of several parts",
		full: haloGraphs, quick: quickGraphs, plan: planHalo}
}

func planHalo(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	numbers := b.numbers(2, 8)
	seed := b.opt.Seeds[0]
	id := func(data string, method rapa.Method, parts, hops int) bench.Cell {
		return bench.Cell{"kind": "halo", "dataset": data, "method": string(method), "parts": strconv.Itoa(parts), "hops": strconv.Itoa(hops), "seed": strconv.FormatUint(seed, 10)}
	}
	methods := []rapa.Method{rapa.Multilevel, rapa.Random}
	var cells []cell
	for _, data := range datasets {
		for _, method := range methods {
			for _, parts := range numbers {
				for hops := 1; hops <= 2; hops++ {
					cells = append(cells, cell{id(data, method, parts, hops), func(ctx context.Context) (*bench.Line, error) {
						return b.haloLine(ctx, data, method, parts, hops, seed)
					}})
				}
			}
		}
	}
	return cells, func() bench.Section { return b.showHalo(datasets, methods, numbers, id) }, nil
}

// haloLine cuts the graph and counts: halo_rows over all parts, vertices that are in several halos, and by R how many there are.
func (b *Bench) haloLine(ctx context.Context, data string, method rapa.Method, parts, hops int, seed uint64) (*bench.Line, error) {
	t := training.New(b.quietly(), "", runfolder.Default())
	t.Config.Dataset, t.Config.Seed = data, seed
	if err := b.load(ctx, t); err != nil {
		return nil, err
	}
	g := t.Data.Problem.Graph
	if parts > g.Rows() {
		return nil, term.Usagef("--datasets %s: %d vertices for %d parts", data, g.Rows(), parts)
	}
	plan, err := diskcache.Cut(ctx, t.Console, g, nil, rapa.Options{Method: method, Parts: parts, Seed: seed, Graph: t.Data.Sums.Graph, Trials: 1}, "")
	if err != nil {
		return nil, err
	}
	l := newLine()
	shared := overlaps(g, plan.Part, parts, hops)
	l.Series["overlap"] = make([]float64, parts)
	for _, r := range shared {
		if r > 0 {
			l.Series["overlap"][r-1]++
			l.Values["halo_rows"] += float64(r)
			l.Values["distinct"]++
		}
		if r > 1 {
			l.Values["shared"]++
		}
	}
	l.Values["vertices"], l.Values["cut"] = float64(g.Rows()), float64(plan.EdgeCut)
	return l, nil
}

// overlaps returns R(v): in how many parts v is a halo vertex, one of hops steps against the edges from the part's vertices.
func overlaps(g *graph.CSR, part []int32, parts, hops int) []int32 {
	r := make([]int32, g.Rows())
	distance := make([]int8, g.Rows())
	for p := range int32(parts) {
		var front []graph.NodeID
		for v := range distance {
			if distance[v] = -1; part[v] == p {
				distance[v] = 0
				front = append(front, graph.NodeID(v))
			}
		}
		for range hops {
			var next []graph.NodeID
			for _, v := range front {
				for _, u := range g.Row(int(v)) {
					if distance[u] < 0 {
						distance[u] = distance[v] + 1
						r[u]++
						next = append(next, u)
					}
				}
			}
			front = next
		}
	}
	return r
}

func (b *Bench) showHalo(datasets []string, methods []rapa.Method, numbers []int, id func(string, rapa.Method, int, int) bench.Cell) bench.Section {
	s := bench.Section{Title: "Fig. 4-6: halo vertices", Text: []string{
		"A halo vertex of a part is a vertex of another part from which 1 or 2 steps along edges lead into it. Parts hold equally many vertices: multilevel (as METIS) or at random. The overlap ratio R of a vertex is in how many parts it is a halo vertex; shared are those with R ≥ 2."}}
	table := bench.Table{Title: "Halo vertices", Columns: []string{"data set", "partitioner", "hops", "parts", "edge cut", "halo rows", "halo / inner", "distinct", "shared", "shared of distinct %"}}
	ratios, cuts, histogram, overlap := bench.Figure{Title: "Fig. 4: halo rows over inner vertices"}, bench.Figure{Title: "Fig. 5: edge cut and halo rows, 1 hop"},
		bench.Figure{Title: fmt.Sprintf("Vertices by overlap ratio, %d parts, 1 hop", numbers[len(numbers)-1])}, bench.Figure{Title: "Fig. 6: halo vertices that several parts share"}
	for _, data := range datasets {
		four := bench.Panel{Title: shortDataset(data), X: "parts", Y: "halo / inner rows, ratio", FromZero: true}
		five := bench.Panel{Title: shortDataset(data), X: "edges cut", Y: "halo rows", FromZero: true}
		six := bench.Panel{Title: shortDataset(data), X: "parts", Y: "shared halo vertices", FromZero: true}
		hist := bench.Panel{Title: shortDataset(data), X: "overlap ratio R, parts", Y: "vertices", LogY: true}
		for _, m := range methods {
			for hops := 1; hops <= 2; hops++ {
				name := fmt.Sprintf("%s, %s", m, term.Counted(hops, "hop"))
				share, shared, cut := bench.Series{Name: name}, bench.Series{Name: name}, bench.Series{Name: name}
				for _, n := range numbers {
					l := b.line(id(data, m, n, hops))
					x := float64(n)
					share.X, share.Y = append(share.X, x), append(share.Y, l.Value("halo_rows")/l.Value("vertices"))
					shared.X, shared.Y = append(shared.X, x), append(shared.Y, l.Value("shared"))
					cut.X, cut.Y = append(cut.X, l.Value("cut")), append(cut.Y, l.Value("halo_rows"))
					table.Add(shortDataset(data), string(m), fmt.Sprint(hops), fmt.Sprint(n), fmt.Sprint(int64(l.Value("cut"))), fmt.Sprint(int64(l.Value("halo_rows"))),
						fmt.Sprintf("%.3f", l.Value("halo_rows")/l.Value("vertices")), fmt.Sprint(int64(l.Value("distinct"))), fmt.Sprint(int64(l.Value("shared"))), percent(l.Value("shared")/max(1, l.Value("distinct"))))
				}
				four.Series, six.Series = append(four.Series, share), append(six.Series, shared)
				if hops == 1 {
					five.Series = append(five.Series, cut)
					h := bench.Series{Name: name, Y: b.line(id(data, m, numbers[len(numbers)-1], hops)).Series["overlap"]}
					for r := range h.Y {
						h.X = append(h.X, float64(r+1))
					}
					hist.Series = append(hist.Series, h)
				}
			}
		}
		ratios.Panels, cuts.Panels, overlap.Panels, histogram.Panels = append(ratios.Panels, four), append(cuts.Panels, five), append(overlap.Panels, six), append(histogram.Panels, hist)
	}
	s.Figures, s.Tables = []bench.Figure{ratios, cuts, overlap, histogram}, []bench.Table{table}
	return s
}
