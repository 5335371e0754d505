package diskcache

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/synth"
	"capgnn/rapa"
)

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
