package experiments

import (
	"fmt"
	"strconv"
	"strings"

	"capgnn/internal/bench"
	"capgnn/jaca"
	"capgnn/pipeline/chunks"
)

// scaledPlan is epochs by the number of devices, isolated parts against parts that exchange rows: Grappa's Table 6 and Figure 4, simulated.
type scaledPlan struct {
	*isolatedPlan
	devices []int
}

// scaledCard is the card of every device.
const scaledCard = "sim:a40"

// scaledModels are those of Figure 4 and Table 6.
var scaledModels = []struct{ name, model, more string }{{"Sage-3", "sage", "layers=3 hidden=128"}, {"GCN-2", "gcn", "layers=2 hidden=128"}}

// scaledWays are the lines of each model.
var scaledWays = []string{"exact", "stale", "isolated"}

func newScaledPlan(b *Bench, x *isolatedPlan) scaledPlan {
	p := scaledPlan{x, []int{1, 2, 4, 8, 16}}
	if b.opt.Quick {
		p.devices = p.devices[:3]
	}
	return p
}

// at is a full-batch run on n devices, a part on each. One device has nothing to exchange, so all ways are the same there.
func (p scaledPlan) at(data string, model int, way string, n int) setting {
	s := setting{Dataset: data, Devices: strings.TrimSuffix(strings.Repeat(scaledCard+",", n), ","), Model: scaledModels[model].model,
		More: scaledModels[model].more, Parts: partsEqual, Seed: p.opt.Seeds[0]}
	switch {
	case n == 1 || way == "exact":
	case way == "isolated":
		s.More += " " + isolatedOption(n, chunks.None)
	default:
		s.Policy, s.Comm, s.Pipeline = jaca.JACA, way, true
	}
	return s
}

func (p scaledPlan) cells() (cells []cell) {
	for _, data := range p.datasets {
		for m := range scaledModels {
			for i, way := range scaledWays {
				for _, n := range p.devices {
					if i == 0 || n > 1 {
						cells = append(cells, p.simulation(p.at(data, m, way, n)))
					}
				}
			}
		}
	}
	return cells
}

// show returns the table, and a panel per data set and model.
func (p scaledPlan) show() (bench.Table, bench.Figure) {
	t := bench.Table{Title: "Table 6 and Fig. 4: full-batch epochs by the number of devices", Columns: []string{"data set", "model", ""},
		Note: "Simulated, on A40 cards, a part on each; isolated: as many random chunks as parts. Grappa (H100, GCN-2, s of an epoch on 2, 4, 8): Reddit MGG 0.2, 0.2, 0.2, Grappa 0.4, 0.2, 0.1; products MGG 0.3, 0.2, 0.2, Grappa 0.4, 0.2, 0.1. V100, Sage-3, sampled, 16 parts for 1: DGL 3 to 5 times as fast, Grappa about 16."}
	for _, n := range p.devices {
		t.Columns = append(t.Columns, fmt.Sprintf("ms on %d", n))
	}
	t.Columns = append(t.Columns, fmt.Sprintf("%d for 1", p.devices[len(p.devices)-1]))
	f := bench.Figure{Title: "Fig. 4: how many times as fast as one device"}
	for _, data := range p.datasets {
		for m, model := range scaledModels {
			panel := bench.Panel{Title: shortDataset(data) + ", " + model.name, X: "devices", Y: "times as fast", FromZero: true, Counts: true}
			for _, way := range scaledWays {
				row, series := []string{shortDataset(data), model.name, way}, bench.Series{Name: way}
				one := epochOf(p.line(p.simulation(p.at(data, m, way, 1)).id))
				for _, n := range p.devices {
					l := p.line(p.simulation(p.at(data, m, way, n)).id)
					row = append(row, milliseconds(l, "epoch_s"))
					series.X, series.Y = append(series.X, float64(n)), append(series.Y, one/epochOf(l))
				}
				t.Add(append(row, strconv.FormatFloat(series.Y[len(series.Y)-1], 'f', 2, 64))...)
				panel.Series = append(panel.Series, series)
			}
			f.Panels = append(f.Panels, panel)
		}
	}
	return t, f
}
