package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"capgnn/internal/runfile"
)

// isolated reports whether parts trained without rows of each other.
func (r *Run) isolated() bool {
	return slices.ContainsFunc(r.Epochs, func(e Epoch) bool { return e.Isolated != nil })
}

// isolatedSection draws which chunks isolated parts held, what they saw and what switching took; of other runs nothing.
func (r *Run) isolatedSection() (section, bool) {
	if !r.isolated() {
		return section{}, false
	}
	return sectionOf("Isolated parts", "", r.scheduleStrip(), r.seenChart(), r.switchChart(), r.isolatedFacts())
}

// chunks returns how many chunks the graph was cut into; 0: not known.
func (r *Run) chunks() int {
	if r.Result != nil && some(r.Result.Isolated).Chunks >= 2 {
		return r.Result.Isolated.Chunks
	}
	for item := range strings.SplitSeq(r.setting("isolated"), ",") {
		if text, ok := strings.CutPrefix(item, "chunks="); ok {
			n, _ := strconv.Atoi(text)
			return n
		}
	}
	n, _ := strconv.Atoi(r.setting("parts"))
	return n
}

// scheduleStrip draws which chunk each part held beside its own.
func (r *Run) scheduleStrip() *strip {
	c := r.chunks()
	var all []held
	for i := range r.Epochs {
		e := &r.Epochs[i]
		if e.Isolated == nil || e.Isolated.Shift < 1 || e.Isolated.Shift >= c {
			return nil
		}
		if n := len(all); n == 0 || all[n-1].Shift != e.Isolated.Shift {
			all = append(all, held{Shift: e.Isolated.Shift, From: e.Epoch})
		}
		all[len(all)-1].To = e.Epoch + 1
		if n := len(all); n > 1 {
			all[n-2].To = all[n-1].From
		}
	}
	return stripOf(strip{ID: "schedule", Title: "Chunks that parts added to their own", Note: "row: the part; across: epochs; in a cell: the added chunk, the stronger in colour the higher its number",
		Down: "part", Across: "epoch"}, c, all)
}

// seenChart draws how much of their neighbourhoods targets saw.
func (r *Run) seenChart() *chart {
	d := overEpochs("seen", "Neighbours that targets saw", share)
	d.zero, d.note = true, "of the in-neighbours of training vertices, those in the two chunks of their part; edges: all of them together"
	seen := func(of func(*runfile.Coverage) float64) func(*Epoch) float64 {
		return func(e *Epoch) float64 {
			if e.Isolated == nil {
				return math.NaN()
			}
			return of(&e.Isolated.Coverage)
		}
	}
	return d.draw(r.series("mean over targets", seen(func(c *runfile.Coverage) float64 { return c.Mean })),
		r.series("edges", seen(func(c *runfile.Coverage) float64 { return c.Edges })))
}

// switched returns a number of every switch of chunks, by epoch.
func (r *Run) switched(name string, of func(*Epoch) float64) points {
	return r.series(name, func(e *Epoch) float64 {
		if e.Isolated == nil || e.Isolated.Switch == nil {
			return math.NaN()
		}
		if x := of(e); x >= 0 {
			return x
		}
		return math.NaN()
	})
}

func (r *Run) switchChart() *chart {
	d := overEpochs("switch-time", "Time of a switch of chunks", seconds)
	d.zero, d.note = true, "before the epoch, and not in its time"
	return d.draw(r.switched("switch", func(e *Epoch) float64 { return e.Isolated.Switch.S }))
}

// isolatedFacts says what was switched how often, and what training spent on it.
func (r *Run) isolatedFacts() []Fact {
	var facts []Fact
	if c := r.chunks(); c >= 2 {
		facts = append(facts, Fact{"chunks", written(count, float64(c))})
	}
	switches := r.switched("", func(e *Epoch) float64 { return e.Isolated.Switch.S }).Y
	text := "none"
	if len(switches) > 0 {
		spent, trained := sum(switches), sum(r.series("", func(e *Epoch) float64 { return e.EpochS }).Y)
		text = fmt.Sprintf("%s in %s, %s of training", written(count, float64(len(switches))), written(seconds, spent), written(share, spent/(spent+trained)))
	}
	facts = append(facts, Fact{"switches", text})
	if moved := r.switched("", func(e *Epoch) float64 { return float64(e.Isolated.Switch.Bytes) }).Y; len(moved) > 0 {
		facts = append(facts, Fact{"what a switch brings from the host to devices", written(amount, sum(moved)/float64(len(moved)))})
	}
	alone := r.series("", func(e *Epoch) float64 {
		if e.Isolated == nil {
			return math.NaN()
		}
		return float64(e.Isolated.Coverage.Alone)
	}).Y
	if len(alone) > 0 {
		facts = append(facts, Fact{"targets whose neighbours were all elsewhere", fmt.Sprintf("%s in a mean epoch, %s at most", written(count, sum(alone)/float64(len(alone))), written(count, slices.Max(alone)))})
	}
	return facts
}

func sum(list []float64) (all float64) {
	for _, x := range list {
		all += x
	}
	return all
}
