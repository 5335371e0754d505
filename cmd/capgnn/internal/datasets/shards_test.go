package datasets_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/internal/long"
	"capgnn/internal/npy"
)

// shardData says what a data set of these tests is like.
type shardData struct {
	vertices, edges                 int
	directed, sparse, multi, lonely bool // lonely: vertex 0 has no edges
	halves                          bool // no edge joins the two halves
	weighted                        bool // edges have weights, other ones in each direction
	trained                         int  // vertices from 0 on that are trained on, where there are masks; 0: no masks
}

// write makes the data set, of vertices with loops here and there.
func (d shardData) write(s *sandbox, name string, seed uint64) {
	s.T.Helper()
	r := rand.New(rand.NewPCG(seed, 24))
	const columns, classes = 7, 3
	rows := make([]map[int32]bool, d.vertices)
	for v := range rows {
		rows[v] = map[int32]bool{}
	}
	for range d.edges {
		u, v := r.IntN(d.vertices), r.IntN(d.vertices)
		if d.halves && (u < d.vertices/2) != (v < d.vertices/2) || d.lonely && u*v == 0 {
			continue
		}
		if rows[v][int32(u)] = true; !d.directed {
			rows[u][int32(v)] = true
		}
	}
	var st = progtest.Store{}
	indptr, indices := []int64{0}, []int32{}
	y, x := make([]int64, d.vertices), make([]float32, d.vertices*columns)
	targets, xptr, xind, xdata := make([]uint8, d.vertices*classes), []int64{0}, []int32{}, []float32{}
	for v, row := range rows {
		for u := range int32(d.vertices) {
			if row[u] {
				indices = append(indices, u)
			}
		}
		indptr = append(indptr, int64(len(indices)))
		y[v] = int64(r.IntN(classes+1)) - 1
		for c := range classes {
			targets[v*classes+c] = uint8(r.IntN(2))
		}
		for c := range columns {
			if x[v*columns+c] = float32(r.NormFloat64()); r.IntN(3) == 0 {
				xind, xdata = append(xind, int32(c)), append(xdata, x[v*columns+c])
			}
		}
		xptr = append(xptr, int64(len(xind)))
	}
	y[0] = classes - 1
	st["indptr"], st["indices"] = npy.Entry{Data: indptr}, npy.Entry{Data: indices}
	if st["y"] = (npy.Entry{Data: y}); d.multi {
		st["y"] = npy.Entry{Shape: []int{d.vertices, classes}, Data: targets}
	}
	if d.sparse {
		st["x_indptr"], st["x_indices"], st["x_data"], st["x_shape"] = npy.Entry{Data: xptr}, npy.Entry{Data: xind}, npy.Entry{Data: xdata}, npy.Entry{Data: []int64{int64(d.vertices), columns}}
	} else {
		st["x"] = npy.Entry{Shape: []int{d.vertices, columns}, Data: x}
	}
	if d.trained > 0 {
		train, val, test := make([]bool, d.vertices), make([]bool, d.vertices), make([]bool, d.vertices)
		for v := range d.vertices {
			train[v], val[v], test[v] = v < d.trained, v >= d.trained && v%2 == 0, v >= d.trained && v%2 == 1
		}
		st["train_mask"], st["val_mask"], st["test_mask"] = npy.Entry{Data: train}, npy.Entry{Data: val}, npy.Entry{Data: test}
	}
	if d.weighted {
		weights := make([]float32, len(indices))
		for e := range weights {
			weights[e] = r.Float32()
		}
		st["weights"] = npy.Entry{Data: weights}
	}
	var entries []npy.Entry
	for key, e := range st {
		e.Key = key
		entries = append(entries, e)
	}
	if err := npy.WriteArchiveFile(s.Path(name), entries, npy.Archiving{Sort: true}); err != nil {
		s.T.Fatal(err)
	}
}

// machine copies what one machine needs of a folder of shards to a folder of its own, with more of its folders.
func (s *sandbox) machine(dir string, rank int, more ...string) string {
	s.T.Helper()
	own := fmt.Sprintf("%s-machine-%d", dir, rank)
	for _, part := range append(more, "common", fmt.Sprintf("rank-%d", rank)) {
		if err := os.CopyFS(s.Path(filepath.Join(own, part)), os.DirFS(s.Path(filepath.Join(dir, part)))); err != nil {
			s.T.Fatal(err)
		}
	}
	return own
}

// Shards train to the bits of the data set with their plan: in one process that has all of them, and in ranks each of which has its own alone.
func TestShardsTrainAlike(t *testing.T) {
	t.Parallel()
	type alike struct {
		shardData
		model string
	}
	cases := []alike{
		{shardData{vertices: 60, edges: 240}, "gcn"}, {shardData{vertices: 60, edges: 240, directed: true}, "sage"}, {shardData{vertices: 50, edges: 200, sparse: true}, "gin"},
		{shardData{vertices: 50, edges: 150, sparse: true, directed: true, multi: true}, "gat"}, {shardData{vertices: 60, edges: 300, multi: true, trained: 20}, "gcn"},
		{shardData{vertices: 60, edges: 200, halves: true}, "sage"}, {shardData{vertices: 40, edges: 100, trained: 3, lonely: true}, "gin"}, {shardData{vertices: 4, edges: 8, directed: true}, "gat"},
		{shardData{vertices: 70, edges: 200, trained: 10, directed: true}, "gcn"}, {shardData{vertices: 90, edges: 30}, "sage"},
	}
	weighted := []alike{
		{shardData{vertices: 60, edges: 240, weighted: true}, "gcn"}, {shardData{vertices: 60, edges: 240, weighted: true, directed: true, sparse: true}, "sage"},
		{shardData{vertices: 60, edges: 200, weighted: true, directed: true, lonely: true}, "gin"}, {shardData{vertices: 40, edges: 150, weighted: true, directed: true}, "sgc"},
		{shardData{vertices: 40, edges: 150, weighted: true, multi: true}, "appnp"}, {shardData{vertices: 4, edges: 8, weighted: true, directed: true}, "gcnii"},
	}
	for k, d := range append(cases, long.Few(t, weighted, 1)...) {
		parts, layers, model := []int{2, 4}[k/2%2], 1+k%3, d.model
		counts := slices.Compact([]int{2, parts}) // of ranks
		if !long.Wanted() {
			if !d.weighted {
				if !long.Nth(t, 4, k) {
					continue
				}
				counts = counts[k%len(counts):][:1]
			}
		}
		t.Run(fmt.Sprintf("%d %s layers=%d parts=%d", k, model, layers, parts), func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			d.write(s, "d.npz", uint64(k))
			cut := []string{"partition", "--dataset", "d.npz", "--machines", "2", "--parts", fmt.Sprint(parts), "--out", "two.plan", "--shards", "two"}
			if k%4 == 3 {
				cut = append(cut, "--partitioner", "random")
			}
			s.Must(cut...)
			args := []string{"--model", model, "--layers", fmt.Sprint(layers), "--hidden", "8", "--epochs", "4", "--eval-every", "2", "--order", "none"}
			if d.multi {
				args = append(args, "--metric", "roc-auc")
			}
			want := s.Train(append(args, "--dataset", "d.npz", "--plan", "two.plan", "--devices", progtest.CPUs(parts), "--run-dir", "whole")...)
			same := func(what string, got *runfolder.Result) {
				t.Helper()
				if got.SHA256 != want.SHA256 || scoreText(got.Val) != scoreText(want.Val) || scoreText(got.Test) != scoreText(want.Test) || scoreText(got.Train) != scoreText(want.Train) {
					t.Errorf("%s: weights %s and scores %s %s %s, want %s, %s %s %s", what, got.SHA256, scoreText(got.Train), scoreText(got.Val), scoreText(got.Test),
						want.SHA256, scoreText(want.Train), scoreText(want.Val), scoreText(want.Test))
				}
			}
			same("one process", s.Train(append(args, "--dataset", "two", "--devices", progtest.CPUs(parts), "--run-dir", "alone")...))
			machines := []string{s.machine("two", 0), s.machine("two", 1)}
			for _, n := range counts {
				run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(slices.Clone(args), "--run-dir", fmt.Sprint("over", n)), Own: func(rank int) []string {
					return []string{"--devices", progtest.CPUs(parts / n), "--dataset", machines[rank*2/n]}
				}}
				for rank, e := range run.Over(n) {
					if e.Code != 0 {
						t.Fatalf("rank %d of %d: exit code %d\n%s", rank, n, e.Code, e.Err)
					}
				}
				same(fmt.Sprint(n, " ranks"), s.ResultOf(fmt.Sprint("over", n)))
			}
			if d.weighted {
				s.Must("predict", "--run", "whole", "--out", "whole.npy")
				s.Must("predict", "--run", "over2", "--dataset", "two", "--devices", progtest.CPUs(parts), "--out", "two.npy")
				want, got := s.Floats("whole.npy", d.vertices, 3), s.Floats("two.npy", d.vertices, 3) // of other parts, so sums are in another order
				if !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Abs(float64(a-b)) <= 1e-5*(1+math.Abs(float64(b))) }) {
					t.Errorf("shards predict %v, the data set %v", got, want)
				}
			}
		})
	}
}

// scoreText is a score as text.
func scoreText(x *float64) string {
	if x == nil {
		return "none"
	}
	return fmt.Sprint(*x)
}

// A run on the data set is continued on its shards, and the other way round, to the bits of a run that was never interrupted.
func TestShardsResume(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	shardData{vertices: 60, edges: 240, trained: 20}.write(s, "d.npz", 1)
	s.Must("partition", "--dataset", "d.npz", "--machines", "2", "--out", "two.plan", "--shards", "two")
	s.Must("partition", "--dataset", "d.npz", "--machines", "2", "--seed", "7", "--shards", "other")
	args := []string{"--hidden", "8", "--epochs", "6", "--checkpoint-every", "1", "--devices", progtest.CPUs(2)}
	whole := append(args, "--dataset", "d.npz", "--plan", "two.plan")
	want := s.Train(append(whole, "--run-dir", "want")...)
	unfinished := func(dir string, args []string) {
		s.Train(append(args, "--run-dir", dir)...)
		if err := os.Remove(s.Path(dir + "/result.json")); err != nil {
			t.Fatal(err)
		}
		list, err := filepath.Glob(s.Path(dir + "/checkpoint/*"))
		slices.Sort(list)
		if err != nil || len(list) < 2 {
			t.Fatalf("checkpoints %v (%v)", list, err)
		}
		if err := os.Remove(list[len(list)-1]); err != nil { // the last epoch is to be done again
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		dir        string
		begun      []string
		goesOnWith string
	}{{"a", whole, "two"}, {"b", append(args, "--dataset", "two"), "d.npz"}, {"c", append(args, "--dataset", "two"), "two"}} {
		unfinished(tc.dir, tc.begun)
		if got := s.Train("--resume", tc.dir, "--dataset", tc.goesOnWith); got.SHA256 != want.SHA256 {
			t.Errorf("%s: weights %s, want %s", tc.dir, got.SHA256, want.SHA256)
		}
	}
	unfinished("d", whole)
	s.Fails(2, []string{"--dataset other: a folder of shards: it is cut by plan ", ", the settings are of a run by plan ", "name the shards of that plan"}, "train", "--resume", "d", "--dataset", "other")
	machines := []string{s.machine("two", 0), s.machine("two", 1)}
	run := progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--resume", "d"}, Own: func(rank int) []string { return []string{"--devices", progtest.CPUs(1), "--dataset", machines[rank]} }}
	for rank, e := range run.Over(2) {
		if e.Code != 0 {
			t.Fatalf("rank %d: exit code %d\n%s", rank, e.Code, e.Err)
		}
	}
	if got := s.ResultOf("d"); got.SHA256 != want.SHA256 {
		t.Errorf("over ranks: weights %s, want %s", got.SHA256, want.SHA256)
	}
}

// A note says what the shards, or a plan, have settled where flags say otherwise: the seed of what was drawn, and how
// the graph is cut.
func TestShardsNote(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	shardData{vertices: 60, edges: 240}.write(s, "drawn.npz", 1)
	shardData{vertices: 60, edges: 240, trained: 20}.write(s, "given.npz", 1)
	s.Must("partition", "--dataset", "drawn.npz", "--machines", "2", "--seed", "7", "--features", "random:4",
		"--shards", "drawn", "--out", "drawn.plan")
	s.Must("partition", "--dataset", "given.npz", "--machines", "2", "--seed", "7", "--shards", "given")
	const split = "note: drawn: --seed 7, with which the shards were cut, has drawn the split; --seed 1 draws"
	const features = "has drawn the features; --seed 1 draws"
	const idle = ": --partitioner objective, --cost move\n"
	for k, tc := range []struct {
		args       []string
		want, lack []string
	}{
		{[]string{"--dataset", "drawn"}, []string{split, features}, []string{"without effect"}},
		{[]string{"--dataset", "drawn", "--seed", "7"}, nil, []string{"has drawn"}},
		{[]string{"--dataset", "given", "--partitioner", "objective=volume", "--cost", "move=off"},
			[]string{"without effect, as the parts are those of the shards" + idle}, []string{"has drawn"}},
		{[]string{"--dataset", "drawn.npz", "--plan", "drawn.plan", "--cost", "move=on"},
			[]string{"as the parts are those of --plan: --cost move\n"}, []string{"has drawn"}},
	} {
		_, notes, code := s.Run(append([]string{"train", "--hidden", "4", "--epochs", "1", "--devices", progtest.CPUs(2),
			"--run-dir", fmt.Sprint(k)}, tc.args...)...)
		has := func(text string) bool { return strings.Contains(notes, text) }
		lacks := func(text string) bool { return !has(text) }
		if code != 0 || slices.ContainsFunc(tc.want, lacks) || slices.ContainsFunc(tc.lack, has) {
			t.Errorf("%v: exit code %d, notes %s", tc.args, code, notes)
		}
	}
}
