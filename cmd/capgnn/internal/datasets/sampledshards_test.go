package datasets_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// sampledShards is a run on samples whose data set is kept in shards, too.
type sampledShards struct {
	shardData
	machines string // of the cut
	cut      []string
	args     []string
}

// Runs on samples of shards have the bits of the data set with the plan of the shards: in one process that has all of them, and in ranks each of which has its own alone, with the graph. So do predictions.
func TestSampledShards(t *testing.T) {
	t.Parallel()
	cases := []*sampledShards{
		{shardData{vertices: 60, edges: 240}, "2,1", nil, []string{"--model", "sage"}},
		{shardData{vertices: 60, edges: 200, sparse: true, directed: true, trained: 20}, "1,2", nil, []string{"--model", "gcn", "--sampling", "rapidgnn"}},
		{shardData{vertices: 50, edges: 300, multi: true, trained: 10}, "2,1", nil, []string{"--model", "gin", "--sampling", "massivegnn", "--metric", "roc-auc"}},
		{shardData{vertices: 50, edges: 150, sparse: true}, "2,1", nil, []string{"--model", "gat", "--sampling", "hopgnn,merge=off"}},
		{shardData{vertices: 60, edges: 200, directed: true, trained: 30}, "1,2", []string{"--standardize", "train"}, []string{"--model", "gat", "--sampling", "distdgl", "--class-weights", "balanced", "--label-smoothing", "0.1"}},
		{shardData{vertices: 40, edges: 100, sparse: true, trained: 3, lonely: true}, "2,1", nil, []string{"--model", "sage", "--sampling", "distdgl", "--fanout", "all,all"}},
		{shardData{vertices: 40, edges: 160, directed: true, multi: true, sparse: true}, "1,2", []string{"--partitioner", "random"}, []string{"--model", "gcn", "--drop-features", "--layers", "1", "--sampling", "default,place=batch"}},
	}
	weighted := []*sampledShards{
		{shardData{vertices: 60, edges: 200, weighted: true, directed: true}, "1,2", nil, []string{"--model", "gcn"}},
		{shardData{vertices: 60, edges: 240, weighted: true, sparse: true}, "2,1", nil, []string{"--model", "sage", "--sampling", "hopgnn,merge=off"}},
		{shardData{vertices: 60, edges: 240, weighted: true, trained: 20}, "2,1", nil, []string{"--model", "gin", "--sampling", "rapidgnn"}},
		{shardData{vertices: 40, edges: 150, weighted: true, directed: true}, "1,2", nil, []string{"--model", "sgc", "--sampling", "massivegnn"}},
		{shardData{vertices: 60, edges: 200, weighted: true, multi: true}, "2,1", nil, []string{"--model", "appnp"}},
		{shardData{vertices: 60, edges: 240, weighted: true}, "2,1", nil, []string{"--model", "gcnii"}},
	}
	for k, d := range append(long.Some(t, cases, 1), long.Few(t, weighted, 1)...) {
		t.Run(fmt.Sprint(k, d.args), func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			d.write(s, "d.npz", uint64(k))
			s.Must(append([]string{"partition", "--dataset", "d.npz", "--machines", d.machines, "--out", "two.plan", "--shards", "two"}, d.cut...)...)
			args := append([]string{"--hidden", "8", "--layers", "2", "--epochs", "3", "--batch-size", "8"}, d.args...)
			whole := append(args[:len(args):len(args)], "--dataset", "d.npz", "--plan", "two.plan", "--devices", progtest.CPUs(3), "--run-dir", "whole")
			if len(d.cut) == 2 && d.cut[0] == "--standardize" {
				whole = append(whole, d.cut...)
			}
			want := s.Train(whole...)
			same := func(what string, got *runfolder.Result) {
				t.Helper()
				if got.SHA256 != want.SHA256 || scoreText(got.Val) != scoreText(want.Val) || scoreText(got.Test) != scoreText(want.Test) || scoreText(got.Train) != scoreText(want.Train) {
					t.Errorf("%s: weights %s and scores %s %s %s, want %s, %s %s %s", what, got.SHA256, scoreText(got.Train), scoreText(got.Val), scoreText(got.Test),
						want.SHA256, scoreText(want.Train), scoreText(want.Val), scoreText(want.Test))
				}
			}
			same("one process", s.Train(append(args, "--dataset", "two", "--devices", progtest.CPUs(3), "--run-dir", "alone")...))
			machines := []string{s.machine("two", 0, "graph"), s.machine("two", 1, "graph")}
			first := int(d.machines[0] - '0')
			for _, devices := range [][]int{{first, 3 - first}, {1, 1, 1}} {
				dir := fmt.Sprint("over", len(devices))
				run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(slices.Clone(args), "--run-dir", dir), Own: func(rank int) []string {
					data, before := machines[1], 0
					for _, n := range devices[:rank] {
						before += n
					}
					if before < first {
						data = machines[0]
					}
					return []string{"--devices", progtest.CPUs(devices[rank]), "--dataset", data}
				}}
				for rank, e := range run.Over(len(devices)) {
					if e.Code != 0 {
						t.Fatalf("rank %d of %d: exit code %d\n%s", rank, len(devices), e.Code, e.Err)
					}
				}
				same(dir, s.ResultOf(dir))
			}
			s.Must("predict", "--run", "whole", "--devices", progtest.CPUs(1), "--out", "whole.npy")
			s.Must("predict", "--run", "over2", "--dataset", "two", "--devices", progtest.CPUs(1), "--out", "shards.npy")
			if one, err := os.ReadFile(s.Path("whole.npy")); err != nil {
				t.Fatal(err)
			} else if other, err := os.ReadFile(s.Path("shards.npy")); err != nil || !bytes.Equal(one, other) {
				t.Errorf("predictions differ (%v)", err)
			}
		})
	}
}

// A run on samples of shards is continued by other ranks, and on the data set, to the bits of one that was never interrupted.
func TestSampledShardsResume(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	shardData{vertices: 60, edges: 240, trained: 30}.write(s, "d.npz", 1)
	s.Must("partition", "--dataset", "d.npz", "--machines", "1,2", "--out", "two.plan", "--shards", "two")
	args := []string{"--hidden", "8", "--epochs", "4", "--batch-size", "8", "--checkpoint-every", "1"}
	want := s.Train(append(args, "--devices", progtest.CPUs(3), "--dataset", "two", "--run-dir", "want")...)
	for k, goesOn := range []func(dir string){
		func(dir string) { s.Train("--resume", dir, "--dataset", "d.npz") },
		func(dir string) {
			run := progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--resume", dir, "--dataset", "two"}, Own: func(rank int) []string { return []string{"--devices", progtest.CPUs(1 + rank)} }}
			for rank, e := range run.Over(2) {
				if e.Code != 0 {
					t.Fatalf("rank %d: exit code %d\n%s", rank, e.Code, e.Err)
				}
			}
		},
	} {
		dir := fmt.Sprint("run", k)
		run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(slices.Clone(args), "--dataset", "two", "--run-dir", dir), Own: func(int) []string { return []string{"--devices", progtest.CPUs(1)} }}
		for rank, e := range run.Over(3) {
			if e.Code != 0 {
				t.Fatalf("rank %d: exit code %d\n%s", rank, e.Code, e.Err)
			}
		}
		list, err := filepath.Glob(s.Path(dir + "/checkpoint/*"))
		slices.Sort(list)
		if err != nil || len(list) < 2 {
			t.Fatalf("checkpoints %v (%v)", list, err)
		}
		for _, name := range []string{list[len(list)-1], s.Path(dir + "/result.json")} { // the last epoch is to be done again
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		if goesOn(dir); s.ResultOf(dir).SHA256 != want.SHA256 {
			t.Errorf("%s: weights %s, want %s", dir, s.ResultOf(dir).SHA256, want.SHA256)
		}
	}
}

// Whatever is wrong with shards is one line that names it and says what to do, and exit code 2, at every rank.
func TestSampledShardsRefuse(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	shardData{vertices: 60, edges: 240, directed: true, sparse: true, trained: 20}.write(s, "d.npz", 1)
	s.Must("partition", "--dataset", "d.npz", "--machines", "2", "--shards", "two")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	edit := func(path string, f func(text string) string) {
		text, err := os.ReadFile(path)
		must(err)
		must(os.WriteFile(path, []byte(f(string(text))), 0o600))
	}
	args := []string{"--quiet", "--hidden", "4", "--epochs", "1", "--batch-size", "8"}
	for k, tc := range []struct {
		spoil func(dir string)
		want  string
	}{
		{func(dir string) { must(os.RemoveAll(dir + "/graph")) }, "graph: is not there: copy the graph into the folder, which sampled training reads"},
		{func(dir string) {
			edit(dir+"/common/shards.json", func(text string) string { return strings.Replace(text, `"graph_files"`, `"unknown"`, 1) })
		}, "of the graph is not announced"},
		{func(dir string) { must(os.Remove(dir + "/graph/entries_at.npy")) }, "graph/entries_at.npy"},
		{func(dir string) { must(os.Truncate(dir+"/graph/indices.npy", 300)) }, "graph/indices.npy: has 300 bytes, "},
		{func(dir string) {
			edit(dir+"/graph/y.npy", func(text string) string { return text[:len(text)-1] + "\x01" })
		}, "graph/y.npy: is not what was written: copy the folder again, or cut the shards again"},
		{func(dir string) { must(os.RemoveAll(dir + "/rank-1")) }, "rank-1: is not there: copy the shard of machine 1 of 2 into the folder"},
	} {
		name := fmt.Sprint("spoilt", k)
		must(os.CopyFS(s.Path(name), os.DirFS(s.Path("two"))))
		tc.spoil(s.Path(name))
		run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--devices", progtest.CPUs(1), "--run-dir", "never"), Own: func(rank int) []string { return []string{"--dataset", []string{"two", name}[rank]} }}
		for rank, e := range run.Over(2) {
			if e.Code != term.ExitUsage || !strings.Contains(e.Last(), tc.want) {
				t.Errorf("%d: rank %d: exit code %d, want %q\n%s", k, rank, e.Code, tc.want, e.Err)
			}
		}
	}
}

// A file of features that becomes shorter while ranks train ends all of them with one line that names it, at its rank with exit code 2, at others with that of a rank that has failed.
func TestSampledShardsTruncated(t *testing.T) {
	t.Parallel()
	for k, sparse := range []bool{false, true} {
		if sparse && !long.Wanted() {
			continue
		}
		s := newSandbox(t)
		shardData{vertices: 3000, edges: 9000, sparse: sparse, trained: 600}.write(s, "d.npz", 1)
		s.Must("partition", "--dataset", "d.npz", "--machines", "2", "--shards", "two", "--quiet")
		machines := []string{s.machine("two", 0, "graph"), s.machine("two", 1, "graph")}
		run := progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--model", []string{"sage", "gcn"}[k], "--hidden", "4", "--epochs", "100000", "--batch-size", "64", "--quiet", "--run-dir", "run"},
			Own: func(rank int) []string { return []string{"--devices", progtest.CPUs(1), "--dataset", machines[rank]} }}
		all := run.Start(2)
		s.WaitForEpochs(all[0].Cmd, "run", 2)
		name := machines[1] + "/rank-1/" + []string{"x.npy", "x_data.npy"}[k]
		if err := os.Truncate(s.Path(name), 200); err != nil {
			t.Fatal(err)
		}
		for rank, p := range all {
			want, line := term.ExitUsage, name+": has 200 bytes, "
			if rank == 0 {
				want, line = term.ExitLost, ".npy: has 200 bytes, " // of a line that is shortened
			}
			if e := p.End(); e.Code != want || !strings.Contains(e.Err, line) || strings.Count(e.Err, "\n") != 1 {
				t.Errorf("rank %d: exit code %d\n%.2000s", rank, e.Code, e.Err)
			}
		}
	}
}
