package bench

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func line(name string, x float64) *Line {
	return &Line{Cell: Cell{"name": name}, Values: map[string]float64{"x": x}, Series: map[string][]float64{"s": {1, x}}}
}

// What was appended is found again; half a last line, as a killed writer leaves it, is gone, and appending goes on behind the rest.
func TestJournalAfterAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cells.jsonl")
	j, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "b", "a"} {
		if err := j.Append(line(name, float64(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		j, err := Open(path)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		lines := strings.Count(string(whole[:cut]), "\n")
		for i, want := range []struct {
			name string
			from int
			x    float64
		}{{"a", 1, 0}, {"b", 2, 1}} {
			l := j.Find(Cell{"name": want.name})
			if (l != nil) != (lines >= want.from) || l != nil && l.Value("x") != want.x {
				t.Fatalf("cut at %d: cell %d is %v", cut, i, l)
			}
		}
		if err := j.Append(line("c", 7)); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if j, err = Open(path); err != nil || j.Find(Cell{"name": "c"}).Value("x") != 7 {
			t.Fatalf("cut at %d: what was appended behind is lost: %v", cut, err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	j, err = Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
}

// The later line of a cell counts.
func TestJournalTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cells.jsonl")
	for x := range 2 {
		j, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Append(line("a", float64(x))); err != nil {
			t.Fatal(err)
		}
		if got := j.Find(Cell{"name": "a"}).Value("x"); got != float64(x) {
			t.Errorf("found %g, want %d", got, x)
		}
		j.Close()
	}
	j, err := Open(path)
	if err != nil || j.Find(Cell{"name": "a"}).Value("x") != 1 {
		t.Errorf("after opening: %v, %v", j, err)
	}
	j.Close()
}

// A damaged line in the middle is an error that says where.
func TestJournalDamaged(t *testing.T) {
	for _, text := range []string{"junk\n", "{}\n", "[1]\n", `{"cell":{"a":1}}` + "\n", "\n"} {
		path := filepath.Join(t.TempDir(), "cells.jsonl")
		if err := os.WriteFile(path, []byte(`{"cell":{"a":"b"},"seconds":1}`+"\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func sample() Section {
	lines := Panel{Title: "lines", X: "x", Y: "y", LogY: true, Series: []Series{{Name: "one", X: []float64{1, 2, 3}, Y: []float64{1, 10, 100}},
		{Name: "two", X: []float64{1, 2}, Y: []float64{0, 5}, Err: []float64{9, 1}, Labels: []string{"not drawn", "point A"}}}}
	bars := Panel{Title: "bars", Y: "y", Groups: []string{"a", "b"}, Series: []Series{{Name: "one", Y: []float64{1, 2}}, {Name: "three", Y: []float64{3}}}}
	return Section{Name: "sample", Title: "A sample", Text: []string{"words"},
		Tables:  []Table{{Title: "t", Columns: []string{"name", "x"}, Rows: [][]string{{"a|b", "1"}, {"c", ""}}, Note: "note"}},
		Figures: []Figure{{Title: "f", Panels: []Panel{lines, bars, {Title: "empty", X: "x", Y: "y", Series: []Series{{Name: "none"}}}}, Across: 2}}}
}

// The same section gives the same files, to the byte, and the report holds all of it.
func TestSectionFiles(t *testing.T) {
	var first map[string]string
	about := []Fact{{"command", "capgnn bench <sample>"}}
	for range 2 {
		dir := t.TempDir()
		s := sample()
		if err := s.Write(dir); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.WritePage(dir, about), WriteReport(dir, "all", about, []Section{s})); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, name := range []string{"sample.md", "sample.csv", "sample-1.svg", "report.md", "report.html", "sample.html"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || len(data) == 0 {
				t.Fatalf("%s: %d bytes, %v", name, len(data), err)
			}
			got[name] = string(data)
		}
		if first == nil {
			first = got
		}
		for name := range got {
			if got[name] != first[name] {
				t.Errorf("%s differs from run to run", name)
			}
		}
	}
	for name, want := range map[string]string{"sample.md": "| a\\|b | 1 |", "sample.csv": "t,a|b,1", "report.md": "# all", "report.html": "<svg", "sample.html": "capgnn bench &lt;sample&gt;"} {
		if !strings.Contains(first[name], want) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
	if svg := first["sample-1.svg"]; !strings.Contains(svg, "point A") || strings.Contains(svg, "not drawn") {
		t.Error("a point has not its label, or one that cannot be drawn has")
	}
	for _, bad := range []string{"http-equiv", "src=\"", "<link"} {
		if strings.Contains(first["report.html"], bad) {
			t.Errorf("report.html refers to other files: %q", bad)
		}
	}
}

// Remove deletes the figures that a section has no more.
func TestSectionRemove(t *testing.T) {
	dir := t.TempDir()
	s := sample()
	s.Figures = append(s.Figures, s.Figures[0])
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	s.Figures = s.Figures[:1]
	if err := s.Remove(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"sample-1.svg": true, "sample-2.svg": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: there %t, want %t", name, err == nil, want)
		}
	}
}

// An axis that counts has no halves, also where there is nothing but the beginning, and no value touches the frame.
func TestCountedAxis(t *testing.T) {
	for _, last := range []float64{0, 1, 2, 7} {
		p := Panel{X: "x", Y: "y", Counts: true, FromZero: true, Series: []Series{{Name: "a", X: []float64{0, last}, Y: []float64{3, 3}}}}
		x, y := p.axes()
		if x.Lo != 0 || x.Hi != max(1, last) || y.Lo != 0 || y.Hi <= 3 {
			t.Errorf("last %g: axes %g to %g, %g to %g", last, x.Lo, x.Hi, y.Lo, y.Hi)
		}
		for _, tick := range x.Ticks {
			if tick.At != math.Trunc(tick.At) {
				t.Errorf("last %g: a tick at %g", last, tick.At)
			}
		}
		if len(x.Ticks) < 2 {
			t.Errorf("last %g: %d labels", last, len(x.Ticks))
		}
	}
}

// Bars of a group that stand on each other reach as high as their sum, others as the highest of them.
func TestStackedBars(t *testing.T) {
	for stacked, want := range map[bool][]bar{
		false: {{0, 0, 0, 1}, {0, 1, 0, 1}, {1, 0, 0, -1}, {1, 1, 0, 3}},
		true:  {{0, 0, 0, 1}, {0, 1, 1, 2}, {1, 0, 0, -1}, {1, 1, -1, 2}},
	} {
		p := Panel{Y: "y", Groups: []string{"a", "b"}, Series: []Series{{Name: "one", Y: []float64{1, -1}}, {Name: "two", Y: []float64{1, 3}}}, Stacked: stacked}
		_, y := p.axes()
		if got := p.bars(); !slices.Equal(got, want) || y.Lo > -1 || y.Hi <= want[3].to {
			t.Errorf("stacked %v: %v on an axis of %g to %g, want %v", stacked, got, y.Lo, y.Hi, want)
		}
	}
}

// Everything of a figure lies inside it, at places that are numbers, whatever the numbers and names are; texts of an axis do not touch.
func TestFigureHoldsWhatItDraws(t *testing.T) {
	number := regexp.MustCompile(`-?[0-9.]+`)
	place := regexp.MustCompile(` (?:points|d|x|cx|y|cy)="([^"]*)"`)
	for _, panel := range []Panel{
		{LogX: true, LogY: true, Series: []Series{{Name: "a", X: []float64{1e-9, 3, 1e12}, Y: []float64{1e-30, 1, 1e30}, Err: []float64{1, 2, 3}}}},
		{Series: []Series{{Name: "<a>&\"", X: []float64{math.NaN(), 1, 2, math.Inf(1)}, Y: []float64{1, 123456.7, 123456.9, 1}, Err: []float64{0, 1, 2, 0}}, {Name: "b"}}},
		{FromZero: true, Points: true, Series: []Series{{Name: "a", X: []float64{-1e-9, 1e-9}, Y: []float64{1e-12, 1e-12}}}},
		{Groups: []string{"a long name of a group", "another name that is long", "c"}, Series: []Series{{Name: "a", Y: []float64{-3, math.NaN(), 5}}, {Name: "b", Y: []float64{1}}}},
		{Groups: []string{}}, {},
	} {
		panel.X, panel.Y = "x", "y"
		f := Figure{Panels: []Panel{panel, panel, panel}, Across: 2}
		svg, err := f.svg()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || strings.Contains(svg, "<a>") {
			t.Errorf("%+v: no number, or a name as it is: %s", panel, svg)
		}
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
			t.Errorf("%+v: %v", panel, err)
		}
		var size [2]float64
		if _, err := fmt.Sscanf(regexp.MustCompile(`viewBox="[^"]*"`).FindString(svg), `viewBox="0 0 %g %g"`, &size[0], &size[1]); err != nil {
			t.Fatal(err)
		}
		for _, m := range place.FindAllStringSubmatch(svg, -1) {
			for _, n := range number.FindAllString(m[1], -1) {
				if v, err := strconv.ParseFloat(n, 64); err != nil || v < -1 || v > max(size[0], size[1]) {
					t.Errorf("%+v: %s is outside", panel, m[0])
				}
			}
		}
	}
}

// The legend's entry of a line is that line: equal lines of two names are told apart by dash and mark, and an axis without a name is
// refused.
func TestLinesAreToldApart(t *testing.T) {
	for i := range 12 {
		for j := range i {
			if colourOf(i) == colourOf(j) && i%len(shapes) == j%len(shapes) || dashOf(i) == dashOf(j) && widthOf(i) == widthOf(j) && i < 5 {
				t.Errorf("names %d and %d look alike", i, j)
			}
		}
	}
	for i := 1; i < 5; i++ {
		if dashOf(i) == "" || widthOf(i) >= widthOf(i-1) {
			t.Errorf("line %d hides what lies below it", i)
		}
	}
	for _, p := range []Panel{{X: "x"}, {Y: "y"}, {Groups: []string{"a"}}} {
		f := Figure{Panels: []Panel{p}}
		if _, err := f.svg(); err == nil {
			t.Errorf("a panel of %q over %q is drawn", p.Y, p.X)
		}
	}
}
