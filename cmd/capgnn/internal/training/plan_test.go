package training

import (
	"bytes"
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/synth"
	"capgnn/profiler"
	"capgnn/rapa"
)

func TestShares(t *testing.T) {
	row := func(uuid string, mm, spmm float64) profiler.DeviceProfile {
		return profiler.DeviceProfile{UUID: uuid, MM: profiler.Timing{Median: mm}, SpMM: profiler.Timing{Median: spmm}}
	}
	half := math.Pow(1.05, -math.Round(math.Log(2)/math.Log(1.05))) // 1/2 on rapa's grid
	for _, tc := range []struct {
		name  string
		rows  []profiler.DeviceProfile
		parts int
		want  []float64 // nil = equal
	}{
		{"one", []profiler.DeviceProfile{row("a", 1, 1)}, 1, nil},
		{"equal", []profiler.DeviceProfile{row("a", 1, 1), row("b", 1, 1)}, 2, nil},
		{"equal within noise", []profiler.DeviceProfile{row("a", 1, 1), row("b", 1.02, 1.02)}, 2, nil},
		{"same hardware, noisy", []profiler.DeviceProfile{row("a", 1, 1), row("a", 2, 1)}, 2, nil},
		{"half", []profiler.DeviceProfile{row("a", 1, 1), row("b", 2, 2)}, 2, []float64{1 / (1 + half), half / (1 + half)}},
		{"half in one of two", []profiler.DeviceProfile{row("a", 1, 2), row("b", 2, 4)}, 2, []float64{1 / (1 + half), half / (1 + half)}},
		{"three parts on two devices", []profiler.DeviceProfile{row("a", 1, 1), row("b", 1, 1)}, 3, []float64{0.25, 0.5, 0.25}},
		{"first device only", []profiler.DeviceProfile{row("a", 9, 9), row("b", 1, 1)}, 1, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := shares(tc.rows, tc.parts, func(part int) int { return part % len(tc.rows) }, rapa.DefaultAlpha)
			if err != nil || len(got) != len(tc.want) {
				t.Fatalf("got %v, %v, want %v", got, err, tc.want)
			}
			for p := range got {
				if math.Abs(got[p]-tc.want[p]) > 1e-14 { // quotients of sums of at most three terms
					t.Errorf("got %v, want %v", got, tc.want)
				}
			}
		})
	}
}

// A plan is made once; afterwards it comes from the cache, and a damaged one is made again.
func TestPartitionIsCached(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	g, _, err := synth.Blocks(300, 3, 6, 0.8, 1)
	if err != nil {
		t.Fatal(err)
	}
	opt := rapa.Options{Parts: 3, Seed: 1}
	var log bytes.Buffer
	k := &term.Console{Out: &log, Err: &log}
	first, err := Cut(context.Background(), k, g, nil, opt, "")
	if err != nil {
		t.Fatal(err)
	}
	path := planPath(first.Key)
	changed, err := rapa.ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	changed.EdgeCut++ // a mark that only the cached file has
	if err := rapa.WritePlan(path, changed); err != nil {
		t.Fatal(err)
	}
	again, err := Cut(context.Background(), k, g, nil, opt, "")
	if err != nil || again.EdgeCut != changed.EdgeCut {
		t.Errorf("edge cut %d, %v: the cached plan was not used", again.EdgeCut, err)
	}
	if err := os.WriteFile(path, []byte("junk"), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err = Cut(context.Background(), k, g, nil, opt, "")
	if err != nil || again.EdgeCut != first.EdgeCut || !slices.Equal(again.Part, first.Part) || !strings.Contains(log.String(), path) {
		t.Errorf("%v: a damaged plan was not replaced, or nobody was told: %s", err, log.String())
	}
	other, err := Cut(context.Background(), k, g, nil, rapa.Options{Parts: 2, Seed: 1}, path)
	if err != nil || len(other.Parts) != 2 {
		t.Errorf("%v: a plan of another number of parts was used", err)
	}
	if _, err := Cut(context.Background(), k, g, nil, rapa.Options{Parts: 301}, ""); term.ExitCode(err) != term.ExitUsage {
		t.Errorf("more parts than vertices: %v, want a usage error", err)
	}
}

// A key that is none, as somebody may write it into a config file, names no plan.
func TestPlanPathOfNoKey(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, key := range []string{"", "abc", strings.Repeat("g", 64), strings.Repeat("../", 22)[:64], strings.Repeat("0", 63), strings.Repeat("0", 66)} {
		if path := planPath(key); path != "" {
			t.Errorf("%q: %s", key, path)
		}
	}
	if planPath(strings.Repeat("0a", 32)) == "" {
		t.Error("a key names no plan")
	}
}
