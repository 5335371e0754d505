package experiments

import (
	"fmt"

	"capgnn/internal/bench"
)

// convergenceExperiment is Fig. 22.
func convergenceExperiment() Experiment {
	return Experiment{Name: "convergence", Usage: "Fig. 22: validation score against epochs and time, exact and with bounded staleness",
		full: []string{"reddit-like:0.1", "products-like:0.02"}, quick: []string{"reddit-like:0.02"}, plan: planConvergence}
}

var convergenceVariants = []variant{
	{"exact, equal parts", withEqual}, {"exact", withFitted}, variant{"+JACA", withFitted}.and(withJACA), variant{"+JACA +pipeline", withFitted}.and(withJACA, withPipeline),
	encodedRows, staleRows,
}

func planConvergence(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	list, err := b.groupsOf(2, 4)
	if err != nil {
		return nil, nil, err
	}
	list = append(list[:1:1], list[min(2, len(list)-1):]...) // two parts and four
	models := []string{"gcn", "sage"}
	if b.opt.Quick {
		list, models = list[len(list)-1:], models[:1]
	}
	epochs := b.epochs(200, 20)
	at := func(data, model string, g group, v variant) setting {
		s := setting{Dataset: data, Model: model, Devices: g.devices, Seed: b.opt.Seeds[0], Epochs: epochs, EvalEvery: max(1, epochs/50)}
		v.with(&s)
		return s
	}
	var cells []cell
	for _, data := range datasets {
		for _, model := range models {
			for _, g := range list {
				for _, v := range convergenceVariants {
					if s := at(data, model, g, v); g.devices[:4] == "sim:" {
						cells = append(cells, b.simulation(s), b.trained(s))
					} else {
						cells = append(cells, b.trained(s))
					}
				}
			}
		}
	}
	return cells, func() bench.Section {
		s := bench.Section{Title: "Fig. 22: convergence", Text: []string{"Validation score while training; time is the epoch's, evaluation not counted. Reached: the first evaluation within 0.5 points of the best of exact, equal parts.", waysText, timesText(list[0].devices)}}
		table := bench.Table{Columns: []string{"data set", "model", "group", "", "best validation %", "test %", "epochs to reached", "ms to reached", "of exact, equal parts"}}
		byEpoch, byTime := bench.Figure{Title: "Fig. 22: validation score by epoch"}, bench.Figure{Title: "Validation score by time"}
		for _, data := range datasets {
			for _, model := range models {
				for _, g := range list {
					title := fmt.Sprintf("%s, %s, %s", shortDataset(data), model, g.name)
					pe, pt := bench.Panel{Title: title, X: "epoch", Y: "validation, %"}, bench.Panel{Title: title, X: "time, s", Y: "validation, %"}
					first := b.line(b.trained(at(data, model, g, convergenceVariants[0])).id)
					goal, base := first.Value("val")-0.005, 0.0
					for i, v := range convergenceVariants {
						l, epoch := b.line(b.trained(at(data, model, g, v)).id), b.timed(at(data, model, g, v)).Value("epoch_s")
						pe.Series = append(pe.Series, bench.Series{Name: v.name, X: l.Series["eval_epoch"], Y: scaled(l.Series["val"], 100)})
						pt.Series = append(pt.Series, bench.Series{Name: v.name, X: scaled(l.Series["eval_epoch"], epoch), Y: scaled(l.Series["val"], 100)})
						n := reached(l, goal)
						if i == 0 {
							base = n * epoch
						}
						table.Add(append([]string{shortDataset(data), model, g.name, v.name, percentOf(l, "val"), percentOf(l, "test")}, whenReached(n, epoch, base)...)...)
					}
					byEpoch.Panels, byTime.Panels = append(byEpoch.Panels, pe), append(byTime.Panels, pt)
				}
			}
		}
		s.Tables, s.Figures = []bench.Table{table}, []bench.Figure{byEpoch, byTime}
		return s
	}, nil
}

// reached returns after how many epochs an evaluation first scored so much; 0: never.
func reached(l *bench.Line, goal float64) float64 {
	for i, x := range l.Series["val"] {
		if x >= goal {
			return l.Series["eval_epoch"][i]
		}
	}
	return 0
}

// whenReached returns the epochs, their milliseconds, and these over base, of a goal that is reached after n epochs of so many seconds.
func whenReached(n, epoch, base float64) []string {
	if n == 0 {
		return []string{"not", "", ""}
	}
	return []string{fmt.Sprint(int(n)), fmt.Sprintf("%.1f", 1e3*n*epoch), ratio(n*epoch, base)}
}
