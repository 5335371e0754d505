package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sampledRun returns a run of two parts that trained on samples.
func sampledRun(t testing.TB, epochs int) Run {
	t.Helper()
	r := sampleRun(t, epochs, false)
	var b strings.Builder
	for e := range epochs {
		s := 1 + float64(e%7)/20
		line := map[string]any{"steps": 120, "edges": 4_000_000 + e, "edges_per_s": 1.9e6 / s, "rows": map[string]any{"read": 500_000, "local": 400_000, "fetched": 100_000},
			"time_s": map[string]any{"sample": 0.8 * s, "fetch": 0.1, "stage": 0.3, "upload": 0.2, "compute": 2 * s, "wait": 0.05}, "cpu_s": 4.1, "slowest_part": e % 3 % 2,
			"epoch": e, "bytes": map[string]any{"h2d": 1 << 20, "rows": 1 << 24, "ids": 1 << 18, "gradients": 1 << 16}, "epoch_s": 2.1 * s,
			"loss": r.Epochs[e].Loss, "val": 0.5 + float64(e)/1e3, "part_s": []any{map[string]any{"mm": s}, map[string]any{"mm": 1}}}
		data, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", data)
	}
	var err error
	if r.Epochs, err = ReadEpochs(strings.NewReader(b.String())); err != nil {
		t.Fatal(err)
	}
	r.Name = "runs/reddit-sage-sampled"
	r.Settings = append(r.Settings, Setting{Name: "batch-size", Value: "1024", Default: "0"}, Setting{Name: "fanout", Value: "15,10,all"})
	return r
}

// A sampled run shows what its steps were made of; a full-batch run has none of it.
func TestSampledSection(t *testing.T) {
	p := pageOf(t, sampledRun(t, 21))
	for _, id := range []string{"stages", "edge-rate", "rows", "fetches"} {
		if !slices.Contains(ids(p), id) {
			t.Errorf("no picture %s among %v", id, ids(p))
		}
	}
	for _, want := range []string{"120 steps of 1024 roots", "15,10,all", "part 0 · cpu:0,threads=1, in 14 of 21 epochs", "rows fetched", "sampled edges"} {
		if !strings.Contains(strings.ReplaceAll(p.text, "\u00a0", " "), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if full := pageOf(t, sampleRun(t, 12, true)); strings.Contains(full.text, "Sampling") || strings.Contains(full.text, "sampled edges") {
		t.Error("a full-batch run has figures of sampling")
	}
	damaged := sampledRun(t, 3)
	for i := range damaged.Epochs {
		damaged.Epochs[i].Rows, damaged.Epochs[i].TimeS, damaged.Epochs[i].SlowestPart = nil, nil, 1<<40
	}
	pageOf(t, damaged)
}
