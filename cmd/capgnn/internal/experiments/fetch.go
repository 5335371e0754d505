package experiments

import (
	"fmt"

	"capgnn/internal/bench"
	"capgnn/minibatch"
	"capgnn/minibatch/rowcache"
)

// fetchExperiment is docs/bench/sampled-papers.md: rows of other parts by the way to fetch them, at equal slots.
func fetchExperiment() Experiment {
	return Experiment{Name: "fetch", Usage: "feature rows fetched from other parts with --sampling fetch=demand, rapid, massive and planned, for equal caches, counted",
		full: []string{"coauthor_physics", "reddit-like:0.1", "products-like:0.4"}, quick: quickGraphs, plan: planFetch}
}

// equalSlots are the ways that are compared at equal slots. Massive's buffer is as large as the others'.
func equalSlots(share float64) []way {
	return []way{
		onDemand, {"rapid, pull", pulled, share}, {"rapid", inAnEpoch, share}, {"massive", rowcache.Rules{Kind: rowcache.Massive, Share: 1, Delta: 16}, share},
		{"planned, 8 steps", rowcache.Rules{Kind: rowcache.Planned, Lookahead: 8}, share}, {"planned, 64 steps", someAhead, share}, {"planned, all", toTheEnd, share},
	}
}

func planFetch(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	sizes := []float64{0.01, 0.05, 0.15, 0.5, 1}
	if b.opt.Quick {
		sizes = []float64{0.15, 1}
	}
	at := func(data string) traced {
		return traced{dataset: data, parts: 4, batch: 2000, fanout: fanouts, place: minibatch.Home, epochs: b.epochs(4, 2), seed: b.opt.Seeds[0]}
	}
	id := func(data string, share float64) bench.Cell {
		c := at(data).id("fetch")
		c["slots"] = shareText(share)
		return c
	}
	var cells []cell
	for _, data := range datasets {
		for _, share := range sizes {
			c := b.counting("fetch", at(data), equalSlots(share))
			c.id = id(data, share)
			cells = append(cells, c)
		}
	}
	return cells, func() bench.Section {
		s := bench.Section{Title: "Rows fetched, by way to fetch them", Text: []string{countedText,
			fmt.Sprintf("4 parts, roots at home, 4 × 500 roots, fan-outs %s, %d epochs. Slots are a share of the rows of other parts that an epoch reads, each counted once. In brackets: how many times fewer than on demand.", drawing{fanout: fanouts}.text(), at("").epochs)}}
		f := bench.Figure{Title: "Rows fetched by size of the cache"}
		for _, data := range datasets {
			t := bench.Table{Title: shortDataset(data), Columns: []string{"slots"}}
			panel := bench.Panel{Title: t.Title, X: "slots, %", Y: "rows of an epoch", FromZero: true}
			for _, w := range equalSlots(1) {
				t.Columns = append(t.Columns, w.name)
				panel.Series = append(panel.Series, bench.Series{Name: w.name})
			}
			for _, share := range sizes {
				l := b.line(id(data, share))
				row := []string{shareText(share)}
				for i, w := range equalSlots(share) {
					text := millions(l.Value(w.name + " rows"))
					if i > 0 {
						text += " (" + times(l, w.name) + "×)"
					}
					row = append(row, text)
					panel.Series[i].X, panel.Series[i].Y = append(panel.Series[i].X, 100*share), append(panel.Series[i].Y, l.Value(w.name+" rows"))
				}
				t.Add(row...)
				t.Note = fmt.Sprintf("%s steps of an epoch, %s rows of other parts are read in it, %s of them distinct by part; %s %% of the edges are cut.", millions(l.Value("steps")),
					millions(l.Value("demand remote")), millions(l.Value("distinct")), percent(l.Value("cut")))
			}
			s.Tables, f.Panels = append(s.Tables, t), append(f.Panels, panel)
		}
		s.Figures = []bench.Figure{f}
		return s
	}, nil
}
