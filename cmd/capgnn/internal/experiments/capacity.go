package experiments

import (
	"fmt"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/bench"
	"capgnn/jaca"
)

// epochCapacityExperiment is Fig. 16 to 18.
func epochCapacityExperiment() Experiment {
	return Experiment{Name: "epoch-capacity", Usage: "Fig. 16-18: epoch time against cache sizes (both, or only one changes), 2 to 4 parts",
		full: []string{"reddit-like:0.1", "products-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planEpochCapacity}
}

// sweep varies the sizes of caches.
type sweep struct {
	name          string
	local, global func(share float64) string
	policies      []jaca.Policy
}

// both are caches of one size, which Fig. 16 has under three policies.
var both = sweep{"both", percentSize, percentSize, []jaca.Policy{jaca.JACA, jaca.FIFO, jaca.LRU}}

// capacityPlan is what the experiment runs.
type capacityPlan struct {
	*Bench
	datasets, models []string
	list             []group
	sweeps           []sweep
	shares           []float64 // percent; 0 is the paper's first column, the run without caches
}

func planEpochCapacity(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	list, err := b.firstOf(nineties, "%d parts", 2, 4)
	if err != nil {
		return nil, nil, err
	}
	if err := onlySimulated(list, "epoch-capacity"); err != nil {
		return nil, nil, err
	}
	all := func(float64) string { return percentSize(100) }
	alone := both.policies[:1]
	sweeps := []sweep{both, {"global, local at 100 %", all, percentSize, alone}, {"local, global at 100 %", percentSize, all, alone}}
	p := capacityPlan{b, datasets, []string{"gcn", "sage"}, list, sweeps, []float64{0, 5, 10, 20, 40, 60, 80, 100}}
	if b.opt.Quick {
		p.models, p.shares = p.models[:1], []float64{0, 20, 100}
	}
	var cells []cell
	seen := map[string]bool{}
	p.each(func(data, model string, w sweep, g group) {
		for _, policy := range w.policies {
			for _, share := range p.shares {
				c, ok := p.cell(p.at(data, model, g, w, policy, share), policy)
				if ok && !seen[c.id.Key()] {
					seen[c.id.Key()] = true
					cells = append(cells, c)
				}
			}
		}
	})
	return cells, p.show, nil
}

func (p capacityPlan) at(data, model string, g group, w sweep, policy jaca.Policy, share float64) setting {
	s := setting{Dataset: data, Model: model, Devices: g.devices, Parts: partsEqual, Seed: p.opt.Seeds[0]}
	if share > 0 {
		s.Policy, s.Staleness, s.Local, s.Global = policy, boundedStaleness, w.local(share), w.global(share)
	}
	return s
}

// cell returns that of a setting: policies other than jaca are replayed, and have none without caches.
func (p capacityPlan) cell(s setting, policy jaca.Policy) (cell, bool) {
	if policy == jaca.JACA {
		return p.simulation(s), true
	}
	return p.replayed(s), s.Policy != ""
}

// each calls f for every panel.
func (p capacityPlan) each(f func(data, model string, w sweep, g group)) {
	for _, data := range p.datasets {
		for _, model := range p.models {
			for _, w := range p.sweeps {
				for _, g := range p.list {
					f(data, model, w, g)
				}
			}
		}
	}
}

func (p capacityPlan) show() bench.Section {
	s := bench.Section{Title: "Fig. 16-18: time of an epoch by size of the caches", Text: []string{"On the first of " + devices.InWords(p.list[len(p.list)-1].devices) + "; rows at most " + boundedStaleness + " epochs old, no pipeline, equal parts. Sizes are shares of the rows that a cache could hold; 0 is the run without caches, whose rows are fresh. communication: transfers of the busiest device; picking: putting rows together for it. fifo and lru are replayed: halo rows alone, as transfers of a card in the mean.", simulatedText}}
	table := bench.Table{Columns: []string{"data set", "model", "devices", "varied", "policy", "size", "epoch ms", "communication ms", "open ms", "picking ms", "aggregation ms", "MiB / epoch"}}
	names := [][2]string{{"epoch_s", "epoch"}, {"communication_s", "communication"}, {"exposed_s", "open"}, {"aggregation_s", "aggregation"}, {"pick_s", "picking"}}
	moved := map[bool]string{true: "bytes", false: "halo_bytes"}
	p.each(func(data, model string, w sweep, g group) {
		title := shortDataset(data) + ", " + model
		if n := len(s.Figures); n == 0 || s.Figures[n-1].Title != "Fig. 16-18: "+title {
			s.Figures = append(s.Figures, bench.Figure{Title: "Fig. 16: by policy, " + title, Across: len(p.list)}, bench.Figure{Title: "Fig. 16-18: " + title, Across: len(p.list)})
		}
		series := make([]bench.Series, len(names))
		var byPolicy []bench.Series
		for _, policy := range w.policies {
			of := [2]bench.Series{{Name: string(policy) + ", epoch"}, {Name: string(policy) + ", communication"}}
			for _, share := range p.shares {
				c, ok := p.cell(p.at(data, model, g, w, policy, share), policy)
				if !ok {
					continue
				}
				l := p.line(c.id)
				for i, n := range names {
					if y := 1e3 * l.Value(n[0]); policy == jaca.JACA {
						series[i].Name, series[i].X, series[i].Y = n[1], p.shares, append(series[i].Y, y)
					}
				}
				for i := range of {
					of[i].X, of[i].Y = append(of[i].X, share), append(of[i].Y, 1e3*l.Value(names[i][0]))
				}
				table.Add(shortDataset(data), model, g.name, w.name, string(policy), percentSize(share), milliseconds(l, "epoch_s"), milliseconds(l, "communication_s"), milliseconds(l, "exposed_s"), milliseconds(l, "pick_s"), milliseconds(l, "aggregation_s"), mebibytes(l, moved[policy == jaca.JACA]))
			}
			if policy == jaca.JACA {
				byPolicy = append(byPolicy, of[0])
			}
			byPolicy = append(byPolicy, of[1])
		}
		draw := func(f *bench.Figure, name string, series []bench.Series) {
			f.Panels = append(f.Panels, bench.Panel{Title: name, X: "size of the cache, % of the rows", Y: "epoch, ms", FromZero: true, Series: series})
		}
		n := len(s.Figures)
		draw(&s.Figures[n-1], g.name+", "+w.name, series)
		if len(w.policies) > 1 {
			draw(&s.Figures[n-2], g.name, byPolicy)
		}
	})
	s.Tables = []bench.Table{table}
	return s
}

// onlySimulated refuses real devices for an experiment that simulates.
func onlySimulated(list []group, name string) error {
	for _, g := range list {
		if !strings.HasPrefix(g.devices, "sim:") {
			return term.Usagef("bench %s simulates: give simulated --devices (sim:rtx3090), or none", name)
		}
	}
	return nil
}

// overheadExperiment is Fig. 19.
func overheadExperiment() Experiment {
	return Experiment{Name: "overhead", Usage: "Fig. 19: costs and savings of the caches against their sizes, on CPU devices with emulated links",
		full: []string{"coauthor_physics", "reddit-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planOverhead}
}

func planOverhead(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	lists := []string{"cpu:0,threads=1,link=1GiB/s,cpu:1,threads=1,link=1GiB/s", "cpu:0,threads=1,link=8GiB/s,cpu:1,threads=1,link=8GiB/s"}
	if b.opt.Devices != "" {
		specs, err := devices.Parse(b.opt.Devices)
		if err != nil {
			return nil, nil, err
		}
		if specs[0].Simulated() {
			return nil, nil, term.Usagef("bench overhead measures: give real --devices, or none")
		}
		devices.ShareCores(specs, devices.Cores())
		lists = []string{devices.Format(specs)}
	}
	shares := []float64{5, 20, 40, 60, 80, 100}
	if b.opt.Quick {
		shares = []float64{20, 100}
	}
	epochs := b.epochs(30, 8)
	base := func(data, devices string) setting {
		return setting{Dataset: data, Devices: devices, Parts: partsEqual, Seed: b.opt.Seeds[0], Epochs: epochs}
	}
	at := func(data, devices string, share float64) setting {
		s := base(data, devices)
		s.Policy, s.Staleness, s.Local, s.Global = jaca.JACA, boundedStaleness, percentSize(share), percentSize(share)
		return s
	}
	var cells []cell
	for _, data := range datasets {
		for _, devices := range lists {
			cells = append(cells, b.trained(base(data, devices)))
			for _, share := range shares {
				cells = append(cells, b.trained(at(data, devices, share)))
			}
		}
	}
	return cells, func() bench.Section {
		s := bench.Section{Title: "Fig. 19: what the caches cost and bring", Text: []string{fmt.Sprintf("Measured: GCN on CPU devices, medians of %d epochs, rows at most %s epochs old, no pipeline. check: looking up schedules and versions, and pick: putting rows together, means over the devices. overhead is (check + pick) / epoch, as in the paper; the run without caches picks rows as well, so added is what they cost beyond it. benefit is (epoch without − epoch with) / (check + pick), with a question mark where it may be noise: the middle halves of both runs' epochs overlap.", epochs, boundedStaleness), timesText("cpu")}}
		table := bench.Table{Columns: []string{"data set", "devices", "size", "epoch ms", "without ms", "check µs", "pick ms", "overhead %", "added %", "benefit"}}
		over, benefit := bench.Panel{Title: "overhead", X: "size of both caches, % of the rows", Y: "overhead, % of the epoch", FromZero: true}, bench.Panel{Title: "benefit over overhead", X: "size of both caches, % of the rows", Y: "benefit / overhead, times"}
		for _, data := range datasets {
			for _, deviceList := range lists {
				without := b.line(b.trained(base(data, deviceList)).id)
				name := shortDataset(data) + ", " + devices.InWords(deviceList)
				o, g := bench.Series{Name: name, X: shares}, bench.Series{Name: name, X: shares}
				for _, share := range shares {
					l := b.line(b.trained(at(data, deviceList, share)).id)
					cost, own, whole := l.Value("check_s")+l.Value("pick_s"), without.Value("check_s")+without.Value("pick_s"), l.Value("epoch_s")
					gain := (without.Value("epoch_s") - whole) / max(1e-12, cost)
					table.Add(shortDataset(data), devices.InWords(deviceList), percentSize(share), milliseconds(l, "epoch_s"), milliseconds(without, "epoch_s"), fmt.Sprintf("%.1f", 1e6*l.Value("check_s")), milliseconds(l, "pick_s"),
						percent(cost/whole), percent((cost-own)/whole), doubtful(fmt.Sprintf("%.1f", gain), l, without))
					o.Y, g.Y = append(o.Y, 100*cost/whole), append(g.Y, gain)
				}
				over.Series, benefit.Series = append(over.Series, o), append(benefit.Series, g)
			}
		}
		s.Tables, s.Figures = []bench.Table{table}, []bench.Figure{{Title: "Fig. 19", Panels: []bench.Panel{over, benefit}, Across: 2}}
		return s
	}, nil
}
