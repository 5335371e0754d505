package experiments

import (
	"context"
	"fmt"
	"strconv"

	"capgnn/internal/bench"
	"capgnn/minibatch/rowcache"
)

// massiveExperiment is Table III and IV and Fig. 10 to 13 of MassiveGNN, as far as they are counted.
func massiveExperiment() Experiment {
	return Experiment{Name: "massive", Usage: "MassiveGNN's Table III and IV, Fig. 10, 11 and 13, counted: hit rate by epoch, rows by f, γ and Δ",
		full: []string{"reddit-like:0.1", "products-like:0.1"}, quick: quickGraphs, plan: planMassive}
}

// scoring is a setting of MassiveGNN.
type scoring struct {
	share, gamma float64
	delta        int
}

func (s scoring) way() way {
	return way{name: fmt.Sprintf("f %g γ %g Δ %d", s.share, s.gamma, s.delta), rules: rowcache.Rules{Kind: rowcache.Massive, Share: s.share, Gamma: s.gamma, Delta: s.delta}}
}

func planMassive(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	shares, gammas, deltas, trainers := []float64{0.15, 0.25, 0.35, 0.5}, []float64{0.95, 0.995, 0.9995}, []int{16, 32, 64, 128, 256, 512, 1024}, []int{2, 4, 8}
	long, short := b.epochs(300, 20), b.epochs(30, 4)
	if b.opt.Quick {
		shares, gammas, deltas, trainers = []float64{0.25}, []float64{0.95, 0.995}, []int{16, 64}, []int{2}
	}
	at := func(data string, parts, epochs int) traced {
		return traced{dataset: data, parts: parts, batch: 500 * parts, fanout: fanouts, local: true, epochs: epochs, seed: b.opt.Seeds[0]}
	}
	// Of the long run: never an exchange, and some periods.
	over := []way{onDemand, {"f 0.25, no eviction", rowcache.Rules{Kind: rowcache.Massive, Share: 0.25, Delta: 1 << 20}, 0}}
	for _, delta := range []int{16, 64} {
		over = append(over, scoring{0.25, 0.995, delta}.way())
	}
	grid := []way{onDemand}
	for _, f := range shares {
		for _, gamma := range gammas {
			for _, delta := range deltas {
				grid = append(grid, scoring{f, gamma, delta}.way())
			}
		}
	}
	var cells []cell
	for _, data := range datasets {
		for _, n := range trainers {
			cells = append(cells, cell{at(data, n, 1).id("trainers"), func(ctx context.Context) (*bench.Line, error) {
				return b.countWays(ctx, at(data, n, 1), []way{onDemand})
			}})
		}
		cells = append(cells,
			cell{at(data, 4, long).id("massive"), func(ctx context.Context) (*bench.Line, error) { return b.countWays(ctx, at(data, 4, long), over) }},
			cell{at(data, 4, short).id("grid"), func(ctx context.Context) (*bench.Line, error) { return b.countWays(ctx, at(data, 4, short), grid) }})
	}
	return cells, func() bench.Section {
		s := bench.Section{Title: "MassiveGNN: rows kept by two scores", Text: []string{countedText,
			fmt.Sprintf("Each part has roots among its own training vertices, 500 in a step, fan-outs %s. f is the share of the halo vertices that have slots. Rows count the first fill and all replacements.", drawing{fanout: fanouts}.text())}}
		three := bench.Table{Title: "Table III: rows of other parts that a trainer reads in an epoch, and batches", Columns: []string{"data set", "trainers", "distinct rows", "reads", "batches"},
			Note: "MassiveGNN (remote rows and batches per trainer): products 471K/1300 (8 trainers), 352K/700, 308K/400, 221K/200."}
		hits := bench.Table{Title: fmt.Sprintf("Fig. 10: hit rate by epoch, %%, 4 parts, over %d epochs", long), Columns: []string{"data set", "setting"}, Note: "MassiveGNN: it rises at each eviction to 75 % (products) and 95 % (papers) in 1000 epochs."}
		marks := []int{1, 2, 3, 5, 10, 20, 50, 100, 200, 300}
		for _, e := range marks {
			if e <= long {
				hits.Columns = append(hits.Columns, strconv.Itoa(e))
			}
		}
		hits.Columns = append(hits.Columns, "rows of an epoch", "against demand %")
		f := bench.Figure{Title: "Fig. 10: hit rate by epoch"}
		for _, data := range datasets {
			for _, n := range trainers {
				l := b.line(at(data, n, 1).id("trainers"))
				three.Add(shortDataset(data), strconv.Itoa(n), millions(l.Value("distinct")/float64(n)), millions(l.Value("demand rows")/float64(n)), millions(l.Value("steps")))
			}
			l := b.line(at(data, 4, long).id("massive"))
			panel := bench.Panel{Title: shortDataset(data), X: "epoch", Y: "hit rate, %", FromZero: true}
			for _, w := range over[1:] {
				series := l.Series[w.name+" hits"]
				row := []string{shortDataset(data), w.name}
				for _, e := range marks {
					if e <= long && e <= len(series) {
						row = append(row, percent(series[e-1]))
					}
				}
				hits.Add(append(row, millions(l.Value(w.name+" rows")), fewer(l, w.name))...)
				points := bench.Series{Name: w.name, Y: scaled(series, 100)}
				for e := range series {
					points.X = append(points.X, float64(e+1))
				}
				panel.Series = append(panel.Series, points)
			}
			f.Panels = append(f.Panels, panel)
		}
		s.Tables = []bench.Table{three, hits}
		for _, data := range datasets {
			l := b.line(at(data, 4, short).id("grid"))
			t := bench.Table{Title: fmt.Sprintf("Table IV and Fig. 13: %s, rows against demand, %%, and hit rate, %%, over %d epochs", shortDataset(data), short), Columns: []string{"f", "γ"},
				Note: "MassiveGNN: 15 % fewer rows on products, 23 on papers, replacements included; γ ≥ 0.9 has the best hit rates."}
			for _, delta := range deltas {
				t.Columns = append(t.Columns, "Δ "+strconv.Itoa(delta))
			}
			for _, share := range shares {
				for _, gamma := range gammas {
					row := []string{fmt.Sprint(share), fmt.Sprint(gamma)}
					for _, delta := range deltas {
						name := scoring{share, gamma, delta}.way().name
						row = append(row, fewer(l, name)+" ("+percent(l.Value(name+" hits")/max(1, l.Value(name+" remote")))+")")
					}
					t.Add(row...)
				}
			}
			s.Tables = append(s.Tables, t)
		}
		s.Figures = []bench.Figure{f}
		return s
	}, nil
}

// fewer writes how many more rows than on demand a way fetches, in percent: fewer are negative.
func fewer(l *bench.Line, name string) string {
	return fmt.Sprintf("%+.1f", 100*(l.Value(name+" rows")/max(1, l.Value("demand rows"))-1))
}
