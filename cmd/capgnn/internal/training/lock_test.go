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
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/learn"
	"capgnn/pipeline"
)

// A run folder that is named is made and kept from others, and goes again if nothing was written.
func TestHold(t *testing.T) {
	t.Chdir(t.TempDir())
	first, second := &Run{RunPath: "a/b"}, &Run{RunPath: "a/b"}
	if err := first.LockRunDir(); err != nil || !first.madeDir {
		t.Fatal(first.madeDir, err)
	}
	if err := second.LockRunDir(); term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), fmt.Sprintf("--run-dir a/b: in use by process %d on ", os.Getpid())) {
		t.Errorf("second: %v", err)
	}
	second.UnlockRunDir()
	first.UnlockRunDir()
	if term.Exists("a/b") {
		t.Error("an empty folder stays")
	}
	if err := second.LockRunDir(); err != nil || !second.madeDir {
		t.Fatal(second.madeDir, err)
	}
	if err := term.WriteFile(second.Dir.Config(), nil); err != nil {
		t.Fatal(err)
	}
	second.UnlockRunDir()
	if err := first.LockRunDir(); term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), "--resume a/b") {
		t.Errorf("a folder that holds a run: error %v, want a usage error that names --resume", err)
	}
	first.UnlockRunDir()
	if list, err := os.ReadDir("a/b"); err != nil || len(list) != 1 {
		t.Errorf("%v, %v, want config.yaml alone", list, err)
	}
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"file", "file/below"} {
		if err := (&Run{RunPath: path}).LockRunDir(); term.ExitCode(err) != term.ExitUsage {
			t.Errorf("%s: error %v, want a usage error", path, err)
		}
	}
}

// A run whose folder goes before its page is there says so, and that alone.
func TestReportOfVanished(t *testing.T) {
	t.Chdir(t.TempDir())
	r := &Run{RunPath: "run", Console: &term.Console{Out: io.Discard, Err: new(strings.Builder)}}
	if err := r.LockRunDir(); err != nil {
		t.Fatal(err)
	}
	defer r.UnlockRunDir()
	if err := r.writeReport(); err != nil || !strings.Contains(fmt.Sprint(r.Console.Err), "note: no report: ") {
		t.Errorf("a folder without a run: %v, %v", err, r.Console.Err)
	}
	r.Console.Err = new(strings.Builder)
	if err := os.RemoveAll("run"); err != nil {
		t.Fatal(err)
	}
	if err := r.writeReport(); err == nil || !strings.Contains(err.Error(), vanished) || fmt.Sprint(r.Console.Err) != "" {
		t.Errorf("%v, %v", err, r.Console.Err)
	}
}

// Epochs go into the run's folder, not into another one that has taken its name since.
func TestMetricsOfAnotherFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	run := &Run{RunPath: "a", Console: &term.Console{Err: io.Discard}, Data: &datasets.Input{Problem: &learn.Problem{}}}
	if err := run.LockRunDir(); err != nil {
		t.Fatal(err)
	}
	defer run.UnlockRunDir()
	metrics, _ := run.files()
	if err := metrics.Append(pipeline.EpochStats{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename("a", "b"), os.Mkdir("a", 0o755)); err != nil {
		t.Fatal(err)
	}
	err := metrics.Append(pipeline.EpochStats{Epoch: 1})
	if list, unread := os.ReadDir("a"); err == nil || !strings.Contains(err.Error(), vanished) || unread != nil || len(list) > 0 {
		t.Errorf("%v, and the other folder holds %v, %v", err, list, unread)
	}
}
