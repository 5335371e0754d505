package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// stages are what becomes of a step of sampled training, in order.
var stages = []kind{
	{"sample", "sampling", 2}, {"fetch", "fetching rows of other parts", 3}, {"stage", "putting rows in order", 1},
	{"upload", "upload", 5}, {"compute", "computing", 0}, {"wait", "waiting", 4},
}

// homes are where the rows that steps read come from.
var homes = []kind{{"local", "of the part itself", 0}, {"fetched", "of other parts", 1}}

// fetches are the bytes that go from part to part in sampled training.
var fetches = []kind{{"rows", "rows", 0}, {"ids", "what they are asked for by", 3}, {"gradients", "gradients and weights", 1}}

// sampled reports whether the run trained on samples.
func (r *Run) sampled() bool {
	return slices.ContainsFunc(r.Epochs, func(e Epoch) bool { return e.Steps > 0 })
}

// sampledSection draws what steps were made of and what they took; of full-batch runs nothing.
func (r *Run) sampledSection() (section, bool) {
	if !r.sampled() {
		return section{}, false
	}
	return sectionOf("Sampling", "", r.stageBars(), r.edgeRateChart(), r.rowsChart(), r.fetchChart(), r.slowestFacts())
}

// meanOf returns the mean over the epochs that have steps.
func (r *Run) meanOf(of func(*Epoch) float64) float64 {
	sum, n := 0.0, 0
	for i := range r.Epochs {
		if e := &r.Epochs[i]; e.Steps > 0 {
			sum, n = sum+of(e), n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// stageBars draws where the time of a mean epoch went.
func (r *Run) stageBars() *bars {
	row := map[string]float64{}
	for _, k := range stages {
		row[k.key] = r.meanOf(func(e *Epoch) float64 { return e.TimeS[k.key] })
	}
	return barsOf(bars{ID: "stages", Title: "What a mean epoch is made of", Note: "Summed over the parts. Sampling and putting rows in order run beside the rest, so the pieces may be more than the epoch."},
		seconds, stages, []string{"all steps of an epoch"}, []map[string]float64{row})
}

func (r *Run) edgeRateChart() *chart {
	d := overEpochs("edge-rate", "Edges sampled per second", count)
	d.zero, d.smooth, d.note = true, true, "over the whole epoch, without evaluation"
	return d.draw(r.series("edges per second", func(e *Epoch) float64 { return e.EdgesPerS }))
}

func (r *Run) rowsChart() *chart {
	series, colours := r.keyed(homes, func(e *Epoch, key string) float64 { return in(e.Rows, key) })
	d := overEpochs("rows", "Rows of features that steps read", count)
	d.stacked, d.colours, d.note = true, colours, "each vertex once in a step of a part"
	return d.draw(series...)
}

func (r *Run) fetchChart() *chart {
	series, colours := r.keyed(fetches, func(e *Epoch, key string) float64 { return in(e.Bytes, key) })
	d := overEpochs("fetches", "Bytes between parts", amount)
	d.stacked, d.colours = true, colours
	return d.draw(series...)
}

// slowestFacts says what a mean epoch has, and which part was the slowest how often.
func (r *Run) slowestFacts() []Fact {
	steps, edges := r.meanOf(func(e *Epoch) float64 { return float64(e.Steps) }), r.meanOf(func(e *Epoch) float64 { return float64(e.Edges) })
	facts := []Fact{{"an epoch", fmt.Sprintf("%s steps of %s roots, %s edges", written(count, steps), first(r.setting("batch-size")), written(count, edges))},
		{"fan-outs, nearest the roots first", first(r.setting("fanout"))}}
	if cpu := r.meanOf(func(e *Epoch) float64 { return e.CPUS }); cpu > 0 {
		facts = append(facts, Fact{"processor time of an epoch", written(seconds, cpu)})
	}
	often := map[int]int{}
	for i := range r.Epochs {
		if e := &r.Epochs[i]; e.Steps > 0 && len(e.PartS) > 1 {
			often[e.SlowestPart]++
		}
	}
	var parts []int
	for p := range often {
		parts = append(parts, p)
	}
	if len(parts) > 0 {
		slowest := slices.MaxFunc(parts, func(a, b int) int { return cmp.Or(often[a]-often[b], b-a) })
		facts = append(facts, Fact{"slowest", fmt.Sprintf("%s, in %d of %d epochs", r.deviceOf(slowest), often[slowest], len(r.Epochs))})
	}
	return facts
}
