package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// manyRuns returns runs that differ in some settings and results: unfinished ones, diverged ones, hostile names and those without some settings, among them.
func manyRuns(t testing.TB, n int) []Run {
	t.Helper()
	runs := make([]Run, n)
	for i := range runs {
		r := sampleRun(t, 3, false)
		r.Name = fmt.Sprintf("runs/%d<b>&", i)
		test := float64((i*7)%n) / float64(n)
		r.Result.Test = &test
		r.Settings = append(r.Settings, Setting{Name: "gpu-cache", Value: []string{"auto", "20%", "2GiB", "512MiB"}[i%4]},
			Setting{Name: "class-weights", Value: strings.Repeat("1.25,", 12) + fmt.Sprint(i)}, Setting{Name: "dropout", Value: fmt.Sprint(float64(i%3) / 2)})
		switch i % 5 {
		case 1:
			r.Result = nil
		case 2:
			nan := math.NaN()
			r.Result.Test = &nan
		case 3:
			r.Settings = slices.DeleteFunc(r.Settings, func(s Setting) bool { return s.Name == "dropout" })
		}
		runs[i] = r
	}
	return runs
}

// The table has the settings that differ, each once, and a key for each number, whatever its unit; what is missing has none.
func TestTableOfRuns(t *testing.T) {
	a, b := sampleRun(t, 12, false), sampleRun(t, 9, true)
	b.Settings[1].Value, b.Settings[3].Value = "32", "other key"
	a.Settings = append(a.Settings, Setting{Name: "epochs", Value: "12"})
	b.Settings = append(b.Settings, Setting{Name: "epochs", Value: "9"}, Setting{Name: "batch-size", Value: "100"})
	table := tableOfRuns([]Run{a, b})
	if want := []string{"run", "epochs", "loss"}; !slices.Equal(table.Columns[:3], want) || !slices.Equal(table.Columns[len(table.Columns)-2:], []string{"hidden", "batch-size"}) || table.Settings != 2 {
		t.Errorf("%d settings, columns %q, want %q first", table.Settings, table.Columns, want)
	}
	if len(table.Columns) != 1+table.Settings+table.Results || !table.Begins(1) || !table.Begins(1+table.Results) || table.Begins(0) || table.Begins(2) {
		t.Errorf("groups of %d and %d of %d columns", table.Settings, table.Results, len(table.Columns))
	}
	if row := table.Rows[0]; !slices.Equal(slices.Concat(row[:2], row[len(row)-2:]), []runCell{{a.Name, ""}, {"12", "12"}, {"64", "64"}, {"-", ""}}) {
		t.Errorf("row %v", row)
	}
	b.Result.Epochs = 10 // the setting and the result say different things
	if table = tableOfRuns([]Run{a, b}); table.Settings != 3 || !slices.Equal(table.Columns[len(table.Columns)-3:], []string{"hidden", "epochs", "batch-size"}) {
		t.Errorf("%d settings, columns %q", table.Settings, table.Columns)
	}
	if table = tableOfRuns([]Run{a, a}); len(table.Columns) != 1 {
		t.Errorf("of equal runs: columns %q", table.Columns)
	}
}

// The test score stands first; data set and devices stand once, as whole as the run has them, and a page breaks them between their pieces alone.
func TestTableOfRunsOnce(t *testing.T) {
	a, b := sampleRun(t, 3, false), sampleRun(t, 3, false)
	score := 0.25
	b.Name, b.Result.Test, b.Result.Devices = "some/where/else", &score, []string{"cpu:0,threads=1"}
	b.Settings[0].Value = "/data/of/others/cora"
	b.Settings = append(b.Settings, Setting{Name: "devices", Value: "auto"})
	table := tableOfRuns([]Run{a, b})
	heads, row := map[string]int{}, table.Rows[1]
	for i, name := range table.Columns {
		heads[strings.ReplaceAll(name, " ", "")] = i
	}
	if len(heads) != len(table.Columns) || table.Columns[1] != "test" || row[0].Text != "some/where/else" || row[heads["dataset"]].Text != "/data/of/others/cora" || row[heads["devices"]].Text != "cpu:0,threads=1" {
		t.Errorf("columns %q, row %v", table.Columns, row)
	}
	for text, want := range map[string][]string{"12,345": {"12,345"}, "/data/of/others/cora": {"/", "data/", "of/", "others/", "cora"}, "cpu:0,threads=1,link=1GiB/s": {"cpu:0,", "threads=1,", "link=1GiB/s"}} {
		if got := (runCell{Text: text}).Pieces(); !slices.Equal(got, want) {
			t.Errorf("%q in pieces %q", text, got)
		}
	}
}

func TestSettingNumber(t *testing.T) {
	for text, want := range map[string]float64{"0.01": 0.01, "1e-3": 1e-3, "20%": 0.2, "2GiB": 2 << 30, "512MiB": 512 << 20, "1.5MB": 1.5e6, "-": math.NaN(), "": math.NaN(), "auto": math.NaN(),
		"nan": math.NaN(), "GiB": math.NaN(), "1GiBGiB": math.NaN(), "15,10": math.NaN(), "true": math.NaN(), "3T": math.NaN()} {
		if got := settingNumber(text); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if keyOf(math.Inf(1)) != "" || keyOf(math.NaN()) != "" || keyOf(0.1) != "0.1" {
		t.Error("keys")
	}
}

// The page of many runs: names stay texts, no number is NaN, and without a script the table is whole.
func TestPageOfManyRuns(t *testing.T) {
	runs := manyRuns(t, 60)
	var out bytes.Buffer
	if err := WriteComparison(&out, runs); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	text = text[strings.Index(text, `id="runs"`):]
	text = text[:strings.Index(text, "</table>")]
	if strings.Contains(text, "NaN") || strings.Contains(text, "<b>") || strings.Count(text, "<tr>") != 61 {
		t.Errorf("%d rows: %.2000s", strings.Count(text, "<tr>"), text)
	}
	columns, cells := strings.Count(text, `scope="col"`), strings.Count(text, "<td")
	if cells != 60*columns+1 {
		t.Errorf("%d cells in %d columns", cells, columns)
	}
}
