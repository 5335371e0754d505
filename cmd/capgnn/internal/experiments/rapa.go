package experiments

import (
	"context"
	"fmt"
	"slices"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/internal/bench"
)

// rapaExperiment is Fig. 20: vertices, edges and λ of every part while the parts are balanced.
func rapaExperiment() Experiment {
	return Experiment{Name: "rapa", Usage: "Fig. 20: vertices, edges and cost of the parts during load balancing, x2 to x5",
		full: []string{"reddit-like:0.1", "products-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planRapa}
}

func planRapa(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	list, err := b.groupsOf(2, 5)
	if err != nil {
		return nil, nil, err
	}
	seed := b.opt.Seeds[0]
	modes := []string{partsPruned, partsFitted}
	id := func(data string, g group, mode string) bench.Cell {
		return setting{Dataset: data, Devices: g.devices, Parts: mode, Seed: seed}.id("trace")
	}
	var cells []cell
	for _, data := range datasets {
		for _, g := range list {
			for _, mode := range modes {
				s := setting{Dataset: data, Devices: g.devices, Parts: mode, Seed: seed}
				cells = append(cells, cell{id(data, g, mode), func(ctx context.Context) (*bench.Line, error) { return b.traceLine(ctx, s) }})
			}
		}
	}
	return cells, func() bench.Section { return b.showRapa(datasets, list, modes, id) }, nil
}

// traceLine keeps the trace of a plan: series NAME-PART by step.
func (b *Bench) traceLine(ctx context.Context, s setting) (*bench.Line, error) {
	t, err := b.prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	l := newLine()
	counted(t, l)
	p := t.Plan
	for _, it := range p.Trace {
		for i, part := range it.Parts {
			for name, x := range map[string]float64{"vertices": float64(part.Inner + part.Halo), "edges": float64(part.Edges), "cost": part.Cost} {
				key := fmt.Sprintf("%s-%d", name, i)
				l.Series[key] = append(l.Series[key], x)
			}
		}
		l.Series["sigma"] = append(l.Series["sigma"], it.Sigma)
	}
	l.Values["moved"], l.Values["plan_s"] = float64(p.Moved), p.Seconds
	l.Text["stop"] = string(p.Stop)
	return l, nil
}

func (b *Bench) showRapa(datasets []string, list []group, modes []string, id func(string, group, string) bench.Cell) bench.Section {
	s := bench.Section{Title: "Fig. 20: parts during load balancing", Text: []string{
		"pruned is the paper's RAPA: replicas of halo vertices are dropped until the costs λ (Eq. 13, α = 0.5) are even to 1 %. fitted is what train does by itself: the graph is cut anew for the simulated time of an epoch and vertices move; no edge is lost, and the cost is in seconds. σ is the deviation of the parts' costs over their mean, before and after."}}
	table := bench.Table{Columns: []string{"data set", "devices", "parts", "steps", "σ before %", "σ after %", "cut edges pruned %", "vertices moved", "ended by"}}
	for _, data := range datasets {
		for _, mode := range modes {
			f := bench.Figure{Title: fmt.Sprintf("Fig. 20: %s, %s", shortDataset(data), mode), Across: 3}
			for _, g := range list {
				l := b.line(id(data, g, mode))
				sigma := l.Series["sigma"]
				row := []string{shortDataset(data), g.name + ": " + devices.InWords(g.devices), mode, fmt.Sprint(max(0, len(sigma)-1)), "", "", percentOf(l, "lost_share"), fmt.Sprint(int64(l.Value("moved"))), l.Text["stop"]}
				if len(sigma) > 0 {
					row[4], row[5] = percent(sigma[0]), percent(sigma[len(sigma)-1])
				}
				table.Add(row...)
				f.Panels = append(f.Panels, tracePanels(l, g, mode)...)
			}
			s.Figures = append(s.Figures, f)
		}
	}
	s.Tables = []bench.Table{table}
	return s
}

// tracePanels draws vertices, edges and cost of the parts of a group.
func tracePanels(l *bench.Line, g group, mode string) []bench.Panel {
	cost, unit := "seconds of an epoch", "time, s"
	if mode == partsPruned {
		cost, unit = "λ", "cost λ"
	}
	specs, _ := devices.Parse(g.devices)
	var out []bench.Panel
	for _, q := range [][3]string{{"vertices", "vertices, halo included", "vertices"}, {"edges", "edges", "edges"}, {"cost", cost, unit}} {
		p := bench.Panel{Title: g.name + ": " + q[1], X: "step", Y: q[2], FromZero: true, Counts: true}
		for i, d := range specs {
			y := l.Series[fmt.Sprintf("%s-%d", q[0], i)]
			x := make([]float64, len(y))
			for step := range x {
				x[step] = float64(step)
			}
			p.Series = append(p.Series, bench.Series{Name: fmt.Sprintf("part %d, %s", i, devices.InWords(d.String())), X: x, Y: slices.Clone(y)})
		}
		out = append(out, p)
	}
	return out
}
