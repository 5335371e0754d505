package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/internal/long"
	"capgnn/internal/named"
)

// readmeCommand finds the commands of README.md and of the guide that train, cut a graph or say what training takes.
var readmeCommand = regexp.MustCompile(`(?m)^\./capgnn ((?:train|plan|partition) --dataset [^|#\n]*)`)

// What README and the guide say to type works with one layer and with two, as it stands and with any model on one to four parts: gat refuses old rows.
func TestReadmeCommandsWithFewLayers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, readmeCommand.FindAllStringSubmatch(string(text), -1)...)
	}
	if len(lines) < 12 {
		t.Fatalf("%d commands", len(lines))
	}
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	n, calls := 0, 0
	try := func(line, layers string, more ...string) {
		args := strings.Fields(strings.ReplaceAll(line, "cuda:", "cpu:")) // of which every machine has some
		args[slices.Index(args, "--dataset")+1] = "ok.npz"
		if at := slices.Index(args, "--run-dir"); at >= 0 && slices.Contains(args, "--seeds") { // a folder of its own each time
			calls++
			args[at+1] = fmt.Sprint("seeds-", calls)
			args[slices.Index(args, "--seeds")+1] = "1-2"
		}
		args = append(append(args, "--hidden", "16", "--quiet", "--layers", layers), more...)
		if args[0] == "train" && !slices.Contains(args, "--schedule") { // a schedule is of all its epochs
			args = append(args, "--epochs", "5")
		}
		if i := slices.Index(args, "--shards"); i >= 0 { // a new folder, of parts of its own
			args[i+1] = fmt.Sprint("shards", n, layers)
		}
		switch {
		case slices.Contains(args, "--fanout") && layers != fmt.Sprint(strings.Count(args[slices.Index(args, "--fanout")+1], ",")+1):
			s.fails(term.ExitUsage, []string{"--fanout", "give one for each layer"}, args...)
		case strings.Contains(line, "--isolated") && !strings.Contains(line, "layers=all") && (slices.Contains(more, "appnp") || slices.Contains(more, "gcnii")):
			s.fails(term.ExitUsage, []string{"--isolated", "say layers=all"}, args...)
		case strings.Contains(line, "--isolated=chunks=") && slices.Contains(more, "--parts"):
			s.fails(term.ExitUsage, []string{"--isolated", "isolated parts have one chunk each"}, args...)
		case strings.Contains(line, "--isolated") && slices.Contains(more, "1"): // --parts 1
			s.fails(term.ExitUsage, []string{"--isolated", "one part is too few"}, args...)
		default:
			s.must(args...)
		}
	}
	for k, layers := range []string{"1", "2"} {
		for i, line := range lines {
			if strings.Contains(line[1], "--machines net=net.json") {
				continue // which ranks write
			}
			if !long.Nth(t, 2, i+k) {
				continue
			}
			try(line[1], layers)
			special := slices.ContainsFunc([]string{"--plan", "--parts", "--out", "--seeds", "--shards", "--machines"}, func(flag string) bool { return strings.Contains(line[1], flag) })
			if special {
				continue // of parts of its own, or many runs
			}
			for _, model := range runfolder.Names(named.Kinds) {
				for _, parts := range []string{"1", "2", "3", "4"} {
					if n++; (uint64(n)+long.Turn())%map[bool]uint64{true: 8, false: 131}[long.Wanted()] == 0 { // others for every commit
						try(line[1], layers, "--model", model, "--parts", parts)
					}
				}
			}
		}
	}
}

// A staleness that lets no row age changes no bit, and says so; such runs go on where they were stopped, and predict.
func TestStalenessWithoutOldRows(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	flags := func(more ...string) []string {
		return append([]string{"--dataset", "ok.npz", "--hidden", "32", "--epochs", "12", "--checkpoint-every", "4", "--devices", "cpu:0,cpu:1", "--partitioner", "random"}, more...)
	}
	cases := map[string][]string{
		"one part":       {"--parts", "1"},
		"one layer":      {"--layers", "1", "--parts", "3"},
		"no stale layer": {"--staleness", "layers=none"},
		"fresh layer":    {"--layers", "2", "--model", "sage"},
		"no edge cut":    {"--partitioner", "multilevel"},
		"no slots":       {"--staleness", "pipeline=off", "--cache", "gpu=0,cpu=0"},
		"no room":        {"--staleness", "pipeline=off", "--cache", "reserve-gpu=1TiB,reserve-cpu=1TiB", "--peer", "off"},
		"always exact":   {"--staleness", "exact=12"},
	}
	resumed := long.Few(t, slices.Sorted(maps.Keys(cases)), 3)
	for name, more := range cases {
		dir := strings.ReplaceAll(name, " ", "-")
		want := s.train(flags(append([]string{"--staleness", "0", "--cache", "reserve-cpu=0"}, more[:len(more):len(more)]...)...)...)
		_, stderr, code := s.run(append([]string{"train", "--run-dir", dir}, flags(append([]string{"--staleness", "4"}, more...)...)...)...)
		if code != 0 || !strings.Contains(stderr, "has no effect here") {
			t.Errorf("%s: exit code %d, %s", name, code, stderr)
			continue
		}
		got, err := runfolder.Dir(s.path(dir)).ReadResult()
		if err != nil {
			t.Fatal(err)
		}
		if got.SHA256 != want.SHA256 || got.Staleness.MaxSeen != 0 {
			t.Errorf("%s: weights %s with rows of age %d, at staleness 0 %s", name, got.SHA256, got.Staleness.MaxSeen, want.SHA256)
		}
		if !long.Wanted() && !slices.Contains(resumed, name) {
			continue
		}
		s.must("predict", "--run", dir, "--what", "labels", "--quiet")
		s.unfinished(dir)
		if r := s.train("--resume", dir); r.SHA256 != want.SHA256 {
			t.Errorf("%s: resumed: weights %s, want %s", name, r.SHA256, want.SHA256)
		}
	}
	if _, stderr, _ := s.run(append([]string{"train"}, flags("--staleness", "4", "--layers", "4")...)...); strings.Contains(stderr, "changes nothing") {
		t.Errorf("rows may be old: %s", stderr)
	}
}

// What a device takes alone, and speed-ups are over, does not depend on a staleness that it has no use for.
func TestPlanComparesWithExactDevices(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	alone := func(staleness string) map[string]float64 {
		var m training.MemoryPlan
		if err := json.Unmarshal([]byte(s.must("plan", "--json", "--quiet", "--dataset", "ok.npz", "--hidden", "64", "--devices", "sim:rtx3090,sim:gtx1650", "--staleness", staleness)), &m); err != nil {
			t.Fatal(err)
		}
		out := map[string]float64{}
		for _, x := range m.Subsets {
			if len(x.Devices) == 1 {
				out[x.Devices[0]] = x.EpochS
			}
		}
		return out
	}
	want, got := alone("0"), alone("4")
	if len(want) != 2 {
		t.Fatalf("alone: %v", want)
	}
	for device, epoch := range want {
		if got[device] != epoch {
			t.Errorf("%s alone takes %g s with --staleness 4, %g s with 0", device, got[device], epoch)
		}
	}
}

// Runs on old rows of every kind predict, repeat and resume like others.
func TestStaleRunsAreRunsLikeOthers(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for n, more := range [][]string{
		{"--model", "gat", "--staleness", "2,layers=1"},
		{"--halo-dtype", "int8"},
		{"--halo-dtype", "int8", "--staleness", "8,layers=wide", "--epochs", "23"},
	} {
		a, b := fmt.Sprint("a", n), fmt.Sprint("b", n)
		args := small(append([]string{"--run-dir", a, "--devices", "cpu:0,cpu:1"}, more...)...)
		want := s.train(args...)
		s.must("predict", "--run", a, "--quiet")
		if got := s.train("--config", a+"/config.yaml", "--run-dir", b, "--quiet", "--json"); got.SHA256 != want.SHA256 {
			t.Errorf("%v: weights %s, again %s", more, want.SHA256, got.SHA256)
		}
	}
}
