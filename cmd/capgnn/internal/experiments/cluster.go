package experiments

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/internal/bench"
	"capgnn/jaca"
	"capgnn/pipeline/chunks"
)

// clusterExperiment is several machines, by forecasts, and two of them as CPU devices behind links.
func clusterExperiment() Experiment {
	return Experiment{Name: "cluster", Usage: "several machines, Table 9: 1 to 8 machines with four cards each at 1 to 100 Gbit/s, simulated; two CPU devices with links of 0.1 to 10 Gbit/s",
		full: []string{"amazonproducts-like:0.02", "products-like:0.02"}, quick: []string{"reddit-like:0.02"}, plan: planCluster}
}

// clusterPlan is what the experiment runs.
type clusterPlan struct {
	*Bench
	datasets []string
	machine  []devices.Spec // devices of each machine
	counts   []int          // machines
	nets     []string
	models   []string // of Table 9
	linked   linkedPlan
}

// table9 are the set-ups of the paper's Table 9, and its epochs per second on As and Os by model. Its T4 is the A40 (Table 3).
var table9 = []struct {
	name, devices, machines string
	paper                   map[string]string
}{
	{"1M-4D", fours, "", map[string]string{"gcn": "3.54, 2.49", "sage": "3.47, 2.41"}},
	{"2M-2D", nineties, "2,2", map[string]string{"gcn": "3.07, 3.50", "sage": "2.93, 3.75"}},
	{"2M-4D", fours + "," + nineties, "4,4", map[string]string{"gcn": "3.27, 3.70", "sage": "3.23, 3.55"}},
}

func planCluster(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	specs, err := b.deviceList(nineties)
	if err != nil {
		return nil, nil, err
	}
	devices.ShareCores(specs, devices.Cores())
	p := clusterPlan{b, datasets, specs, []int{1, 2, 4, 8}, []string{"1Gbit/s", "10Gbit/s", "100Gbit/s"}, []string{"gcn", "sage"}, newLinkedPlan(b, datasets, &isolatedPlan{Bench: b, datasets: datasets, epochs: b.epochs(8, 4)})}
	p.linked.parts = []int{2}
	if b.opt.Quick {
		p.counts, p.nets, p.models = p.counts[:2], p.nets[1:2], p.models[:1]
	}
	var cells []cell
	seen := map[string]bool{} // one machine is the same with every line
	add := func(c cell) {
		if key := c.id.Key(); !seen[key] {
			cells, seen[key] = append(cells, c), true
		}
	}
	p.eachOfTable9(func(data, model, net string, k int) {
		for _, way := range table9Ways {
			add(p.simulation(p.ofTable9(data, model, net, way, k)))
		}
	})
	p.each(func(data, net, way string, n int) { add(p.simulation(p.at(data, net, way, n))) })
	for _, data := range datasets {
		for _, r := range p.linked.rates {
			for _, way := range linkedWays {
				add(p.trained(p.behind(data, way, r)))
			}
		}
	}
	return cells, p.show, nil
}

// clusterWays are how rows cross between machines; table9Ways have what the paper runs on each of them, besides.
var (
	clusterWays = linkedWays
	table9Ways  = append(linkedWays[:len(linkedWays):len(linkedWays)], whole.name)
)

// eachOfTable9 calls f for every row of Table 9. One machine has no line.
func (p clusterPlan) eachOfTable9(f func(data, model, net string, k int)) {
	for _, data := range p.datasets {
		for _, model := range p.models {
			for i, net := range p.nets {
				for k, x := range table9 {
					if x.machines != "" || i == 0 {
						f(data, model, net, k)
					}
				}
			}
		}
	}
}

func (p clusterPlan) each(f func(data, net, way string, machines int)) {
	for _, data := range p.datasets {
		for _, net := range p.nets {
			for _, n := range p.counts {
				for _, way := range clusterWays {
					f(data, net, way, n)
				}
			}
		}
	}
}

// at is a run on machines that are alike.
func (p clusterPlan) at(data, net, way string, machines int) setting {
	list, parts := make([]string, machines), make([]string, machines)
	for k := range list {
		list[k], parts[k] = devices.Format(p.machine), strconv.Itoa(len(p.machine))
	}
	s := setting{Dataset: data, Devices: strings.Join(list, ","), Parts: partsEqual, Seed: p.opt.Seeds[0]}
	return s.over(strings.Join(parts, ","), net, way, machines*len(p.machine))
}

// ofTable9 is a run on a set-up of Table 9.
func (p clusterPlan) ofTable9(data, model, net, way string, k int) setting {
	s := setting{Dataset: data, Devices: table9[k].devices, Model: model, Seed: p.opt.Seeds[0]}
	return s.over(table9[k].machines, net, way, strings.Count(s.Devices, ",")+1)
}

// over is a run on machines, between which rows cross in a way; one machine has no net.
func (s setting) over(machines, net, way string, parts int) setting {
	if strings.Contains(machines, ",") {
		s.More = "machines=" + machines + ",net=" + net
	}
	switch way {
	case "exact":
	case whole.name:
		whole.with(&s)
	case "isolated":
		s.More = strings.TrimSpace(isolatedOption(parts, chunks.None) + " " + s.More)
	default:
		s.Policy, s.Comm, s.Pipeline = jaca.JACA, way, true
	}
	return s
}

// behind is a run of two CPU devices behind links.
func (p clusterPlan) behind(data, way string, r linkRate) setting {
	s := p.linked.way(data, way, 2, r.link)
	s.Epochs = p.linked.epochs * linkEpochs[way]
	return s
}

func (p clusterPlan) show() bench.Section {
	return bench.Section{Title: "Several machines", Tables: []bench.Table{p.scalingTable(), p.table9Table(), p.linkTable()}, Figures: []bench.Figure{p.figure()}, Text: []string{
		"3 layers, hidden 256; GCN, where no model is named. Machines are cut first; each has a network interface that its devices share, of the rate named, with a latency of 75 µs. exact: every row of other parts in every epoch, as stored; encoded: as int8; stale: as int8, and at most 8 epochs old; isolated: none of them, only gradients and weights cross. " +
			"of one: the fastest way on one machine over this one. " + simulatedText}}
}

// figure is epochs over machines, a panel for each data set and line.
func (p clusterPlan) figure() bench.Figure {
	f := bench.Figure{Title: "Epochs over machines"}
	for _, data := range p.datasets {
		for _, net := range p.nets {
			panel := bench.Panel{Title: shortDataset(data) + ", " + net, X: "machines", Y: "ms of an epoch", LogX: true, LogY: true}
			for _, way := range clusterWays {
				series := bench.Series{Name: way}
				for _, n := range p.counts {
					series.X, series.Y = append(series.X, float64(n)), append(series.Y, 1e3*epochOf(p.line(p.simulation(p.at(data, net, way, n)).id)))
				}
				panel.Series = append(panel.Series, series)
			}
			f.Panels = append(f.Panels, panel)
		}
	}
	return f
}

func (p clusterPlan) scalingTable() bench.Table {
	t := bench.Table{Title: "Machines of " + devices.InWords(devices.Format(p.machine)), Columns: []string{"data set", "line", "machines"}}
	for _, way := range clusterWays {
		t.Columns = append(t.Columns, way+" ms", "of one")
	}
	t.Columns = append(t.Columns, "advice")
	for _, data := range p.datasets {
		for _, net := range p.nets {
			least := p.fastest(clusterWays, func(way string) setting { return p.at(data, net, way, 1) })
			for _, n := range p.counts {
				row := []string{shortDataset(data), net, strconv.Itoa(n)}
				for _, way := range clusterWays {
					l := p.line(p.simulation(p.at(data, net, way, n)).id)
					row = append(row, milliseconds(l, "epoch_s"), ratio(least, l.Value("epoch_s")))
				}
				here := p.fastest(clusterWays, func(way string) setting { return p.at(data, net, way, n) })
				t.Add(append(row, advice(here, least, n))...)
			}
		}
	}
	return t
}

// fastest returns the seconds of the fastest way that exchanges rows.
func (p clusterPlan) fastest(ways []string, at func(way string) setting) float64 {
	least := math.Inf(1)
	for _, way := range ways {
		if way != "isolated" {
			least = min(least, epochOf(p.line(p.simulation(at(way)).id)))
		}
	}
	return least
}

// advice says what plan would of machines with such an epoch, beside one.
func advice(epoch, one float64, machines int) string {
	switch {
	case machines == 1:
		return ""
	case epoch < one:
		return "pays"
	}
	return "stay on one"
}

func (p clusterPlan) table9Table() bench.Table {
	t := bench.Table{Title: "Table 9: epochs per second", Columns: append(append([]string{"data set", "model", "set-up", "line"}, table9Ways...), "advice", "paper: As, Os"),
		Note: "1M-4D: 2 RTX 3090 + 2 A40 (the paper's T4); 2M-2D: twice 2 RTX 3090; 2M-4D: both A40 and two more RTX 3090 besides. The paper runs JACA, RAPA and the pipeline on each machine, and machines exchange gradients alone: edges between them are dropped (its code). " +
			"Here " + whole.name + " keeps them all, and isolated drops those between all devices. Graphs are stand-ins, so compare rows, not with the paper."}
	p.eachOfTable9(func(data, model, net string, k int) {
		x, row := table9[k], []string{shortDataset(data), model, table9[k].name, net}
		if x.machines == "" {
			row[3] = "–"
		}
		for _, way := range table9Ways {
			row = append(row, fmt.Sprintf("%.1f", 1/epochOf(p.line(p.simulation(p.ofTable9(data, model, net, way, k)).id))))
		}
		fastest := func(net string, k int) float64 {
			return p.fastest(table9Ways, func(way string) setting { return p.ofTable9(data, model, net, way, k) })
		}
		t.Add(append(row, advice(fastest(net, k), fastest(p.nets[0], 0), 1+strings.Count(x.machines, ",")), x.paper[model])...)
	})
	return t
}

func (p clusterPlan) linkTable() bench.Table {
	t := bench.Table{Title: "Two CPU devices behind links, measured", Columns: []string{"data set", "link"}, Note: "In one process, so that it runs anywhere; all devices share this machine's cores."}
	for _, way := range linkedWays {
		t.Columns = append(t.Columns, way+" ms", "of exact")
	}
	for _, data := range p.datasets {
		for _, r := range p.linked.rates {
			row, exact := []string{shortDataset(data), r.name}, p.line(p.trained(p.behind(data, "exact", r)).id).Value("epoch_s")
			for _, way := range linkedWays {
				l := p.line(p.trained(p.behind(data, way, r)).id)
				row = append(row, milliseconds(l, "epoch_s"), ratio(l.Value("epoch_s"), exact))
			}
			t.Add(row...)
		}
	}
	return t
}
