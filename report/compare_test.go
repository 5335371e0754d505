package report

import (
	"bytes"
	"io"
	"slices"
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
	if got, want := ids(p), []string{"bytes", "coverage", "epoch-time", "loss", "phase-bars", "validation", "validation-time"}; !slices.Equal(got, want) {
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
	heading, rows := Compare([]Run{a, {Name: "x/cora-gcn", Planned: 5}})
	if len(rows) != 2 || len(rows[0]) != len(heading) || rows[0][0] != "runs/cora-gcn" || rows[1][0] != "x/cora-gcn" || slices.Contains(heading, "coverage") {
		t.Errorf("table %v %v", heading, rows)
	}
	if err := WriteComparison(io.Discard, []Run{a}); err == nil {
		t.Error("one run was compared")
	}
}
