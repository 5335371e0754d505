package report

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
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
		if s.Name != r.title() || len(s.Y) != len(r.Epochs) || s.Y[3] != *r.Epochs[3].Loss {
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
	if rows := differing([]Run{a, b}); len(rows) != 1 || !slices.Equal(rows[0], []string{"hidden", "64", "32"}) {
		t.Errorf("differing settings: %v", rows)
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
