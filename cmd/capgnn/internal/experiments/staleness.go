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

// stalenessPlan are the runs of the experiment: data sets, with the pipeline and without, by the bound.
type stalenessPlan struct {
	*Bench
	datasets, bounds []string
	specs            []devices.Spec
	epochs           int
}

func planStaleness(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	specs, err := b.deviceList(fours)
	if err != nil {
		return nil, nil, err
	}
	devices.ShareCores(specs, devices.Cores())
	p := &stalenessPlan{b, datasets, []string{"0", "1", "2", "4", "8", "16", "auto:0.02", "auto:0.05", "auto:0.1", "auto:0.2"}, specs, b.epochs(200, 10)}
	if b.opt.Quick {
		p.bounds = []string{"0", "4", "auto:0.1"}
	}
	var cells []cell
	p.each(func(data, bound string, pipelined bool) {
		if p.simulates() && !strings.HasPrefix(bound, "auto") {
			cells = append(cells, b.simulation(p.at(data, bound, pipelined, b.opt.Seeds[0])))
		}
		for _, seed := range b.opt.Seeds {
			cells = append(cells, b.trained(p.at(data, bound, pipelined, seed)))
		}
	})
	return cells, p.section, nil
}

func (p *stalenessPlan) simulates() bool { return p.specs[0].Simulated() }

func (p *stalenessPlan) at(data, bound string, pipelined bool, seed uint64) setting {
	return setting{Dataset: data, Devices: devices.Format(p.specs), Policy: jaca.JACA, Staleness: bound, Pipeline: pipelined, Seed: seed, Epochs: p.epochs, EvalEvery: evalEvery(p.epochs)}
}

func (p *stalenessPlan) each(f func(data, bound string, pipelined bool)) {
	for _, data := range p.datasets {
		for _, pipelined := range []bool{false, true} {
			for _, bound := range p.bounds {
				if bound != "0" || !pipelined {
					f(data, bound, pipelined)
				}
			}
		}
	}
}

func (p *stalenessPlan) lines(data, bound string, pipelined bool) []*bench.Line {
	return p.ofSeeds(func(seed uint64) setting { return p.at(data, bound, pipelined, seed) })
}

func (p *stalenessPlan) section() bench.Section {
	table := bench.Table{Columns: []string{"data set", "staleness", "pipeline", "halo MiB / epoch", "of 0", "mean age", "test %", "difference, points", "epoch ms"}}
	series := map[string]*bench.Series{} // by data set and name
	p.each(func(data, bound string, pipelined bool) {
		runs, exact := p.lines(data, bound, pipelined), p.lines(data, "0", false)
		l := runs[0]
		epoch := ""
		if sim := p.line(p.simulation(p.at(data, bound, pipelined, p.opt.Seeds[0])).id); sim != nil {
			epoch = milliseconds(sim, "epoch_s")
		} else if !p.simulates() {
			epoch = milliseconds(l, "epoch_s")
		}
		table.Add(shortDataset(data), bound, onOff(pipelined), mebibytes(l, "halo_bytes"), ratio(l.Value("halo_bytes"), exact[0].Value("halo_bytes")), fmt.Sprintf("%.2f", l.Value("mean_age")), meanOf(runs, "test"), difference(runs, exact, "test"), epoch)
		name := seriesOf(bound, pipelined)
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
	return bench.Section{Title: "Staleness: score against bytes", Tables: []bench.Table{table}, Figures: []bench.Figure{p.figure(series)}, Text: []string{
		fmt.Sprintf("GCN on %s, parts fitted, caches as large as all halo rows. auto:EPS refreshes a layer's rows so often that they drift by EPS at most, up to 16 epochs. Scores are at the best validation epoch of %d; the difference is to staleness 0 with the same seed: mean ± standard error. MiB: halo rows per epoch, mean of all behind the first. Epochs with auto are not simulated, as their periods follow from the data.", devices.InWords(devices.Format(p.specs)), p.epochs),
		simulatedText}}
}

// figure draws a panel for each data set.
func (p *stalenessPlan) figure(series map[string]*bench.Series) bench.Figure {
	f := bench.Figure{Title: "Score against bytes of halo rows"}
	for _, data := range p.datasets {
		panel := bench.Panel{Title: shortDataset(data), X: "halo rows, MiB per epoch", Y: "test, %", LogX: true, Points: false}
		for _, name := range []string{"fixed bound", "auto", "fixed bound, pipeline", "auto, pipeline"} {
			if x := series[data+name]; x != nil {
				panel.Series = append(panel.Series, *x)
			}
		}
		f.Panels = append(f.Panels, panel)
	}
	return f
}

func seriesOf(bound string, pipelined bool) string {
	name := "fixed bound"
	if strings.HasPrefix(bound, "auto") {
		name = "auto"
	}
	if pipelined {
		name += ", pipeline"
	}
	return name
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
