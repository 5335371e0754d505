//go:build linux || darwin

package training

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/learn"
	"capgnn/pipeline"
)

// A run folder that is named is made and kept from others, and goes again if nothing was written.
func TestHold(t *testing.T) {
	t.Chdir(t.TempDir())
	first, second, in := &Folder{RunPath: "a/b"}, &Folder{RunPath: "a/b"}, new(Input)
	if err := first.Lock(in); err != nil || !first.made {
		t.Fatal(first.made, err)
	}
	if err := second.Lock(in); term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), fmt.Sprintf("--run-dir a/b: in use by process %d on ", os.Getpid())) {
		t.Errorf("second: %v", err)
	}
	second.Unlock(false)
	first.Unlock(false)
	if term.Exists("a/b") {
		t.Error("an empty folder stays")
	}
	if err := second.Lock(in); err != nil || !second.made {
		t.Fatal(second.made, err)
	}
	if err := term.WriteFile(second.Dir.Config(), nil); err != nil {
		t.Fatal(err)
	}
	second.Unlock(false)
	if err := first.Lock(in); term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), "--resume a/b") {
		t.Errorf("a folder that holds a run: error %v, want a usage error that names --resume", err)
	}
	first.Unlock(false)
	if list, err := os.ReadDir("a/b"); err != nil || len(list) != 1 {
		t.Errorf("%v, %v, want config.yaml alone", list, err)
	}
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"file", "file/below"} {
		if err := (&Folder{RunPath: path}).Lock(in); term.ExitCode(err) != term.ExitUsage {
			t.Errorf("%s: error %v, want a usage error", path, err)
		}
	}
}

// A run whose folder goes before its page is there says so, and that alone.
func TestReportOfVanished(t *testing.T) {
	t.Chdir(t.TempDir())
	r := New(&term.Console{Out: io.Discard, Err: new(strings.Builder)}, "", runfolder.Config{})
	r.RunPath = "run"
	if err := r.Lock(&r.Input); err != nil {
		t.Fatal(err)
	}
	defer r.Unlock(false)
	if err := r.writeReport(r.Console); err != nil || !strings.Contains(fmt.Sprint(r.Console.Err), "note: no report: ") {
		t.Errorf("a folder without a run: %v, %v", err, r.Console.Err)
	}
	r.Console.Err = new(strings.Builder)
	if err := os.RemoveAll("run"); err != nil {
		t.Fatal(err)
	}
	if err := r.writeReport(r.Console); err == nil || !strings.Contains(err.Error(), vanished) || fmt.Sprint(r.Console.Err) != "" {
		t.Errorf("%v, %v", err, r.Console.Err)
	}
}

// Epochs go into the run's folder, not into another one that has taken its name since.
func TestMetricsOfAnotherFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	run := New(&term.Console{Err: io.Discard}, "", runfolder.Config{})
	run.RunPath, run.Data = "a", &datasets.Input{Problem: &learn.Problem{}}
	if err := run.Lock(&run.Input); err != nil {
		t.Fatal(err)
	}
	defer run.Unlock(false)
	metrics, events := run.growing(&run.Forecaster)
	if err := metrics.Append(pipeline.EpochStats{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename("a", "b"), os.Mkdir("a", 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func() error{
		"metrics": func() error { return metrics.Append(pipeline.EpochStats{Epoch: 1}) },
		"events":  func() error { return events.Append(pipeline.EpochStats{}) }, // of the first epoch, so a new file
		"config":  func() error { return run.writeConfig(&run.Config) },
	} {
		err := write()
		if list, unread := os.ReadDir("a"); err == nil || !strings.Contains(err.Error(), vanished) || unread != nil || len(list) > 0 {
			t.Errorf("%s: %v, and the other folder holds %v, %v", name, err, list, unread)
		}
	}
}
