package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/internal/long"
)

// linked are two devices whose rows cross links.
const linked = "cpu:0,threads=1,link=200MiB/s,latency=10us,cpu:1,threads=1,link=200MiB/s,latency=10us"

// Every preset trains over links, leaves a run that is repeated, predicted from and reported, and counts where its rows come from.
func TestSampledPresets(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, name := range runfolder.SamplingNames() {
		r := s.train(sampledArgs("--devices", linked, "--partitioner", "random", "--sampling", name, "--epochs", "4", "--run-dir", name)...)
		w := r.Sampling
		if w == nil || w.Steps != 4*11 || w.Rows.Read != w.Rows.Local+w.Rows.Hit+w.Rows.Fetched || w.Rows.Fetched == 0 || !strings.HasPrefix(w.Sampling, name+",roots=") || strings.Contains(w.Sampling, "fetch=auto") {
			t.Errorf("%s: steps have done %+v", name, w)
			continue
		}
		if kept := name != "distdgl" && name != "hopgnn"; kept != (w.Rows.Hit > 0) {
			t.Errorf("%s: %d rows were found in caches", name, w.Rows.Hit)
		}
		if again := s.train("--config", name+"/config.yaml", "--run-dir", name+"-again"); again.SHA256 != r.SHA256 || again.Sampling.Rows != w.Rows {
			t.Errorf("%s: repeated by its config file: weights %s and rows %+v, were %s and %+v", name, again.SHA256, again.Sampling.Rows, r.SHA256, w.Rows)
		}
		s.must("predict", "--run", name, "--what", "labels", "--out", name+".csv", "--quiet")
		page, err := os.ReadFile(s.path(name + "/report.html"))
		if err != nil || !strings.Contains(string(page), `id="sources"`) {
			t.Errorf("%s: the report has no rows by part: %v", name, err)
		}
		out := s.must("train", "--dataset", "ok.npz", "--hidden", "16", "--batch-size", "4", "--devices", linked, "--sampling", name, "--epochs", "1", "--run-dir", name+"-shown")
		if !strings.Contains(out, name+": roots=") {
			t.Errorf("%s: the result does not say how steps were made:\n%s", name, out)
		}
	}
	s.must("report", "default", "hopgnn", "--out", "both.html", "--quiet")
}

// Where rows come from, and how many are kept, changes no bit.
func TestSampledFetchBits(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for k, place := range []string{"distdgl", "default", "hopgnn,merge=off"} {
		want := ""
		for i, more := range []string{
			"fetch=demand", "fetch=planned", "fetch=planned,lookahead=1,cache=3", "fetch=planned,lookahead=all,cache=50%",
			"fetch=rapid,cache=5", "fetch=rapid,pull=on,cache=1KiB", "fetch=massive,delta=2,cache=100%", "fetch=massive,f=1,gamma=0.5,prefetch=1,cache=0",
		} {
			if i > 0 && (i+k)%3 > 0 && !long.Wanted() {
				continue
			}
			args := []string{"--devices", linked, "--partitioner", "random", "--epochs", "2", "--sampling", place + "," + more, "--run-dir", place[:3] + string(rune('a'+i))}
			if r := s.train(sampledArgs(args...)...); want == "" {
				want = r.SHA256
			} else if r.SHA256 != want {
				t.Errorf("%s, %v: weights %s, want %s", place, more, r.SHA256, want)
			}
		}
	}
}

// What plan counts is what a run of one epoch fetches, in every place and in every way.
func TestPlannedRowsAreFetched(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	flags := sampledArgs("--devices", linked, "--partitioner", "random", "--fanout", "3,2,2")
	var p training.SampledPlan
	if err := json.Unmarshal([]byte(s.must(append([]string{"plan", "--json", "--quiet"}, flags...)...)), &p); err != nil {
		t.Fatal(err)
	}
	if p.Rows == nil || len(p.Rows.Places) != 3 || len(p.Rows.Ways) != 6 || p.Rows.Cache.Best > p.Rows.Cache.Rows || len(p.Rows.Cache.Slots) != 2 {
		t.Fatalf("the plan is %+v", p.Rows)
	}
	check := func(what training.RowCount, more ...string) {
		r := s.train(slices.Concat(flags, []string{"--epochs", "1", "--run-dir", what.Setting, "--sampling"}, more)...)
		if w := r.Sampling; w.Rows.Fetched+w.Rows.Prefilled != what.Rows || r.Bytes.Rows != int64(what.Bytes) || w.Requests != what.Requests {
			t.Errorf("%v: %+v by %d requests, %d bytes, planned %+v", more, w.Rows, w.Requests, r.Bytes.Rows, what)
		}
	}
	for _, place := range p.Rows.Places {
		check(place, "default,fetch=demand,"+place.Setting)
	}
	for _, way := range p.Rows.Ways[1:] {
		check(way, fmt.Sprintf("default,%s,cache=%g%%", way.Setting, 100*p.Rows.Cache.Share))
	}
	text := s.must(append([]string{"plan", "--quiet"}, flags...)...)
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 80 && !strings.Contains(line, "cpu:") { // names of devices are as long as users make them
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	one := s.must("plan", "--quiet", "--dataset", "ok.npz", "--batch-size", "4", "--devices", "cpu:0")
	if strings.Contains(one, "row cache") || !strings.Contains(text, "row cache") {
		t.Errorf("of one part:\n%s\nof two:\n%s", one, text)
	}
}
