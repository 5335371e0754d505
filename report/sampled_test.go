package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/runfile"
)

// sampledRun returns a run of two parts that trained on samples.
func sampledRun(t testing.TB, epochs int) Run {
	t.Helper()
	r := sampleRun(t, epochs, false)
	var b strings.Builder
	work := func(roots, local, fetched any) map[string]any {
		return map[string]any{"roots": roots, "rows": map[string]any{"read": 600_000, "local": local, "hit": 20_000, "fetched": fetched}, "time_s": map[string]any{"sample": 0.4, "decide": 0.01, "compute": 1}}
	}
	for e := range epochs {
		s := 1 + float64(e%7)/20
		line := map[string]any{"steps": 120, "edges": 4_000_000 + e, "edges_per_s": 1.9e6 / s, "rows": map[string]any{"read": 500_000, "local": 400_000, "hit": 40_000, "fetched": 60_000, "prefilled": 1000},
			"part_work": []any{work(300, 300_000, 40_000*s), work(100, 100_000, 20_000)},
			"time_s":    map[string]any{"sample": 0.8 * s, "decide": 0.01, "fetch": 0.1, "stage": 0.3, "upload": 0.2, "compute": 2 * s, "wait": 0.05}, "cpu_s": 4.1, "slowest_part": e % 3 % 2,
			"epoch": e, "bytes": map[string]any{"h2d": 1 << 20, "rows": 1 << 24, "ids": 1 << 18, "gradients": 1 << 16}, "epoch_s": 2.1 * s,
			"loss": r.Epochs[e].Loss, "val": 0.5 + float64(e)/1e3, "part_s": []any{map[string]any{"mm": s}, map[string]any{"mm": 1}}}
		data, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", data)
	}
	var err error
	if r.Epochs, err = runfile.ReadEpochs(strings.NewReader(b.String())); err != nil {
		t.Fatal(err)
	}
	r.Name = "runs/reddit-sage-sampled"
	r.Settings = append(r.Settings, Setting{Name: "batch-size", Value: "1024", Default: "0"}, Setting{Name: "fanout", Value: "15,10,all"})
	return r
}

// Compared runs show how many rows they fetch; full-batch runs have no such columns.
func TestComparedSampledRuns(t *testing.T) {
	a, b := sampledRun(t, 9), sampledRun(t, 9)
	b.Name, b.Epochs = "runs/other", slices.Clone(b.Epochs)
	for i := range b.Epochs {
		b.Epochs[i].Work = &runfile.Work{Steps: 120, Rows: runfile.Rows{Read: 500_000, Local: 400_000, Fetched: 100_000}}
	}
	_, heading, rows := Compare([]Run{a, b})
	at := slices.Index(heading, "rows fetched in an epoch")
	if at < 0 || rows[0][at] != "61,000" || rows[1][at] != "100,000" || !slices.Contains(heading, "rows in caches") {
		t.Errorf("the table is %v\n%v", heading, rows)
	}
	if _, heading, _ := Compare([]Run{sampleRun(t, 3, true), sampleRun(t, 4, true)}); slices.Contains(heading, "rows fetched in an epoch") {
		t.Errorf("full-batch runs have %v", heading)
	}
}

// A sampled run shows what its steps were made of; a full-batch run has none of it.
func TestSampledSection(t *testing.T) {
	p := pageOf(t, sampledRun(t, 21))
	for _, id := range []string{"stages", "edge-rate", "rows", "sources", "fetches"} {
		if !slices.Contains(ids(p), id) {
			t.Errorf("no picture %s among %v", id, ids(p))
		}
	}
	for _, want := range []string{"120 steps of 1024 roots", "15,10,all", "part 0 · cpu:0,threads=1, in 14 of 21 epochs", "rows fetched", "sampled edges", "75.0 %, 25.0 %", "40.0 % of 100,000 are in the cache of the part that reads them; to fill caches 1,000 more are fetched", "deciding what is kept"} {
		if !strings.Contains(strings.ReplaceAll(p.text, "\u00a0", " "), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if full := pageOf(t, sampleRun(t, 12, true)); strings.Contains(full.text, "Sampling") || strings.Contains(full.text, "sampled edges") {
		t.Error("a full-batch run has figures of sampling")
	}
	damaged := sampledRun(t, 3)
	for i := range damaged.Epochs {
		*damaged.Epochs[i].SlowestPart, damaged.Epochs[i].PartWork[1] = 1<<40, runfile.PartWork{}
	}
	pageOf(t, damaged)
	damaged.Epochs[0].PartWork, damaged.Epochs[1].PartWork = make([]runfile.PartWork, 1000), nil
	pageOf(t, damaged)
	older := sampledRun(t, 3)
	for i := range older.Epochs {
		older.Epochs[i].PartWork, older.Epochs[i].Work.Rows = nil, runfile.Rows{Read: 5, Local: 3, Fetched: 2}
	}
	if p := pageOf(t, older); slices.Contains(ids(p), "sources") || !slices.Contains(ids(p), "rows") || strings.Contains(p.text, "in its cache") || strings.Contains(p.text, "in the cache of the part") {
		t.Errorf("a run without caches of rows has figures of them: %v", ids(p))
	}
}
