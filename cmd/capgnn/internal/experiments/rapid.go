package experiments

import (
	"context"
	"fmt"
	"strconv"

	"capgnn/internal/bench"
	"capgnn/minibatch"
	"capgnn/rapa"
)

// rapidExperiment is Table III and IV and Fig. 5 to 11 of RapidGNN, and where its four times fewer rows are reached.
func rapidExperiment() Experiment {
	return Experiment{Name: "rapid", Usage: "RapidGNN's Table III and IV, Fig. 5 to 11: fetched rows by batch size, parts, partitioner and n_hot, counted; epoch times with slow links, simulated and real",
		full: []string{"reddit-like:0.1", "products-like:0.1"}, quick: quickGraphs, plan: planRapid}
}

// hottest is what the experiment counts.
type hottest struct {
	b        *Bench
	datasets []string
	methods  []rapa.Method
	batches  []int // roots a part and step
	timed    []int // the same, of timed runs
	runs     timedRuns
	sizes    []float64 // n_hot, as share of the rows of other parts that an epoch reads
	epochs   int
	far      []traced // where four times fewer rows could be
}

// tableIV is the n_hot of its tables: what the paper calls the top 15 %.
const tableIV = 0.15

func planRapid(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	h := &hottest{b: b, datasets: datasets, methods: []rapa.Method{rapa.Multilevel, rapa.Random}, batches: []int{1000, 2000, 3000}, timed: []int{1000, 2000, 3000}, runs: timedRuns{Bench: b}, sizes: []float64{0.01, 0.05, tableIV, 0.3, 0.5, 0.8, 1}, epochs: b.epochs(4, 2)}
	parts, steps, fans := []int{2, 4, 8}, []int{500, 2000}, [][]int{{5, 5}, {10, 25}, {15, 10, 5}}
	if b.opt.Quick {
		h.batches, h.timed, h.sizes = []int{1000}, []int{100}, []float64{tableIV, 1}
		parts, steps, fans = []int{4}, []int{500}, [][]int{{10, 25}}
	}
	for _, data := range datasets {
		for _, method := range h.methods {
			for _, n := range parts {
				for _, batch := range steps {
					for _, fanout := range fans {
						h.far = append(h.far, traced{dataset: data, method: method, parts: n, batch: n * batch, fanout: fanout, place: minibatch.Home, epochs: h.epochs, seed: b.opt.Seeds[0]})
					}
				}
			}
		}
	}
	return h.cells(), h.show, nil
}

// at is RapidGNN's run: two trainers, each with so many of its own training vertices in a batch.
func (h *hottest) at(data string, method rapa.Method, batch int) traced {
	return traced{dataset: data, method: method, parts: 2, batch: 2 * batch, fanout: fanouts, local: true, epochs: h.epochs, seed: h.b.opt.Seeds[0]}
}

// pullName and rapidName name ways: with the paper's refill, and without it.
func pullName(share float64) string  { return "pull " + shareText(share) }
func rapidName(share float64) string { return "rapid " + shareText(share) }

// ways are those of Table IV and the figures; farWays those of the search for four times.
func (h *hottest) ways() []way {
	list := []way{onDemand, {"planned", toTheEnd, tableIV}}
	for _, share := range h.sizes {
		list = append(list, way{pullName(share), pulled, share}, way{rapidName(share), inAnEpoch, share})
	}
	return list
}

func farWays() []way {
	return []way{onDemand, {pullName(tableIV), pulled, tableIV}, {pullName(0.5), pulled, 0.5}, {pullName(1), pulled, 1}, {rapidName(tableIV), inAnEpoch, tableIV}, {rapidName(1), inAnEpoch, 1}, {"planned 15 %", someAhead, tableIV}}
}

func (h *hottest) cells() (cells []cell) {
	h.each(func(s traced) {
		cells = append(cells, h.b.counting("rapid", s, h.ways()), cell{s.id(readsOfRows), func(ctx context.Context) (*bench.Line, error) { return h.b.reads(ctx, s) }})
	})
	for _, s := range h.far {
		cells = append(cells, h.b.counting("four", s, farWays()))
	}
	h.times()
	return append(cells, h.runs.asked...)
}

// each calls do with the runs of Table IV.
func (h *hottest) each(do func(s traced)) {
	for _, data := range h.datasets {
		for _, method := range h.methods {
			for _, batch := range h.batches {
				do(h.at(data, method, batch))
			}
		}
	}
}

func (h *hottest) show() bench.Section {
	h.runs.measured = true
	tables, figures := h.times()
	return bench.Section{Title: "RapidGNN: rows with the hottest rows of an epoch kept",
		Text: []string{countedText, fmt.Sprintf("2 parts, each with roots among its own training vertices, fan-outs %s (the paper gives none), %d epochs. n_hot is a share of the rows of other parts that an epoch reads. pull: all of them are fetched anew for each epoch, as in the paper; rapid: those that are there stay, others come when they are first read. A row is counted when it is fetched: the paper's \"RPC calls\" are rows, as 522,230 × 400 B are its 199 MB.", drawing{fanout: fanouts}.text(), h.epochs), timedText},
		Tables: append([]bench.Table{h.tableIV(), h.histogram(), h.byHot("Fig. 8: rows of an epoch by n_hot, pull", "RapidGNN (25K to 200K rows): 1.2 → 0.35 M (batch 1000), to 0.45 M (2000), 1.7 → 0.80 M (3000).", func(l *bench.Line, share float64) string {
			return millions(l.Value(pullName(share) + " rows"))
		}), h.byHot("Fig. 9a: reuse, rapid, %", "Reuse: share of the reads of other parts' rows that are served without a fetch. RapidGNN: above 78 % (batch 1000) and 73 % (3000) with 1 % of the graph, 7 to 8 points lower with eight times as many. So defined it cannot fall with size; with its Fig. 8 it agrees only if it is reads per slot.", func(l *bench.Line, share float64) string {
			return percent(hitRate(l, rapidName(share)))
		}), h.where()}, tables...),
		Figures: append([]bench.Figure{h.figure()}, figures...)}
}

// hitRate is the share of a way's reads of other parts' rows that need no fetch.
func hitRate(l *bench.Line, name string) float64 {
	return l.Value(name+" hits") / max(1, l.Value(name+" remote"))
}

// rapidColumns name a run of Table IV; named writes the run of a line.
var rapidColumns = []string{"data set", "partitioner", "batch"}

func (s traced) named(l *bench.Line) []string {
	return []string{shortDataset(s.dataset), string(s.method), strconv.Itoa(s.drawn(int(l.Value("roots"))) / s.parts)}
}

func (h *hottest) tableIV() bench.Table {
	t := bench.Table{Title: "Table IV and Fig. 10: per epoch, n_hot 15 %", Columns: append(rapidColumns[:3:3], "rows, demand", "pull", "rapid", "planned", "MiB, demand", "pull", "requests, demand", "pull", "fewer rows: pull", "rapid", "planned"),
		Note: "RapidGNN (products, batch 1000): 2,129,287 → 522,230 rows, 812 → 199 MB: 4.1 times fewer."}
	pull, rapid := pullName(tableIV), rapidName(tableIV)
	h.each(func(s traced) {
		l := h.b.line(s.id("rapid"))
		row := s.named(l)
		for _, name := range []string{"demand", pull, rapid, "planned"} {
			row = append(row, millions(l.Value(name+" rows")))
		}
		t.Add(append(row, mebibytes(l, "demand bytes"), mebibytes(l, pull+" bytes"), millions(l.Value("demand requests")), millions(l.Value(pull+" requests")), times(l, pull), times(l, rapid), times(l, "planned"))...)
	})
	return t
}

// byHot is a table with a column for every n_hot.
func (h *hottest) byHot(title, note string, text func(l *bench.Line, share float64) string) bench.Table {
	t := bench.Table{Title: title, Columns: rapidColumns[:3:3], Note: note}
	for _, share := range h.sizes {
		t.Columns = append(t.Columns, shareText(share))
	}
	h.each(func(s traced) {
		l := h.b.line(s.id("rapid"))
		row := s.named(l)
		for _, share := range h.sizes {
			row = append(row, text(l, share))
		}
		t.Add(row...)
	})
	return t
}

func (h *hottest) figure() bench.Figure {
	f := bench.Figure{Title: "Fig. 8: rows of an epoch by n_hot"}
	for _, data := range h.datasets {
		for _, method := range h.methods {
			panel := bench.Panel{Title: shortDataset(data) + ", " + string(method), X: "n_hot, %", Y: "rows of an epoch", FromZero: true}
			for _, batch := range h.batches {
				s := h.at(data, method, batch)
				l := h.b.line(s.id("rapid"))
				series := bench.Series{Name: "batch " + s.named(l)[2]}
				for _, share := range h.sizes {
					series.X, series.Y = append(series.X, 100*share), append(series.Y, l.Value(pullName(share)+" rows"))
				}
				panel.Series = append(panel.Series, series)
			}
			f.Panels = append(f.Panels, panel)
		}
	}
	return f
}

// where is the search for four times fewer rows.
func (h *hottest) where() bench.Table {
	t := bench.Table{Title: "Where rapid fetches four times fewer rows than on demand", Columns: []string{"data set", "partitioner", "roots a part", "parts", "fan-outs", "cut %", "reads of a row"},
		Note: "Roots at home. Reads of a row: reads of an epoch over distinct rows, by part; a policy that keeps everything through an epoch, and nothing to the next, fetches so many times fewer. The last columns: how many times fewer."}
	for _, w := range farWays()[1:] {
		t.Columns = append(t.Columns, w.name)
	}
	for _, s := range h.far {
		l := h.b.line(s.id("four"))
		row := append(s.named(l), strconv.Itoa(s.parts), drawing{fanout: s.fanout}.text(), percent(l.Value("cut")), ratio(l.Value("demand remote"), l.Value("distinct")))
		for _, w := range farWays()[1:] {
			row = append(row, times(l, w.name))
		}
		t.Add(row...)
	}
	return t
}
