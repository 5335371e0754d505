package report

import (
	"math"
	"slices"
)

// overlaid is a quantity that is drawn for all runs over each other.
type overlaid struct {
	drawing
	of func(*Epoch) float64
}

var (
	lossOverlay = overlaid{drawing{id: "loss", title: "Training loss", xName: "epoch", xKind: count, kind: plain, zero: true, log: true},
		func(e *Epoch) float64 { return or(e.Loss) }}
	valOverlay = overlaid{drawing{id: "validation", title: "Validation score", xName: "epoch", xKind: count, kind: score},
		func(e *Epoch) float64 { return or(e.Val) }}
	valOverTime = overlaid{drawing{id: "validation-time", title: "Validation score over training time", xName: "training time", xKind: seconds, kind: score},
		func(e *Epoch) float64 { return or(e.Val) }}
	timeOverlay = overlaid{drawing{id: "epoch-time", title: "Time of an epoch", xName: "epoch", xKind: count, kind: seconds, zero: true,
		note: "legend: median"}, func(e *Epoch) float64 { return e.EpochS }}
	bytesOverlay = overlaid{drawing{id: "bytes", title: "Bytes moved", xName: "epoch", xKind: count, kind: amount, zero: true,
		note: "legend: median"}, (*Epoch).bytes}
	coverageOverlay = overlaid{drawing{id: "coverage", title: "Coverage", xName: "epoch", xKind: count, kind: share, zero: true},
		func(e *Epoch) float64 { return e.Cache.number("coverage") }}
)

// bytes returns what all routes moved, NaN where that is not known.
func (e *Epoch) bytes() float64 {
	if e.Bytes == nil {
		return math.NaN()
	}
	sum := 0.0
	for _, k := range routes {
		sum += e.Bytes[k.key]
	}
	return sum
}

// overlay draws one quantity of all runs; at gives the x of every epoch, nil: its number.
func overlay(runs []Run, names []string, o overlaid, at func(*Run) []float64) *chart {
	series := make([]points, len(runs))
	for i := range runs {
		series[i].Name = names[i]
		var xs []float64
		if at != nil {
			xs = at(&runs[i])
		}
		for k := range runs[i].Epochs {
			e := &runs[i].Epochs[k]
			x := float64(e.Epoch)
			if at != nil {
				x = xs[k]
			}
			series[i].add(x, o.of(e))
		}
	}
	d := o.drawing
	if d.id == "coverage" && !slices.ContainsFunc(runs, func(r Run) bool { return r.caches() }) {
		return nil
	}
	for i := range runs {
		d.colours = append(d.colours, i%(2*colourCount))
	}
	if d.note != "" {
		d.summary = func(p points) float64 { return median(p.Y) }
	}
	return d.draw(series...)
}

// secondsAt returns the training time at the end of every epoch.
func (r *Run) secondsAt() []float64 {
	sum, xs := 0.0, make([]float64, len(r.Epochs))
	for i := range r.Epochs {
		sum += r.Epochs[i].EpochS
		xs[i] = sum
	}
	return xs
}

// elapsed returns the training time of all epochs, NaN where there are none.
func (r *Run) elapsed() float64 { return points{Y: r.secondsAt()}.last() }

// phasesOfRuns draws the time of a mean epoch by phase, as a mean over the parts.
func phasesOfRuns(runs []Run, names []string) *bars {
	rows := make([]map[string]float64, len(runs))
	for i := range runs {
		rows[i] = map[string]float64{}
		parts := 1.0
		if s := runs[i].Result; s != nil {
			parts = max(1, float64(s.Parts))
		}
		for k := range runs[i].Epochs {
			for _, phase := range phases {
				rows[i][phase.key] += runs[i].Epochs[k].DeviceS[phase.key] / parts / float64(len(runs[i].Epochs))
			}
		}
	}
	return barsOf(bars{ID: "phase-bars", Title: "Mean time of an epoch on a mean device, by phase",
		Note: "Copies run beside the rest, so the pieces of a bar may be more than the epoch."}, seconds, phases, names, rows)
}
