package datasets_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
)

// Whatever is wrong with shards is one line that names it, and exit code 2.
func TestShardsRefuse(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	shardData{vertices: 60, edges: 240, directed: true, trained: 20}.write(s, "d.npz", 1)
	s.Must("partition", "--dataset", "d.npz", "--machines", "2", "--out", "two.plan", "--shards", "two")
	s.Must("partition", "--dataset", "d.npz", "--machines", "2", "--seed", "9", "--partitioner", "random", "--shards", "other")
	s.Must("partition", "--dataset", "d.npz", "--machines", "1,2", "--shards", "three")
	s.Must("partition", "--dataset", "d.npz", "--machines", "2", "--standardize", "rows", "--shards", "by-rows")
	train := func(more ...string) []string {
		return append([]string{"train", "--quiet", "--hidden", "4", "--epochs", "1", "--devices", progtest.CPUs(2), "--dataset"}, more...)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{train("two", "--plan", "two.plan"), "--dataset two: a folder of shards: it has the parts already: drop --plan"},
		{train("two", "--parts", "3"), "it has 2 parts: drop --parts 3, or cut the data set anew"},
		{train("two", "--partitioner", "random"), "it is cut already: drop --partitioner random"},
		{train("two", "--machines", "2"), "it is cut for machines already: drop --machines 2"},
		{train("two", "--isolated=chunks=2"), "isolated parts take turns with chunks of the whole graph"},
		{train("two", "--order", "community"), "rows lie in the order of the vertices: drop --order community"},
		{train("two", "--class-weights", "balanced"), "the loss would be weighed by labels of all machines: name the data set itself"},
		{train("two", "--label-smoothing", "0.1"), "drop --class-weights and --label-smoothing"},
		{train("two", "--prune", "0.5"), "drop --prune"},
		{train("two", "--edges", "symmetric"), `it was cut with --edges "auto": drop --edges symmetric`},
		{train("two", "--split", "0.5,0.2,0.3"), `it was cut with --split "": drop --split 0.5,0.2,0.3`},
		{train("by-rows", "--standardize", "none"), `it was cut with --standardize "rows": drop --standardize none`},
		{train("by-rows", "--standardize", "auto"), `drop --standardize auto`},
		{train("by-rows", "--features", "degree"), `it was cut with --features "stored": drop --features degree`},
		{train("two/rank-0"), "is the shard of one machine: name the folder above it, "},
		{[]string{"partition", "--dataset", "two", "--parts", "2"}, "is a folder of shards, which no machine has as a whole: only `capgnn train` and `capgnn predict` take it"},
		{[]string{"plan", "--dataset", "two", "--devices", "cpu:0"}, "only `capgnn train` and `capgnn predict` take it: name the data set itself"},
		{[]string{"data", "info", "two"}, "is a folder of shards"},
		{[]string{"partition", "--dataset", "d.npz", "--shards", "new"}, "say for how many machines: --machines 2"},
		{[]string{"partition", "--dataset", "d.npz", "--machines", "2", "--shards", ""}, "--shards is empty: give it a value, or leave it out"},
		{[]string{"partition", "--dataset", "d.npz", "--machines", "2", "--shards", "new", "--devices", "cpu:0"}, "shards are sized for machines, by --profile: drop --devices"},
		{[]string{"partition", "--dataset", "d.npz", "--machines", "2", "--shards", "new", "--prune", "0.5"}, "has every edge: drop --prune"},
		{[]string{"partition", "--dataset", "d.npz", "--machines", "2", "--shards", "two"}, "the folder exists and is not empty: remove it, or choose another"},
		{[]string{"partition", "--dataset", "d.npz", "--machines", "2", "--shards", "d.npz"}, "d.npz is a file, no folder: choose another place"},
		{[]string{"partition", "--dataset", "d.npz", "--machines", "x", "--shards", "new"}, `"x" is not a number`},
		{[]string{"partition", "--dataset", "d.npz", "--machines", "99", "--quiet", "--shards", "new"}, "--parts 99"},
		{[]string{"partition", "--dataset", "d.npz", "--machines", "2", "--parts", "3", "--shards", "new"}, "3 parts cannot be divided equally"},
		{[]string{"partition", "--dataset", "d.npz", "--machines", "2", "--profile", "a.json", "--shards", "new"}, "1 profile for 2 machines: give one for each, in their order"},
		{[]string{"partition", "--dataset", "d.npz", "--machines", "2", "--profile", "a.json,b.json", "--shards", "new"}, "--profile a.json"},
	} {
		s.Fails(2, []string{tc.want}, tc.args...)
	}
	if _, err := os.Stat(s.Path("new")); err == nil {
		t.Error("a folder is there that nobody has written")
	}
	spoilt := func(name string, spoil func(dir string)) {
		if err := os.CopyFS(s.Path(name), os.DirFS(s.Path("two"))); err != nil {
			t.Fatal(err)
		}
		spoil(s.Path(name))
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	flip := func(path string) {
		b, err := os.ReadFile(path)
		must(err)
		b[len(b)-1] ^= 1
		must(os.WriteFile(path, b, 0o600))
	}
	for k, tc := range []struct {
		spoil func(dir string)
		want  []string
	}{
		{func(dir string) { must(os.RemoveAll(dir + "/rank-1")) }, []string{"rank-1: is not there: copy the shard of machine 1 of 2 into the folder"}},
		{func(dir string) {
			must(os.RemoveAll(dir + "/rank-1"))
			must(os.CopyFS(dir+"/rank-1", os.DirFS(s.Path("other/rank-1"))))
		},
			[]string{"the shard is of machine 1 of 2 by plan ", "the folder's tables are of machine 1 of 2 by plan ", "copy both from one folder"}},
		{func(dir string) {
			must(os.RemoveAll(dir + "/rank-1"))
			must(os.CopyFS(dir+"/rank-1", os.DirFS(s.Path("two/rank-0"))))
		},
			[]string{"the shard is of machine 0 of 2 by plan ", "are of machine 1 of 2"}},
		{func(dir string) {
			must(os.RemoveAll(dir + "/common"))
			must(os.CopyFS(dir+"/common", os.DirFS(s.Path("three/common"))))
		}, []string{"by plan "}},
		{func(dir string) { must(os.Truncate(dir+"/rank-0/x.npy", 200)) }, []string{"rank-0/x.npy", "has 200 bytes, ", " were written"}},
		{func(dir string) { flip(dir + "/rank-1/indices.npy") }, []string{"rank-1/indices.npy: is not what was written: copy the folder again, or cut the shards again"}},
		{func(dir string) { flip(dir + "/common/in_halo.npy") }, []string{"common/in_halo.npy: is not what was written"}},
		{func(dir string) { must(os.Remove(dir + "/rank-1/out/indices.npy")) }, []string{"rank-1/out/indices.npy", "no such file"}},
		{func(dir string) { must(os.Remove(dir + "/common/hops.npy")) }, []string{"common/hops.npy", "no such file"}},
		{func(dir string) { must(os.Truncate(dir+"/common/shards.json", 100)) }, []string{"common/shards.json", "unexpected end of JSON input"}},
		{func(dir string) { must(os.WriteFile(dir+"/common/shards.json", []byte(`{"capgnn_shards": 3}`), 0o600)) }, []string{"version 3 of shards; this program reads version 1: cut them again"}},
	} {
		name := fmt.Sprint("spoilt", k)
		spoilt(name, tc.spoil)
		s.Fails(2, tc.want, train(name)...)
	}
	for _, tc := range []struct {
		n    int
		data []string
		want string
	}{
		{2, []string{"two", "other"}, "plan"}, {2, []string{"two", "d.npz"}, "plan"}, {3, []string{"two", "two", "two"}, "2 parts cannot be spread over 3 ranks"},
		{2, []string{"two", "spoilt0"}, "copy the shard of machine 1 of 2 into the folder"},
	} {
		run := progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--hidden", "4", "--epochs", "1", "--devices", progtest.CPUs(1), "--quiet"}, Own: func(rank int) []string { return []string{"--dataset", tc.data[rank]} }}
		for rank, e := range run.Over(tc.n) {
			if e.Code != 2 || !strings.Contains(e.Last(), tc.want) {
				t.Errorf("%v: rank %d: exit code %d, want %q\n%s", tc.data, rank, e.Code, tc.want, e.Err)
			}
		}
	}
}
