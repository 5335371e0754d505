package experiments

import (
	"fmt"
	"strings"

	"capgnn/internal/bench"
)

// overallExperiment has the layout of Table 7.
func overallExperiment() Experiment {
	return Experiment{Name: "overall", Usage: "Table 7: times of epoch and communication, and score, with all of CaPGNN and without, on x2 to x8",
		full: sevenGraphs, quick: []string{"reddit-like:0.02"}, plan: planOverall}
}

func planOverall(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	list, err := b.groupsOf(2, 8)
	if err != nil {
		return nil, nil, err
	}
	models, variants := []string{"gcn", "sage"}, []variant{{"vanilla", withEqual}, variant{"capgnn", withFitted}.and(withJACA, withPipeline), encodedRows, staleRows}
	if b.opt.Quick {
		list = []group{list[0], list[len(list)-1]}
	}
	epochs := b.epochs(200, 6)
	at := func(data, model string, g group, v variant, seed uint64) setting {
		s := setting{Dataset: data, Model: model, Devices: g.devices, Seed: seed, Epochs: epochs, EvalEvery: evalEvery(epochs)}
		v.with(&s)
		return s
	}
	var cells []cell
	for _, data := range datasets {
		for _, g := range list {
			for _, system := range broadcasters {
				cells = append(cells, b.broadcast(system, data, g))
			}
		}
		for _, model := range models {
			for _, g := range list {
				for _, v := range variants {
					if strings.HasPrefix(g.devices, "sim:") {
						cells = append(cells, b.simulation(at(data, model, g, v, b.opt.Seeds[0])))
					}
					for _, seed := range b.opt.Seeds {
						cells = append(cells, b.trained(at(data, model, g, v, seed)))
					}
				}
			}
		}
	}
	return cells, func() bench.Section {
		s := bench.Section{Title: "Table 7: overall", Text: []string{
			fmt.Sprintf("Seconds of 200 epochs, as in the paper; a cell is epoch / communication / validation score in %%, at the best epoch of %d. communication: transfers of the busiest device. vanilla: equal parts, every halo row in every epoch; capgnn: parts fitted to the devices, lossless, rows at most %s epochs old, pipeline. Graphs called NAME-like are stand-ins for the paper's, and not of their size: compare columns and rows of this table, not with the paper's.", epochs, boundedStaleness),
			waysText, timesText(list[0].devices)}}
		for _, model := range models {
			t := bench.Table{Title: model, Columns: append([]string{"data set", ""}, groupNames(list)...)}
			f := bench.Figure{Title: "Seconds of 200 epochs, " + model}
			for _, data := range datasets {
				panel := bench.Panel{Title: shortDataset(data), Y: "time of 200 epochs, s"}
				for _, v := range variants {
					row, series := []string{shortDataset(data), v.name}, bench.Series{Name: v.name}
					for _, g := range list {
						l := b.timed(at(data, model, g, v, b.opt.Seeds[0]))
						runs := b.ofSeeds(func(seed uint64) setting { return at(data, model, g, v, seed) })
						row, series.Y = append(row, overallText(l, runs)), append(series.Y, 200*l.Value("epoch_s"))
					}
					t.Add(row...)
					panel.Series = append(panel.Series, series)
				}
				panel.Groups = groupNames(list)
				f.Panels = append(f.Panels, panel)
			}
			s.Tables, s.Figures = append(s.Tables, t), append(s.Figures, f)
		}
		b.showReceived(&s, datasets, list, variants, func(data string, g group, v variant) *bench.Line {
			return b.timed(at(data, models[0], g, v, b.opt.Seeds[0]))
		})
		return s
	}, nil
}

// showReceived adds what devices receive in an epoch of GCN: of the broadcasters, which have no GraphSAGE, and of ours.
func (b *Bench) showReceived(s *bench.Section, datasets []string, list []group, variants []variant, of func(data string, g group, v variant) *bench.Line) {
	t := bench.Table{Title: "MiB that devices receive in an epoch, gcn", Columns: append([]string{"data set", ""}, groupNames(list)...),
		Note: fmt.Sprintf("DistGCN and CachedGCN (SANCUS) are counted, not run: each part broadcasts all its rows in every layer, features included; CachedGCN those of the input once and those of hidden layers in %d epochs and then every second one, the mean of %d epochs. Gradients of weights are included, as in the others, which are of an epoch behind the first.", fullEpochs, paperEpochs)}
	f := bench.Figure{Title: t.Title}
	for _, data := range datasets {
		panel := bench.Panel{Title: shortDataset(data), Y: "received in an epoch, MiB", Groups: groupNames(list)}
		add := func(name string, line func(group) *bench.Line) {
			row, series := []string{shortDataset(data), name}, bench.Series{Name: name}
			for _, g := range list {
				l := line(g)
				text, mib := "does not fit", receivedBytes(l)/(1<<20)
				if l.Text["misfit"] == "" {
					text = fmt.Sprintf("%.1f", mib)
				}
				row, series.Y = append(row, text), append(series.Y, mib)
			}
			t.Add(row...)
			panel.Series = append(panel.Series, series)
		}
		for _, system := range broadcasters {
			add(system, func(g group) *bench.Line { return b.line(b.broadcast(system, data, g).id) })
		}
		for _, v := range variants {
			add(v.name, func(g group) *bench.Line { return of(data, g, v) })
		}
		f.Panels = append(f.Panels, panel)
	}
	s.Tables, s.Figures = append(s.Tables, t), append(s.Figures, f)
}

func overallText(l *bench.Line, runs []*bench.Line) string {
	if l.Text["misfit"] != "" {
		return "does not fit"
	}
	return fmt.Sprintf("%.2f / %.2f / %s", 200*l.Value("epoch_s"), 200*l.Value("communication_s"), meanOf(runs, "val"))
}
