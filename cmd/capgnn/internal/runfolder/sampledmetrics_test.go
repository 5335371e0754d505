package runfolder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/minibatch"
)

// sampledStats is an epoch of two parts.
func sampledStats(epoch int) minibatch.EpochStats {
	s := minibatch.EpochStats{Epoch: epoch, Loss: 0.5, Train: 2 * time.Second, Usage: gpu.Usage{H2D: 16}, Parts: make([]gpu.Usage, 2), Slowest: 1, TimeSteps: 2,
		Work: []minibatch.Counts{{Roots: 9, Rows: minibatch.Rows{Read: 30, Local: 30}}, {Roots: 7, Time: minibatch.Times{Decide: time.Second}}}}
	s.Counts = minibatch.Counts{Steps: 3, Edges: 3000, Rows: minibatch.Rows{Read: 50, Local: 30, Hit: 10, Fetched: 10, Evicted: 3, Prefilled: 4}, Requests: 6, CPU: time.Second,
		Bytes: minibatch.Traffic{Rows: 4000, IDs: 40, Gradients: 7}, Time: minibatch.Times{Sample: time.Second}}
	return s
}

func TestSampledMetricsAndEvents(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "metrics.jsonl")
	if err := os.WriteFile(path, []byte("{\"epoch\":0}\n{\"epoch\":1}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m, f := Metrics{Path: path}, Events{Dir: Dir(dir), Metric: "accuracy"}
	score := 0.25
	for e := 1; e < 3; e++ { // epoch 1 is done again
		s := sampledStats(e)
		if s.Eval = e == 2; s.Eval {
			s.Metrics = learn.Metrics{Val: &score, ValLoss: &score}
		}
		if err := m.Append(s); err != nil {
			t.Fatal(err)
		}
		if err := f.Append(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines in\n%s", len(lines), data)
	}
	for _, want := range []string{`{"epoch":2,"loss":0.5,"train":null,"val":0.25,"test":null,"val_loss":0.25,"epoch_s":2,`, `"bytes":{"d2h":0,"h2d":16,"peer":0,"host":0,"refresh":0,"gradients":7,"rows":4000,"ids":40}`,
		`"steps":3,"edges":3000,"edges_per_s":1500,"rows":{"read":50,"local":30,"hit":10,"fetched":10,"evicted":3,"prefilled":4},"requests":6,"time_s":{"sample":1,"decide":0,"fetch":0,`, `"cpu_s":1,"time_steps":2,"slowest_part":1,`, `"part_s":[{`,
		`"part_work":[{"roots":9,"rows":{"read":30,"local":30,`, `{"roots":7,`, `"decide":1,`} {
		if !strings.Contains(lines[2], want) {
			t.Errorf("%s lacks %s", lines[2], want)
		}
	}
	if strings.Contains(lines[1], `"val"`) {
		t.Errorf("scores in a line of an epoch that was not evaluated: %s", lines[1])
	}
	events := string(eventFiles(t, dir)[0])
	for tag, want := range map[string]int{"loss": 3, "accuracy/val": 1, "sampling/edges_per_second": 2, "sampling/rows_read": 2, "sampling/rows_hit": 2, "sampling/rows_fetched": 2} { // val_loss, too
		if got := strings.Count(events, tag); got != want {
			t.Errorf("%s stands %d times in the events, want %d", tag, got, want)
		}
	}
}
