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
	Columns               []string
	Rows                  [][]string
	Sections              []section
	Names                 []string
	Differing             [][]string
}

// column is one column of a comparison.
type column struct {
	name string
	of   func(*Run, *Result) string
}

// columns are those of the table of runs. A run that is not finished has an empty Result.
var columns = []column{
	{"data set", func(r *Run, s *Result) string { return first(s.Dataset, r.setting("dataset")) }},
	{"model", func(r *Run, s *Result) string { return first(s.Model, r.setting("model")) }},
	{"devices", func(r *Run, _ *Result) string { return r.devices() }},
	{"parts", func(_ *Run, s *Result) string { return written(count, positive(float64(s.Parts))) }},
	{"epochs", func(r *Run, _ *Result) string { return r.progress() }},
	{"validation", func(_ *Run, s *Result) string { return written(score, or(s.Val)) }},
	{"test", func(_ *Run, s *Result) string { return written(score, or(s.Test)) }},
	{"best epoch", func(_ *Run, s *Result) string {
		if s.BestEpoch == nil {
			return "-"
		}
		return fmt.Sprint(*s.BestEpoch)
	}},
	{"loss", func(r *Run, _ *Result) string {
		return written(plain, r.series("", func(e *Epoch) float64 { return or(e.Loss) }).last())
	}},
	{"epoch", func(r *Run, s *Result) string {
		return written(seconds, median(r.series("", func(e *Epoch) float64 { return e.EpochS }).Y)) + simulated(s)
	}},
	{"all epochs", func(r *Run, s *Result) string { return written(seconds, r.elapsed()) + simulated(s) }},
	{"traffic an epoch", func(r *Run, _ *Result) string { return written(amount, r.meanBytes()) }},
	{"halo rows", func(r *Run, s *Result) string {
		if r.sampled() {
			return number.Missing
		}
		return written(count, float64(s.HaloRows))
	}},
	{"rows fetched in an epoch", func(r *Run, _ *Result) string { return written(count, r.meanOf((*Epoch).brought)) }},
	{"rows in caches", func(r *Run, _ *Result) string { return written(share, positive(r.hitShare())) }},
	{"coverage", func(_ *Run, s *Result) string { return written(share, positive(s.Cache.number("coverage"))) }},
	{"device memory", func(_ *Run, s *Result) string {
		if len(s.PeakBytes.Devices) == 0 {
			return "-"
		}
		return written(amount, slices.Max(s.PeakBytes.Devices))
	}},
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

func simulated(s *Result) string {
	if s.Simulated {
		return " (simulated)"
	}
	return ""
}

func (r *Run) progress() string {
	if r.Result == nil {
		return fmt.Sprintf("%d of %d", len(r.Epochs), r.Planned)
	}
	return fmt.Sprint(r.Result.Epochs)
}

// Compare returns what all runs have in common, and the table of what they have not: a heading, and a row for each. Columns in
// which no run has anything are left out.
func Compare(runs []Run) (common []Fact, heading []string, rows [][]string) {
	heading = []string{"run"}
	names := distinctNames(runs)
	for i := range runs {
		rows = append(rows, []string{names[i]})
	}
	for _, c := range columns {
		cells := make([]string, len(runs))
		for i := range runs {
			s := runs[i].Result
			if s == nil {
				s = &Result{}
			}
			cells[i] = c.of(&runs[i], s)
		}
		if len(slices.Compact(slices.Clone(cells))) == 1 && len(runs) > 1 {
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
	c := comparison{Title: title, Subtitle: strings.Join(names, " · "), Names: names}
	c.Common, c.Columns, c.Rows = Compare(runs)
	c.Common = append(together, c.Common...)
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
	c.Differing = differing(runs)
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

// differing returns the settings that the user chose otherwise in some run, a row for each: its name and its values.
func differing(runs []Run) [][]string {
	var rows [][]string
	for _, s := range runs[0].Settings {
		if s.Recorded {
			continue
		}
		row, same := []string{s.Name}, true
		for i := range runs {
			v := runs[i].setting(s.Name)
			same = same && v == s.Value
			row = append(row, first(v))
		}
		if !same {
			rows = append(rows, row)
		}
	}
	return rows
}
