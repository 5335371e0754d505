package runfolder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"capgnn/internal/runfile"
	"capgnn/pipeline"
)

// pairsOf returns what so many ranks have sent each other.
func pairsOf(ranks int) (all []pipeline.RankPair) {
	for to := range ranks {
		for from := range ranks {
			if from != to {
				all = append(all, pipeline.RankPair{From: from, To: to, Rows: 1 << 40, Frames: 1<<40 + 64, Wait: 123456789 * time.Nanosecond})
			}
		}
	}
	return all
}

// A line says what ranks sent each other; of one process it says nothing; of many ranks it stays short enough to be read again.
func TestMetricsOfRanks(t *testing.T) {
	line := func(s pipeline.EpochStats) string {
		data, err := json.Marshal(new(Metrics).line(s))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	s := stats(0, 1)
	one := line(s)
	s.Pairs = []pipeline.RankPair{{From: 1, To: 0, Rows: 10, Frames: 42, Wait: 1500 * time.Millisecond}}
	want := strings.TrimSuffix(one, "}") + `,"pairs":[{"from":1,"to":0,"rows":10,"frames":42,"wait_s":1.5}]}`
	if got := line(s); got != want || strings.Contains(one, "pairs") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for ranks, listed := range map[int]int{2: 2, 16: 240, 17: 0} {
		s.Pairs = pairsOf(ranks)
		text := line(s)
		if n := strings.Count(text, `"from"`); n != listed || len(text) > maxLine/2 {
			t.Errorf("%d ranks: %d pairs in a line of %d bytes, want %d", ranks, n, len(text), listed)
		}
	}
}

// Sums over a file are those of its lines, also where a line lacks a pair.
func TestTraffic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	m := &Metrics{Path: path}
	for e := range 3 {
		s := stats(e, 1)
		s.Pairs = pairsOf(3)
		if e == 1 {
			s.Pairs = s.Pairs[:1]
		}
		if err := m.Append(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := ReadTraffic(path)
	if err != nil || len(all) != 6 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, p := range pairsOf(3) {
		n := int64(2)
		if i == 0 {
			n = 3
		}
		if got := all[i]; got.From != p.From || got.To != p.To || got.Rows != n*int64(p.Rows) || got.Frames != n*int64(p.Frames) || got.WaitS < float64(n)*0.1234 || got.WaitS > float64(n)*0.1235 {
			t.Errorf("%+v, want %d × %+v", got, n, p)
		}
	}
}

// The table names the slowest rank, and says nothing of ranks where there was one process.
func TestTableOfRanks(t *testing.T) {
	var b strings.Builder
	r := &Result{Result: runfile.Result{Hosts: []string{"a", "b", "c"}}}
	if err := r.table(&b); err != nil || strings.Contains(b.String(), "machines") {
		t.Errorf("%v\n%s", err, b.String())
	}
	pair := func(from, to int, wait float64) runfile.Pair {
		return runfile.Pair{From: from, To: to, Frames: 1024, WaitS: wait}
	}
	for _, tc := range []struct {
		pairs []runfile.Pair
		want  string
	}{
		{[]runfile.Pair{pair(0, 1, 1), pair(2, 1, 3), pair(2, 0, 1)}, "machines    3.0 KiB between 3 ranks, waited longest for rank 2 (c): 2.00 s\n"},
		{[]runfile.Pair{pair(0, 1, 0)}, "machines    1.0 KiB between 3 ranks\n"},
	} {
		b.Reset()
		r.Pairs = tc.pairs
		if err := r.table(&b); err != nil || !strings.Contains(b.String(), tc.want) {
			t.Errorf("%v\n%s lacks %q", err, b.String(), tc.want)
		}
	}
}

// TensorBoard gets bytes and waits of several ranks, and of one process nothing new.
func TestEventsOfRanks(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		dir := t.TempDir()
		f := &Events{Dir: Dir(dir), Metric: "accuracy"}
		s := stats(0, 1)
		s.Pairs = pairsOf(ranks)
		if err := f.Append(s); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		file := eventFiles(t, dir)[0]
		for _, tag := range []string{"ranks/bytes", "ranks/longest_wait_seconds"} {
			if got := bytes.Contains(file, []byte(tag)); got != (ranks > 1) {
				t.Errorf("%d ranks: %s is there: %v", ranks, tag, got)
			}
		}
	}
	if got := fmt.Sprint(betweenRanks(pairsOf(2))); !strings.Contains(got, "{ranks/longest_wait_seconds 0.123456789}") {
		t.Error(got)
	}
}
