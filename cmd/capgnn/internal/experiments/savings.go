package experiments

import (
	"cmp"
	"fmt"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/bench"
)

// savingsExperiment is docs/bench/savings.md: the seven savings that change no result, one off at a time.
func savingsExperiment() Experiment {
	return Experiment{Name: "savings", Usage: "the seven savings that change no result, each switched off",
		full: []string{"coauthor_physics", "reddit-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planSavings}
}

var savingFlags = []string{"no-precompute", "no-transform-first", "no-sparse", "no-needed-rows", "no-fold-scale", "no-fuse", "no-reuse"}

func planSavings(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	specs, err := b.deviceList("cpu:0,threads=1,cpu:1,threads=1")
	if err != nil {
		return nil, nil, err
	}
	if specs[0].Simulated() {
		return nil, nil, term.Usagef("bench savings measures: give real --devices, or none")
	}
	devices.ShareCores(specs, devices.Cores())
	models, epochs := []string{"gcn", "sage"}, b.epochs(12, 4)
	if b.opt.Quick {
		models = models[:1]
	}
	all := append(append([]string{""}, savingFlags...), strings.Join(savingFlags, ","))
	at := func(data, model, off string) setting {
		return setting{Dataset: data, Model: model, Devices: devices.Format(specs), Parts: partsEqual, Off: off, Seed: b.opt.Seeds[0], Epochs: epochs}
	}
	var cells []cell
	for _, data := range datasets {
		for _, model := range models {
			for _, off := range all {
				cells = append(cells, b.trained(at(data, model, off)))
			}
		}
	}
	return cells, func() bench.Section {
		s := bench.Section{Title: "What each saving gives", Text: []string{fmt.Sprintf("Measured: median of %d epochs on %s, equal parts, every halo row in every epoch. Each line has one of the savings of the design off, the last one all. entries × width is what sparse products of the adjacency gather per epoch.", epochs, devices.InWords(devices.Format(specs)))}}
		f := bench.Figure{Title: "Time of an epoch with a saving off"}
		panel := bench.Panel{Title: "time of an epoch", Y: "time, ratio to all savings", LogY: false}
		for _, off := range all {
			panel.Groups = append(panel.Groups, savingName(off))
		}
		for _, data := range datasets {
			for _, model := range models {
				t := bench.Table{Title: shortDataset(data) + ", " + model, Columns: []string{"", "epoch ms", "of all savings", "entries × width, M", "halo MiB", "device MiB"}}
				base := b.line(b.trained(at(data, model, "")).id)
				series := bench.Series{Name: t.Title}
				for _, off := range all {
					l := b.line(b.trained(at(data, model, off)).id)
					t.Add(savingName(off), milliseconds(l, "epoch_s"), ratio(l.Value("epoch_s"), base.Value("epoch_s")), fmt.Sprintf("%.0f", l.Value("spmm_entries")/1e6), mebibytes(l, "halo_bytes"), mebibytes(l, "peak_bytes"))
					series.Y = append(series.Y, l.Value("epoch_s")/max(1e-12, base.Value("epoch_s")))
				}
				s.Tables, panel.Series = append(s.Tables, t), append(panel.Series, series)
			}
		}
		f.Panels = []bench.Panel{panel}
		s.Figures = []bench.Figure{f}
		return s
	}, nil
}

func savingName(off string) string {
	if strings.Contains(off, ",") {
		return "all off"
	}
	return cmp.Or(off, "all savings")
}
