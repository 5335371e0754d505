package experiments

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/bench"
)

// scalingVariants are the systems that scaling compares.
var scalingVariants = []variant{
	{"exact", withFitted},
	variant{"+JACA", withFitted}.and(withJACA),
	variant{"+JACA +pipeline", withFitted}.and(withJACA, withPipeline),
	encodedRows, staleRows,
}

// scalingExperiment adds one device at a time, in the order of Table 4.
func scalingExperiment() Experiment {
	return Experiment{Name: "scaling", Usage: "epoch time with 1 to 8 devices, x1 to x8 of Table 4",
		full: []string{"reddit-like:0.1", "products-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planScaling}
}

func planScaling(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	list, err := b.groupsOf(1, 8)
	if err != nil {
		return nil, nil, err
	}
	if specs, _ := b.deviceList(groups); !specs[0].Simulated() {
		return nil, nil, term.Usagef("bench scaling simulates: give simulated --devices (sim:rtx3090)")
	}
	at := func(data string, g group, v variant) setting {
		s := setting{Dataset: data, Devices: g.devices, Seed: b.opt.Seeds[0]}
		v.with(&s)
		return s
	}
	var cells []cell
	for _, data := range datasets {
		for _, g := range list {
			for i, v := range scalingVariants {
				if i == 0 || g.name != "x1" { // one device moves nothing
					cells = append(cells, b.simulation(at(data, g, v)))
				}
			}
		}
	}
	return cells, func() bench.Section { return b.showScaling(datasets, list, at) }, nil
}

func (b *Bench) showScaling(datasets []string, list []group, at func(string, group, variant) setting) bench.Section {
	s := bench.Section{Title: "Scaling: devices added one at a time", Text: []string{
		"GCN, 3 layers, hidden 256. Parts are fitted to the devices, lossless. exact: every halo row in every epoch; +JACA: rows at most " + boundedStaleness + " epochs old; +pipeline: used from the next epoch on. The group's last device is the one that it adds.", waysText, simulatedText}}
	table := bench.Table{Title: "Time of an epoch", Columns: []string{"data set", "group", "last device"}}
	why := bench.Table{Title: "Where the time goes", Columns: []string{"data set", "system", "group", "epoch ms", "computing ms", "transfers ms", "open ms", "MiB / epoch", "longest work / mean"}}
	best := bench.Table{Title: "Best groups", Columns: []string{"data set", "system", "falls up to", "best", "epoch ms", "of x1", "why not more"}}
	for _, v := range scalingVariants {
		table.Columns = append(table.Columns, v.name+" ms", "of x1")
	}
	var f bench.Figure
	f.Title = "Time of an epoch by number of devices"
	for _, data := range datasets {
		one := b.line(b.simulation(at(data, list[0], scalingVariants[0])).id)
		lines := make([][]*bench.Line, len(scalingVariants))
		panel := bench.Panel{Title: shortDataset(data), X: "devices", Y: "epoch, ms", FromZero: true, Counts: true}
		for i, v := range scalingVariants {
			series := bench.Series{Name: v.name}
			for _, g := range list {
				l := b.line(b.simulation(at(data, g, v)).id)
				if l == nil {
					l = one
				}
				lines[i] = append(lines[i], l)
				specs, _ := devices.Parse(g.devices)
				series.X, series.Y = append(series.X, float64(len(specs))), append(series.Y, 1e3*epochOf(l))
				why.Add(shortDataset(data), v.name, g.name, milliseconds(l, "epoch_s"), milliseconds(l, "compute_s"), milliseconds(l, "communication_s"), milliseconds(l, "exposed_s"), mebibytes(l, "bytes"), spreadOf(l))
			}
			panel.Series = append(panel.Series, series)
			best.Add(append([]string{shortDataset(data), v.name}, bestGroup(lines[i], list)...)...)
		}
		for n, g := range list {
			specs, _ := devices.Parse(g.devices)
			row := []string{shortDataset(data), g.name, devices.InWords(specs[len(specs)-1].String())}
			for i := range scalingVariants {
				row = append(row, milliseconds(lines[i][n], "epoch_s"), ratio(one.Value("epoch_s"), lines[i][n].Value("epoch_s")))
			}
			table.Add(row...)
		}
		f.Panels = append(f.Panels, panel)
	}
	s.Tables, s.Figures = []bench.Table{table, best, why}, []bench.Figure{f}
	return s
}

// epochOf returns the time of an epoch; NaN where the parts do not fit the devices.
func epochOf(l *bench.Line) float64 {
	if !l.Has("epoch_s") {
		return math.NaN()
	}
	return l.Value("epoch_s")
}

// spreadOf returns the longest work of a device over the mean; where the parts do not fit, that.
func spreadOf(l *bench.Line) string {
	if !l.Has("spread") {
		return "does not fit"
	}
	return fmt.Sprintf("%.3f", l.Value("spread"))
}

// bestGroup says up to which group the time falls, which one is best, and what the next ones have more of.
func bestGroup(lines []*bench.Line, list []group) []string {
	falls := 0
	for falls+1 < len(lines) && epochOf(lines[falls+1]) < epochOf(lines[falls]) {
		falls++
	}
	least := 0
	for i, l := range lines {
		if epochOf(l) < epochOf(lines[least]) {
			least = i
		}
	}
	var reasons []string
	if falls+1 < len(lines) {
		was, is := lines[falls], lines[falls+1]
		for _, q := range [][2]string{{"compute_s", "computing"}, {"exposed_s", "open transfers"}} {
			reasons = append(reasons, fmt.Sprintf("%s %+.2f ms", q[1], 1e3*(is.Value(q[0])-was.Value(q[0]))))
		}
		reasons[0] = list[falls+1].name + ": " + reasons[0]
	}
	best := lines[least]
	return []string{list[falls].name, list[least].name, milliseconds(best, "epoch_s"), ratio(lines[0].Value("epoch_s"), best.Value("epoch_s")), strings.Join(slices.Clip(reasons), ", ")}
}
