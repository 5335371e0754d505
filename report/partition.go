package report

import (
	"fmt"
	"slices"

	"capgnn/internal/number"
)

// maxPartBars bounds the parts that are drawn one by one.
const maxPartBars = 64

// partSection draws the partition.
func (r *Run) partSection() (section, bool) {
	p := r.Partition
	if p == nil || len(p.Parts) == 0 {
		return section{}, false
	}
	shown := p.Parts[:min(len(p.Parts), maxPartBars)]
	text := fmt.Sprintf("%s pairs of neighbours lie in different parts.", written(count, float64(p.EdgeCut)))
	if p.Moved > 0 {
		text += fmt.Sprintf(" %s changed parts so that the devices work equally long (%s).", number.Counted(int(p.Moved), "vertex"), p.Stop)
	}
	if p.Pruned > 0 {
		text += fmt.Sprintf(" %s in-edges are left out of training.", written(count, float64(p.Pruned)))
	}
	if len(shown) < len(p.Parts) {
		text += fmt.Sprintf(" The first %d of %d parts are drawn.", len(shown), len(p.Parts))
	}
	var labels []string
	var vertices, edges, training []map[string]float64
	for i, part := range shown {
		label := fmt.Sprintf("part %d", i)
		if part.Device != "" {
			label += " · " + part.Device
		}
		labels = append(labels, label)
		vertices = append(vertices, map[string]float64{"inner": float64(part.Inner), "halo": float64(part.Halo)})
		edges = append(edges, map[string]float64{"within": float64(part.Edges - part.Cut), "cut": float64(part.Cut)})
		training = append(training, map[string]float64{"train": float64(part.Train)})
	}
	return sectionOf("Parts", text,
		barsOf(bars{ID: "part-vertices", Title: "Vertices"}, count, []kind{{"inner", "inner", 0}, {"halo", "halo: rows of other parts that are read", 1}}, labels, vertices),
		barsOf(bars{ID: "part-edges", Title: "In-edges"}, count, []kind{{"within", "from the same part", 2}, {"cut", "from other parts", 4}}, labels, edges),
		barsOf(bars{ID: "part-training", Title: "Training vertices"}, count, []kind{{"train", "training vertices", 6}}, labels, training),
		r.pairMatrix(), p.traceChart())
}

// traceChart draws the cost of the parts over the steps of balancing them; of many parts the largest and the mean.
func (p *Partition) traceChart() *chart {
	if len(p.Trace) < 2 {
		return nil
	}
	d := drawing{id: "trace", title: "Cost of the parts during load balancing", xName: "step", xKind: count, kind: plain, zero: true, note: "λ of Eq. 13, or seconds of an epoch"}
	switch p.Cost {
	case "s":
		d.kind, d.note = seconds, "simulated time of an epoch"
	case "λ":
		d.note = "λ of Eq. 13"
	}
	var series []points
	if len(p.Parts) <= colourCount {
		for i := range p.Parts {
			series = append(series, points{Name: fmt.Sprintf("part %d", i)})
		}
	} else {
		series = []points{{Name: "largest"}, {Name: "mean"}}
	}
	for step, costs := range p.Trace {
		if len(costs) != len(p.Parts) {
			continue
		}
		values := costs
		if len(p.Parts) > colourCount {
			sum := 0.0
			for _, x := range costs {
				sum += x
			}
			values = []float64{slices.Max(costs), sum / float64(len(costs))}
		}
		for i := range series {
			series[i].add(float64(step), values[i])
		}
	}
	return d.draw(series...)
}

// memoryBars draws the largest amount of memory of each device.
func (r *Run) memoryBars() *bars {
	if r.Result == nil {
		return nil
	}
	var labels []string
	var rows []map[string]float64
	for i, x := range r.Result.PeakBytes.Devices[:min(len(r.Result.PeakBytes.Devices), maxPartBars)] {
		label := fmt.Sprintf("device %d", i)
		if i < len(r.Result.Devices) {
			label = r.Result.Devices[i]
		}
		labels, rows = append(labels, label), append(rows, map[string]float64{"peak": float64(x)})
	}
	return barsOf(bars{ID: "memory", Title: "Largest amount of device memory"}, amount, []kind{{"peak", "in use at most", 0}}, labels, rows)
}
