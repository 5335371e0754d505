package main

import (
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
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
		if w == nil || w.Steps != 4*11 || w.Rows.Read != w.Rows.Local+w.Rows.Hit+w.Rows.Fetched || w.Rows.Fetched == 0 || !strings.HasPrefix(w.Sampling, name+",roots=") || strings.Contains(w.Sampling, "auto") {
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
	for _, place := range []string{"distdgl", "default", "hopgnn,merge=off"} {
		want := ""
		for i, more := range [][]string{
			{"fetch=demand"}, {"fetch=planned"}, {"fetch=planned,lookahead=1", "--row-cache", "3"}, {"fetch=planned,lookahead=all", "--row-cache", "50%"},
			{"fetch=rapid", "--row-cache", "5"}, {"fetch=rapid,pull=on", "--row-cache", "1KiB"}, {"fetch=massive,delta=2", "--row-cache", "100%"}, {"fetch=massive,f=1,gamma=0.5,prefetch=1", "--row-cache", "0"},
		} {
			args := append([]string{"--devices", linked, "--partitioner", "random", "--epochs", "2", "--sampling", place + "," + more[0], "--run-dir", place[:3] + string(rune('a'+i))}, more[1:]...)
			if r := s.train(sampledArgs(args...)...); want == "" {
				want = r.SHA256
			} else if r.SHA256 != want {
				t.Errorf("%s, %v: weights %s, want %s", place, more, r.SHA256, want)
			}
		}
	}
}
