package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/browser"
)

var figureData = regexp.MustCompile(`(?s)<figure data-chart[^>]*id="([^"]+)".*?<script type="application/json">(.*?)</script>`)

// curvesIn returns the numbers of the charts of a page: by chart, by curve.
func curvesIn(t *testing.T, page string) map[string]map[string][]float64 {
	t.Helper()
	charts := map[string]map[string][]float64{}
	for _, m := range figureData.FindAllStringSubmatch(page, -1) {
		var d struct {
			Series []struct {
				Name string
				Y    []float64
			}
		}
		if err := json.Unmarshal([]byte(m[2]), &d); err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		charts[m[1]] = map[string][]float64{}
		for _, s := range d.Series {
			charts[m[1]][s.Name] = s.Y
		}
	}
	return charts
}

// withoutSpans is a page whose commands stand there as they are read.
func withoutSpans(page string) string {
	return strings.NewReplacer("<span>", "", "</span>", "").Replace(page)
}

// numbersIn returns a number of every line of metrics that has it, by the path of its keys.
func numbersIn(t *testing.T, s *sandbox, run string, keys ...string) []float64 {
	t.Helper()
	var out []float64
	for _, line := range metricsOf(t, s.path(run)) {
		var v any = line
		for _, key := range keys {
			in, _ := v.(map[string]any)
			v = in[key]
		}
		if x, ok := v.(float64); ok {
			out = append(out, x)
		}
	}
	return out
}

// The page that train writes, seen in a browser, holds the numbers of metrics.jsonl.
func TestReportOfARun(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train(small("--devices", "cpu:0,cpu:1", "--run-dir", "run")...)
	data, err := os.ReadFile(s.path("run/report.html"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	check := func(page string) {
		t.Helper()
		charts := curvesIn(t, page)
		for _, tc := range []struct {
			chart, curve string
			keys         []string
		}{
			{"loss", "training", []string{"loss"}}, {"loss", "validation", []string{"val_loss"}}, {"score", "validation", []string{"val"}}, {"score", "test", []string{"test"}},
			{"epoch-time", "epoch", []string{"epoch_s"}}, {"phases", "dense products", []string{"device_s", "mm"}}, {"bytes", "device to device", []string{"bytes", "peer"}},
		} {
			want := numbersIn(t, s, "run", tc.keys...)
			if got := charts[tc.chart][tc.curve]; len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, want %v", tc.chart, tc.curve, got, want)
			}
		}
		for _, id := range []string{"coverage", "staleness"} {
			if charts[id] != nil && len(charts[id]) == 0 {
				t.Errorf("an empty chart %s", id)
			}
		}
	}
	check(page)
	for _, want := range []string{"phase-bars", "part-vertices", "part 1 · cpu:1", "capgnn train --config run/config.yaml --run-dir run-again", "--hidden 16"} {
		if !strings.Contains(withoutSpans(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	t.Run("in a browser", func(t *testing.T) {
		seen := browser.Find(t).Open(t, page, browser.View{Width: 1280})
		if len(seen.Console) > 0 || !strings.Contains(seen.DOM, `data-charts="6"`) {
			t.Errorf("console %q, page %.300s", seen.Console, seen.DOM)
		}
		check(seen.DOM)
	})
	if out := s.must("report", "run", "--json"); out != `{"report":"run/report.html","runs":["run"]}`+"\n" {
		t.Errorf("report prints %s", out)
	}
	if again, err := os.ReadFile(s.path("run/report.html")); err != nil || string(again) != page {
		t.Errorf("report draws another page than train did: %v", err)
	}
}

// The page of a run with caches holds what its metrics say of them, also in a dark and narrow browser.
func TestReportOfCaches(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train("--dataset", "ok.npz", "--layers", "4", "--hidden", "16", "--epochs", "40", "--devices", "cpu:0,cpu:1,cpu:2", "--staleness", "4,layers=1,2,3", "--run-dir", "run")
	data, err := os.ReadFile(s.path("run/report.html"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	charts := curvesIn(t, page)
	for _, tc := range []struct {
		chart, curve string
		keys         []string
	}{
		{"coverage", "coverage", []string{"cache", "coverage"}}, {"lookups", "in device memory", []string{"cache", "local_hits"}},
		{"lookups", "missed", []string{"cache", "misses"}}, {"refresh", "refresh", []string{"bytes", "refresh"}},
		{"staleness", "bound", []string{"staleness", "bound"}}, {"staleness", "oldest", []string{"staleness", "max_seen"}},
		{"staleness", "mean", []string{"staleness", "mean_seen"}},
		{"phases", "checking the cache", []string{"device_s", "check_cache"}},
	} {
		want := numbersIn(t, s, "run", tc.keys...)
		if got := charts[tc.chart][tc.curve]; len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s, %s: %v, want %v", tc.chart, tc.curve, got, want)
		}
	}
	for _, want := range []string{"slots in device memory", "refreshed every 4 epochs"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	seen := browser.Find(t).Open(t, page, browser.View{Width: 400, Dark: true})
	if len(seen.Console) > 0 || !strings.Contains(seen.DOM, `data-charts="10"`) {
		t.Errorf("console %q, page %.300s", seen.Console, seen.DOM)
	}
}

// What the page says to type does what it says.
func TestReportedCommands(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	first := s.train(small("--devices", "sim:rtx3090,sim:gtx1650", "--run-dir", "a run", "--storage", "bf16", "--optimizer", "amsgrad=on")...)
	run, err := runfolder.Dir(s.path("a run")).Describe()
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Repeat) != 4 {
		t.Fatalf("%d steps", len(run.Repeat))
	}
	for i, step := range run.Repeat {
		words := strings.Split(strings.ReplaceAll(strings.TrimPrefix(step.Command, "capgnn "), "'", ""), " --")
		var args []string
		for k, w := range words {
			if k > 0 {
				w = "--" + w
			}
			name, value, has := strings.Cut(w, " ")
			args = append(args, name)
			if has {
				args = append(args, value)
			}
		}
		out := s.must(append(args, "--json", "--quiet")...)
		if i == 0 {
			if r := readResultLine(t, out); r.SHA256 != first.SHA256 {
				t.Errorf("%s gives other weights", step.Command)
			}
		}
	}
}

func TestReportOfUnfinishedAndSeveralRuns(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train(small("--run-dir", "a")...)
	s.train(small("--run-dir", "b", "--model", "sage", "--epochs", "7")...)
	if err := os.Remove(s.path("a/result.json")); err != nil {
		t.Fatal(err)
	}
	s.must("report", "a")
	page, err := os.ReadFile(s.path("a/report.html"))
	if err != nil || !strings.Contains(string(page), "not finished: 12 of 12 epochs") || !strings.Contains(withoutSpans(string(page)), "capgnn train --resume a") {
		t.Errorf("page of an unfinished run: %v", err)
	}
	out := s.must("report", "a", "--out", "both.html", "b")
	if !strings.Contains(out, "sage") || !strings.Contains(out, "both.html") {
		t.Errorf("comparison prints %s", out)
	}
	page, err = os.ReadFile(s.path("both.html"))
	if err != nil {
		t.Fatal(err)
	}
	charts := curvesIn(t, string(page))
	for _, run := range []string{"a", "b"} {
		if got, want := charts["loss"][run], numbersIn(t, s, run, "loss"); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("run %s: losses %v, want %v", run, got, want)
		}
	}
	s.must("report", "a", "b")
	if _, stderr, _ := s.run("report", "a", "b", "./a"); stderr != "note: report: a is named twice, and drawn twice\n" {
		t.Errorf("a run that is named twice: %q", stderr)
	}
	if !term.Exists(s.path("comparison.html")) {
		t.Error("no comparison.html")
	}
	s.fails(term.ExitUsage, []string{"name a run folder"}, "report")
	s.fails(term.ExitUsage, []string{"nowhere", "no such folder"}, "report", "nowhere")
	s.fails(term.ExitUsage, []string{"--out"}, "report", "a", "--out", "nowhere/x.html")
	s.fails(term.ExitUsage, []string{"--out"}, "report", "a", "--out", "")
	s.fails(term.ExitUsage, []string{"-nonsense", "capgnn report --help"}, "report", "a", "--nonsense")
	for name, content := range map[string]string{"metrics.jsonl": "{\n", "result.json": "[]", "plan.bin": "CAPGPLAN"} {
		if err := os.WriteFile(s.path("b/"+name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		s.fails(term.ExitUsage, []string{"b/" + name}, "report", "b")
		if err := os.Remove(s.path("b/" + name)); err != nil {
			t.Fatal(err)
		}
	}
}
