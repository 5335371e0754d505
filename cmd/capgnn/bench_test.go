package main

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/experiments"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/bench"
	"capgnn/internal/long"
)

// outputs are the files of an experiment that follow from its lines.
func outputs(s *sandbox, dir, name string) map[string]string {
	out := map[string]string{}
	for _, end := range []string{".md", ".csv", "-1.svg"} {
		data, err := os.ReadFile(s.path(dir + "/" + name + end))
		if err != nil {
			s.T.Fatal(err)
		}
		out[end] = string(data)
	}
	return out
}

// A bench that is killed goes on where it was: what has a line is not done again, and the files are those of an undisturbed run.
func TestBenchAfterAKill(t *testing.T) {
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	args := func(out string) []string {
		return []string{"bench", "halo", "--quick", "--quiet", "--datasets", data, "--out", out}
	}
	s.must(args("whole")...)
	want := outputs(s, "whole", "halo")
	cells := func(dir string) []byte {
		text, err := os.ReadFile(s.path(dir + "/cells.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	whole := cells("whole")
	if err := os.MkdirAll(s.path("killed"), 0o755); err != nil {
		t.Fatal(err)
	}
	// Half of the lines and half a line: what a killed run leaves. The lines carry a mark that measuring again would lose.
	kept := strings.ReplaceAll(string(whole[:len(whole)/2]), `"seconds":`, `"seconds":1`)
	if err := os.WriteFile(s.path("killed/cells.jsonl"), []byte(kept), 0o644); err != nil {
		t.Fatal(err)
	}
	s.must(args("killed")...)
	if complete := kept[:strings.LastIndex(kept, "\n")+1]; !strings.HasPrefix(string(cells("killed")), complete) {
		t.Error("lines that were there are not there any more")
	}
	if a, b := strings.Count(string(whole), "\n"), strings.Count(string(cells("killed")), "\n"); a != b {
		t.Errorf("%d lines, want %d: something was measured twice", b, a)
	}
	for end, text := range outputs(s, "killed", "halo") {
		if text != want[end] {
			t.Errorf("halo%s differs from that of a run without interruption", end)
		}
	}

	// And a real one: killed as soon as there is a line.
	cmd := s.command("bench", "halo", "--quiet", "--datasets", data, "--out", "struck")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		if text, err := os.ReadFile(s.path("struck/cells.jsonl")); err == nil && len(text) > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	s.must("bench", "halo", "--quiet", "--datasets", data, "--out", "struck")
	if got := len(strings.Split(strings.TrimSpace(string(cells("struck"))), "\n")); got != 28 { // 2 partitioners, 2 to 8 parts, 1 and 2 hops
		t.Errorf("%d lines, want 28", got)
	}
}

// experimentTables are what an experiment prints as JSON.
type experimentTables struct {
	Experiment string        `json:"experiment"`
	Tables     []bench.Table `json:"tables"`
}

// Experiments run on a small graph and say something; CAPGNN_LONG=1 has all of them, and the report of all.
func TestBenchEverything(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	linked := false
	want := "table1 halo hit-priority hit-capacity epoch-capacity overhead rapa hetero convergence overall ablation scaling staleness sampler fetch rapid massive hop grappa links cluster"
	commands := []string{"all"}
	if !long.Wanted() { // those of few runs
		commands = long.Some(t, strings.Fields("table1 halo overhead sampler fetch rapid massive hop grappa links cluster"), 1, "table1", "halo")
		want = strings.Join(commands, " ")
	}
	var results []experimentTables
	for _, name := range commands {
		if name == "overhead" || name == "all" {
			s.measured("cpu:0,threads=1,link=1GiB/s,cpu:1,threads=1,link=1GiB/s,cpu:2,threads=1,link=8GiB/s,cpu:3,threads=1,link=8GiB/s")
		}
		if behind := slices.Contains([]string{"grappa", "links", "cluster", "all"}, name); behind && !linked {
			linked = true
			s.measured("cpu:0,threads=1,link=119.2MiB/s,cpu:1,threads=1,link=119.2MiB/s")
		}
		stdout := s.must("bench", name, "--quick", "--quiet", "--json", "--datasets", data, "--epochs", "4", "--out", "all")
		var result struct {
			Results []experimentTables `json:"results"`
		}
		if err := json.Unmarshal([]byte(stdout), &result); err != nil {
			t.Fatalf("%v in %q", err, stdout)
		}
		results = append(results, result.Results...)
	}
	var names []string
	for _, r := range results {
		names = append(names, r.Experiment)
		rows := 0
		for _, table := range r.Tables {
			rows += len(table.Rows)
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Errorf("%s: row %v has not the columns %v", r.Experiment, row, table.Columns)
				}
				for _, text := range row {
					if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
						t.Errorf("%s: row %v", r.Experiment, row)
					}
				}
			}
		}
		if rows == 0 {
			t.Errorf("%s: no rows", r.Experiment)
		}
		outputs(s, "all", r.Experiment)
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("experiments %s, want %s", got, want)
	}
	if one, err := os.ReadFile(s.path("all/halo.html")); err != nil || strings.Count(string(one), "<section") != 1 || !strings.Contains(string(one), "<svg") ||
		!strings.Contains(string(one), "capgnn bench "+commands[min(1, len(commands)-1)]+" --") || !strings.Contains(string(one), ">processor<") {
		t.Errorf("halo.html lacks its figures, the command or the machine: %v", err)
	}
	if page, err := os.ReadFile(s.path("all/report.html")); commands[0] == "all" && (err != nil || strings.Count(string(page), "<section") != len(names)) {
		t.Errorf("report.html: %d sections, want %d: %v", strings.Count(string(page), "<section"), len(names), err)
	}
	var e experiments.Environment
	if err := diskcache.ReadJSON(s.path("all/environment.json"), &e); err != nil || len(e.Runs) != len(commands) || e.Runs[0].Cores < 1 || e.Runs[0].Epochs != 4 {
		t.Errorf("environment.json: %+v, %v", e, err)
	}
}

// Wrong usage of bench is one line and exit code 2.
func TestBenchWrongUsage(t *testing.T) {
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	if err := os.WriteFile(s.path("file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.path("bad"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path("bad/cells.jsonl"), []byte("junk\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		want string
		args []string
	}{
		{`no command "bench nothing"`, []string{"bench", "nothing"}},
		{"--datasets", []string{"bench", "halo", "--datasets", "nowhere"}},
		{"--datasets", []string{"bench", "halo", "--datasets", data + ","}},
		{"scale", []string{"bench", "halo", "--datasets", "reddit-like:-1"}},
		{"no preset", []string{"bench", "halo", "--datasets", "reddit-unlike:0.1"}},
		{"--devices", []string{"bench", "scaling", "--datasets", data, "--devices", "banana"}},
		{"simulate", []string{"bench", "scaling", "--datasets", data, "--devices", "cpu:0,cpu:1"}},
		{"measures", []string{"bench", "overhead", "--datasets", data, "--devices", "sim:a40"}},
		{"at least 2", []string{"bench", "rapa", "--datasets", data, "--devices", "sim:a40"}},
		{"--seeds", []string{"bench", "ablation", "--datasets", data, "--seeds", "1,x"}},
		{"--seeds", []string{"bench", "ablation", "--datasets", data, "--seeds", "1,1"}},
		{"--epochs", []string{"bench", "ablation", "--datasets", data, "--epochs", "0"}},
		{"--python", []string{"bench", "peers", "--datasets", data}},
		{"--python", []string{"bench", "peers", "--datasets", data, "--python", "nowhere"}},
		{"--out", []string{"bench", "halo", "--datasets", data, "--out", "file"}},
		{"line 1", []string{"bench", "halo", "--datasets", data, "--out", "bad"}},
		{"unexpected argument", []string{"bench", "halo", "please"}},
	} {
		s.fails(term.ExitUsage, []string{tc.want}, append(tc.args, "--quiet")...)
		if name := "bench/halo"; tc.want == "--datasets" && term.Exists(s.path(name)) {
			t.Errorf("%v left %s", tc.args, name)
		}
	}
}

// At equal slots planned with all steps ahead fetches no more rows than any other way, and rapid no more than with pull; counts repeat.
func TestBenchFetchCounts(t *testing.T) {
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	values := func(out string) (lines []map[string]float64) {
		s.must("bench", "fetch", "--quick", "--quiet", "--datasets", data, "--out", out)
		text, err := os.ReadFile(s.path(out + "/cells.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var l bench.Line
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, l.Values)
		}
		return lines
	}
	first, again := values("first"), values("again")
	if !reflect.DeepEqual(first, again) || len(first) != 2 {
		t.Fatalf("counts of two runs differ: %v and %v", first, again)
	}
	for _, v := range first {
		if v["demand rows"] == 0 || v["rapid rows"] > v["rapid, pull rows"] {
			t.Errorf("rows: %v", v)
		}
		for name, rows := range v {
			if strings.HasSuffix(name, " rows") && rows < v["planned, all rows"] {
				t.Errorf("%s are %v, of planned with all steps ahead %v", name, rows, v["planned, all rows"])
			}
		}
	}
}
