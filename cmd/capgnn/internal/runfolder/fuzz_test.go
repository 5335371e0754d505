package runfolder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// FuzzResult reads any bytes as the result of a run: an error of one line, or something that prints and reads back alike.
func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"dataset":"cora","model":"gcn","devices":["cpu:0"],"epochs":3,"final_loss":0.5,"train":0.25,"best_epoch":2,"metric":"accuracy","epoch_s":{"median":0.1},"bytes":{"d2h":5},"peak_bytes":{"host":7,"devices":[1,2]}}`))
	f.Add([]byte(`{"final_loss":null,"peak_bytes":{"devices":[-1]},"train":-1e308}`))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		d := Dir(filepath.Join(root, fmt.Sprint(os.Getpid())))
		if err := os.MkdirAll(string(d), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.result(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := d.ReadResult()
		if err != nil {
			if term.ExitCode(err) != term.ExitUsage || strings.Contains(term.OneLine(err), "\n") || !strings.Contains(err.Error(), d.result()) {
				t.Fatalf("exit code %d: %q", term.ExitCode(err), err)
			}
			return
		}
		var out, again bytes.Buffer
		if err := r.table(&out); err != nil {
			t.Fatal(err)
		}
		if err := r.Print(&term.Console{Out: &again, JSON: true}); err != nil {
			t.Fatal(err)
		}
		back, twice := new(Result), bytes.Buffer{}
		if err := json.Unmarshal(again.Bytes(), back); err != nil {
			t.Fatalf("%v in %s", err, again.Bytes())
		}
		if err := back.Print(&term.Console{Out: &twice, JSON: true}); err != nil || !bytes.Equal(again.Bytes(), twice.Bytes()) {
			t.Fatalf("%v: %s is read as %s", err, again.Bytes(), twice.Bytes())
		}
	})
}

// FuzzMetrics: what is kept of a metrics file are whole lines of epochs before the given one.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte("{\"epoch\":0}\n{\"epoch\":1,\"loss\":null}\n{\"epoch\":2"), 2)
	f.Add([]byte("{\"epoch\":0}\nnull\n"), 5)
	f.Fuzz(func(t *testing.T, b []byte, epoch int) {
		n, err := lengthBefore(bytes.NewReader(b), epoch)
		if err != nil || n < 0 || n > int64(len(b)) || n > 0 && b[n-1] != '\n' {
			t.Fatalf("%d of %d bytes, %v", n, len(b), err)
		}
		for line := range bytes.Lines(b[:n]) {
			var head map[string]any
			if err := json.Unmarshal(line, &head); err != nil {
				t.Fatalf("kept %q: %v", line, err)
			}
		}
	})
}

// FuzzSets reads any bytes as the sets of a run on three vertices: an error of one line that names the file, or a set of each vertex.
func FuzzSets(f *testing.F) {
	root := f.TempDir()
	good := Dir(root)
	if err := good.WriteSets(&Sets{Train: []bool{true, false, false}, Val: []bool{false, true, false}, Test: make([]bool, 3), Names: []string{"a", "ß", ""}}); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(good.splitFile())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-1])
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := Dir(filepath.Join(root, fmt.Sprint(os.Getpid())))
		if err := os.MkdirAll(string(d), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.splitFile(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := d.ReadSets(3)
		if err != nil {
			if term.ExitCode(err) != term.ExitUsage || strings.Contains(term.OneLine(err), "\n") || !strings.Contains(err.Error(), d.splitFile()) {
				t.Fatalf("exit code %d: %q", term.ExitCode(err), err)
			}
			return
		}
		for v := range 3 {
			if set := s.Of(v); set != "" && !slices.Contains(SetNames[:], set) {
				t.Fatalf("vertex %d is in %q", v, set)
			}
		}
	})
}

// FuzzNames reads any bytes as the names of a run: an error of one line that names the file, or names that are written back as they were read.
func FuzzNames(f *testing.F) {
	f.Add([]byte(`{"columns":["age","city=Rome"],"classes":null,"weighted":true}`))
	f.Add([]byte(`{"columns":[null,"\ud800"],"classes":[],"weighted":0}`))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		d := Dir(filepath.Join(root, fmt.Sprint(os.Getpid())))
		if err := os.MkdirAll(string(d), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.names(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := d.ReadNames()
		if err != nil {
			if term.ExitCode(err) != term.ExitUsage || strings.Contains(term.OneLine(err), "\n") || !strings.Contains(err.Error(), d.names()) {
				t.Fatalf("exit code %d: %q", term.ExitCode(err), err)
			}
			return
		}
		if err := d.WriteNames(&n); err != nil {
			t.Fatal(err)
		}
		if back, err := d.ReadNames(); err != nil || !reflect.DeepEqual(back, n) {
			t.Fatalf("%v: %+v is read as %+v", err, n, back)
		}
	})
}
