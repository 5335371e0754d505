package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"capgnn/internal/runfile"
)

// stages are what becomes of a step of sampled training, in order.
var stages = []kind{
	{"sample", "sampling", 2}, {"decide", "deciding what is kept", 6}, {"fetch", "fetching rows of other parts", 3}, {"stage", "putting rows in order", 1},
	{"upload", "upload", 5}, {"compute", "computing", 0}, {"wait", "waiting", 4},
}

// sources are where the rows that steps read come from.
var sources = []kind{{"local", "of the part itself", 0}, {"hit", "of other parts, in its cache", 2}, {"fetched", "fetched from other parts", 1}}

// fetches are the bytes that go from part to part in sampled training.
var fetches = []kind{{"rows", "rows", 0}, {"ids", "ids of rows that are asked for", 3}, {"gradients", "gradients and weights", 1}, {"carried", "gradients that models bring along", 6}}

func stageTimes(t *runfile.StepSeconds) map[string]float64 {
	return map[string]float64{"sample": t.Sample, "decide": t.Decide, "fetch": t.Fetch, "stage": t.Stage,
		"upload": t.Upload, "compute": t.Compute, "wait": t.Wait}
}

func rowCounts(r *runfile.Rows) map[string]float64 {
	return map[string]float64{"read": float64(r.Read), "local": float64(r.Local), "hit": float64(r.Hit), "fetched": float64(r.Fetched),
		"evicted": float64(r.Evicted), "prefilled": float64(r.Prefilled)}
}

// sampled reports whether the run trained on samples.
func (r *Run) sampled() bool {
	return slices.ContainsFunc(r.Epochs, func(e Epoch) bool { return e.Work != nil })
}

// sampledSection draws what steps were made of and what they took; of full-batch runs nothing.
func (r *Run) sampledSection() (section, bool) {
	if !r.sampled() {
		return section{}, false
	}
	return sectionOf("Sampling", "", r.stageBars(), r.edgeRateChart(), r.rowsChart(), r.sourceBars(), r.fetchChart(), r.slowestFacts())
}

// meanOf returns the mean over the epochs that have steps.
func (r *Run) meanOf(of func(*Epoch) float64) float64 {
	sum, n := 0.0, 0
	for i := range r.Epochs {
		if e := &r.Epochs[i]; e.Work != nil {
			sum, n = sum+of(e), n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

// byPart returns what each part has in a mean epoch; nil where it is not known.
func (r *Run) byPart(of func(*runfile.PartWork) map[string]float64) (labels []string, rows []map[string]float64) {
	parts, counted := 0, 0.0
	for i := range r.Epochs {
		parts = max(parts, len(r.Epochs[i].PartWork))
	}
	if parts < 2 || parts > maxPartBars {
		return nil, nil
	}
	for p := range parts {
		labels, rows = append(labels, r.deviceOf(p)), append(rows, map[string]float64{})
	}
	for i := range r.Epochs {
		work := r.Epochs[i].PartWork
		if len(work) != parts {
			continue
		}
		counted++
		for p := range work {
			for key, x := range of(&work[p]) {
				rows[p][key] += x
			}
		}
	}
	for _, row := range rows {
		for key := range row {
			row[key] /= counted
		}
	}
	return labels, rows
}

// stageBars draws where the time of a mean epoch went.
func (r *Run) stageBars() *bars {
	b := bars{ID: "stages", Title: "What a mean epoch is made of", Note: "Sampling, deciding, fetching and putting rows in order run beside the rest, so the pieces may be more than the epoch."}
	labels, rows := r.byPart(func(w *runfile.PartWork) map[string]float64 { return stageTimes(&w.TimeS) })
	if rows == nil {
		row := map[string]float64{}
		for _, k := range stages {
			row[k.key] = r.meanOf(func(e *Epoch) float64 { return stageTimes(&e.TimeS)[k.key] })
		}
		labels, rows, b.Note = []string{"all steps of an epoch"}, []map[string]float64{row}, "Summed over the parts. "+b.Note
	}
	return barsOf(b, seconds, stages, labels, rows)
}

// sourceBars draws where the rows of each part come from.
func (r *Run) sourceBars() *bars {
	labels, rows := r.byPart(func(w *runfile.PartWork) map[string]float64 { return rowCounts(&w.Rows) })
	return barsOf(bars{ID: "sources", Title: "Rows of features that each part reads", Note: "In a mean epoch, each vertex once in a step."}, count, sources, labels, rows)
}

func (r *Run) edgeRateChart() *chart {
	d := overEpochs("edge-rate", "Edges sampled per second", count)
	d.zero, d.smooth, d.note = true, true, "over the whole epoch, without evaluation"
	return d.draw(r.series("edges per second", func(e *Epoch) float64 { return some(e.Work).EdgesPerS }))
}

func (r *Run) rowsChart() *chart {
	series, colours := r.keyed(sources, func(e *Epoch) map[string]float64 {
		if e.Work == nil {
			return nil
		}
		return rowCounts(&e.Rows)
	})
	d := overEpochs("rows", "Rows of features that steps read", count)
	d.stacked, d.colours, d.note = true, colours, "each vertex once in a step of a part"
	return d.draw(series...)
}

func (r *Run) fetchChart() *chart {
	series, colours := r.keyed(fetches, func(e *Epoch) map[string]float64 { return byteCounts(&e.Bytes) })
	d := overEpochs("fetches", "Bytes between parts", amount)
	d.stacked, d.colours = true, colours
	return d.draw(series...)
}

// slowestFacts says what a mean epoch has, and which part was the slowest how often.
func (r *Run) slowestFacts() []Fact {
	steps, edges := r.meanOf(func(e *Epoch) float64 { return float64(e.Steps) }), r.meanOf(func(e *Epoch) float64 { return float64(e.Edges) })
	drawn := "fan-outs, nearest the roots first"
	if first(r.setting("sampler")) == "ladies" {
		drawn = "vertices that layers draw, nearest the roots first"
	}
	facts := []Fact{{"an epoch", fmt.Sprintf("%s steps of %s roots, %s edges", written(count, steps), first(r.setting("batch-size")), written(count, edges))},
		{drawn, first(r.setting("fanout"))}}
	if cpu := r.meanOf(func(e *Epoch) float64 { return e.CPUS }); cpu > 0 {
		facts = append(facts, Fact{"processor time of an epoch", written(seconds, cpu)})
	}
	facts = append(facts, r.rowCacheFacts()...)
	if _, work := r.byPart(func(w *runfile.PartWork) map[string]float64 {
		return map[string]float64{"roots": float64(w.Roots), "rows": float64(w.Rows.Read)}
	}); work != nil {
		facts = append(facts, Fact{"roots of a step, by part", sharesOf(work, "roots")}, Fact{"rows that they read", sharesOf(work, "rows")})
	}
	often := map[int]int{}
	for i := range r.Epochs {
		if e := &r.Epochs[i]; e.SlowestPart != nil && len(e.PartS) > 1 {
			often[*e.SlowestPart]++
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

// brought returns how many rows of other parts came in an epoch, those that fill caches among them; NaN where that is not known.
func brought(e *Epoch) float64 {
	if e.Work == nil {
		return math.NaN()
	}
	return float64(e.Rows.Fetched) + float64(e.Rows.Prefilled)
}

// hitShare returns which share of the rows of other parts was found in caches; NaN where none was read.
func (r *Run) hitShare() float64 {
	hit := r.meanOf(func(e *Epoch) float64 { return float64(e.Rows.Hit) })
	return hit / (hit + r.meanOf(func(e *Epoch) float64 { return float64(e.Rows.Fetched) }))
}

// rowCacheFacts says how much the caches of rows saved in a mean epoch; nothing where there are none.
func (r *Run) rowCacheFacts() []Fact {
	rows := func(key string) float64 { return r.meanOf(func(e *Epoch) float64 { return rowCounts(&e.Rows)[key] }) }
	hit, fetched, extra := rows("hit"), rows("fetched"), rows("prefilled")
	if !(hit > 0) {
		return nil
	}
	text := fmt.Sprintf("%s of %s are in the cache of the part that reads them", written(share, r.hitShare()), written(count, hit+fetched))
	if extra > 0 {
		text += fmt.Sprintf("; to fill caches %s more are fetched", written(count, extra))
	}
	return []Fact{{"rows of other parts", text}}
}

// sharesOf writes which share each part has of what is under a key.
func sharesOf(parts []map[string]float64, key string) string {
	sum := 0.0
	for _, p := range parts {
		sum += p[key]
	}
	var text []string
	for _, p := range parts {
		text = append(text, written(share, p[key]/sum))
	}
	return strings.Join(text, ", ")
}
