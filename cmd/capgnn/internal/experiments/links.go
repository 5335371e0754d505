package experiments

import (
	"fmt"
	"math"
	"strconv"

	"capgnn/internal/bench"
)

// linksExperiment is the epochs behind links alone: how near forecasts come.
func linksExperiment() Experiment {
	return Experiment{Name: "links", Usage: "forecast of plan divided by measured epoch time, for 2, 4 and 16 parts on CPU devices with links",
		full: []string{"ppi", "reddit-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planLinks}
}

// linkEpochs is how many times the epochs of exact rows a way is trained for: stale rows begin exact, and have a period of 8; isolated parts switch in fewer of
// their epochs the more there are.
var linkEpochs = map[string]int{"exact": 1, "encoded": 1, "stale": 2, "isolated": 4}

// near is how far a forecast may be from the measured epoch, as a share of it.
const near = 0.15

// forecastPlan is linkedPlan without scores.
type forecastPlan struct{ linkedPlan }

func planLinks(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	p := forecastPlan{newLinkedPlan(b, datasets, &isolatedPlan{Bench: b, datasets: datasets, epochs: b.epochs(8, 4)})}
	var cells []cell
	p.eachLinked(func(data string, n int) {
		for _, r := range p.rates {
			for _, w := range linkedWays {
				cells = append(cells, p.simulation(p.at(data, w, n, r)), p.trained(p.at(data, w, n, r)))
			}
		}
	})
	return cells, p.show, nil
}

// at is a run behind a link.
func (p forecastPlan) at(data, way string, n int, r linkRate) setting {
	s := p.way(data, way, n, r.link)
	s.Epochs = p.epochs * linkEpochs[way]
	return s
}

// seconds returns the measured and the predicted seconds of a run.
func (p forecastPlan) seconds(s setting) (measured, predicted float64) {
	return p.line(p.trained(s).id).Value("epoch_s"), p.line(p.simulation(s).id).Value("epoch_s")
}

func (p forecastPlan) show() bench.Section {
	all := bench.Table{Title: "Predicted over measured epochs", Columns: []string{"data set", "parts", "link"}}
	count := bench.Table{Title: "Forecasts within 15 %", Columns: []string{"data set"}}
	for _, w := range linkedWays {
		all.Columns = append(all.Columns, w+" ms", "predicted ÷ it")
		count.Columns = append(count.Columns, w)
	}
	for _, data := range p.datasets {
		within, of := make([]int, len(linkedWays)), len(p.parts)*len(p.rates)
		for _, n := range p.parts {
			for _, r := range p.rates {
				row := []string{shortDataset(data), strconv.Itoa(n), r.name}
				for i, w := range linkedWays {
					measured, predicted := p.seconds(p.at(data, w, n, r))
					row = append(row, fmt.Sprintf("%.1f", 1e3*measured), ratio(predicted, measured))
					if math.Abs(predicted/measured-1) <= near {
						within[i]++
					}
				}
				all.Add(row...)
			}
		}
		row := []string{shortDataset(data)}
		for _, n := range within {
			row = append(row, strconv.Itoa(n)+" of "+strconv.Itoa(of))
		}
		count.Add(row...)
	}
	return bench.Section{Title: "Epochs behind links, predicted and measured", Tables: []bench.Table{all, count}, Figures: []bench.Figure{p.figure()}, Text: []string{
		"GCN, 3 layers, hidden 256. Each part on a CPU device of one thread in one process; all devices share this machine's cores. Measured: the median of the epochs behind the first. Predicted: by the profile of the cache, or one that is made before the first forecast; one that was made while the machine was busier than now makes all forecasts too long."}}
}

// figure has a point for every forecast.
func (p forecastPlan) figure() bench.Figure {
	f := bench.Figure{Title: "Predicted over measured epochs"}
	for _, data := range p.datasets {
		panel := bench.Panel{Title: shortDataset(data), X: "measured epoch, ms", Y: "predicted ÷ measured", LogX: true, Points: true}
		for _, w := range linkedWays {
			points := bench.Series{Name: w}
			for _, n := range p.parts {
				for _, r := range p.rates {
					measured, predicted := p.seconds(p.at(data, w, n, r))
					points.X, points.Y = append(points.X, 1e3*measured), append(points.Y, predicted/measured)
				}
			}
			panel.Series = append(panel.Series, points)
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}
