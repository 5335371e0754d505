package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
)

// oneLineOf runs a command under a limit of the shell and wants one line with this text and this exit code.
func (s *sandbox) oneLineOf(code int, want, what string, limit int, args ...string) {
	s.T.Helper()
	stdout, stderr, got := s.endsWithin(60*time.Second, s.limitedTo(what, limit, args...))
	line := strings.TrimSuffix(stderr, "\n")
	if got != code || strings.Contains(line, "\n") || !strings.HasPrefix(line, "capgnn: ") || !strings.Contains(line, want) || stdout != "" {
		s.T.Errorf("ulimit -%s %d, capgnn %s: exit code %d, want %d with one line that says %q\n%.300q\n%.600q", what, limit, strings.Join(args, " "), got, code, want, stdout, stderr)
	}
}

// Limits of the system end with one line that says what to raise, and exit code 3.
func TestSystemLimits(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, files := range []int{9, 12, 31} {
		s.oneLineOf(term.ExitDoesNotFit, "ulimit -n", "n", files, tinyRun("--run-dir", "run")...)
	}
	s.oneLineOf(term.ExitDoesNotFit, "KiB of address space; raise the limit: ulimit -v 2359296", "v", 2097151, tinyRun("--run-dir", "run")...)
	s.oneLineOf(term.ExitDoesNotFit, ", or give --hidden ", "v", 3<<20, tinyRun("--run-dir", "run", "--hidden", "1000000")...)
	s.oneLineOf(term.ExitDoesNotFit, "may use 163839 KiB of data; raise the limit: ulimit -d 184320", "d", 163839, tinyRun("--run-dir", "run")...)
	// Whatever devices are said to have, and planning what would fit takes no more.
	big := []string{"--layers", "3", "--hidden", "4096", "--devices", "cpu:threads=1,mem=8GiB"}
	for _, more := range [][]string{nil, {"--batch-size", "64"}} {
		s.oneLineOf(term.ExitDoesNotFit, "which fits", "d", 400000, append(tinyRun("--run-dir", "run"), append(big, more...)...)...)
	}
	s.oneLineOf(term.ExitDoesNotFit, "give this process more memory (ulimit -d ", "d", 400000, tinyRun("--run-dir", "run", "--layers", "3", "--hidden", "4096", "--devices", "cpu:threads=1,mem=8GiB")...)
	if stdout, stderr, code := s.endsWithin(60*time.Second, s.limitedTo("n", term.LeastOpenFiles, tinyRun("--run-dir", "run")...)); code != 0 {
		t.Errorf("%d open files: exit code %d\n%s%s", term.LeastOpenFiles, code, stdout, stderr)
	}
}

// A limit that is raised as the line says is raised once.
func TestOneRaiseIsEnough(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	for i := range 10 {
		if !long.Nth(t, 2, i/2) {
			continue
		}
		args := []string{"train", "--dataset", "generated", "--epochs", "1", "--quiet", "--run-dir", fmt.Sprint(i)}
		if i%2 == 1 {
			args = append(args, "--batch-size", "512")
		}
		limit := 164000 + i*9000
		_, line, code := s.endsWithin(time.Minute, s.limitedTo("d", limit, args...))
		if code == 0 {
			continue
		}
		found := regexp.MustCompile(`ulimit -d ([0-9]+)`).FindStringSubmatch(line)
		if code != term.ExitDoesNotFit || found == nil {
			t.Fatalf("ulimit -d %d: exit code %d, %s", limit, code, line)
		}
		raised, _ := strconv.Atoi(found[1])
		if _, line, code := s.endsWithin(time.Minute, s.limitedTo("d", raised, args...)); code != 0 {
			t.Errorf("ulimit -d %d, raised to %d: exit code %d, %s", limit, raised, code, line)
		}
	}
}

// A disk that is full is a failure, exit code 1, whatever was to be written, and leaves no half of it.
func TestFullDisk(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must(tinyRun("--run-dir", "run")...)
	disk := s.path("disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	where, limit := "", 0
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=40k"); err == nil {
		t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
		if err := os.WriteFile(filepath.Join(disk, "full"), make([]byte, 40<<10), 0o644); err != nil {
			t.Fatal(err)
		}
		where, limit = "free some space", 1<<20
	} else {
		t.Logf("no file system can be mounted here (%v): the size of files is limited in its place", err)
		where, limit = "ulimit -f", 1
	}
	for _, args := range [][]string{
		tinyRun("--run-dir", "disk/run", "--hidden", "64"),
		{"partition", "--dataset", "ok.npz", "--parts", "2", "--quiet", "--json", "--out", "disk/plan"},
		{"report", "run", "--quiet", "--out", "disk/page"},
		{"predict", "--run", "run", "--quiet", "--out", "disk/x.csv", "--what", "logits"},
		{"data", "import", "--quiet", "--out", "disk/store", "ok.npz"},
		{"data", "synth", "reddit-like", "--scale", "0.001", "--quiet", "--out", "disk/synth"},
	} {
		s.oneLineOf(term.ExitFailure, where, "f", limit, args...)
		if list, err := filepath.Glob(filepath.Join(disk, "*.tmp-*")); err != nil || len(list) > 0 {
			t.Errorf("capgnn %s: left are %q, %v", args[0], list, err)
		}
		for _, name := range []string{"plan", "page", "x.csv", "store", "synth"} {
			if term.Exists(filepath.Join(disk, name)) {
				t.Errorf("capgnn %s: half of %s is there", args[0], name)
			}
		}
		os.RemoveAll(filepath.Join(disk, "run"))
	}
	for free := int64(4 << 10); where == "free some space" && free < 28<<10; free += 4 << 10 {
		if err := os.Truncate(filepath.Join(disk, "full"), 40<<10-free); err != nil {
			t.Fatal(err)
		}
		_, stderr, code := s.run(tinyRun("--run-dir", "disk/run", "--standardize", "train")...)
		run := runfolder.Dir(filepath.Join(disk, "run"))
		if code != term.ExitFailure || term.Exists(string(run)) && !run.HoldsRun() {
			t.Errorf("%d bytes of room: exit code %d, left are %q\n%s", free, code, run.Settings(), stderr)
		}
		os.RemoveAll(string(run))
	}
}

// Names that a run's files cannot hold are refused before anything is read.
func TestNamesAreUTF8(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "co\xffra.npz")
	newStore().write(s, "ok.npz")
	s.put("w\xff.npz", nil)
	for _, args := range [][]string{
		{"train", "--dataset", "co\xffra.npz", "--run-dir", "run"}, tinyRun("--run-dir", "run", "--init", "w\xff.npz"),
		{"data", "import", "ok.npz", "--out", "o\xff"},
	} {
		s.fails(term.ExitUsage, []string{"is not UTF-8", `\xff`}, args...)
		if term.Exists(s.path("run")) {
			t.Errorf("capgnn %q has begun a run", args)
		}
	}
}
