package experiments

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/internal/bench"
	"capgnn/jaca"
)

// stalenessExperiment is ours: what encoded and old rows save and cost.
func stalenessExperiment() Experiment {
	return Experiment{Name: "staleness", Usage: "scores and bytes of halo rows: exact, encoded, stale, and with fixed bounds on the age of rows",
		full: []string{"coauthor_physics", "reddit-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planStaleness}
}

// stalenessPlan are the runs of the experiment: data sets by what is exchanged.
type stalenessPlan struct {
	*Bench
	datasets []string
	ways     []exchanged
	specs    []devices.Spec
	epochs   int
}

// exchanged is a way to exchange halo rows: one of the ways, or a bound on the age of rows that are not encoded.
type exchanged struct{ comm, staleness string }

// fixedBound is the name of the series of fixed bounds.
const fixedBound = "fixed s, fp32"

// name is what tables call it.
func (w exchanged) name() string {
	if w.comm != "" {
		return w.comm
	}
	return "s = " + w.staleness
}

// exchanges returns the ways, the exact one first, and then fixed bounds.
func exchanges(bounds ...string) []exchanged {
	var all []exchanged
	for _, name := range []string{"exact", "encoded", "stale"} {
		all = append(all, exchanged{comm: name})
	}
	for _, s := range bounds {
		all = append(all, exchanged{staleness: s})
	}
	return all
}

func planStaleness(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	specs, err := b.deviceList(fours)
	if err != nil {
		return nil, nil, err
	}
	devices.ShareCores(specs, devices.Cores())
	p := &stalenessPlan{b, datasets, exchanges("1", "2", "4", "8", "16"), specs, b.epochs(200, 20)}
	if b.opt.Quick {
		p.ways = exchanges("4")
	}
	var cells []cell
	for _, data := range datasets {
		for _, w := range p.ways {
			if p.simulates() {
				cells = append(cells, b.simulation(p.at(data, w, b.opt.Seeds[0])))
			}
			for _, seed := range b.opt.Seeds {
				cells = append(cells, b.trained(p.at(data, w, seed)))
			}
		}
	}
	return cells, p.section, nil
}

func (p *stalenessPlan) simulates() bool { return p.specs[0].Simulated() }

// at is a run with rows exchanged in a way. Fixed bounds age the layers that stale ages.
func (p *stalenessPlan) at(data string, w exchanged, seed uint64) setting {
	s := setting{Dataset: data, Devices: devices.Format(p.specs), Policy: jaca.JACA, Comm: w.comm, Staleness: w.staleness, Pipeline: true, Seed: seed, Epochs: p.epochs, EvalEvery: evalEvery(p.epochs)}
	if w.comm == "" {
		s.StaleLayers = runfolder.LayersWide
	}
	return s
}

func (p *stalenessPlan) lines(data string, w exchanged) []*bench.Line {
	return p.ofSeeds(func(seed uint64) setting { return p.at(data, w, seed) })
}

func (p *stalenessPlan) section() bench.Section {
	table := bench.Table{Columns: []string{"data set", "rows", "halo MiB / epoch", "of exact", "mean age", "test %", "difference, points", "epoch ms"}}
	figure := bench.Figure{Title: "Score against bytes of halo rows"}
	for _, data := range p.datasets {
		exact := p.lines(data, p.ways[0])
		panel := bench.Panel{Title: shortDataset(data), X: "halo rows of a run, % of exact", Y: "test, %", LogX: true}
		for _, w := range p.ways {
			runs := p.lines(data, w)
			epoch := ""
			if sim := p.line(p.simulation(p.at(data, w, p.opt.Seeds[0])).id); sim != nil {
				epoch = milliseconds(sim, "epoch_s")
			} else if !p.simulates() {
				epoch = milliseconds(runs[0], "epoch_s")
			}
			table.Add(shortDataset(data), w.name(), mebibytes(runs[0], "halo_bytes"), ratio(runs[0].Value("halo_bytes"), exact[0].Value("halo_bytes")), fmt.Sprintf("%.2f", runs[0].Value("mean_age")),
				meanOf(runs, "test"), difference(runs, exact, "test"), epoch)
			panel.Series = addPoint(panel.Series, w, runs, exact)
		}
		figure.Panels = append(figure.Panels, panel)
	}
	return bench.Section{Title: "Staleness: score against bytes", Tables: []bench.Table{table}, Figures: []bench.Figure{figure}, Text: []string{
		fmt.Sprintf("GCN on %s, parts fitted, caches as large as all halo rows, with the pipeline. encoded is --halo-dtype int8, stale also --staleness 8,layers=wide; s is --staleness with fp32 rows in the layers that stale ages. The first tenth of the %d epochs is fresh. Scores are at the best validation epoch; bars and ± are standard errors over seeds, the difference is to exact rows with the same seed. MiB: halo rows per epoch, mean of all behind the first.", devices.InWords(devices.Format(p.specs)), p.epochs),
		timesText(devices.Format(p.specs))}}
}

// addPoint adds a point to a panel: to the series of its way, or to that of fixed bounds. The spread is that of seeds that are paired with the exact runs', so that what
// seeds have in common does not hide what ways differ by.
func addPoint(all []bench.Series, w exchanged, runs, exact []*bench.Line) []bench.Series {
	name, label := w.comm, ""
	if w.comm == "" {
		name, label = fixedBound, w.staleness
	}
	i := slices.IndexFunc(all, func(s bench.Series) bool { return s.Name == name })
	if i < 0 {
		i, all = len(all), append(all, bench.Series{Name: name})
	}
	var tests, gaps []float64
	for k, r := range runs {
		if r.Has("test") && exact[k].Has("test") {
			tests, gaps = append(tests, 100*r.Value("test")), append(gaps, 100*(r.Value("test")-exact[k].Value("test")))
		}
	}
	if len(tests) == 0 || exact[0].Value("halo_bytes") == 0 {
		return all
	}
	spread := 0.0
	if len(gaps) > 1 {
		spread = stat.StdDev(gaps, nil) / math.Sqrt(float64(len(gaps)))
	}
	s := &all[i]
	s.X, s.Y = append(s.X, 100*runs[0].Value("halo_bytes")/exact[0].Value("halo_bytes")), append(s.Y, stat.Mean(tests, nil))
	s.Err, s.Labels = append(s.Err, spread), append(s.Labels, label)
	return all
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
