package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// runTable is a row for each run: the results that differ between runs, then the settings that do. The page offers to sort it.
type runTable struct {
	Results, Settings int // columns behind the name of the run
	Columns           []string
	Rows              [][]runCell
}

// runCell is what a run has in a column.
type runCell struct {
	Text string
	Key  string // the number that rows are sorted by, "" where there is none
}

// Pieces are what the page does not break of a cell, unless they are longer than 24 letters: all of a short one, names in a path, entries of a list.
func (c runCell) Pieces() []string {
	if len(c.Text) <= 16 {
		return []string{c.Text}
	}
	if strings.Contains(c.Text, ",") {
		return strings.SplitAfter(c.Text, ",")
	}
	return strings.SplitAfter(c.Text, "/")
}

// Begins reports whether a group of columns begins with this one.
func (t runTable) Begins(column int) bool { return column == 1 || column == 1+t.Results }

// tableOfRuns returns the table. Runs have their whole names.
func tableOfRuns(runs []Run) runTable {
	t := runTable{Columns: []string{"run"}}
	for i := range runs {
		t.Rows = append(t.Rows, []runCell{{Text: runs[i].Name}})
	}
	for _, c := range columns {
		cells := make([]runCell, len(runs))
		for i := range runs {
			text, key := c.cellOf(&runs[i])
			cells[i] = runCell{text, keyOf(key)}
		}
		t.add(c.name, cells)
	}
	t.Results = len(t.Columns) - 1
	for _, name := range settingNames(runs) {
		cells := make([]runCell, len(runs))
		for i := range runs {
			text := first(runs[i].setting(name))
			cells[i] = runCell{text, keyOf(settingNumber(text))}
		}
		if !t.says(name, cells) {
			t.add(name, cells)
		}
	}
	t.Settings = len(t.Columns) - 1 - t.Results
	return t
}

// add adds a column, unless all runs are alike in it.
func (t *runTable) add(name string, cells []runCell) {
	if !slices.ContainsFunc(cells, func(c runCell) bool { return c.Text != cells[0].Text }) {
		return
	}
	t.Columns = append(t.Columns, name)
	for i, c := range cells {
		t.Rows[i] = append(t.Rows[i], c)
	}
}

// says reports whether the table has a column of that name with the same texts: "data set" is the name of dataset. Devices are those that were opened, whatever was asked for.
func (t *runTable) says(name string, cells []runCell) bool {
	for k, column := range t.Columns {
		if strings.ReplaceAll(column, " ", "") == name {
			same := true
			for i, c := range cells {
				same = same && t.Rows[i][k].Text == c.Text
			}
			return same || name == "devices"
		}
	}
	return false
}

// settingNames returns the names of all settings that are a user's choice, in the order in which runs have them.
func settingNames(runs []Run) []string {
	var names []string
	seen := map[string]bool{}
	for i := range runs {
		for _, s := range runs[i].Settings {
			if !s.Recorded && !seen[s.Name] {
				names, seen[s.Name] = append(names, s.Name), true
			}
		}
	}
	return names
}

// keyOf writes a key, "" for what is no number.
func keyOf(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// settingUnits are what may stand behind the number of a setting.
var settingUnits = map[string]float64{"": 1, "%": 0.01, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "kB": 1e3, "MB": 1e6, "GB": 1e9}

// settingNumber returns the number that a setting is, such as 0.01, 20% or 2GiB; NaN where it is none.
func settingNumber(text string) float64 {
	digits := strings.TrimRight(text, "%BKiMGTk")
	unit, known := settingUnits[text[len(digits):]]
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || !known {
		return math.NaN()
	}
	return x * unit
}
