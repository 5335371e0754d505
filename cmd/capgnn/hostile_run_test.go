package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// The files of a run and those beside it, each replaced by something hostile.
func TestHostileRunFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs ulimit -v")
	}
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	train := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "4", "--devices", "cpu:0,threads=1,cpu:1,threads=1", "--checkpoint-every", "2", "--run-dir", "run"}
	want := s.train(train...).SHA256
	const huge = 4 << 30
	predict := []string{"predict", "--run", "run", "--quiet", "--json"}
	tensor := func(size int64) []byte {
		head := fmt.Sprintf(`{"convs.0.bias":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}`, size/4, size)
		return append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...)
	}
	for _, c := range []struct {
		name, want string
		make       func()
		args       []string
	}{
		{"weights of a huge header", "w.safetensors", func() { s.put("w.safetensors", binary.LittleEndian.AppendUint64(nil, 1<<62)) }, append(predict, "--weights", "w.safetensors")},
		{"weights of a huge tensor", "w.safetensors", func() { h := tensor(huge); s.hollow("w.safetensors", h, int64(len(h))+huge) }, append(predict, "--weights", "w.safetensors")},
		{"weights that wrap", "w.safetensors", func() {
			head := `{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`
			s.put("w.safetensors", append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...))
		}, append(predict, "--weights", "w.safetensors")},
		{"weights that are a bomb", "w.npz", func() { s.bombs("w.npz", []bomb{{"convs.0.bias", header("<f4", "(1000000000,)"), 4000000000}}) }, append(predict, "--weights", "w.npz")},
		{"initial weights", "w.npz", func() { s.bombs("w.npz", []bomb{{"convs.0.bias", header("<f8", "(500000000,)"), 4000000000}}) },
			[]string{"train", "--dataset", "ok.npz", "--hidden", "8", "--init", "w.npz", "--run-dir", "new", "--quiet", "--json"}},
		{"config", "config", func() { s.hollow("c.yaml", []byte("epochs: 1\n"), huge) }, []string{"train", "--config", "c.yaml", "--quiet", "--json"}},
		{"config of aliases", "c.yaml", func() {
			var b strings.Builder
			b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
			for i := 1; i < 40; i++ {
				fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
			}
			s.put("c.yaml", []byte(b.String()))
		}, []string{"train", "--config", "c.yaml", "--quiet", "--json"}},
		{"config of depth", "c.yaml", func() { s.put("c.yaml", []byte("epochs: "+strings.Repeat("[", 500000))) }, []string{"train", "--config", "c.yaml", "--quiet", "--json"}},
		{"profile", "p.json", func() { s.hollow("p.json", []byte("{"), huge) }, []string{"train", "--dataset", "ok.npz", "--profile", "p.json", "--run-dir", "new", "--quiet", "--json", "--devices", train[7]}},
		{"profile of depth", "p.json", func() { s.put("p.json", []byte(strings.Repeat("[", 1<<20))) }, []string{"train", "--dataset", "ok.npz", "--profile", "p.json", "--run-dir", "new", "--quiet", "--json", "--devices", train[7]}},
		{"result", "result.json", func() { s.hollow("run/result.json", []byte("{"), huge) }, append(predict, "--what", "labels")},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner := sandboxIn(t, s.Dir)
			c.make()
			inner.limited(c.want, c.args...)
		})
	} // A plan or checkpoint that cannot be read is made again, from the beginning if need be, and gives the same weights.
	for _, what := range []string{"plan.bin", "checkpoint/*"} {
		list, err := filepath.Glob(s.path("run/" + what))
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		for _, path := range list {
			if err := os.Truncate(path, huge); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll(s.path("run/result.json")); err != nil {
			t.Fatal(err)
		}
		run := s.under("train", "--resume", "run", "--json")
		var out, errs bytes.Buffer
		run.Stdout, run.Stderr = &out, &errs
		if err := run.Run(); err != nil {
			t.Fatalf("%s: %v\n%s", what, err, errs.String())
		}
		if r := readResultLine(t, out.String()); r.SHA256 != want {
			t.Errorf("%s: other weights: %s, want %s", what, r.SHA256, want)
		}
		if !strings.Contains(errs.String(), filepath.Base(list[0])) {
			t.Errorf("%s: nobody was told: %s", what, errs.String())
		}
	}
}

// Texts of a run folder that somebody else may have made move no terminal's cursor, and forge no line of a table.
func TestTextsOfOthers(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := []string{"train", "--quiet", "--dataset", "ok.npz", "--hidden", "8", "--epochs", "2", "--devices", "cpu:0"}
	s.must(append(args, "--run-dir", "a")...)
	s.must(append(args, "--run-dir", "b", "--lr", "0.02")...)
	s.must(append(args, "--run-dir", "all", "--seeds", "1-2")...)
	lines := func(text string) int { return strings.Count(text, "\n") }
	show := [][]string{{"train", "--resume", "a", "--quiet"}, {"train", "--resume", "all", "--quiet"}, {"report", "a", "b", "--out", "both.html"},
		{"predict", "--run", "a", "--out", "p.csv", "--quiet"}, {"train", "--resume", "a", "--quiet", "--json"}, {"data", "info", "ok.npz"}}
	var before []string
	for _, args := range show {
		before = append(before, s.must(args...))
	}
	before[0] += "\n\n" // classes get names, in two lines
	before[2] += "\n"   // models differ, and a long one has a line of its own
	const evil = `\u001b]0;owned\u0007\u001b[2J\u007f\u009b31m\nval  0.99\ttest 0.99\r`
	for _, name := range []string{"a", "all/seed-1", "all/seed-2"} {
		for _, file := range []string{"result.json", "names.json"} {
			text, err := os.ReadFile(s.path(name + "/" + file))
			if err != nil {
				t.Fatal(err)
			}
			text = regexp.MustCompile(`"(dataset|model|metric|order|storage|weights_sha256|run_dir)": "[^"]*"`).ReplaceAll(text, []byte(`"$1": "`+evil+`"`))
			text = regexp.MustCompile(`"(class_names|columns)": ?(null|\[[^]]*\])`).ReplaceAll(text, []byte(`"$1": ["`+evil+`", "`+evil+`", "c"]`))
			s.put(name+"/"+file, text)
		}
	}
	for i, args := range show {
		got := s.must(args...)
		if bad := strings.IndexFunc(got, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }); bad >= 0 || lines(got) != lines(before[i]) {
			t.Errorf("%q: control characters, or %d lines, want %d:\n%q", args, lines(got), lines(before[i]), got)
		}
		if i < 3 && !strings.Contains(got, "owned") {
			t.Errorf("%q does not print what this test looks for:\n%s", args, got)
		}
	}
	if r := readResultLine(t, s.must("train", "--resume", "a", "--quiet", "--json")); !strings.Contains(r.Dataset, "\x7f\u009b31m\n") {
		t.Errorf("the escapes of JSON give %q back", r.Dataset)
	}
}
