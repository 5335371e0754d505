package report

import (
	"fmt"
	"math"
	"slices"

	"capgnn/internal/runfile"
)

// phases are the phases of device time in the order in which they are stacked.
var phases = []kind{
	{"aggregation", "aggregation", 0}, {"mm", "dense products", 2}, {"communication_transfer", "transfer", 1},
	{"communication_wait", "waiting", 4}, {"check_cache", "checking the cache", 6}, {"pick_cache", "packing rows", 3},
	{"reduce", "reduction and update", 5}, {"other", "other", 7},
}

// routes are the ways that bytes take.
var routes = []kind{
	{"d2h", "device to host", 0}, {"h2d", "host to device", 1}, {"peer", "device to device", 2}, {"host", "host to host", 3},
}

// lookups are the outcomes of looking a row up.
var lookups = []kind{{"local_hits", "in device memory", 2}, {"global_hits", "in host memory", 0}, {"misses", "missed", 4}}

func phaseTimes(p *runfile.Phases) map[string]float64 {
	return map[string]float64{"aggregation": p.Aggregation, "mm": p.MM, "communication_transfer": p.Transfer,
		"communication_wait": p.Wait, "check_cache": p.Check, "pick_cache": p.Pick, "reduce": p.Reduce, "other": p.Other}
}

func byteCounts(b *runfile.Bytes) map[string]float64 {
	return map[string]float64{"d2h": float64(b.D2H), "h2d": float64(b.H2D), "peer": float64(b.Peer),
		"host": float64(b.Host), "rows": float64(b.Rows), "ids": float64(b.IDs),
		"gradients": float64(b.Gradients), "carried": float64(b.Carried)}
}

// series returns a number of every epoch.
func (r *Run) series(name string, of func(*Epoch) float64) points {
	p := points{Name: name}
	for i := range r.Epochs {
		p.add(float64(r.Epochs[i].Epoch), of(&r.Epochs[i]))
	}
	return p
}

// keyed returns a curve for each kind of which some epoch has a number that is not 0, with its colour.
func (r *Run) keyed(kinds []kind, of func(*Epoch) map[string]float64) (series []points, colours []int) {
	for _, k := range kinds {
		p := r.series(k.name, func(e *Epoch) float64 {
			if x, ok := of(e)[k.key]; ok {
				return x
			}
			return math.NaN()
		})
		if slices.ContainsFunc(p.Y, func(y float64) bool { return y != 0 }) {
			series, colours = append(series, p), append(colours, k.colour)
		}
	}
	return series, colours
}

// overEpochs is a drawing whose x is the epoch.
func overEpochs(id, title string, q quantity) drawing {
	return drawing{id: id, title: title, xName: "epoch", xKind: count, kind: q}
}

func (r *Run) lossChart() *chart {
	d := overEpochs("loss", "Loss", plain)
	d.log, d.zero, d.smooth = true, true, true
	d.colours, d.note = []int{0, 1}, "training: before each epoch's update"
	if r.sampled() {
		d.note = "training: mean over the epoch's roots, each before the update of its step"
	}
	validation := r.series("validation", func(e *Epoch) float64 { return or(some(e.Scores).ValLoss) })
	if len(validation.X) > 0 {
		d.note += "; validation: after it, without dropout"
	}
	return d.draw(r.series("training", func(e *Epoch) float64 { return float64(e.Loss) }), validation)
}

func (r *Run) scoreChart() *chart {
	d := overEpochs("score", "Scores: "+r.metric(), score)
	d.smooth = true
	series := []points{
		r.series("training", func(e *Epoch) float64 { return or(some(e.Scores).Train) }),
		r.series("validation", func(e *Epoch) float64 { return or(some(e.Scores).Val) }),
		r.series("test", func(e *Epoch) float64 { return or(some(e.Scores).Test) }),
	}
	d.colours = []int{7, 1, 0}
	c := d.draw(series...)
	if c == nil || c.Flat || r.Result == nil || r.Result.BestEpoch == nil {
		return c
	}
	best := float64(*r.Result.BestEpoch)
	for i, p := range series {
		if k := slices.Index(p.X, best); k >= 0 && i > 0 {
			c.Marks = append(c.Marks, mark{c.X.Place(best), c.Y.Place(p.Y[k]), d.colours[i],
				fmt.Sprintf("%s %s at epoch %d, the best in validation", p.Name, written(score, p.Y[k]), *r.Result.BestEpoch)})
		}
	}
	if c.Marks != nil {
		c.Note = fmt.Sprintf("dots: epoch %d, the best in validation", *r.Result.BestEpoch)
	}
	return c
}

func (r *Run) rateChart() *chart {
	p := r.series("rate", func(e *Epoch) float64 { return or(e.LR) })
	if len(p.X) == 0 {
		return nil
	}
	d := overEpochs("learning-rate", "Learning rate", plain)
	d.zero = true
	if c := d.draw(p); !c.Flat {
		return c
	}
	return nil // the settings say it
}

func (r *Run) normChart() *chart {
	p := r.series("norm", func(e *Epoch) float64 { return or(e.GradNorm) })
	if len(p.X) == 0 {
		return nil
	}
	d := overEpochs("gradient-norm", "Norm of the gradient", plain)
	d.zero, d.log, d.note = true, true, "before it was clipped, mean over the steps of an epoch"
	return d.draw(p)
}

func (r *Run) epochTimeChart() *chart {
	d := overEpochs("epoch-time", "Time of an epoch", seconds)
	d.zero, d.smooth, d.note = true, true, "without evaluation"
	if r.Result != nil && r.Result.Simulated {
		d.note += "; on the clock of the simulated devices"
	}
	return d.draw(r.series("epoch", func(e *Epoch) float64 { return e.EpochS }))
}

func (r *Run) phaseChart() *chart {
	series, colours := r.keyed(phases, func(e *Epoch) map[string]float64 { return phaseTimes(&e.DeviceS) })
	d := overEpochs("phases", "Device time by phase", seconds)
	d.stacked, d.colours, d.note = true, colours, "summed over the devices"
	return d.draw(series...)
}

// phaseBars draws the mean time of an epoch on each device by phase.
func (r *Run) phaseBars() *bars {
	n := 0
	for i := range r.Epochs {
		n = max(n, len(r.Epochs[i].PartS))
	}
	labels, rows := []string{"device"}, []map[string]float64{{}}
	times := func(e *Epoch) []runfile.Phases { return []runfile.Phases{e.DeviceS} }
	if n > 0 {
		times = func(e *Epoch) []runfile.Phases { return e.PartS }
		labels, rows = nil, nil
		for p := range n {
			labels, rows = append(labels, r.deviceOf(p)), append(rows, map[string]float64{})
		}
	} else if r.Result != nil && r.Result.Parts > 1 {
		labels = []string{fmt.Sprintf("%d parts together", r.Result.Parts)}
	} else if r.Result != nil && len(r.Result.Devices) == 1 {
		labels = r.Result.Devices
	}
	counted := 0
	for i := range r.Epochs {
		parts := times(&r.Epochs[i])
		if len(parts) != len(rows) {
			continue
		}
		counted++
		for p, part := range parts {
			for key, x := range phaseTimes(&part) {
				rows[p][key] += x
			}
		}
	}
	for _, row := range rows {
		for key := range row {
			row[key] /= float64(counted)
		}
	}
	return barsOf(bars{ID: "phase-bars", Title: "Mean time of an epoch by device and phase",
		Note: "Copies run beside the rest, so the pieces of a bar may be more than the epoch."}, seconds, phases, labels, rows)
}

func (r *Run) bytesChart() *chart {
	series, colours := r.keyed(routes, func(e *Epoch) map[string]float64 { return byteCounts(&e.Bytes) })
	d := overEpochs("bytes", "Bytes moved by route", amount)
	d.stacked, d.colours, d.note = true, colours, "as the copy routines counted them, gradients and weights included"
	return d.draw(series...)
}

func (r *Run) gradientsChart() *chart {
	d := overEpochs("gradients", "Bytes of gradients and weights", amount)
	d.zero, d.note = true, "part of the bytes moved"
	p := r.series("gradients", func(e *Epoch) float64 { return float64(e.Bytes.Gradients) })
	if r.sampled() || !slices.ContainsFunc(p.Y, func(y float64) bool { return y != 0 }) { // of sampled training they stand beside rows
		return nil
	}
	return d.draw(p)
}

func (r *Run) refreshChart() *chart {
	d := overEpochs("refresh", "Bytes that refreshed caches", amount)
	d.zero, d.note = true, "of all bytes of halo rows, also of those that stay on one device"
	p := r.series("refresh", func(e *Epoch) float64 { return float64(e.Bytes.Refresh) })
	if !slices.ContainsFunc(p.Y, func(y float64) bool { return y != 0 }) {
		return nil
	}
	return d.draw(p)
}

// caches reports whether caches did anything: without them every lookup is a miss, which need not be drawn.
func (r *Run) caches() bool {
	return slices.ContainsFunc(r.Epochs, func(e Epoch) bool {
		return e.HaloUse != nil && (e.Cache.Coverage > 0 || e.Cache.LocalHits > 0 || e.Cache.GlobalHits > 0)
	})
}

// stale reports whether rows of earlier epochs were or might have been used.
func (r *Run) stale() bool {
	return slices.ContainsFunc(r.Epochs, func(e Epoch) bool {
		s := some(e.HaloUse).Staleness
		return s.Bound > 0 || s.MaxSeen > 0
	})
}

func (r *Run) lookupChart() *chart {
	if !r.caches() {
		return nil
	}
	series, colours := r.keyed(lookups, func(e *Epoch) map[string]float64 {
		if e.HaloUse == nil {
			return nil
		}
		c := &e.Cache
		return map[string]float64{"local_hits": float64(c.LocalHits), "global_hits": float64(c.GlobalHits), "misses": float64(c.Misses)}
	})
	d := overEpochs("lookups", "Where rows were found", count)
	d.stacked, d.colours = true, colours
	return d.draw(series...)
}

func (r *Run) coverageChart() *chart {
	if !r.caches() {
		return nil
	}
	hits := func(host int64) func(*Epoch) float64 { // NaN without lookups
		return ofHalo(func(h *runfile.HaloUse) float64 {
			c := &h.Cache
			return float64(c.LocalHits+host*c.GlobalHits) / float64(c.LocalHits+c.GlobalHits+c.Misses)
		})
	}
	d := overEpochs("coverage", "Coverage and hits", share)
	d.zero, d.note = true, "coverage: lookups whose row has a slot; hits: those that the owner did not have to send"
	series := []points{r.series("coverage", ofHalo(coverageOf)), r.series("hits", hits(1))}
	if slices.ContainsFunc(r.Epochs, func(e Epoch) bool { return some(e.HaloUse).Cache.GlobalHits > 0 }) {
		series = append(series, r.series("hits in device memory", hits(0)))
	}
	return d.draw(series...)
}

func (r *Run) stalenessChart() *chart {
	if !r.stale() {
		return nil
	}
	d := overEpochs("staleness", "Age of the rows that were used", plain)
	d.zero, d.note = true, "in epochs"
	d.colours = []int{7, 1, 0}
	return d.draw(r.series("bound", ofHalo(func(h *runfile.HaloUse) float64 { return float64(h.Staleness.Bound) })),
		r.series("oldest", ofHalo(func(h *runfile.HaloUse) float64 { return float64(h.Staleness.MaxSeen) })),
		r.series("mean", ofHalo(func(h *runfile.HaloUse) float64 { return h.Staleness.Mean })))
}
