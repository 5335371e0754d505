package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"capgnn/internal/number"
)

// comparison is what the template "comparison" draws.
type comparison struct {
	Title, Subtitle, Note string
	Common                []Fact
	Runs                  runTable
	Sections              []section
}

// column is one result in a comparison: a number of a kind, or a text.
type column struct {
	name string
	kind quantity
	of   func(*Run, *Result) float64
	text func(*Run, *Result) string // what stands there; nil: the number
	time bool                       // of a clock, which simulated devices have of their own
}

// columns are the results in the table of runs, what runs are compared for first. A run that is not finished has an empty Result.
var columns = []column{
	{name: "test", kind: score, of: func(_ *Run, s *Result) float64 { return or(s.Test) }},
	{name: "validation", kind: score, of: func(_ *Run, s *Result) float64 { return or(s.Val) }},
	{name: "best epoch", kind: count, of: func(_ *Run, s *Result) float64 {
		if s.BestEpoch == nil {
			return math.NaN()
		}
		return float64(*s.BestEpoch)
	}},
	{name: "epochs", kind: count, of: func(r *Run, s *Result) float64 { return max(float64(s.Epochs), float64(len(r.Epochs))) }, text: func(r *Run, _ *Result) string { return r.progress() }},
	{name: "loss", kind: plain, of: func(r *Run, _ *Result) float64 {
		return r.series("", func(e *Epoch) float64 { return float64(e.Loss) }).last()
	}},
	{name: "epoch", kind: seconds, time: true, of: func(r *Run, _ *Result) float64 {
		return median(r.series("", func(e *Epoch) float64 { return e.EpochS }).Y)
	}},
	{name: "all epochs", kind: seconds, time: true, of: func(r *Run, _ *Result) float64 { return r.elapsed() }},
	{name: "traffic an epoch", kind: amount, of: func(r *Run, _ *Result) float64 { return r.meanBytes() }},
	{name: "halo rows", kind: count, of: func(r *Run, s *Result) float64 {
		if r.Result == nil || r.sampled() {
			return math.NaN()
		}
		return float64(s.HaloRows)
	}},
	{name: "rows fetched in an epoch", kind: count, of: func(r *Run, _ *Result) float64 { return r.meanOf(brought) }},
	{name: "rows in caches", kind: share, of: func(r *Run, _ *Result) float64 { return positive(r.hitShare()) }},
	{name: "coverage", kind: share, of: func(_ *Run, s *Result) float64 { return positive(s.Cache.Coverage) }},
	{name: "device memory", kind: amount, of: func(_ *Run, s *Result) float64 {
		if len(s.PeakBytes.Devices) == 0 {
			return math.NaN()
		}
		return float64(slices.Max(s.PeakBytes.Devices))
	}},
	{name: "data set", text: func(r *Run, s *Result) string { return first(r.setting("dataset"), s.Dataset) }},
	{name: "model", text: func(r *Run, s *Result) string { return first(s.Model, r.setting("model")) }},
	{name: "devices", text: func(r *Run, _ *Result) string { return first(r.devices()) }},
	{name: "parts", kind: count, of: func(_ *Run, s *Result) float64 { return positive(float64(s.Parts)) }},
}

// cellOf returns what a run has in the column, and the number by which it is sorted.
func (c column) cellOf(r *Run) (text string, key float64) {
	s := r.Result
	if s == nil {
		s = &Result{}
	}
	if key = math.NaN(); c.of != nil {
		key = c.of(r, s)
	}
	if c.text != nil {
		return c.text(r, s), key
	}
	text = written(c.kind, key)
	if c.time && s.Simulated {
		text += " (simulated)"
	}
	return text, key
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return "-"
}

// positive returns x, NaN unless it is above 0.
func positive(x float64) float64 {
	if x > 0 {
		return x
	}
	return math.NaN()
}

func (r *Run) progress() string {
	if r.Result == nil {
		return fmt.Sprintf("%d of %d", len(r.Epochs), r.Planned)
	}
	return fmt.Sprint(r.Result.Epochs)
}

// Compare returns what all runs have in common, and the table of what they have not: a heading, and a row for each that begins with its whole name. Columns in
// which no run has anything are left out.
func Compare(runs []Run) (common []Fact, heading []string, rows [][]string) {
	heading = []string{"run"}
	for i := range runs {
		rows = append(rows, []string{runs[i].Name})
	}
	for _, c := range columns {
		cells := make([]string, len(runs))
		for i := range runs {
			cells[i], _ = c.cellOf(&runs[i])
		}
		if alike(cells) && len(runs) > 1 {
			if cells[0] != number.Missing {
				common = append(common, Fact{c.name, cells[0]})
			}
			continue
		}
		heading = append(heading, c.name)
		for i := range rows {
			rows[i] = append(rows[i], cells[i])
		}
	}
	return common, heading, rows
}

// alike reports whether all texts are the same.
func alike(texts []string) bool {
	return !slices.ContainsFunc(texts, func(t string) bool { return t != texts[0] })
}

// WriteComparison writes the page of several runs.
func WriteComparison(w io.Writer, runs []Run) error {
	if len(runs) < 2 {
		return errors.New("compare runs: give two or more")
	}
	return writeComparison(w, runs, fmt.Sprintf("%d runs", len(runs)), nil, nil)
}

// WriteSeeds writes the page of runs that differ in their seeds, with what is said of all together.
func WriteSeeds(w io.Writer, runs []Run, together []Fact) error {
	return writeComparison(w, runs, fmt.Sprintf("%d seeds", len(runs)), together, []any{spread(runs, "loss-spread", lossOverlay), spread(runs, "validation-spread", valOverlay)})
}

func writeComparison(w io.Writer, runs []Run, title string, together []Fact, spreads []any) error {
	names := distinctNames(runs)
	c := comparison{Title: title, Subtitle: strings.Join(names, " · "), Runs: tableOfRuns(runs)}
	common, _, _ := Compare(runs)
	c.Common = append(together, common...)
	sim := 0
	for i := range runs {
		if runs[i].Result != nil && runs[i].Result.Simulated {
			sim++
		}
	}
	if sim > 0 && sim < len(runs) {
		c.Note = "Simulated times are of another clock than measured ones: compare either with its like, as the pictures do."
	}
	add := func(s section, ok bool) {
		if ok {
			c.Sections = append(c.Sections, s)
		}
	}
	learning := append(spreads, overlay(runs, names, lossOverlay, nil), overlay(runs, names, valLossOverlay, nil), overlay(runs, names, valOverlay, nil))
	add(sectionOf("Learning", "", append(learning, overTime(runs, names, valOverTime, (*Run).secondsAt)...)...))
	times := append(phasesOfRuns(runs, names), overTime(runs, names, timeOverlay, nil)...)
	add(sectionOf("Time and traffic", "", append(times, overlay(runs, names, bytesOverlay, nil), overlay(runs, names, broughtOverlay, nil), overlay(runs, names, coverageOverlay, nil))...))
	return writePage(w, "capgnn: "+c.Title, "comparison", c)
}

// distinctNames returns the runs' titles, or their whole names where two titles are alike.
func distinctNames(runs []Run) []string {
	seen := map[string]int{}
	for i := range runs {
		seen[runs[i].title()]++
	}
	names := make([]string, len(runs))
	for i := range runs {
		if names[i] = runs[i].title(); seen[names[i]] > 1 {
			names[i] = runs[i].Name
		}
	}
	return names
}
