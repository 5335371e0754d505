package experiments

import (
	"fmt"
	"slices"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/internal/bench"
)

// heteroExperiment is Fig. 21.
func heteroExperiment() Experiment {
	return Experiment{Name: "hetero", Usage: "Fig. 21: times of epoch, communication and aggregation on two and four devices of different speed",
		full: []string{"reddit-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planHetero}
}

// heteroGroups are the pairs and fours of Fig. 21.
var heteroGroups = []group{
	{"R9 + R9", "sim:rtx3090,sim:rtx3090"}, {"T4 + R9", "sim:a40,sim:rtx3090"}, {"G6 + R9", "sim:gtx1660ti,sim:rtx3090"},
	{"2 T4 + 2 R9", "sim:a40,sim:a40,sim:rtx3090,sim:rtx3090"}, {"2 G6 + 2 R9", "sim:gtx1660ti,sim:gtx1660ti,sim:rtx3090,sim:rtx3090"},
	{"2 T4 + 2 G6", "sim:a40,sim:a40,sim:gtx1660ti,sim:gtx1660ti"},
}

func planHetero(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	list := heteroGroups
	if b.opt.Devices != "" {
		specs, err := devices.Parse(b.opt.Devices)
		if err != nil {
			return nil, nil, err
		}
		list = []group{{devices.InWords(b.opt.Devices), devices.Format(specs)}}
	}
	if err := onlySimulated(list, "hetero"); err != nil {
		return nil, nil, err
	}
	variants := []variant{{"equal parts", withEqual}, {"+RAPA", withFitted}, whole}
	at := func(data string, g group, v variant) setting {
		s := setting{Dataset: data, Devices: g.devices, Seed: b.opt.Seeds[0]}
		v.with(&s)
		return s
	}
	var cells []cell
	for _, data := range datasets {
		for _, g := range list {
			for _, v := range variants {
				cells = append(cells, b.simulation(at(data, g, v)))
			}
		}
	}
	return cells, func() bench.Section {
		s := bench.Section{Title: "Fig. 21: unequal devices", Text: []string{"GCN. R9: RTX 3090, T4: A40 (the paper's label), G6: GTX 1660Ti. equal parts: whatever the devices; +RAPA: fitted to them, lossless; +JACA: rows at most " + boundedStaleness + " epochs old; +pipeline: used from the next epoch on. Ranges are from the device that takes least to the one that takes most.", simulatedText}}
		table := bench.Table{Columns: []string{"data set", "devices", "", "epoch ms", "of equal", "communication ms", "aggregation ms", "computing ms"}}
		for _, data := range datasets {
			panels := []bench.Panel{{Title: "epoch", Y: "time, ms"}, {Title: "communication of the busiest device", Y: "time, ms"}, {Title: "aggregation of the busiest device", Y: "time, ms"}}
			for i, name := range []string{"epoch_s", "communication_s", "aggregation_s"} {
				for _, v := range variants {
					series := bench.Series{Name: v.name}
					for _, g := range list {
						series.Y = append(series.Y, 1e3*b.line(b.simulation(at(data, g, v)).id).Value(name))
					}
					panels[i].Series = append(panels[i].Series, series)
				}
				panels[i].Groups = groupNames(list)
			}
			for _, g := range list {
				equal := b.line(b.simulation(at(data, g, variants[0])).id)
				for _, v := range variants {
					l := b.line(b.simulation(at(data, g, v)).id)
					table.Add(shortDataset(data), g.name, v.name, milliseconds(l, "epoch_s"), ratio(l.Value("epoch_s"), equal.Value("epoch_s")), span(l, "transfer_s"), span(l, "aggregation_s"), span(l, "compute_s"))
				}
			}
			s.Figures = append(s.Figures, bench.Figure{Title: "Fig. 21: " + shortDataset(data), Panels: panels, Across: 1})
		}
		s.Tables = []bench.Table{table}
		return s
	}, nil
}

// span returns the least and the largest milliseconds of a line's devices.
func span(l *bench.Line, name string) string {
	x := l.Series[name]
	if len(x) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f to %.2f", 1e3*slices.Min(x), 1e3*slices.Max(x))
}
