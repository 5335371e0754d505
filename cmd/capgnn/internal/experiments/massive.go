package experiments

import (
	"fmt"
	"strconv"

	"capgnn/internal/bench"
	"capgnn/minibatch/rowcache"
)

// massiveExperiment is Table III and IV and Fig. 7 to 14 of MassiveGNN.
func massiveExperiment() Experiment {
	return Experiment{Name: "massive", Usage: "MassiveGNN's Table III and IV, Fig. 7 to 14: hit rate by epoch, fetched rows by f, γ and Δ, counted; epoch times with slow links, simulated and real",
		full: []string{"reddit-like:0.1", "products-like:0.1"}, quick: quickGraphs, plan: planMassive}
}

// scores is what the experiment counts.
type scores struct {
	b              *Bench
	datasets       []string
	trainers       []int // of Table III
	shares, gammas []float64
	deltas         []int
	long, short    int // epochs of Fig. 10, and of the grid
	roots          int // a part and step, of timed runs
	runs           timedRuns
}

func planMassive(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	x := &scores{b: b, roots: 500, runs: timedRuns{Bench: b}, datasets: datasets, trainers: []int{2, 4, 8}, shares: []float64{0.15, 0.25, 0.35, 0.5}, gammas: []float64{0.95, 0.995, 0.9995}, deltas: []int{16, 32, 64, 128, 256, 512, 1024},
		long: b.epochs(300, 20), short: min(b.epochs(30, 10), 30)}
	if b.opt.Quick {
		x.roots, x.trainers, x.shares, x.gammas, x.deltas = 100, []int{2}, []float64{0.25}, []float64{0.95, 0.995}, []int{16, 64}
	}
	return x.cells(), x.show, nil
}

// at is MassiveGNN's run: every trainer has roots among its own training vertices.
func (x *scores) at(data string, parts, epochs int) traced {
	return traced{dataset: data, parts: parts, batch: 500 * parts, fanout: fanouts, local: true, epochs: epochs, seed: x.b.opt.Seeds[0]}
}

// scored is MassiveGNN with f, γ and Δ. Slots are what f says.
func scored(share, gamma float64, delta int) way {
	return way{name: fmt.Sprintf("f %g γ %g Δ %d", share, gamma, delta), rules: rowcache.Rules{Kind: rowcache.Massive, Share: share, Gamma: gamma, Delta: delta}}
}

// halved is scored with a threshold apart from γ: a row may leave with half of its first score, so γ decides of the rows that began in the buffer, too.
func halved(share, gamma float64, delta int) way {
	w := scored(share, gamma, delta)
	w.name, w.rules.Alpha = w.name+" α ½", 0.5
	return w
}

// never is a period longer than every run here.
const never = 1 << 20

// overLong are the ways of Fig. 10.
func overLong() []way {
	return []way{onDemand, {"f 0.25, no eviction", scored(0.25, 0.995, never).rules, 0}, scored(0.25, 0.995, 16), scored(0.25, 0.995, 64), scored(0.25, 0.95, 16)}
}

// grid are the ways of Table IV and Fig. 12.
func (x *scores) grid() []way {
	list := []way{onDemand}
	for _, share := range x.shares {
		for _, gamma := range x.gammas {
			for _, delta := range x.deltas {
				list = append(list, scored(share, gamma, delta), halved(share, gamma, delta))
			}
		}
	}
	return list
}

func (x *scores) cells() (cells []cell) {
	for _, data := range x.datasets {
		for _, n := range x.trainers {
			cells = append(cells, x.b.counting("trainers", x.at(data, n, 1), []way{onDemand}))
		}
		cells = append(cells, x.b.counting("massive", x.at(data, 4, x.long), overLong()), x.b.counting("grid, halved", x.at(data, 4, x.short), x.grid()))
	}
	x.times()
	return append(cells, x.runs.asked...)
}

func (x *scores) show() bench.Section {
	s := bench.Section{Title: "MassiveGNN: rows kept by two scores", Text: []string{countedText,
		fmt.Sprintf("Each part has roots among its own training vertices, 500 in a step, fan-outs %s. f is the share of the halo vertices that have slots. Rows count the first fill and all replacements.", drawing{fanout: fanouts}.text()), timedText},
		Tables: []bench.Table{x.remote(), x.hitsByEpoch()}, Figures: []bench.Figure{x.figure(), {Title: "Fig. 12: hit rate by γ and Δ"}}}
	for _, data := range x.datasets {
		table, panel := x.settings(data)
		s.Tables, s.Figures[1].Panels = append(s.Tables, table), append(s.Figures[1].Panels, panel)
	}
	x.runs.measured = true
	tables, figure := x.times()
	s.Tables, s.Figures = append(s.Tables, tables...), append(s.Figures, figure)
	return s
}

// remote is Table III.
func (x *scores) remote() bench.Table {
	t := bench.Table{Title: "Table III: rows of other parts that a trainer reads in an epoch, and batches", Columns: []string{"data set", "trainers", "distinct rows", "reads", "batches"},
		Note: "MassiveGNN (remote rows and batches per trainer): products 471K/1300 (8 trainers), 352K/700, 308K/400, 221K/200."}
	for _, data := range x.datasets {
		for _, n := range x.trainers {
			l := x.b.line(x.at(data, n, 1).id("trainers"))
			t.Add(shortDataset(data), strconv.Itoa(n), millions(l.Value("distinct")/float64(n)), millions(l.Value("demand rows")/float64(n)), millions(l.Value("steps")))
		}
	}
	return t
}

// marks are the epochs that have a column in Fig. 10.
var marks = []int{1, 2, 3, 5, 10, 20, 50, 100, 200, 300}

// hitsByEpoch is Fig. 10, and Fig. 11's rows.
func (x *scores) hitsByEpoch() bench.Table {
	t := bench.Table{Title: fmt.Sprintf("Fig. 10: hit rate by epoch, %%, 4 parts, over %d epochs", x.long), Columns: []string{"data set", "setting"},
		Note: "MassiveGNN: it rises at each eviction to 75 % (products) and 95 % (papers) in 1000 epochs; 15 and 23 % fewer rows."}
	for _, e := range marks {
		if e <= x.long {
			t.Columns = append(t.Columns, strconv.Itoa(e))
		}
	}
	t.Columns = append(t.Columns, "rows of an epoch", "against demand %")
	for _, data := range x.datasets {
		l := x.b.line(x.at(data, 4, x.long).id("massive"))
		for _, w := range overLong()[1:] {
			row := []string{shortDataset(data), w.name}
			for _, e := range marks {
				if series := l.Series[w.name+" hits"]; e <= len(series) {
					row = append(row, percent(series[e-1]))
				}
			}
			t.Add(append(row, millions(l.Value(w.name+" rows")), fewer(l, w.name))...)
		}
	}
	return t
}

func (x *scores) figure() bench.Figure {
	f := bench.Figure{Title: "Fig. 10: hit rate by epoch"}
	for _, data := range x.datasets {
		l, panel := x.b.line(x.at(data, 4, x.long).id("massive")), bench.Panel{Title: shortDataset(data), X: "epoch", Y: "hit rate, %", FromZero: true}
		for _, w := range overLong()[1:] {
			panel.Series = append(panel.Series, overEpochs(w.name, scaled(l.Series[w.name+" hits"], 100)))
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}

// settings is Table IV and Fig. 13, and of f 0.25 Fig. 12.
func (x *scores) settings(data string) (bench.Table, bench.Panel) {
	panel := bench.Panel{Title: shortDataset(data), X: "Δ, steps", Y: "hit rate, %", LogX: true}
	l := x.b.line(x.at(data, 4, x.short).id("grid, halved"))
	t := bench.Table{Title: fmt.Sprintf("Table IV, Fig. 12 and 13: %s, rows against demand, %%, and hit rate, %%, over %d epochs", shortDataset(data), x.short), Columns: []string{"f", "γ", "α"},
		Note: "α: rows with a score below it may leave; γ^Δ is the paper's, by which γ decides of no row that began in the buffer. MassiveGNN: γ ≥ 0.9 has the best hit rates; a long Δ costs least time, a short one stagnates."}
	for _, delta := range x.deltas {
		t.Columns = append(t.Columns, "Δ "+strconv.Itoa(delta))
	}
	for _, share := range x.shares {
		for _, gamma := range x.gammas {
			for i, of := range []func(float64, float64, int) way{scored, halved} {
				alpha := []string{"γ^Δ", "½"}[i]
				row, points := []string{fmt.Sprint(share), fmt.Sprint(gamma), alpha}, bench.Series{Name: fmt.Sprintf("γ %g, α %s", gamma, alpha)}
				for _, delta := range x.deltas {
					name := of(share, gamma, delta).name
					row = append(row, fewer(l, name)+" ("+percent(hitRate(l, name))+")")
					points.X, points.Y = append(points.X, float64(delta)), append(points.Y, 100*hitRate(l, name))
				}
				if t.Add(row...); share == 0.25 {
					panel.Series = append(panel.Series, points)
				}
			}
		}
	}
	return t, panel
}

// fewer writes how many more rows than on demand a way fetches, in percent: fewer are negative.
func fewer(l *bench.Line, name string) string {
	return fmt.Sprintf("%+.1f", 100*(l.Value(name+" rows")/max(1, l.Value("demand rows"))-1))
}
