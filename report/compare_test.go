package report

import (
	"bytes"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"capgnn/internal/runfile"
)

func TestComparison(t *testing.T) {
	a, b := sampleRun(t, 12, false), sampleRun(t, 9, true)
	b.Name, b.Settings[1].Value, b.Settings[3].Value = "runs/other", "32", "other key"
	var out bytes.Buffer
	if err := WriteComparison(&out, []Run{a, b}); err != nil {
		t.Fatal(err)
	}
	p := takeApart(t, out.String())
	if got, want := ids(p), []string{"bytes", "coverage", "epoch-time", "loss", "phase-bars", "validation", "validation-loss", "validation-time"}; !slices.Equal(got, want) {
		t.Errorf("drawn are %v, want %v", got, want)
	}
	for k, s := range p.chart(t, "loss").Series {
		r := []Run{a, b}[k]
		if s.Name != r.title() || len(s.Y) != len(r.Epochs) || s.Y[3] != float64(r.Epochs[3].Loss) {
			t.Errorf("series %d is %s with %d points", k, s.Name, len(s.X))
		}
	}
	elapsed := 0.0
	for _, e := range a.Epochs[:3] {
		elapsed += e.EpochS
	}
	if s := p.chart(t, "validation-time").Series[0]; s.X[0] != elapsed || s.Y[0] != 0.25 {
		t.Errorf("first validation at %v s, want %v", s.X[0], elapsed)
	}
	_, heading, rows := Compare([]Run{a, {Name: "x/cora-gcn", Planned: 5}})
	if len(rows) != 2 || len(rows[0]) != len(heading) || rows[0][0] != "runs/cora-gcn" || rows[1][0] != "x/cora-gcn" || slices.Contains(heading, "coverage") {
		t.Errorf("table %v %v", heading, rows)
	}
	common, heading, _ := Compare([]Run{a, b})
	if !slices.Contains(common, Fact{"data set", "cora"}) || slices.Contains(heading, "data set") || slices.Contains(heading, "best epoch") {
		t.Errorf("in common %v, in the table %v", common, heading)
	}
	if err := WriteComparison(io.Discard, []Run{a}); err == nil {
		t.Error("one run was compared")
	}
}

// Simulated and measured times stand in pictures of their own, in which runs keep their colours; all else is drawn together.
func TestClocksApart(t *testing.T) {
	a, b, c := sampleRun(t, 12, false), sampleRun(t, 9, false), sampleRun(t, 10, false)
	a.Name, b.Name, c.Name = "runs/a", "runs/b", "runs/c"
	b.Result.Simulated = true
	var out bytes.Buffer
	if err := WriteComparison(&out, []Run{a, b, c}); err != nil {
		t.Fatal(err)
	}
	p := takeApart(t, out.String())
	want := []string{"bytes", "epoch-time-measured", "epoch-time-simulated", "loss", "phase-bars-measured", "phase-bars-simulated", "validation", "validation-loss", "validation-time-measured", "validation-time-simulated"}
	if got := ids(p); !slices.Equal(got, want) {
		t.Fatalf("drawn are %v, want %v", got, want)
	}
	series := func(id string) string {
		text := ""
		for _, s := range p.chart(t, id).Series {
			text += s.Name
		}
		return text
	}
	if got := series("epoch-time-measured") + " " + series("epoch-time-simulated") + " " + series("loss"); got != "ac b abc" {
		t.Errorf("series %q", got)
	}
	if !strings.Contains(p.figures["epoch-time-measured"].text, "curve s2") || !strings.Contains(p.figures["epoch-time-simulated"].text, "curve s1") {
		t.Error("a run has another colour than in the picture of all")
	}
}

// Over seeds stand the mean and the deviation of a sample, in the epochs that two runs have, and no line leaves the picture. One seed has neither, nor has a comparison.
func TestSpreadOverSeeds(t *testing.T) {
	runs := []Run{sampleRun(t, 12, false), sampleRun(t, 12, false), sampleRun(t, 9, false), sampleRun(t, 13, false)}
	number := func(x float64) *float64 { return &x }
	for i := range runs {
		for k := range runs[i].Epochs {
			e := &runs[i].Epochs[k]
			e.Loss = runfile.Loss([]float64{1, 2, 4.5, 3}[i] + float64(k))
			if e.Scores != nil {
				e.Val = number([]float64{0.5, 0.7, 0.75, 0.6}[i])
			}
		}
	}
	runs[3].Epochs[4].Loss = runfile.Loss(math.NaN()) // was no number
	draw := func(runs []Run) page {
		var out bytes.Buffer
		if err := WriteSeeds(&out, runs, []Fact{{"a", "b"}}); err != nil {
			t.Fatal(err)
		}
		return takeApart(t, out.String())
	}
	p := draw(runs)
	d := p.chart(t, "loss-spread")
	close := func(got, want float64) bool { return math.Abs(got-want) < 1e-12 }
	if len(d.Series) != 2 || len(d.Series[0].X) != 12 || len(d.Series[1].X) != 12 {
		t.Fatalf("%+v", d.Series)
	}
	for _, c := range []struct {
		epoch           int
		mean, deviation float64
	}{{0, 2.625, math.Sqrt((1.625*1.625 + 0.625*0.625 + 1.875*1.875 + 0.375*0.375) / 3)}, // of 1, 2, 4.5, 3
		{4, 6.5, math.Sqrt((1.5*1.5 + 0.5*0.5 + 2*2) / 2)}, // of 5, 6, 8.5
		{11, 13, 1}} { // of 12, 13, 14
		if m, s := d.Series[0].Y[c.epoch], d.Series[1].Y[c.epoch]; d.Series[0].X[c.epoch] != float64(c.epoch) || !close(m, c.mean) || !close(s, c.deviation) {
			t.Errorf("epoch %d: %v ± %v, want %v ± %v", c.epoch, m, s, c.mean, c.deviation)
		}
	}
	if v := p.chart(t, "validation-spread"); len(v.Series[0].X) != 4 || !close(v.Series[0].Y[0], 0.6375) {
		t.Errorf("validation: %+v", v.Series)
	}
	text := p.figures["loss-spread"].text
	if !strings.Contains(text, "of the values of 4 runs, in some epochs of fewer: others had stopped; the numbers beside the names are of epoch 11, of the 3 runs that still trained<") || !strings.Contains(text, `class="band f0"`) || strings.Contains(text, "NaN") {
		t.Errorf("picture: %.3000s", text)
	}
	for _, of := range [][]Run{runs[:1], {runs[0], {Name: "empty"}}} {
		if p := draw(of); p.figures["loss-spread"].text != "" || p.figures["validation-spread"].text != "" {
			t.Errorf("%d runs have a spread", len(of))
		}
	}
	var out bytes.Buffer
	if err := WriteComparison(&out, runs[:2]); err != nil || strings.Contains(out.String(), "-spread") {
		t.Errorf("a comparison has a spread, %v", err)
	}
	runs[0].Epochs[0].Loss, runs[1].Epochs[0].Loss, runs[2].Epochs[0].Loss = 1e30, -1e30, 1e30
	if d := draw(runs).chart(t, "loss-spread"); len(d.Series[0].X) != len(d.Series[1].X) {
		t.Errorf("%d means, %d deviations", len(d.Series[0].X), len(d.Series[1].X))
	}
}

// The band lies around the line of the mean, also of many epochs.
func TestBand(t *testing.T) {
	mean, deviation := points{Name: "m"}, points{Name: "d"}
	for x := range 3000 {
		mean.add(float64(x), 10+math.Sin(float64(x)/300))
		deviation.add(float64(x), 1)
	}
	c := drawing{id: "x", xKind: count, kind: plain}.band(mean, deviation)
	outline := regexp.MustCompile(`[ML]([0-9.]+) ([0-9.]+)`)
	line, band := outline.FindAllStringSubmatch(c.Curves[0].Path, -1), outline.FindAllStringSubmatch(c.Curves[1].Path, -1)
	if len(line) != maxPoints || len(band) != 2*maxPoints || len(c.Data.Series[0].X) != maxPoints {
		t.Fatalf("%d points of the mean, %d of the band", len(line), len(band))
	}
	at := func(m []string) float64 { y, _ := strconv.ParseFloat(m[2], 64); return y }
	for i := range line {
		up, down := at(line[i])-at(band[i]), at(band[2*maxPoints-1-i])-at(line[i])
		if line[i][1] != band[i][1] || line[i][1] != band[2*maxPoints-1-i][1] || math.Abs(up-down) > 0.021 || up < 1 {
			t.Fatalf("point %d: the band reaches %v above and %v below the mean", i, up, down)
		}
	}
}
