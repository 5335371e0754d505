package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
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
	"capgnn/internal/npy"
)

// lines returns the records of a .csv file behind its header, which is to be this one.
func (s *sandbox) lines(name string, header ...string) [][]string {
	s.T.Helper()
	data, err := os.ReadFile(s.path(name))
	if err != nil {
		s.T.Fatal(err)
	}
	all, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if all = withoutSplit(all); err != nil || len(all) == 0 || !slices.Equal(all[0], header) {
		s.T.Fatalf("%s: %v, the first line is %q, want %q", name, err, all[:min(1, len(all))], header)
	}
	return all[1:]
}

// cities writes a table of nodes and one of links as people have them, and returns the folder that data tables makes
// of them: columns in an order, a city called otherwise, labels or none.
func (s *sandbox) cities(name, first, second string, rename func(city string) string, label string) string {
	s.T.Helper()
	var nodes, links strings.Builder
	fmt.Fprintf(&nodes, "id,%s,%s,city,cls\n", first, second)
	links.WriteString("from,to\n")
	for v := range 120 {
		k := v % 3
		fields := map[string]string{"age": strconv.Itoa(30 + 10*k + v%5), "dist": strconv.Itoa(40 - 20*k + v%7)}
		fmt.Fprintf(&nodes, "\"n,%d\",%s,%s,%s,%s\n", v, fields[first], fields[second], rename([]string{"Oslo", "Rome", "Lima"}[k]), []string{"north", "mid", "south"}[k])
		fmt.Fprintf(&links, "\"n,%d\",\"n,%d\"\n", v, (v+3)%120)
	}
	s.put(name+".csv", []byte(nodes.String()))
	s.put("links.csv", []byte(links.String()))
	args := []string{"data", "tables", "--quiet", "--nodes", name + ".csv", "--links", "links.csv", "--categorical", "city", "--out", name}
	if label != "" {
		args = append(args, "--label", label)
	} else {
		args = append(args, "--drop", "cls")
	}
	s.must(args...)
	return name
}

// same leaves a city as it is called.
func same(city string) string { return city }

// Another data set is read by the names of its columns: another order is the run's, another city is refused. The
// answer has the run's classes, and the ids of the tables, also for data without labels; whether features are
// standardised, steps sampled or ranks several.
func TestPredictByNames(t *testing.T) {
	s := newSandbox(t)
	s.cities("a", "age", "dist", same, "cls")
	s.cities("swapped", "dist", "age", same, "cls")
	s.cities("bare", "dist", "age", same, "")
	s.cities("city", "age", "dist", func(c string) string { return strings.Replace(c, "Rome", "Bern", 1) }, "cls")
	train := func(run string, more ...string) {
		t.Helper()
		s.must(append([]string{"train", "--quiet", "--dataset", "a", "--edges", "symmetric", "--hidden", "8", "--epochs", "40",
			"--devices", "cpu:threads=1", "--run-dir", run}, more...)...)
	}
	train("run", "--standardize", "train")
	train("raw", "--model", "sage", "--seeds", "1,2", "--epochs", "200")
	s.fails(term.ExitUsage, []string{"--run raw: no run there: the folder has runs in it, as train's --seeds makes them: name one, such as raw/seed-1 (of 2)"}, "predict", "--run", "raw", "--out", "out.csv")
	train("steps", "--standardize", "train", "--batch-size", "40", "--fanout", "3,3,3")
	for _, run := range []string{"run", "raw/seed-2", "steps"} {
		var kept struct{ Columns, Classes []string }
		text, err := os.ReadFile(s.path(run + "/names.json"))
		columns, classes := []string{"age", "dist", "city=Lima", "city=Oslo", "city=Rome"}, []string{"mid", "north", "south"}
		if err != nil || json.Unmarshal(text, &kept) != nil || !slices.Equal(kept.Columns, columns) || !slices.Equal(kept.Classes, classes) {
			t.Fatalf("%s: names.json has %s (%v)", run, text, err)
		}
		var want [][]string
		for _, data := range []string{"a", "swapped", "bare"} {
			s.must("predict", "--quiet", "--run", run, "--dataset", data, "--what", "labels", "--devices", "cpu:threads=1", "--out", "labels.csv")
			got := s.lines("labels.csv", "vertex", "id", "label", "class")
			if data == "a" {
				want = got
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: other labels of %s than of a", run, data)
			}
			right := 0
			for v, line := range got {
				if line[1] != fmt.Sprintf("n,%d", v) {
					t.Fatalf("%s, %s: vertex %d has the id %q", run, data, v, line[1])
				}
				if line[3] == []string{"north", "mid", "south"}[v%3] {
					right++
				}
			}
			if right < 118 {
				t.Errorf("%s: %d of 120 labels of %s are right", run, right, data)
			}
		}
		s.fails(term.ExitUsage, []string{"--dataset city", `column "city=Rome" of the run`, `"city=Bern"`, "1 of 5"},
			"predict", "--quiet", "--run", run, "--dataset", "city", "--out", "refused.csv")
	}
	if term.Exists(s.path("refused.csv")) {
		t.Error("a prediction that was refused left its file")
	}
	if _, notes, _ := s.run("predict", "--run", "run", "--dataset", "swapped"); !strings.Contains(notes, "2 of 5 columns are in another order") {
		t.Errorf("no note says that columns are moved: %s", notes)
	}
	s.probabilitiesByNames()
}

// probabilitiesByNames predicts those of the runs of TestPredictByNames: in one process, in two, and in chunks.
func (s *sandbox) probabilitiesByNames() {
	t := s.T
	s.must("launch", "-n", "2", "--quiet", "--", "predict", "--run", "run", "--dataset", "swapped", "--what", "probabilities",
		"--devices", progtest.CPUs(1), "--out", "two.csv")
	s.must("predict", "--quiet", "--run", "run", "--what", "probabilities", "--devices", "cpu:threads=1", "--out", "one.csv")
	if _, errs, code := s.run("launch", "-n", "2", "--", "predict", "--run", "run", "--dataset", "city", "--devices", progtest.CPUs(1)); code != term.ExitUsage ||
		!strings.Contains(errs, "--dataset city: column") || strings.Contains(errs, "'s --dataset") {
		t.Errorf("launched: exit code %d: %s", code, errs)
	}
	two := s.lines("two.csv", "vertex", "id", "p_mid", "p_north", "p_south")
	for v, line := range s.lines("one.csv", "vertex", "id", "p_mid", "p_north", "p_south") {
		sum := 0.0
		for k := range 3 {
			p, _ := strconv.ParseFloat(line[2+k], 64)
			q, _ := strconv.ParseFloat(two[v][2+k], 64)
			if sum += p; math.Abs(p-q) > 1e-5 {
				t.Fatalf("vertex %d: probability %v in one process, %v in two", v, p, q)
			}
		}
		if math.Abs(sum-1) > 1e-6 || two[v][1] != line[1] {
			t.Fatalf("vertex %d: %q, %q, sum %v", v, line, two[v], sum)
		}
	}
	s.must("predict", "--quiet", "--run", "steps", "--dataset", "bare", "--what", "probabilities", "--devices", "cpu:threads=1", "--out", "steps.npy")
	for v, p := range slices.Collect(slices.Chunk(s.Floats("steps.npy", 120, 3), 3)) {
		if sum := float64(p[0]) + float64(p[1]) + float64(p[2]); math.Abs(sum-1) > 1e-6 || p[[]int{1, 0, 2}[v%3]] < slices.Max(p) {
			t.Errorf("vertex %d: probabilities %v", v, p)
		}
	}
}

// A run is resumed on the data that it was begun on; a data set whose columns or classes are only called otherwise is
// another one. Sides without names are compared by number, with a note.
func TestNamesOfOwnData(t *testing.T) {
	s := newSandbox(t)
	s.cities("a", "age", "dist", same, "cls")
	train := []string{"train", "--quiet", "--dataset", "a", "--hidden", "4", "--devices", "cpu:threads=1", "--epochs", "2", "--run-dir", "run"}
	s.must(train...)
	if err := os.Remove(s.path("run/result.json")); err != nil {
		t.Fatal(err)
	}
	header := func(from, to string) {
		t.Helper()
		text, err := os.ReadFile(s.path("a/features.csv"))
		if err != nil {
			t.Fatal(err)
		}
		s.put("a/features.csv", bytes.Replace(text, []byte(from), []byte(to), 1))
	}
	header("age,dist,", "age,miles,")
	s.fails(term.ExitUsage, []string{"--resume run", `column "miles" of data set a was "dist"`}, "train", "--quiet", "--resume", "run")
	s.fails(term.ExitUsage, []string{`column "dist" of the run`, `"miles"`}, "predict", "--quiet", "--run", "run")
	header("age,miles,", "age,dist,")
	classes, err := os.ReadFile(s.path("a/classes.csv"))
	if err != nil {
		t.Fatal(err)
	}
	s.put("a/classes.csv", bytes.Replace(classes, []byte("mid"), []byte("middle"), 1))
	s.fails(term.ExitUsage, []string{"--resume run", `class "middle" of data set a was "mid"`}, "train", "--quiet", "--resume", "run")
	s.put("a/classes.csv", classes)
	s.must("train", "--quiet", "--resume", "run")
	header("age,dist,city=Lima,city=Oslo,city=Rome\n", "")
	if _, notes, code := s.run("predict", "--run", "run"); code != 0 || !strings.Contains(notes, "the data set's columns of features have no names") {
		t.Errorf("exit code %d, notes %s", code, notes)
	}
}

// The columns of shards are compared, too; they cannot be put into another order. Their vertices keep their ids.
func TestPredictShardsByNames(t *testing.T) {
	s := newSandbox(t)
	s.cities("a", "age", "dist", same, "cls")
	s.cities("swapped", "dist", "age", same, "cls")
	s.cities("city", "age", "dist", func(c string) string { return strings.Replace(c, "Rome", "Bern", 1) }, "cls")
	for _, data := range []string{"a", "swapped", "city"} {
		s.must("partition", "--quiet", "--dataset", data, "--edges", "symmetric", "--machines", "1", "--shards", data+".shards")
	}
	s.must("train", "--quiet", "--dataset", "a.shards", "--hidden", "4", "--devices", "cpu:threads=1", "--epochs", "3", "--run-dir", "run")
	predict := func(data string) []string {
		return []string{"predict", "--quiet", "--run", "run", "--dataset", data, "--what", "labels", "--out", "labels.csv"}
	}
	sets, err := runfolder.Dir(s.path("run")).ReadSets(120)
	if err != nil || len(sets.Names) != 120 {
		t.Fatalf("split.npz has %v (%v)", sets, err)
	}
	if err := os.Rename(s.path("a.shards"), s.path("moved.shards")); err != nil {
		t.Fatal(err)
	}
	s.must(predict("moved.shards")...)
	want := fmt.Sprintf("vertex,id,split,label,class\n0,\"n,0\",%s,", sets.Of(0))
	if text, err := os.ReadFile(s.path("labels.csv")); err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("moved shards: %.60q (%v), want %q", text, err, want)
	}
	s.cities("others", "age", "dist", same, "cls")
	s.must("partition", "--quiet", "--dataset", "others", "--edges", "directed", "--machines", "1", "--shards", "others.shards")
	if _, stderr, code := s.run("predict", "--run", "run", "--dataset", "others.shards", "--what", "labels", "--out", "labels.csv"); code != 0 || !strings.Contains(stderr, "is in shards, and not what run was trained on: its sets are not read: the .csv has no column split\n") {
		t.Errorf("other shards: exit code %d, %s", code, stderr)
	}
	if err := os.Rename(s.path("moved.shards"), s.path("a.shards")); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"a.shards", "swapped"} {
		s.must(predict(data)...)
		for v, line := range s.lines("labels.csv", "vertex", "id", "label", "class") {
			if want := fmt.Sprintf("n,%d", v); line[1] != want || sets.Names[v] != want {
				t.Fatalf("%s: vertex %d has the id %q, and %q in split.npz, want %q", data, v, line[1], sets.Names[v], want)
			}
		}
	}
	s.fails(term.ExitUsage, []string{"swapped.shards", "its columns lie in another order", "name the data set itself"}, predict("swapped.shards")...)
	s.fails(term.ExitUsage, []string{"city.shards", `column "city=Rome" of the run`}, predict("city.shards")...)
}

// Edges with weights are for runs with weights, and the reverse; a run that ignored them predicts both.
func TestPredictWeights(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "plain.npz")
	st := newStore()
	st["edge_weight"] = npy.Entry{Data: weights()}
	st.write(s, "weighted.npz")
	for run, args := range map[string][]string{"plain": {"plain.npz"}, "weighted": {"weighted.npz"}, "ignored": {"weighted.npz", "--ignore-weights"}} {
		s.must(append([]string{"train", "--quiet", "--hidden", "4", "--epochs", "1", "--devices", "cpu:threads=1", "--run-dir", run, "--dataset"}, args...)...)
	}
	predict := func(run, data string) []string {
		return []string{"predict", "--quiet", "--run", run, "--dataset", data + ".npz"}
	}
	s.fails(term.ExitUsage, []string{"its edges have weights, those of plain have none", "`capgnn data import --ignore-weights`", "train a run with weights"},
		predict("plain", "weighted")...)
	s.fails(term.ExitUsage, []string{"its edges have no weights, those of weighted have some", "add them", "`capgnn train --ignore-weights`"},
		predict("weighted", "plain")...)
	s.must(predict("ignored", "weighted")...)
	s.must(predict("ignored", "plain")...)
	s.must("data", "import", "weighted.npz", "--ignore-weights", "--quiet", "--out", "without")
	s.must("predict", "--quiet", "--run", "plain", "--dataset", "without")
}

// A run on edges in both directions says so where another data set has one direction, and the reverse.
func TestPredictDirections(t *testing.T) {
	s := newSandbox(t)
	data := s.cities("cities", "age", "dist", same, "cls")
	s.must("data", "import", data, "--edges", "symmetric", "--out", "both", "--quiet")
	for _, of := range []struct{ trained, predicted, want string }{
		{"both", data, "note: the graph of run-both has every edge in both directions, and that of cities is directed: `capgnn data import cities --edges symmetric --out STORE`"},
		{data, "both", "note: the graph of run-cities is directed, and that of both has every edge in both directions"},
		{"both", "both", ""}, {data, data, ""},
	} {
		run := "run-" + of.trained
		if _, err := os.Stat(s.path(run)); err != nil {
			s.must("train", "--dataset", of.trained, "--epochs", "1", "--hidden", "4", "--run-dir", run, "--quiet")
		}
		_, stderr, code := s.run("predict", "--run", run, "--dataset", of.predicted, "--what", "labels", "--out", "out.csv")
		if code != 0 || !strings.Contains(stderr, of.want) || of.want == "" && strings.Contains(stderr, "in both directions, and") {
			t.Errorf("%s, %s: exit code %d, %s, want %s", of.trained, of.predicted, code, stderr, of.want)
		}
	}
}

// A note says where features of run and data set may be of different scales: those of a store that was standardised as it was
// written cannot be told from others, and are standardised once more where the run's were.
func TestPredictScales(t *testing.T) {
	s := newSandbox(t)
	raw := s.cities("cities", "age", "dist", same, "cls")
	for _, how := range []string{"train", "rows"} {
		s.must("data", "import", raw, "--standardize", how, "--split", "0.7,0.2,0.1", "--out", how, "--quiet")
	}
	s.must("partition", "--dataset", "train", "--machines", "1", "--shards", "shards", "--quiet")
	const unknown = "were standardised when their store was written, which has no mean and deviation"
	const differ, twice = "they may be of another scale", "are standardised once more"
	for _, c := range []struct{ trained, how, predicted, want string }{
		{"train", "none", raw, unknown}, {"train", "none", "rows", unknown}, {"shards", "auto", raw, unknown},
		{"rows", "none", raw, differ}, {raw, "none", "train", differ},
		{raw, "train", "train", twice}, {"train", "train", "train", twice},
		{"train", "none", "train", ""}, {raw, "none", raw, ""}, {raw, "train", raw, ""}, {raw, "rows", "rows", ""}, {"rows", "rows", raw, ""},
	} {
		run := c.trained + "-" + c.how
		if _, err := os.Stat(s.path(run)); err != nil {
			s.must("train", "--dataset", c.trained, "--standardize", c.how, "--epochs", "1", "--hidden", "4",
				"--run-dir", run, "--quiet")
		}
		_, notes, code := s.run("predict", "--run", run, "--dataset", c.predicted, "--what", "labels", "--out", "out.csv")
		all := strings.Count(notes, unknown) + strings.Count(notes, differ) + strings.Count(notes, twice)
		if code != 0 || !strings.Contains(notes, c.want) || all != min(len(c.want), 1) {
			t.Errorf("%v: exit code %d, %s", c, code, notes)
		}
	}
}

// Predictions never take the place of a file of the data set.
func TestPredictSparesData(t *testing.T) {
	s := newSandbox(t)
	data := s.cities("cities", "age", "dist", same, "cls")
	s.must("train", "--dataset", data, "--epochs", "1", "--hidden", "4", "--run-dir", "run", "--quiet")
	before, err := os.ReadFile(s.path("cities/labels.csv"))
	if err != nil {
		t.Fatal(err)
	}
	s.fails(term.ExitUsage, []string{"--out cities/labels.csv: is a file of data set cities"}, "predict", "--run", "run", "--what", "labels", "--out", "cities/labels.csv", "--quiet")
	if after, err := os.ReadFile(s.path("cities/labels.csv")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("%v, labels.csv is another", err)
	}
	s.must("predict", "--run", "run", "--what", "labels", "--out", "cities/answer.csv", "--quiet")
}
