package runfolder

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"capgnn/pipeline"
)

// eventFiles returns the contents of the event files of a run folder, in the order in which TensorBoard reads them.
func eventFiles(t *testing.T, dir string) [][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	var out [][]byte
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, data)
	}
	return out
}

// A file that is removed during the run is written again, with all that it had.
func TestEventFileAgain(t *testing.T) {
	dir, notes := t.TempDir(), 0
	f := &Events{Dir: Dir(dir), Lost: func(string) error { notes++; return nil }}
	for e := range 4 {
		if e == 2 {
			names, err := filepath.Glob(filepath.Join(dir, "events*"))
			if err != nil || len(names) != 1 || os.Remove(names[0]) != nil {
				t.Fatalf("%v, %v", names, err)
			}
		}
		if err := f.Append(pipeline.EpochStats{Epoch: e, Loss: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if files := eventFiles(t, dir); len(files) != 1 || bytes.Count(files[0], []byte("loss")) != 4 || notes != 1 {
		t.Errorf("%d notes, %d files: %q", notes, len(files), files)
	}
}

// A run that is continued adds a file; curves of splits without vertices and of epochs without evaluation are not written.
// What TensorBoard makes of the files is checked with python/tests/test_events.py.
func TestEventFile(t *testing.T) {
	dir := t.TempDir()
	score := 0.5
	write := func(epochs ...int) {
		f := &Events{Dir: Dir(dir), Metric: "accuracy"}
		for _, e := range epochs {
			s := pipeline.EpochStats{Epoch: e, Loss: 1, Eval: e%2 == 1}
			s.Metrics.Train = &score
			if err := f.Append(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write(0, 1, 2)
	write(2, 3, 4, 5)
	write()
	files := eventFiles(t, dir)
	if len(files) != 2 {
		t.Fatalf("%d files, want 2", len(files))
	}
	for i, want := range []struct{ losses, scores int }{{3, 1}, {4, 2}} {
		losses, scores := bytes.Count(files[i], []byte("loss")), bytes.Count(files[i], []byte("accuracy/train"))
		if losses != want.losses || scores != want.scores || bytes.Contains(files[i], []byte("accuracy/val")) {
			t.Errorf("file %d has %d losses and %d scores, want %+v", i, losses, scores, want)
		}
	}
}
