package experiments

import (
	"fmt"

	"capgnn/internal/bench"
	"capgnn/jaca"
)

// hitPriorityExperiment is Fig. 14.
func hitPriorityExperiment() Experiment {
	return Experiment{Name: "hit-priority", Usage: "Fig. 14: coverage of caches that prefer rows of highest or of lowest overlap ratio, 2 to 8 parts",
		full: []string{"coauthor_physics", "reddit-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planHitPriority}
}

// hitText says what the replays of caches count.
const hitText = "Replayed, not measured: the caches of the plan run through one whole refresh period, rows at most " + boundedStaleness + " epochs old, no pipeline; no row is moved. Coverage is the share of lookups whose row has a slot, which is what the paper plots as hit rate. Sizes are shares of the rows that a cache could hold (Algorithm 1's unions). Parts are equal."

func planHitPriority(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	numbers, models, policies := b.numbers(2, 8), []string{"gcn", "sage"}, []jaca.Policy{jaca.Paper, jaca.LowOverlap}
	at := func(data, model string, parts int, p jaca.Policy) setting {
		return setting{Dataset: data, Model: model, Devices: alikeDevices(parts), Parts: partsEqual, Policy: p, Local: "20%", Global: "20%", Staleness: boundedStaleness, Seed: b.opt.Seeds[0]}
	}
	var cells []cell
	for _, data := range datasets {
		for _, model := range models {
			for _, parts := range numbers {
				for _, p := range policies {
					cells = append(cells, b.replayed(at(data, model, parts, p)))
				}
			}
		}
	}
	return cells, func() bench.Section {
		s := bench.Section{Title: "Fig. 14: highest against lowest overlap first", Text: []string{hitText + " Both caches hold 20 %. With 2 parts no row has two readers, so both choose the same rows."}}
		table := bench.Table{Columns: []string{"data set", "model", "parts", "high overlap %", "low overlap %", "MiB / epoch, high", "MiB / epoch, low"}}
		f := bench.Figure{Title: "Fig. 14: coverage with both caches at 20 %"}
		for _, data := range datasets {
			for _, model := range models {
				panel := bench.Panel{Title: shortDataset(data) + ", " + model, X: "parts", Y: "coverage, %"}
				high, low := bench.Series{Name: "highest overlap first (paper)"}, bench.Series{Name: "lowest overlap first"}
				for _, parts := range numbers {
					h, l := b.line(b.replayed(at(data, model, parts, policies[0])).id), b.line(b.replayed(at(data, model, parts, policies[1])).id)
					table.Add(shortDataset(data), model, fmt.Sprint(parts), percentOf(h, "coverage"), percentOf(l, "coverage"), mebibytes(h, "halo_bytes"), mebibytes(l, "halo_bytes"))
					panel.Groups = append(panel.Groups, fmt.Sprint(parts))
					high.Y, low.Y = append(high.Y, 100*h.Value("coverage")), append(low.Y, 100*l.Value("coverage"))
				}
				panel.Series = []bench.Series{high, low}
				f.Panels = append(f.Panels, panel)
			}
		}
		s.Tables, s.Figures = []bench.Table{table}, []bench.Figure{f}
		return s
	}, nil
}

// hitCapacityExperiment is Fig. 15.
func hitCapacityExperiment() Experiment {
	return Experiment{Name: "hit-capacity", Usage: "Fig. 15: coverage and bytes against cache size and policy, 2 and 4 parts",
		full: []string{"coauthor_physics", "reddit-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planHitCapacity}
}

func planHitCapacity(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	shares := []float64{1, 5, 10, 20, 40, 60, 80, 100}
	policies := []jaca.Policy{jaca.JACA, jaca.Paper, jaca.FIFO, jaca.LRU}
	if b.opt.Quick {
		shares = []float64{20, 100}
	}
	numbers, models := []int{2, 4}, []string{"gcn", "sage"}
	if b.opt.Quick {
		models = models[:1]
	}
	at := func(data, model string, parts int, p jaca.Policy, share float64) setting {
		return setting{Dataset: data, Model: model, Devices: alikeDevices(parts), Parts: partsEqual, Policy: p, Local: percentSize(share), Global: percentSize(share), Staleness: boundedStaleness, Seed: b.opt.Seeds[0]}
	}
	var cells []cell
	each := func(f func(data, model string, parts int)) {
		for _, data := range datasets {
			for _, model := range models {
				for _, parts := range numbers {
					f(data, model, parts)
				}
			}
		}
	}
	each(func(data, model string, parts int) {
		for _, p := range policies {
			for _, share := range shares {
				cells = append(cells, b.replayed(at(data, model, parts, p, share)))
			}
		}
	})
	return cells, func() bench.Section {
		s := bench.Section{Title: "Fig. 15: coverage by size of the caches", Text: []string{hitText + " Both caches have the same share."}}
		coverage, moved := bench.Table{Title: "Coverage, %", Columns: []string{"data set", "model", "parts", "size"}}, bench.Table{Title: "Halo rows, MiB per epoch", Columns: []string{"data set", "model", "parts", "size"}}
		for _, p := range policies {
			coverage.Columns, moved.Columns = append(coverage.Columns, string(p)), append(moved.Columns, string(p))
		}
		covers, moves := bench.Figure{Title: "Fig. 15: coverage by size"}, bench.Figure{Title: "Bytes of halo rows by size"}
		each(func(data, model string, parts int) {
			title := fmt.Sprintf("%s, %s, %d parts", shortDataset(data), model, parts)
			c, m := bench.Panel{Title: title, X: "size of both caches, % of the rows", Y: "coverage, %", FromZero: true}, bench.Panel{Title: title, X: "size of both caches, % of the rows", Y: "traffic, MiB per epoch", FromZero: true}
			rows, bytes := make([][]string, len(shares)), make([][]string, len(shares))
			for i, share := range shares {
				rows[i] = []string{shortDataset(data), model, fmt.Sprint(parts), percentSize(share)}
				bytes[i] = []string{shortDataset(data), model, fmt.Sprint(parts), percentSize(share)}
			}
			for _, p := range policies {
				a, z := bench.Series{Name: string(p), X: shares}, bench.Series{Name: string(p), X: shares}
				for i, share := range shares {
					l := b.line(b.replayed(at(data, model, parts, p, share)).id)
					rows[i], bytes[i] = append(rows[i], percentOf(l, "coverage")), append(bytes[i], mebibytes(l, "halo_bytes"))
					a.Y, z.Y = append(a.Y, 100*l.Value("coverage")), append(z.Y, l.Value("halo_bytes")/(1<<20))
				}
				c.Series, m.Series = append(c.Series, a), append(m.Series, z)
			}
			coverage.Rows, moved.Rows = append(coverage.Rows, rows...), append(moved.Rows, bytes...)
			covers.Panels, moves.Panels = append(covers.Panels, c), append(moves.Panels, m)
		})
		s.Tables, s.Figures = []bench.Table{coverage, moved}, []bench.Figure{covers, moves}
		return s
	}, nil
}
