package main

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// turnClasses copies a folder of cities with its classes in another order, and another name of one of them if it is
// not empty.
func (s *sandbox) turnClasses(from, to, other string) {
	s.T.Helper()
	if err := os.CopyFS(s.path(to), os.DirFS(s.path(from))); err != nil {
		s.T.Fatal(err)
	}
	text, err := os.ReadFile(s.path(from + "/labels.csv"))
	if err != nil {
		s.T.Fatal(err)
	}
	lines := strings.Fields(string(text))
	for i, y := range lines[1:] {
		lines[1+i] = map[string]string{"0": "2", "1": "0", "2": "1"}[y] // mid, north, south
	}
	if other == "" {
		other = "mid"
	}
	s.replace(to+"/labels.csv", strings.Join(lines, "\n")+"\n")
	s.replace(to+"/classes.csv", "cls\nnorth\nsouth\n"+other+"\n")
}

// replace writes a file that is there anew.
func (s *sandbox) replace(name, text string) {
	s.T.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.T.Fatal(err)
	}
}

// loss returns the loss of a finished run before its last update.
func (s *sandbox) loss(run string) float64 {
	s.T.Helper()
	return float64(s.ResultOf(run).FinalLoss)
}

// A run starts from the weights of another one where its columns and classes are, whatever their order: with the same
// loss, which sums of 5 columns and 3 classes of another order change by some roundings of float32. Other names are
// refused.
func TestInitialByNames(t *testing.T) {
	s := newSandbox(t)
	s.cities("a", "age", "dist", same, "cls")
	s.cities("swapped", "dist", "age", same, "cls")
	s.cities("city", "age", "dist", func(c string) string { return strings.Replace(c, "Rome", "Bern", 1) }, "cls")
	s.turnClasses("swapped", "turned", "")
	s.turnClasses("a", "other", "west")
	args := func(data, run string, more ...string) []string {
		return append([]string{"train", "--quiet", "--dataset", data, "--edges", "symmetric", "--hidden", "8", "--dropout", "0",
			"--standardize", "train", "--devices", progtest.CPUs(2), "--run-dir", run}, more...)
	}
	s.must(args("a", "gat", "--seeds", "1,2", "--model", "gat", "--heads", "2", "--epochs", "30")...)
	s.must(args("a", "gcn", "--epochs", "30")...)
	cases := map[string][]string{
		"gat":      {"--init", "gat/seed-2/model.safetensors", "--model", "gat", "--heads", "2"},
		"one rank": {"--init", "gcn/last.safetensors"},
		"sampled":  {"--init", "gcn/model.safetensors", "--batch-size", "120", "--fanout", "9,9,9"},
		"isolated": {"--init", "gcn/model.safetensors", "--isolated"},
		"seeds":    {"--init", "gcn/model.safetensors", "--seeds", "3"},
		"ranks":    {"--init", "gcn/model.safetensors", "--devices", progtest.CPUs(1)},
	}
	for _, name := range long.Some(t, slices.Sorted(maps.Keys(cases)), 3) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			want := 0.0
			for _, data := range []string{"a", "swapped", "turned"} {
				run := strings.ReplaceAll(name, " ", "-") + "-" + data
				line := args(data, run, append(c, "--epochs", "1")...)
				if name == "ranks" {
					line = append([]string{"launch", "-n", "2", "--quiet", "--"}, line...)
				}
				s.must(line...)
				if name == "seeds" {
					run += "/seed-3"
				}
				loss := s.loss(run)
				if data == "a" {
					want = loss
				}
				if !(math.Abs(loss-want) <= 1e-5*want) || !(loss < 1) { // one of weights that know nothing is ln 3
					t.Errorf("%s: the first loss is %v, want %v", data, loss, want)
				}
			}
		})
	}
	init := []string{"--init", "gcn/model.safetensors", "--epochs", "1"}
	for data, want := range map[string]string{
		"city":  `column "city=Rome" of the run is not in the data set, whose "city=Bern" is not in the run`,
		"other": `class "mid" of the run is not in the data set, whose "west" is not in the run (1 of 3 classes differ)`,
	} {
		s.fails(term.ExitUsage, []string{"--init", want, "copy the file alone elsewhere"}, args(data, "refused", init...)...)
	}
	if term.Exists(s.path("refused")) {
		t.Error("a run that was refused left its folder")
	}
	s.resumesInitial(args)
	s.notesInitial(args)
}

// resumesInitial stops a run of TestInitialByNames that began with weights in another order.
func (s *sandbox) resumesInitial(args func(data, run string, more ...string) []string) {
	s.T.Helper()
	for _, run := range []string{"short", "long"} {
		s.must(args("turned", run, "--init", "gcn/model.safetensors", "--epochs", map[string]string{"short": "3", "long": "6"}[run])...)
	}
	if err := os.RemoveAll(s.path("short/checkpoint")); err != nil { // begins anew, with its own file
		s.T.Fatal(err)
	}
	s.must("train", "--quiet", "--resume", "short", "--epochs", "6")
	short, _ := runfolder.Dir(s.path("short")).ReadResult()
	long, _ := runfolder.Dir(s.path("long")).ReadResult()
	if short == nil || long == nil || short.SHA256 != long.SHA256 {
		s.T.Errorf("other weights where a run was resumed")
	}
}

// notesInitial says what notes weights have that are taken by number, or that know features of another scale.
func (s *sandbox) notesInitial(args func(data, run string, more ...string) []string) {
	s.T.Helper()
	text, err := os.ReadFile(s.path("gcn/model.safetensors"))
	if err != nil {
		s.T.Fatal(err)
	}
	s.put("alone.safetensors", text)
	const number, moved, scale = "columns and classes are matched by number", "are in another order", "they may be of another scale"
	for i, c := range []struct {
		data, init string
		more       []string
		want       []string
	}{
		{"a", "alone.safetensors", nil, []string{number}},
		{"city", "alone.safetensors", nil, []string{number}},
		{"a", "gcn/model.safetensors", nil, nil},
		{"turned", "gcn/model.safetensors", nil, []string{"note: the columns of", "note: the classes of", moved}},
		{"swapped", "gcn/model.safetensors", []string{"--standardize", "none"}, []string{"note: the columns of", moved, scale}},
		{"a", "gcn/model.safetensors", []string{"--split", "0.3,0.3,0.4"}, []string{"with another mean and deviation than", scale}},
	} {
		line := slices.DeleteFunc(args(c.data, fmt.Sprint("noted", i), append(c.more, "--init", c.init, "--epochs", "1")...), func(a string) bool { return a == "--quiet" })
		_, notes, code := s.run(line...)
		for _, text := range []string{number, moved, scale} {
			if strings.Contains(notes, text) != slices.Contains(c.want, text) {
				s.T.Errorf("%v: notes %s", c, notes)
			}
		}
		if code != 0 || slices.ContainsFunc(c.want, func(w string) bool { return !strings.Contains(notes, w) }) {
			s.T.Errorf("%v: exit code %d, %s", c, code, notes)
		}
	}
}

// Weights to start from are compared with the data before these are cut: features that one side made of the graph, weights and directions of
// edges are noted, and other shapes refused.
func TestInitialOfOtherData(t *testing.T) {
	s := newSandbox(t)
	s.cities("a", "age", "dist", same, "cls")
	if err := os.CopyFS(s.path("weighted"), os.DirFS(s.path("a"))); err != nil {
		t.Fatal(err)
	}
	edges, err := os.ReadFile(s.path("a/edges.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(edges)), "\n")
	for i := range lines[1:] {
		lines[1+i] += ",0.5"
	}
	s.replace("weighted/edges.csv", "from,to,weight\n"+strings.Join(lines[1:], "\n")+"\n")
	args := func(data, run string, more ...string) []string {
		return append([]string{"train", "--dataset", data, "--hidden", "8", "--epochs", "1", "--devices", progtest.CPUs(1), "--run-dir", run}, more...)
	}
	const symmetric = "--edges=symmetric"
	s.must(args("a", "stored")...)
	s.must(args("a", "both", symmetric)...)
	s.must(args("a", "random", "--features", "random:5")...)
	s.must(args("weighted", "heavy")...)
	const other, weigh, directed = "a column is something else in each, and its weights know nothing of these", "have weights, those of", "has every edge in both directions, and that of"
	for i, c := range []struct {
		run, data string
		more      []string
		want      string
	}{
		{"stored", "a", nil, ""}, {"random", "a", []string{"--features", "random:5"}, ""},
		{"random", "a", nil, "note: the features of random are --features random:5 of seed 1, and here those of its data set: " + other},
		{"stored", "a", []string{"--features", "random:5"}, "note: the features of stored are those of its data set, and here --features random:5 of seed 1: " + other},
		{"random", "a", []string{"--features", "random:5", "--seed", "2"}, "random:5 of seed 1, and here --features random:5 of seed 2: " + other},
		{"random", "weighted", []string{"--features", "random:5", "--ignore-weights"}, "--features random:5 of seed 1 match vertices by number: vertex v is taken as vertex v of the graph of random"},
		{"stored", "weighted", nil, "note: the edges of weighted have weights, those of stored have none: the weights of --init were trained on other sums over neighbours (--ignore-weights leaves them out)"},
		{"heavy", "a", nil, "note: the edges of heavy have weights, those of a have none: the weights of --init were trained on other sums over neighbours\n"},
		{"both", "a", nil, "note: the graph of both has every edge in both directions, and that of a is directed (--edges symmetric makes one of it)"},
		{"stored", "a", []string{symmetric}, "note: the graph of a has every edge in both directions, and that of stored is directed\n"},
	} {
		_, notes, code := s.run(args(c.data, fmt.Sprint("run", i), append(c.more, "--init", c.run+"/model.safetensors")...)...)
		notes = strings.ReplaceAll(notes, s.Dir+"/", "")
		if code != 0 || !strings.Contains(notes, c.want) || c.want == "" && (strings.Contains(notes, other) || strings.Contains(notes, weigh) || strings.Contains(notes, directed)) {
			t.Errorf("%+v: exit code %d, %s", c, code, notes)
		}
	}
	for _, c := range [][3]string{{"random", "stored", "train's --features random:5 of seed 1, and here those of its data set: "}, {"stored", "random", "those of its data set, and here train's --features random:5"}} {
		_, notes, code := s.run("predict", "--run", c[1], "--weights", c[0]+"/model.safetensors", "--devices", progtest.CPUs(1), "--out", "out.csv")
		if code != 0 || !strings.Contains(notes, "note: the features of "+c[0]+" are "+c[2]) || strings.Contains(notes, "matched by number") {
			t.Errorf("%v: exit code %d, %s", c, code, notes)
		}
	}
	wide := []string{"--quiet", "--dataset", "a", "--hidden", "16", "--devices", progtest.CPUs(2), "--init", "stored/model.safetensors"}
	s.fails(term.ExitUsage, []string{"stored/model.safetensors: tensor", "has shape [8], want [16]"}, append([]string{"plan"}, wide...)...)
}

// Weights of another run are used with the names, the mean and the deviation of that run, if they lie in its folder: the
// answer is that of the run itself.
func TestPredictWeightsOfAnotherRun(t *testing.T) {
	s := newSandbox(t)
	s.cities("a", "age", "dist", same, "cls")
	s.cities("swapped", "dist", "age", same, "cls")
	s.turnClasses("swapped", "turned", "")
	for run, data := range map[string]string{"a": "a", "b": "turned"} {
		s.must("train", "--quiet", "--dataset", data, "--edges", "symmetric", "--hidden", "8", "--epochs", "30", "--standardize", "train", "--seed", map[string]string{"a": "1", "b": "2"}[run],
			"--devices", progtest.CPUs(1), "--run-dir", "run-"+run)
	}
	for _, folder := range []string{"alone", "named"} {
		for _, name := range []string{"model.safetensors", "names.json", "standardize.npz"} {
			text, err := os.ReadFile(s.path("run-a/" + name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(s.path(folder), 0o755); err != nil {
				t.Fatal(err)
			}
			if folder == "named" || name == "model.safetensors" {
				s.put(folder+"/"+name, text)
			}
		}
	}
	predict := func(run, weights, data string) (string, string) {
		t.Helper()
		_, notes, code := s.run("predict", "--run", run, "--weights", weights, "--dataset", data, "--what", "probabilities", "--devices", progtest.CPUs(1), "--out", "out.csv")
		if code != 0 {
			t.Fatalf("exit code %d, %s", code, notes)
		}
		var rows strings.Builder // without the sets, which are those of --run
		for _, line := range s.lines("out.csv", "vertex", "id", "p_mid", "p_north", "p_south") {
			fmt.Fprintln(&rows, line)
		}
		return rows.String(), notes
	}
	want, _ := predict("run-a", "best", "a")
	const alone = "note: there is no names.json next to --weights alone/model.safetensors: its columns and classes are taken to be those of run-a"
	for _, c := range [][3]string{
		{"run-b", "run-a/model.safetensors", "a"}, {"run-b", "run-a/model.safetensors", "turned"}, {"run-b", "named/model.safetensors", "swapped"},
		{"run-a", "./run-a/model.safetensors", "swapped"}, {"run-a", "alone/model.safetensors", "swapped"},
	} {
		got, notes := predict(c[0], c[1], c[2])
		if got != want || strings.Contains(notes, alone) != strings.HasPrefix(c[1], "alone") {
			t.Errorf("%v: other probabilities than those of run-a, or notes: %s", c, notes)
		}
	}
	s.must("launch", "-n", "2", "--quiet", "--", "predict", "--run", "run-b", "--weights", "run-a/model.safetensors", "--what", "labels", "--devices", progtest.CPUs(1), "--out", "two.csv")
	s.must("predict", "--quiet", "--run", "run-a", "--what", "labels", "--devices", progtest.CPUs(1), "--out", "one.csv")
	one, two := s.lines("one.csv", "vertex", "id", "label", "class"), s.lines("two.csv", "vertex", "id", "label", "class")
	if fmt.Sprint(one) != fmt.Sprint(two) {
		t.Error("other labels in two ranks")
	}
}

// Names are the same in whatever normal form of Unicode a table has them: columns, classes, and labels of one table.
func TestNamesInNormalForms(t *testing.T) {
	s := newSandbox(t)
	apart, composed := "Mu\u0308nchen", "M\u00fcnchen"
	for data, name := range map[string]string{"a": apart, "b": composed} {
		s.cities(data, "age", "dist", func(c string) string { return strings.Replace(c, "Rome", name, 1) }, "cls")
		text, err := os.ReadFile(s.path(data + "/classes.csv"))
		if err != nil {
			t.Fatal(err)
		}
		s.replace(data+"/classes.csv", string(bytes.Replace(text, []byte("mid"), []byte(name), 1)))
	}
	for _, data := range []string{"a", "b"} {
		s.must("train", "--quiet", "--dataset", data, "--hidden", "4", "--epochs", "2", "--devices", progtest.CPUs(1), "--run-dir", "run-"+data)
	}
	for _, c := range [][2]string{{"run-a", "b"}, {"run-b", "a"}} {
		s.must("predict", "--quiet", "--run", c[0], "--dataset", c[1], "--what", "labels", "--out", "out.csv")
		s.must("train", "--quiet", "--dataset", c[1], "--hidden", "4", "--epochs", "1", "--devices", progtest.CPUs(1), "--init", c[0]+"/model.safetensors", "--run-dir", "init-"+c[1])
	}
	words := "cls\n"
	for v := range 120 {
		words += []string{apart, composed, "Lima"}[v%3] + "\n"
	}
	s.replace("a/labels.csv", words)
	if err := os.Remove(s.path("a/classes.csv")); err != nil {
		t.Fatal(err)
	}
	if r := s.train("--dataset", "a", "--hidden", "4", "--epochs", "1", "--devices", progtest.CPUs(1)); !slices.Equal(r.Classes, []string{"Lima", composed}) {
		t.Errorf("classes %q", r.Classes)
	}
}
