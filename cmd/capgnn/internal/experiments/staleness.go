package experiments

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/stat"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/internal/bench"
	"capgnn/jaca"
)

// stalenessExperiment is ours: what old rows save and cost.
func stalenessExperiment() Experiment {
	return Experiment{Name: "staleness", Usage: "bytes, time and score over the bound on the age of halo rows, fixed and adaptive",
		full: []string{"coauthor_physics", "reddit-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planStaleness}
}

func planStaleness(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	specs, err := b.deviceList(fours)
	if err != nil {
		return nil, nil, err
	}
	devices.ShareCores(specs, devices.Cores())
	bounds := []string{"0", "1", "2", "4", "8", "16", "auto:0.02", "auto:0.05", "auto:0.1", "auto:0.2"}
	if b.opt.Quick {
		bounds = []string{"0", "4", "auto:0.1"}
	}
	epochs := b.epochs(200, 10)
	at := func(data, bound string, pipelined bool, seed uint64) setting {
		return setting{Dataset: data, Devices: devices.Format(specs), Policy: jaca.JACA, Staleness: bound, Pipeline: pipelined, Seed: seed, Epochs: epochs, EvalEvery: evalEvery(epochs)}
	}
	switches := []bool{false, true}
	var cells []cell
	each := func(f func(data, bound string, pipelined bool)) {
		for _, data := range datasets {
			for _, pipelined := range switches {
				for _, bound := range bounds {
					if bound != "0" || !pipelined {
						f(data, bound, pipelined)
					}
				}
			}
		}
	}
	each(func(data, bound string, pipelined bool) {
		if specs[0].Simulated() && !strings.HasPrefix(bound, "auto") {
			cells = append(cells, b.simulation(at(data, bound, pipelined, b.opt.Seeds[0])))
		}
		for _, seed := range b.opt.Seeds {
			cells = append(cells, b.trained(at(data, bound, pipelined, seed)))
		}
	})
	return cells, func() bench.Section {
		s := bench.Section{Title: "Staleness: score against bytes", Text: []string{
			fmt.Sprintf("GCN on %s, parts fitted, caches as large as all halo rows. auto:EPS refreshes a layer's rows so often that they drift by EPS at most, up to 16 epochs. Scores are at the best validation epoch of %d; the difference is to staleness 0 with the same seed: mean ± standard error. MiB: halo rows per epoch, mean of all behind the first. Epochs with auto are not simulated, as their periods follow from the data.", devices.InWords(devices.Format(specs)), epochs),
			simulatedText}}
		table := bench.Table{Columns: []string{"data set", "staleness", "pipeline", "halo MiB / epoch", "of 0", "mean age", "test %", "difference, points", "epoch ms"}}
		f := bench.Figure{Title: "Score against bytes of halo rows"}
		panels := map[string]*bench.Panel{}
		for _, data := range datasets {
			panels[data] = &bench.Panel{Title: shortDataset(data), X: "halo rows, MiB per epoch", Y: "test, %", LogX: true, Points: false}
		}
		series := map[string]*bench.Series{}
		each(func(data, bound string, pipelined bool) {
			var runs, exact []*bench.Line
			for _, seed := range b.opt.Seeds {
				runs, exact = append(runs, b.line(b.trained(at(data, bound, pipelined, seed)).id)), append(exact, b.line(b.trained(at(data, "0", false, seed)).id))
			}
			l := runs[0]
			epoch := ""
			if sim := b.line(b.simulation(at(data, bound, pipelined, b.opt.Seeds[0])).id); sim != nil {
				epoch = milliseconds(sim, "epoch_s")
			} else if !specs[0].Simulated() {
				epoch = milliseconds(l, "epoch_s")
			}
			table.Add(shortDataset(data), bound, onOff(pipelined), mebibytes(l, "halo_bytes"), ratio(l.Value("halo_bytes"), exact[0].Value("halo_bytes")), fmt.Sprintf("%.2f", l.Value("mean_age")), meanOf(runs, "test"), difference(runs, exact, "test"), epoch)
			name := "fixed bound"
			if strings.HasPrefix(bound, "auto") {
				name = "auto"
			}
			if pipelined {
				name += ", pipeline"
			}
			x := series[data+name]
			if x == nil {
				x = &bench.Series{Name: name}
				series[data+name] = x
			}
			var tests []float64
			for _, r := range runs {
				tests = append(tests, 100*r.Value("test"))
			}
			x.X, x.Y = append(x.X, l.Value("halo_bytes")/(1<<20)), append(x.Y, stat.Mean(tests, nil))
		})
		for _, data := range datasets {
			for _, name := range []string{"fixed bound", "auto", "fixed bound, pipeline", "auto, pipeline"} {
				if x := series[data+name]; x != nil {
					panels[data].Series = append(panels[data].Series, *x)
				}
			}
			f.Panels = append(f.Panels, *panels[data])
		}
		s.Tables, s.Figures = []bench.Table{table}, []bench.Figure{f}
		return s
	}, nil
}

func onOff(on bool) string {
	if on {
		return runfolder.SwitchOn
	}
	return runfolder.SwitchOff
}

// difference writes by how many points paired runs differ: mean ± standard error.
func difference(a, b []*bench.Line, name string) string {
	var d []float64
	for i := range a {
		if a[i].Has(name) && b[i].Has(name) {
			d = append(d, 100*(a[i].Value(name)-b[i].Value(name)))
		}
	}
	switch len(d) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%+.2f", d[0])
	}
	m, sd := stat.MeanStdDev(d, nil)
	return fmt.Sprintf("%+.2f ± %.2f", m, stat.StdErr(sd, float64(len(d))))
}
