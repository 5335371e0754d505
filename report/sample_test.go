package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"capgnn/internal/runfile"
)

// sampleMetrics returns lines of metrics of two parts; with caches, also what caches add.
func sampleMetrics(t testing.TB, epochs int, caches bool) string {
	t.Helper()
	var b strings.Builder
	for e := range epochs {
		wave := 1 + math.Sin(float64(e))/10
		part := func(s float64) map[string]any {
			return map[string]any{"aggregation": s * wave, "mm": 2 * s, "communication_wait": s / 3, "communication_transfer": s / 7, "reduce": 0.0, "other": s / 11}
		}
		line := map[string]any{
			"epoch": e, "loss": 2 * math.Exp(-float64(e)/7) * wave, "epoch_s": 0.0123 * wave, "eval_s": 0.0, "reduce_s": 0.001,
			"device_s": part(0.003), "part_s": []any{part(0.001), part(0.002)},
			"bytes": map[string]any{"d2h": 1000 + e, "h2d": 2000, "peer": 1 << 20, "host": 0},
		}
		if e%3 == 2 {
			line["train"], line["val"], line["test"] = 0.5+float64(e)/1e5, 0.25, nil
			line["val_loss"] = 2.2 * math.Exp(-float64(e)/9)
		}
		if caches {
			line["cache"] = map[string]any{"policy": "jaca", "lookups": 600 + e, "coverage": 0.75, "local_hits": 300 + e, "global_hits": 100, "misses": 200}
			line["staleness"] = map[string]any{"bound": 4, "max_seen": e % 5, "mean_seen": 1.5, "period": map[string]any{"1": 4, "2": 2}}
			line["bytes"].(map[string]any)["refresh"] = 512
			line["device_s"].(map[string]any)["check_cache"] = 0.0001
		}
		data, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", data)
	}
	return b.String()
}

const sampleResult = `{"dataset":"cora","model":"gcn","devices":["cpu:0,threads=1","cpu:1,threads=1"],"parts":2,"epochs":%d,"seed":1,"final_loss":0.1,
"train":0.9,"val":0.25,"test":0.2421,"test_last":0.24,"best_epoch":8,"metric":"accuracy","epoch_s":{"median":0.01,"mean":0.01,"min":0.009},
"time_s":{"start":0.5},"bytes":{"peer":1048576},"halo_rows":254,"halo_pairs":[[0,100],[154,0]],"peak_bytes":{"host":1048576,"devices":[2097152,1048576]},"weights_sha256":"ab12",
"build":{"version":"v1","commit":"c0ffee","go":"go1.26","os":"linux","arch":"amd64"}%s}`

// sampleRun returns a run of two parts.
func sampleRun(t testing.TB, epochs int, caches bool) Run {
	t.Helper()
	more := ""
	if caches {
		more = `,"cache":{"policy":"jaca","lookups":800,"coverage":0.75,"local_hits":400,"global_hits":100,"misses":300,
"capacity":{"local":[10,20],"global":30,"union_local":[40,50],"union_global":60,"slot_bytes":2048}},
"staleness":{"bound":4,"max_seen":4,"mean_seen":1.5,"period":{"1":4,"2":4}}`
	}
	result, err := runfile.ReadResult(strings.NewReader(fmt.Sprintf(sampleResult, epochs, more)))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := runfile.ReadEpochs(strings.NewReader(sampleMetrics(t, epochs, caches)))
	if err != nil {
		t.Fatal(err)
	}
	return Run{
		Name: "runs/cora-gcn", Result: result, Epochs: lines, Planned: epochs,
		Settings: []Setting{{Name: "dataset", Value: "cora"}, {Name: "hidden", Value: "64", Default: "256"}, {Name: "lr", Value: "0.01", Default: "0.01"},
			{Name: "plan-key", Value: "abc", Recorded: true}},
		Partition: &Partition{EdgeCut: 185, Moved: 3, Stop: "balanced", Cost: "s", Trace: [][]float64{{1, 2}, {1.5, 1.6}},
			Parts: []Part{{"cpu:0", 1400, 100, 5000, 200, 70}, {"cpu:1", 1308, 154, 5556, 210, 70}}},
		Repeat: []Step{{"Again.", "capgnn train --config runs/cora-gcn/config.yaml --hidden 64 --seed 3 --parts 4 --epochs 60"}},
	}
}
