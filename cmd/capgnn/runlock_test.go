//go:build linux || darwin

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// started is a program on its way.
type started struct {
	*exec.Cmd
	stderr bytes.Buffer
}

func (s *sandbox) start(args ...string) *started {
	s.T.Helper()
	p := &started{Cmd: s.command(args...)}
	p.Stderr = &p.stderr
	if err := p.Start(); err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	return p
}

// code waits for the end and returns the exit code, −1 after a signal.
func (p *started) code() int {
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

// refused checks that a program ended because another one has the run folder, or has finished the run.
func (p *started) refused(t *testing.T, holder *started) {
	t.Helper()
	code, said := p.code(), p.stderr.String()
	if code != term.ExitUsage || !strings.Contains(said, fmt.Sprintf("in use by process %d on ", holder.Process.Pid)) && !strings.Contains(said, "already holds ") ||
		strings.Count(said, "\n") != 1 || len(said) > 300 {
		t.Errorf("exit code %d, %q, want %d and process %d", code, said, term.ExitUsage, holder.Process.Pid)
	}
}

// wholeMetrics checks that metrics.jsonl has each epoch once, in order, and returns how many.
func wholeMetrics(t *testing.T, d runfolder.Dir) (epochs int) {
	t.Helper()
	f, err := os.Open(d.Metrics())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); epochs++ {
		var line struct{ Epoch int }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Epoch != epochs {
			t.Fatalf("%s: line %d: epoch %d, %v", d, epochs+1, line.Epoch, err)
		}
	}
	return epochs
}

// trains returns which of two processes trains; the other one was refused for it.
func trains(t *testing.T, both [2]*started) (winner int) {
	t.Helper()
	if both[0].code() != 0 {
		winner = 1
	}
	if both[winner].code() != 0 {
		t.Fatalf("none trains: %s%s", &both[0].stderr, &both[1].stderr)
	}
	both[1-winner].refused(t, both[winner])
	return winner
}

// Of two processes that start with one run folder in the same instant, one trains; so it is ten times out of ten.
func TestRaceForRunDir(t *testing.T) {
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	for round := range 10 {
		name := fmt.Sprint("run", round)
		var both [2]*started
		for i := range both {
			both[i] = s.start("train", "--quiet", "--dataset", data, "--devices", "cpu:0", "--epochs", "4", "--run-dir", name)
		}
		trains(t, both)
		if d := runfolder.Dir(s.path(name)); wholeMetrics(t, d) != 4 || term.Exists(d.Lock()) {
			t.Errorf("round %d: not four epochs, or the lock stays", round)
		}
	}
}

// Runs without a folder of their own get one each, also in the same second.
func TestDefaultRunDirsAtOnce(t *testing.T) {
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	var all []*started
	for range 4 {
		all = append(all, s.start("train", "--quiet", "--dataset", data, "--devices", "cpu:0", "--epochs", "2"))
	}
	for _, p := range all {
		if p.code() != 0 {
			t.Error(&p.stderr)
		}
	}
	runs, err := filepath.Glob(s.path("runs/*"))
	if err != nil || len(runs) != len(all) {
		t.Fatalf("%v, %v, want %d", runs, err, len(all))
	}
	for _, d := range runs {
		if wholeMetrics(t, runfolder.Dir(d)) != 2 {
			t.Errorf("%s: not two epochs", d)
		}
	}
}

// Of two processes that begin the runs of several seeds in one folder in the same instant, one trains them all.
func TestRaceForSeeds(t *testing.T) {
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	for round := range 4 {
		name := fmt.Sprint("all", round)
		var both [2]*started
		for i := range both {
			both[i] = s.start("train", "--quiet", "--dataset", data, "--devices", "cpu:0", "--epochs", "2", "--seeds", []string{"1-2", "7-9"}[i], "--run-dir", name)
		}
		winner := trains(t, both)
		d := runfolder.SeedsDir(s.path(name))
		if runs, _, err := d.Describe(); err != nil || len(runs) != 2+winner || term.Exists(d.Lock()) {
			t.Errorf("round %d: %d runs, %v", round, len(runs), err)
		}
	}
}

// A run whose folder goes ends within an epoch, says so, and writes nothing into another folder in its place.
func TestFolderOfARunGoes(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	for _, more := range [][]string{nil, {"--batch-size", "4"}, {"launch"}} {
		for _, replaced := range []bool{false, true} {
			name := fmt.Sprint("run", len(more), replaced)
			args := append([]string{"train", "--quiet", "--dataset", data, "--devices", "cpu:0", "--epochs", "1000000", "--checkpoint-every", "10", "--run-dir", name}, more...)
			if len(more) == 1 {
				args = append([]string{"launch", "-n", "2", "--"}, args[:len(args)-1]...)
			}
			p, d := s.start(args...), runfolder.Dir(s.path(name))
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
				if info, err := os.Stat(d.Metrics()); err == nil && info.Size() > 0 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("no epochs in a minute: %s", &p.stderr)
				}
			}
			if err := os.Rename(string(d), string(d)+"-moved"); err != nil {
				t.Fatal(err)
			}
			if replaced {
				if err := os.Mkdir(string(d), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			code, said := p.code(), p.stderr.String()
			last := said[strings.LastIndex(strings.TrimSpace(said), "\n")+1:]
			if code != term.ExitFailure || !strings.Contains(last, "run folder "+name+" was removed or replaced during the run") || strings.Contains(last, "continue from") {
				t.Errorf("%v: exit code %d: %s", args, code, said)
			}
			if list, err := os.ReadDir(string(d)); (err == nil) != replaced || len(list) > 0 {
				t.Errorf("%v: the folder in its place holds %v", args, list)
			}
		}
	}
}

// A file of a run that goes while it trains is there again within an epoch, as it was, with a note.
func TestFilesOfARunGo(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	for _, more := range [][]string{nil, {"--batch-size", "4"}} {
		name := fmt.Sprint("run", len(more))
		p, d := s.start(append([]string{"train", "--dataset", data, "--devices", "cpu:0", "--epochs", "1000000", "--checkpoint-every", "10", "--run-dir", name}, more...)...), runfolder.Dir(s.path(name))
		comes := func(path string) {
			t.Helper()
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
				if info, err := os.Stat(path); err == nil && info.Size() > 0 {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("no %s in a minute: %s", path, &p.stderr)
				}
			}
		}
		comes(d.Metrics())
		files := []string{"config.yaml", "split.npz", "metrics.jsonl"}
		for _, file := range files {
			before, err := os.ReadFile(s.path(name + "/" + file))
			if err = errors.Join(err, os.Remove(s.path(name+"/"+file))); err != nil {
				t.Fatal(err)
			}
			comes(s.path(name + "/" + file))
			if after, err := os.ReadFile(s.path(name + "/" + file)); err != nil || !bytes.HasPrefix(after, before) {
				t.Errorf("%v: %s is another one: %v", more, file, err)
			}
		}
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if code := p.code(); code != term.ExitInterrupted || wholeMetrics(t, d) == 0 {
			t.Errorf("%v: exit code %d: %s", more, code, &p.stderr)
		}
		for _, file := range files {
			if !strings.Contains(p.stderr.String(), "note: "+name+"/"+file+" was removed or replaced during the run: it is written again\n") {
				t.Errorf("%v: not a word about %s: %s", more, file, &p.stderr)
			}
		}
	}
}

// What lies in a run folder before the run is nobody's business but its owner's, and links there are not followed.
func TestFolderOfOthers(t *testing.T) {
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	args := []string{"train", "--quiet", "--dataset", data, "--devices", "cpu:0", "--epochs", "4", "--checkpoint-every", "2", "--run-dir", "run"}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(s.path("run"), 0o755), os.Mkdir(s.path("other"), 0o755)); err != nil {
		t.Fatal(err)
	}
	put("other/epoch-00000099.ckpt", "mine")
	put("victim", "mine")
	put("run/names.json", "mine")
	s.fails(term.ExitUsage, []string{"--run-dir run holds names.json and no run", "--overwrite"}, args...)
	s.fails(term.ExitUsage, []string{"--run-dir run holds names.json"}, append(args, "--seeds", "1-2")...)
	s.fails(term.ExitUsage, []string{"--overwrite: name the folder with --run-dir"}, "train", "--dataset", data, "--overwrite")
	args = append(args, "--overwrite")
	for _, name := range []string{"lock", "checkpoint"} {
		if err := os.Symlink(s.path(map[string]string{"lock": "victim", "checkpoint": "other"}[name]), s.path("run/"+name)); err != nil {
			t.Fatal(err)
		}
		s.fails(term.ExitUsage, []string{"run/" + name, "is", "a link"}, args...)
		if err := os.Remove(s.path("run/" + name)); err != nil {
			t.Fatal(err)
		}
	}
	links := []string{"config.yaml.link", "model.safetensors", "result.json", "report.html", "plan.bin"}
	for i, name := range append(links, "metrics.jsonl", "last.safetensors") {
		link := os.Symlink
		if i >= len(links) {
			link = os.Link
		}
		if err := link(s.path("victim"), s.path("run/"+name)); err != nil {
			t.Fatal(err)
		}
	}
	s.must(args...)
	if wholeMetrics(t, runfolder.Dir(s.path("run"))) != 4 {
		t.Error("not four epochs")
	}
	s.fails(term.ExitUsage, []string{"--run-dir run already holds a run"}, args...)
	for _, name := range []string{"victim", "other/epoch-00000099.ckpt"} {
		if text, err := os.ReadFile(s.path(name)); err != nil || string(text) != "mine" {
			t.Errorf("%s: %.20q, %v", name, text, err)
		}
	}
}

// A run that runs is not resumed, nor begun anew, but reported and read by predict. When it is killed it can be resumed at once, by
// one process.
func TestResumeOfARunThatRuns(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	data := newStore().write(s, "rings.npz")
	d := runfolder.Dir(s.path("run"))
	grows := func() { // a busy disk may keep an epoch for a minute; a run that is resumed writes its epochs anew
		t.Helper()
		size := func() int64 {
			info, err := os.Stat(d.Metrics())
			if err != nil || !term.Exists(d.Best()) {
				return 0
			}
			return info.Size()
		}
		deadline, ok := t.Deadline()
		for before, n := size(), 0; n < 3; time.Sleep(5 * time.Millisecond) {
			if now := size(); now != before {
				before, n = now, n+1
			}
			if ok && time.Until(deadline) < time.Minute {
				t.Fatal("no epochs until the test has to end")
			}
		}
	}
	p := s.start("train", "--quiet", "--dataset", data, "--devices", "cpu:0,slow=20", "--epochs", "1000000", "--eval-every", "1", "--checkpoint-every", "50", "--run-dir", "run")
	grows()
	s.fails(term.ExitUsage, []string{fmt.Sprintf("--resume run: in use by process %d on ", p.Process.Pid), "train --quiet --dataset", "since 20"}, "train", "--resume", "run")
	s.fails(term.ExitUsage, []string{"--run-dir run already holds a run"}, "train", "--dataset", data, "--run-dir", "run")
	s.must("report", "--quiet", "run")
	s.must("predict", "--quiet", "--run", "run", "--out", "p.csv")
	for range 2 {
		_ = p.Process.Kill()
		_ = p.Wait() // then its lock is free
		both := [2]*started{s.start("train", "--quiet", "--resume", "run"), s.start("train", "--quiet", "--resume", "run")}
		ended := make(chan int)
		for i, q := range both {
			go func() { _ = q.Wait(); ended <- i }() // ends when the process does, which the test kills
		}
		loser := <-ended
		p = both[1-loser]
		if said := both[loser].stderr.String(); !strings.Contains(said, fmt.Sprintf("in use by process %d on ", p.Process.Pid)) {
			t.Fatalf("%q does not name process %d", said, p.Process.Pid)
		}
		grows()
		if err := p.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		<-ended
		atOnce := strings.Contains(p.stderr.String(), "in the middle of an epoch") // as the disk was busy: its lock holds nothing
		if code := p.ProcessState.ExitCode(); code != term.ExitInterrupted || wholeMetrics(t, d) == 0 || term.Exists(d.Lock()) && !atOnce {
			t.Errorf("exit code %d: %s", code, &p.stderr)
		}
	}
}

// What a killed run had left of its settings goes with the next one that writes no run, and the folder is free again.
func TestLeftoversOfAKilledRunGo(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, name := range []string{"d/lock", "d/plan.bin", "d/names.json"} {
		s.put(name, nil)
	}
	s.fails(term.ExitDoesNotFit, []string{"mem="}, tinyRun("--run-dir", "d", "--devices", "cpu:threads=1,mem=1KiB")...)
	if term.Exists(s.path("d/plan.bin")) || term.Exists(s.path("d/names.json")) {
		t.Error("settings of a run that never was stay")
	}
	s.must(tinyRun("--run-dir", "d")...)
}

// A second signal in the first epoch names no checkpoint: there is none.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	p := s.start("train", "--dataset", "generated", "--hidden", "64", "--devices", "cpu:0,threads=1,slow=300", "--epochs", "50", "--run-dir", "run")
	for deadline := time.Now().Add(30 * time.Second); !term.Exists(s.path("run/config.yaml")) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	for range 2 {
		time.Sleep(100 * time.Millisecond) // much less than an epoch takes
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	const want = "interrupted: in the middle of an epoch: continue from the beginning with `capgnn train --resume run`\n"
	if code := p.code(); code != term.ExitInterrupted || !strings.HasSuffix(p.stderr.String(), want) {
		t.Errorf("exit code %d, %q, want %q", code, p.stderr.String(), want)
	}
}
