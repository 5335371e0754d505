package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/internal/npy"
)

// threeRings returns the files of a CSV folder of 90 vertices of three classes, with sets of these vertices, from one
// to below another; none where both are 0.
func threeRings(train, val, test [2]int) map[string]string {
	files := map[string]string{}
	for v := range 90 {
		files["labels.csv"] += fmt.Sprintln(v / 30)
		files["features.csv"] += fmt.Sprintf("%d.5,%d\n", v/30+v%2, v)
		files["edges.csv"] += fmt.Sprintf("%d,%d\n", v, v/30*30+(v+1)%30)
	}
	for name, of := range map[string][2]int{"train.csv": train, "val.csv": val, "test.csv": test} {
		for v := of[0]; v < of[1]; v++ {
			files[name] += fmt.Sprintln(v)
		}
	}
	return files
}

// splitOf returns the sets that a run kept, as a letter for each vertex, and the ids beside them; nil: none.
func (s *sandbox) splitOf(run string) (string, *npy.Array) {
	s.T.Helper()
	z, err := npy.OpenArchive(s.path(run + "/split.npz"))
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { z.Close() })
	var text []byte
	for i, key := range []string{"train_mask", "val_mask", "test_mask"} {
		a, err := z.Array(key)
		if err != nil || a.DType.Kind != 'b' || len(a.Shape) != 1 {
			s.T.Fatalf("%s: %+v, %v", key, a, err)
		}
		mask, err := a.Bool()
		if err != nil {
			s.T.Fatal(err)
		}
		if text == nil {
			text = slices.Repeat([]byte("."), len(mask))
		}
		for v, in := range mask {
			if in {
				text[v] = "tve"[i]
			}
		}
	}
	if !z.Has("ids") {
		return string(text), nil
	}
	ids, err := z.Array("ids")
	if err != nil {
		s.T.Fatal(err)
	}
	return string(text), ids
}

func few(more ...string) []string {
	return append([]string{"--edges", "symmetric", "--hidden", "8", "--layers", "2", "--epochs", "3"}, more...)
}

// A given test set is never trained on, and no statistic is of it.
func TestGivenTestSetIsNotTrainedOn(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.writeFiles("d", threeRings([2]int{}, [2]int{10, 40}, [2]int{60, 90}))
	_, stderr, code := s.run(append([]string{"train", "--dataset", "d", "--run-dir", "run", "--standardize", "train"}, few()...)...)
	if want := "note: there is no training set: training takes the labelled vertices outside the validation and test sets (30)\n"; code != 0 || strings.Count(stderr, want) != 1 {
		t.Fatalf("exit code %d, want the note %q: %s", code, want, stderr)
	}
	want := strings.Repeat("t", 10) + strings.Repeat("v", 30) + strings.Repeat("t", 20) + strings.Repeat("e", 30)
	if got, ids := s.splitOf("run"); got != want || ids != nil {
		t.Errorf("got the sets\n%s, ids %v, want\n%s", got, ids, want)
	}
	if sizes := s.ResultOf("run").Data.Classes; !reflect.DeepEqual(sizes["train"], []int{10, 20, 0}) || !reflect.DeepEqual(sizes["test"], []int{0, 0, 30}) {
		t.Errorf("class sizes %v", sizes)
	}
	scaling, err := runfolder.Dir(s.path("run")).ReadScaling()
	if mean := (4.5*10 + 49.5*20) / 30; err != nil || math.Abs(scaling.Mean[1]-mean) > 1e-9 {
		t.Errorf("standardised with the mean %v (%v), want that of the training rows, %v", scaling, err, mean)
	}
	info := resultOf[struct {
		Splits struct{ Train, Val, Test *int }
	}](t, s.must("data", "info", "d", "--json", "--quiet"))
	if *info.Splits.Train != 30 || *info.Splits.Val != 30 || *info.Splits.Test != 30 {
		t.Errorf("data info says %+v", info)
	}
	s.fails(term.ExitUsage, []string{"--dataset d", "a split of its own (val_mask, test_mask): drop --split"}, append([]string{"train", "--quiet", "--dataset", "d", "--split", "0.7,0.2,0.1"}, few()...)...)
	s.fails(term.ExitUsage, []string{"a split of its own"}, "data", "import", "d", "--quiet", "--out", "no", "--split", "0.7,0.2,0.1")
}

// Sets that overlap are refused, or taken with a note; nothing is written where they are refused.
func TestOverlappingSets(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.writeFiles("d", threeRings([2]int{0, 60}, [2]int{50, 70}, [2]int{65, 90}))
	const overlap = "vertices are in two sets: 10 in training and validation, 5 in validation and test; the first is vertex 50"
	refused := []string{overlap, "--allow-overlap"}
	s.fails(term.ExitUsage, refused, append([]string{"train", "--dataset", "d", "--quiet", "--run-dir", "run"}, few()...)...)
	s.fails(term.ExitUsage, refused, "partition", "--dataset", "d", "--quiet", "--parts", "2")
	s.fails(term.ExitUsage, refused, "data", "import", "d", "--quiet", "--out", "store")
	for _, path := range []string{"run", "store"} {
		if term.Exists(s.path(path)) {
			t.Errorf("%s was made", path)
		}
	}
	for name, args := range map[string][]string{
		"train": append([]string{"train", "--dataset", "d", "--run-dir", "run", "--allow-overlap"}, few()...), "partition": {"partition", "--dataset", "d", "--parts", "2", "--allow-overlap"},
		"import": {"data", "import", "d", "--out", "store", "--allow-overlap"}, "info": {"data", "info", "d"},
	} {
		if _, stderr, code := s.run(args...); code != 0 || strings.Count(stderr, "note: "+overlap) != 1 {
			t.Errorf("%s: exit code %d, want the note %q: %s", name, code, overlap, stderr)
		}
	}
	s.must("predict", "--run", "run")
	s.must("predict", "--run", "run", "--dataset", "store") // of which nothing is learned
	s.must("train", "--quiet", "--config", "run/config.yaml", "--run-dir", "again")
}

// A split with a seed of its own is that of all runs, whatever their seeds; one without is that of each. Statistics are
// of its training rows. A store that is imported with a split has that of a run.
func TestSplitSeeds(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.writeFiles("d", threeRings([2]int{}, [2]int{}, [2]int{}))
	for split, sizes := range map[string][3]int{
		"0.7,0.2,0.1": {63, 18, 9}, "0.7,0.2,0.1,seed=2": {63, 18, 9}, "stratified:0.7,0.2,0.1": {63, 18, 9}, "stratified:0.7,0.2,0.1,seed=2": {63, 18, 9}, "per-class:5,20,30,seed=2": {15, 20, 30},
	} {
		dir := strings.NewReplacer(",", "-", ":", "-").Replace(split)
		s.must(append([]string{"train", "--quiet", "--dataset", "d", "--split", split, "--standardize", "train", "--seeds", "1,2", "--run-dir", dir}, few()...)...)
		first, _ := s.splitOf(dir + "/seed-1")
		second, _ := s.splitOf(dir + "/seed-2")
		if got := [3]int{strings.Count(second, "t"), strings.Count(second, "v"), strings.Count(second, "e")}; got != sizes || (first == second) != strings.Contains(split, "seed=") {
			t.Errorf("%s: sets of %v, want %v\n%s of seed 1\n%s of seed 2", split, got, sizes, first, second)
		}
		mean := 0.0
		for v, set := range second {
			if set == 't' {
				mean += float64(v) / float64(sizes[0])
			}
		}
		if scaling, err := runfolder.Dir(s.path(dir + "/seed-2")).ReadScaling(); err != nil || math.Abs(scaling.Mean[1]-mean) > 1e-9 {
			t.Errorf("%s: standardised with the mean %v (%v), want that of the training rows, %v", split, scaling, err, mean)
		}
		s.must("data", "import", "d", "--quiet", "--split", split, "--seed", "2", "--out", dir+"-store")
		d, err := formats.Load(s.path(dir+"-store"), dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for v, set := range second {
			if d.Train[v] != (set == 't') || d.Val[v] != (set == 'v') || d.Test[v] != (set == 'e') {
				t.Errorf("%s: vertex %d is in another set than in a run", split, v)
				break
			}
		}
		d.Close()
		s.train(few("--dataset", dir+"-store", "--run-dir", dir+"-stored")...)
		if got, _ := s.splitOf(dir + "-stored"); got != second {
			t.Errorf("%s: a run on the store has other sets", split)
		}
	}
	s.fails(term.ExitUsage, []string{"--split", "draws by class", "several labels"}, "data", "import", multiLabel(s), "--quiet", "--split", "stratified:0.7,0.2,0.1", "--out", "no")
}

// multiLabel makes a data set of two labels per vertex.
func multiLabel(s *sandbox) string {
	st := newStore()
	st["y"] = npy.Entry{Shape: []int{60, 2}, Data: make([]uint8, 120)}
	return st.write(s, "multi.npz")
}

// The split of a run is in its folder with the ids of the vertices: once for all ranks, also where each knows but its
// own part of it, and after --resume.
func TestSplitOfRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	files := threeRings([2]int{}, [2]int{}, [2]int{})
	s.writeFiles("d", files)
	const split = "stratified:0.6,0.2,0.2"
	s.must("partition", "--quiet", "--dataset", "d", "--edges", "symmetric", "--split", split, "--seed", "3", "--machines", "1,2", "--out", "two.plan", "--shards", "two")
	s.train(few("--dataset", "d", "--split", split, "--seed", "3", "--run-dir", "whole")...)
	want, _ := s.splitOf("whole")
	for name, args := range map[string][]string{
		"ranks":   few("--dataset", "d", "--split", split, "--seed", "3"),
		"shards":  {"--dataset", "two", "--hidden", "8", "--layers", "2", "--epochs", "3", "--seed", "5"},
		"sampled": {"--dataset", "two", "--hidden", "8", "--layers", "2", "--epochs", "3", "--seed", "5", "--batch-size", "8"},
	} {
		run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--run-dir", name), Own: func(rank int) []string { return []string{"--devices", progtest.CPUs(1 + rank)} }}
		for rank, e := range run.Over(2) {
			if e.Code != 0 {
				t.Fatalf("%s, rank %d: exit code %d\n%s", name, rank, e.Code, e.Err)
			}
		}
		if got, ids := s.splitOf(name); got != want || ids != nil {
			t.Errorf("%s: ids %v, sets\n%s, want\n%s", name, ids, got, want)
		}
	}
	s.must("train", "--quiet", "--resume", "whole")
	if got, _ := s.splitOf("whole"); got != want {
		t.Errorf("resumed: sets\n%s, want\n%s", got, want)
	}
	st := newStore()
	ids := make([]int64, 60)
	for v := range ids {
		ids[v] = int64(1000 + v)
	}
	st.write(s, "ok.npz")
	s.must("data", "import", "ok.npz", "--quiet", "--out", "numbered")
	if err := npy.WriteFile(s.path("numbered/ids.npy"), nil, ids); err != nil {
		t.Fatal(err)
	}
	s.train(small("--dataset", "numbered", "--run-dir", "withids")...)
	names := slices.Repeat([]string{"vertex"}, 90)
	for v := range names {
		names[v] = fmt.Sprint("Straße ", v)
	}
	s.writeFiles("d", map[string]string{"ids.csv": "id\n" + strings.Join(names, "\n") + "\n"})
	s.train(few("--dataset", "d", "--run-dir", "named")...)
	if _, a := s.splitOf("named"); a == nil {
		t.Error("there are no names")
	} else if got, err := a.Strings(); err != nil || !slices.Equal(got, names) {
		t.Errorf("names %v, %v, want %v", got, err, names)
	}
	_, a := s.splitOf("withids")
	if a == nil {
		t.Fatal("there are no ids")
	}
	if got, err := a.Int64(); err != nil || !slices.Equal(got, ids) {
		t.Errorf("ids %v, %v, want %v", got, err, ids)
	}
}

// A prediction in text says in which set each vertex is, and --only writes those of one: of the run's data set by what the run kept, of another by what that gives.
func TestPredictOnly(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.writeFiles("d", threeRings([2]int{}, [2]int{}, [2]int{}))
	s.writeFiles("given", threeRings([2]int{0, 10}, [2]int{8, 20}, [2]int{}))
	s.train(few("--dataset", "d", "--run-dir", "run", "--split", "per-class:5,20,30")...)
	kept, _ := s.splitOf("run")
	letters := map[string]byte{"train": 't', "val": 'v', "test": 'e', "": '.'}
	// rows returns the vertices of a prediction and their sets.
	rows := func(args ...string) (vertices []int, sets string) {
		t.Helper()
		r := s.predict(append([]string{"--run", "run", "--what", "labels", "--out", "out.csv"}, args...)...)
		text, err := os.ReadFile(s.path("out.csv"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if lines[0] != "vertex,split,label" || len(lines)-1 != r.Vertices {
			t.Fatalf("%d lines behind %q, the result says %d", len(lines)-1, lines[0], r.Vertices)
		}
		for _, line := range lines[1:] {
			fields := strings.Split(line, ",")
			v, err := strconv.Atoi(fields[0])
			if err != nil {
				t.Fatal(err)
			}
			vertices, sets = append(vertices, v), sets+string(letters[fields[1]])
		}
		return vertices, sets
	}
	if vertices, sets := rows(); sets != kept || len(vertices) != 90 {
		t.Errorf("sets\n%s, the run has\n%s", sets, kept)
	}
	for only, letter := range letters {
		if only == "" {
			continue
		}
		vertices, sets := rows("--only", only)
		if sets != strings.Repeat(string(letter), strings.Count(kept, string(letter))) {
			t.Errorf("--only %s: sets %s", only, sets)
		}
		for _, v := range vertices {
			if kept[v] != letter {
				t.Errorf("--only %s: vertex %d is in %c", only, v, kept[v])
			}
		}
	}
	want := strings.Repeat("t", 10) + strings.Repeat("v", 10) + strings.Repeat(".", 70)
	if _, sets := rows("--dataset", "given"); sets != want {
		t.Errorf("another data set: sets\n%s, want\n%s", sets, want)
	}
	s.writeFiles("moved", threeRings([2]int{}, [2]int{}, [2]int{}))
	if _, sets := rows("--dataset", "moved"); sets != kept {
		t.Errorf("the run's data set at another place: sets\n%s, want\n%s", sets, kept)
	}
	if vertices, _ := rows("--dataset", "given", "--only", "val"); len(vertices) != 12 || vertices[0] != 8 {
		t.Errorf("--only val of sets that overlap: vertices %v, want 8 to 19", vertices)
	}
	if vertices, _ := rows("--dataset", "given", "--only", "test"); vertices != nil {
		t.Errorf("--only test of no test set: vertices %v", vertices)
	}
	for _, c := range []struct{ want, args string }{
		{`--only "tset" (did you mean test?) is not one of train, val, test`, "--only tset --out a.csv"}, {"add --out FILE.csv", "--only test"}, {"add --out FILE.csv", "--only test --out a.npy"}, {"drop one of them", "--only test --what pca"},
		{"is not known", "--only test --dataset bare --out a.csv"},
	} {
		bare := threeRings([2]int{}, [2]int{}, [2]int{})
		bare["edges.csv"] += "0,45\n"
		s.writeFiles("bare", bare)
		s.fails(term.ExitUsage, []string{c.want}, append([]string{"predict", "--quiet", "--run", "run"}, strings.Fields(c.args)...)...)
	}
	changed := threeRings([2]int{}, [2]int{}, [2]int{})
	changed["labels.csv"] = strings.Replace(changed["labels.csv"], "0\n", "1\n", 1)
	s.writeFiles("d", changed)
	s.fails(term.ExitUsage, []string{"--only test", "data set d is not what run was trained on"}, "predict", "--quiet", "--run", "run", "--only", "test", "--out", "a.csv")
	if _, stderr, code := s.run("predict", "--run", "run", "--what", "labels", "--out", "a.csv"); code != 0 || !strings.Contains(stderr, "sets are of other vertices: the .csv has no column split\n") {
		t.Errorf("changed data: exit code %d, %s", code, stderr)
	}
	s.writeFiles("d", threeRings([2]int{}, [2]int{}, [2]int{}))
	if err := os.Remove(s.path("run/split.npz")); err != nil {
		t.Fatal(err)
	}
	s.fails(term.ExitUsage, []string{"--only test", "split.npz: "}, "predict", "--quiet", "--run", "run", "--only", "test", "--out", "a.csv")
	s.writeFiles("run", map[string]string{"split.npz": "PK"})
	if _, stderr, code := s.run("predict", "--run", "run", "--out", "damaged.csv"); code != 0 || !strings.Contains(stderr, "split.npz: ") || !strings.Contains(stderr, ": the .csv has no column split\n") {
		t.Errorf("damaged: exit code %d, %s", code, stderr)
	}
}

// The sets of a run are of the vertices with the ids that it kept, whatever else has changed.
func TestSetsFollowIDs(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	files := threeRings([2]int{}, [2]int{}, [2]int{})
	files["ids.csv"] = "id\n"
	for v := range 90 {
		files["ids.csv"] += fmt.Sprintf("v%d\n", v)
	}
	s.writeFiles("d", files)
	s.train(few("--dataset", "d", "--run-dir", "run")...)
	long := maps.Clone(files)
	long["ids.csv"] = strings.Replace(files["ids.csv"], "v7\n", strings.Repeat("x", 64<<20/4/90+1)+"\n", 1)
	s.writeFiles("long", long)
	if _, stderr, code := s.run(append([]string{"train"}, few("--dataset", "long", "--run-dir", "long-run")...)...); code != 0 || !strings.Contains(stderr, "note: split.npz has no ids, only rows") {
		t.Errorf("long ids: exit code %d, %.400s", code, stderr)
	}
	predict := []string{"predict", "--quiet", "--run", "run", "--what", "labels", "--only", "test", "--out", "a.csv"}
	files["labels.csv"] = strings.Replace(files["labels.csv"], "0\n", "1\n", 1)
	s.writeFiles("d", files)
	if _, stderr, code := s.run(predict...); code != 0 {
		t.Errorf("other labels: exit code %d, %s", code, stderr)
	}
	files["ids.csv"] = strings.Replace(files["ids.csv"], "v0\nv1\n", "v1\nv0\n", 1)
	s.writeFiles("d", files)
	s.fails(term.ExitUsage, []string{"--only test", "data set d is not what run was trained on"}, predict...)
}

// withoutSplit drops the column split of the lines of a prediction, if they have it.
func withoutSplit(lines [][]string) [][]string {
	if len(lines) == 0 {
		return lines
	}
	if at := slices.Index(lines[0], "split"); at >= 0 {
		for i, line := range lines {
			lines[i] = slices.Delete(line, at, at+1)
		}
	}
	return lines
}
