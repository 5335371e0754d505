package report

import (
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// overlaid is a quantity that is drawn for all runs over each other.
type overlaid struct {
	drawing
	of func(*Epoch) float64
}

var (
	lossOverlay = overlaid{drawing{id: "loss", title: "Training loss", xName: "epoch", xKind: count, kind: plain, zero: true, log: true, smooth: true},
		func(e *Epoch) float64 { return float64(e.Loss) }}
	valLossOverlay = overlaid{drawing{id: "validation-loss", title: "Validation loss", xName: "epoch", xKind: count, kind: plain, zero: true, log: true, smooth: true},
		func(e *Epoch) float64 { return or(some(e.Scores).ValLoss) }}
	valOverlay = overlaid{drawing{id: "validation", title: "Validation score", xName: "epoch", xKind: count, kind: score, smooth: true},
		func(e *Epoch) float64 { return or(some(e.Scores).Val) }}
	valOverTime = overlaid{drawing{id: "validation-time", title: "Validation score over training time", xName: "training time", xKind: seconds, kind: score},
		func(e *Epoch) float64 { return or(some(e.Scores).Val) }}
	timeOverlay = overlaid{drawing{id: "epoch-time", title: "Time of an epoch", xName: "epoch", xKind: count, kind: seconds, zero: true, smooth: true,
		note: "legend: median"}, func(e *Epoch) float64 { return e.EpochS }}
	bytesOverlay = overlaid{drawing{id: "bytes", title: "Bytes moved", xName: "epoch", xKind: count, kind: amount, zero: true,
		note: "legend: median"}, moved}
	broughtOverlay  = overlaid{drawing{id: "fetched", title: "Rows fetched from other parts", xName: "epoch", xKind: count, kind: count, zero: true}, brought}
	coverageOverlay = overlaid{drawing{id: "coverage", title: "Coverage", xName: "epoch", xKind: count, kind: share, zero: true},
		ofHalo(coverageOf)}
)

// clocks returns the runs whose times are of one clock, with their colours: those that were measured, and those that were
// simulated, which no axis may hold together. Where there is one kind, it needs no name.
func clocks(runs []Run) []clock {
	all := []clock{{name: "measured"}, {name: "simulated"}}
	for i := range runs {
		c := &all[0]
		if runs[i].Result != nil && runs[i].Result.Simulated {
			c = &all[1]
		}
		c.of = append(c.of, i)
	}
	all = slices.DeleteFunc(all, func(c clock) bool { return len(c.of) == 0 })
	if len(all) == 1 {
		all[0].name = ""
	}
	return all
}

// clock is some runs, by their places among all.
type clock struct {
	name string
	of   []int
}

// on returns what is drawn of the runs of one clock: the others have no numbers, so that runs keep their colours.
func (c clock) on(runs []Run) []Run {
	some := make([]Run, len(runs))
	for _, i := range c.of {
		some[i] = runs[i]
	}
	return some
}

// named adds the clock to the identity and the title of a picture.
func (c clock) named(id, title string) (string, string) {
	if c.name == "" {
		return id, title
	}
	return id + "-" + c.name, title + ", " + c.name
}

// overTime is overlay of a quantity that has to do with time, once for each clock.
func overTime(runs []Run, names []string, o overlaid, at func(*Run) []float64) []any {
	var out []any
	for _, c := range clocks(runs) {
		some := o
		some.id, some.title = c.named(o.id, o.title)
		out = append(out, overlay(c.on(runs), names, some, at))
	}
	return out
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

// spread draws, for runs that differ in their seeds, the mean of a quantity and its sample standard deviation as a band, in the epochs in which two runs or more have it.
func spread(runs []Run, id string, o overlaid) *chart {
	values := map[int][]float64{}
	for i := range runs {
		p := runs[i].series("", o.of)
		for k, x := range p.X {
			values[int(x)] = append(values[int(x)], p.Y[k])
		}
	}
	most := 0
	for _, y := range values {
		most = max(most, len(y))
	}
	mean, deviation, fewer, left := points{Name: "mean"}, points{Name: "± standard deviation"}, false, 0
	for _, epoch := range slices.Sorted(maps.Keys(values)) {
		y := values[epoch]
		mu, sigma := stat.MeanStdDev(y, nil)
		if len(y) < 2 || !(sigma <= largest) {
			continue
		}
		mean.add(float64(epoch), mu)
		deviation.add(float64(epoch), sigma)
		fewer, left = fewer || len(y) < most, len(y)
	}
	d := o.drawing
	d.id, d.title, d.smooth = id, d.title+": mean over seeds", false
	d.note = fmt.Sprintf("band: one standard deviation of the values of %d runs", most)
	if fewer {
		d.note += ", in some epochs of fewer: others had stopped"
	}
	if left < most && len(mean.X) > 0 {
		d.note += fmt.Sprintf("; the numbers beside the names are of epoch %.0f, of the %d runs that still trained", mean.X[len(mean.X)-1], left)
	}
	return d.band(mean, deviation)
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

// phasesOfRuns draws the time of a mean epoch by phase, as a mean over the parts, for each clock.
func phasesOfRuns(runs []Run, names []string) []any {
	var out []any
	for _, c := range clocks(runs) {
		var rows []map[string]float64
		var labels []string
		for _, i := range c.of {
			rows, labels = append(rows, runs[i].meanPhases()), append(labels, names[i])
		}
		b := bars{Note: "Copies run beside the rest, so the pieces of a bar may be more than the epoch."}
		b.ID, b.Title = c.named("phase-bars", "Mean time of an epoch on a mean device, by phase")
		out = append(out, barsOf(b, seconds, phases, labels, rows))
	}
	return out
}

// meanPhases returns the time of a mean epoch by phase, as a mean over the parts.
func (r *Run) meanPhases() map[string]float64 {
	parts := 1.0
	if r.Result != nil {
		parts = max(1, float64(r.Result.Parts))
	}
	row := map[string]float64{}
	for k := range r.Epochs {
		times := phaseTimes(&r.Epochs[k].DeviceS)
		for _, phase := range phases {
			row[phase.key] += times[phase.key] / parts / float64(len(r.Epochs))
		}
	}
	return row
}
