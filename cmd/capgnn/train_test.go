package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/internal/long"
	"capgnn/internal/named"
)

// small are the flags of a run of a second at most.
func small(more ...string) []string {
	return append([]string{"--dataset", "ok.npz", "--hidden", "16", "--layers", "2", "--epochs", "12"}, more...)
}

// On CPU devices --tf32 is a note and changes no bit.
func TestTF32WithoutGPU(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	const note = "note: --tf32 has no effect: no device is a GPU\n"
	weights := map[bool]string{}
	for _, rounds := range []bool{false, true} {
		args := append([]string{"train", "--json"}, small("--devices", "cpu:0", fmt.Sprintf("--tf32=%v", rounds))...)
		stdout, stderr, code := s.run(args...)
		if code != 0 || strings.Contains(stderr, note) != rounds || strings.Contains(stderr, "dense products") {
			t.Errorf("--tf32=%v: exit code %d: %s", rounds, code, stderr)
			continue
		}
		weights[rounds] = readResultLine(t, stdout).SHA256
	}
	if weights[true] != weights[false] {
		t.Errorf("weights %v", weights)
	}
}

func TestTrainWritesARun(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	stdout, stderr, code := s.run(append([]string{"train", "--json", "--run-dir", "run"}, small("--devices", "cpu:0,cpu:1")...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	r := readResultLine(t, stdout)
	if r.Dataset != "ok" || r.Model != "gcn" || r.Epochs != 12 || r.Parts != 2 || len(r.Devices) != 2 || r.RunDir != "run" || r.Metric != "accuracy" || r.Train == nil || r.Bytes.Peer+r.Bytes.D2H == 0 {
		t.Errorf("result %+v", r)
	}
	want := []string{"checkpoint", "config.yaml", "events", "last.safetensors", "metrics.jsonl", "model.safetensors", "names.json", "plan.bin", "report.html", "result.json", "split.npz"}
	var got []string
	entries, err := os.ReadDir(s.path("run"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, "events.out.tfevents.") {
			name = "events" // and time, host and process
		}
		got = append(got, name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("run folder holds %v, want %v", got, want)
	}
	lines := metricsOf(t, s.path("run"))
	if len(lines) != 12 {
		t.Fatalf("%d lines of metrics, want 12", len(lines))
	}
	for e, line := range lines {
		_, evaluated := line["val"]
		if line["epoch"] != float64(e) || line["loss"] == nil || evaluated != ((e+1)%5 == 0 || e == 11) {
			t.Errorf("line %d is %v", e, line)
		}
	}
	if lines[11]["loss"] != float64(r.FinalLoss) {
		t.Errorf("final loss %v, last line %v", r.FinalLoss, lines[11]["loss"])
	}
	tensors, err := gnn.ReadStateDict(s.path("run/last.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	w := gnn.NewWeights(named.Config(named.Model{Kind: named.GCN, Layers: 2, Hidden: 16, In: 6, Out: 2}, gnn.NewModel))
	if err := w.LoadStateDict(tensors); err != nil {
		t.Fatal(err)
	}
	if w.SHA256() != r.SHA256 {
		t.Errorf("weights_sha256 is %s, last.safetensors has %s", r.SHA256, w.SHA256())
	}
}

// metricsOf reads metrics.jsonl of a run folder.
func metricsOf(t *testing.T, dir string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for line := range bytes.Lines(data) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		out = append(out, m)
	}
	return out
}

// losses returns the training losses of a run folder.
func losses(t *testing.T, dir string) []any {
	t.Helper()
	var out []any
	for _, line := range metricsOf(t, dir) {
		out = append(out, line["loss"])
	}
	return out
}

func TestRerunsGiveEqualBits(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.measured("cpu:threads=1,cpu:threads=1,slow=1.5")
	first := s.train(small("--run-dir", "a", "--model", "gat", "--hidden", "8", "--devices", "cpu:threads=1,cpu:threads=1,slow=1.5", "--parts", "3")...)
	for name, args := range map[string][]string{
		"rerun":     small("--model", "gat", "--hidden", "8", "--devices", "cpu:threads=1,cpu:threads=1,slow=1.5", "--parts", "3"),
		"config":    {"--config", "a/config.yaml"},
		"never":     {"--config", "a/config.yaml", "--eval-every", "0"},
		"overtaken": {"--config", "a/config.yaml", "--checkpoint-every", "1"},
	} {
		if r := s.train(args...); r.SHA256 != first.SHA256 {
			t.Errorf("%s: weights %s, first run %s", name, r.SHA256, first.SHA256)
		}
	}
	if r := s.train("--config", "a/config.yaml", "--seed", "2"); r.SHA256 == first.SHA256 || r.Seed != 2 {
		t.Errorf("another seed gives the same weights")
	}
	a := s.train(small("--devices", "cpu:threads=1")...)
	if b := s.train(small("--devices", "cpu:threads=3")...); a.SHA256 != b.SHA256 {
		t.Error("weights depend on the number of threads")
	}
}

func TestResumeOfAFinishedRunPrintsItsResult(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := small("--run-dir", "run")
	first := s.must(append([]string{"train", "--json", "--quiet"}, args...)...)
	if err := os.Remove(s.path("ok.npz")); err != nil {
		t.Fatal(err)
	}
	if again := s.must("train", "--resume", "run", "--json", "--quiet"); again != first {
		t.Errorf("resumed: %swant: %s", again, first)
	}
	if table := s.must("train", "--resume", "run", "--quiet"); !strings.Contains(table, "accuracy") {
		t.Errorf("table lacks the accuracy: %s", table)
	}
	s.fails(term.ExitUsage, []string{"--run-dir run", "--resume run"}, append([]string{"train", "--quiet"}, args...)...)
	s.fails(term.ExitUsage, []string{"--epochs", "--seed"}, "train", "--quiet", "--resume", "run", "--epochs", "11", "--seed", "4", "--hidden", "16")
}

// A run that is killed and resumed gives the same bits as one that was left alone.
func TestKillAndResume(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	settings := []string{"--dataset", "ok.npz", "--hidden", "32", "--epochs", "120", "--checkpoint-every", "7", "--devices", "cpu:0,cpu:1"}
	whole := s.train(append(settings, "--run-dir", "whole")...)
	cmd := s.command(append([]string{"train", "--quiet", "--run-dir", "killed"}, settings...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitForEpochs(t, cmd, s.path("killed"), 40)
	cmd.Process.Kill()
	cmd.Wait()
	r := s.train("--resume", "killed")
	if r.SHA256 != whole.SHA256 || r.Epochs != 120 {
		t.Errorf("resumed after a kill: weights %s after %d epochs, want %s", r.SHA256, r.Epochs, whole.SHA256)
	}
	if got, want := losses(t, s.path("killed")), losses(t, s.path("whole")); !slices.Equal(got, want) {
		t.Errorf("losses differ: %d and %d of them", len(got), len(want))
	}
}

// waitForEpochs returns when so many epochs have been written.
func waitForEpochs(t *testing.T, cmd *exec.Cmd, dir string, epochs int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		if err == nil && bytes.Count(data, []byte("\n")) >= epochs {
			return
		}
	}
	cmd.Process.Kill()
	t.Fatal("no epochs within 30 s")
}

// Ctrl-C finishes the epoch, writes a checkpoint and exits with 130; so does a terminal that is closed, which its shell says, too.
func TestInterruptAndResume(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	settings := func(epochs int) []string {
		return []string{"--dataset", "ok.npz", "--hidden", "32", "--epochs", fmt.Sprint(epochs), "--checkpoint-every", "0"}
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		dir, epochs := "run-"+sig.String(), 100
		for !s.interrupted(sig, dir, append(settings(epochs), "--trace", fmt.Sprint(epochs-1))) { // this process was not scheduled while the run took place
			if epochs *= 2; epochs > 10_000 {
				t.Fatalf("%v: no run was interrupted", sig)
			}
		}
		if done := len(metricsOf(t, s.path(dir))); done >= epochs {
			t.Fatalf("%v: all epochs were done", sig)
		}
		got := s.train("--resume", dir, "--trace", fmt.Sprint(epochs-1)) // as the line says
		if s.traceOf(dir); got.Epochs != epochs {
			t.Errorf("%v: %d epochs after resuming, want %d", sig, got.Epochs, epochs)
		}
		if whole := s.train(append(settings(epochs), "--run-dir", "whole-"+dir)...); got.SHA256 != whole.SHA256 {
			t.Errorf("%v: an interrupted run that was resumed gives other weights", sig)
		}
	}
}

// interrupted runs train and sends it a signal after 20 epochs; false if all epochs were done by then. The run is gone in that case.
func (s *sandbox) interrupted(sig os.Signal, dir string, settings []string) bool {
	s.T.Helper()
	var stderr bytes.Buffer
	cmd := s.command(append([]string{"train", "--quiet", "--run-dir", dir}, settings...)...)
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	waitForEpochs(s.T, cmd, s.path(dir), 20)
	cmd.Process.Signal(sig)
	if sig == syscall.SIGHUP {
		cmd.Process.Signal(sig)
	}
	cmd.Wait()
	line := strings.TrimSuffix(stderr.String(), "\n")
	code := cmd.ProcessState.ExitCode()
	if code == term.ExitDone && line == "" {
		if err := os.RemoveAll(s.path(dir)); err != nil {
			s.T.Fatal(err)
		}
		return false
	}
	if code != term.ExitInterrupted || strings.Contains(line, "\n") || !strings.Contains(line, "--resume "+dir+" --trace ") {
		s.T.Fatalf("%v: exit code %d, %q", sig, code, line)
	}
	return true
}

func TestInitialWeights(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.train(small("--run-dir", "a", "--seed", "5")...)
	before := s.train(small("--run-dir", "b", "--init", "a/last.safetensors", "--epochs", "0")...)
	a := s.train("--resume", "a")
	if before.SHA256 != a.SHA256 {
		t.Errorf("weights after 0 epochs are %s, want those of --init, %s", before.SHA256, a.SHA256)
	}
	s.fails(term.ExitUsage, []string{"--init", "shape"}, append([]string{"train", "--quiet"}, small("--init", "a/last.safetensors", "--hidden", "8")...)...)
}

// Metrics are written to a file alone, and what is wrong is said once. TestFullDisk fills a disk.
func TestUnwritableMetrics(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	if !term.Exists("/dev/full") {
		t.Skip("there is no /dev/full on this system")
	}
	if err := os.Mkdir(s.path("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", s.path("run/metrics.jsonl")); err != nil {
		t.Fatal(err)
	}
	train := append([]string{"train", "--quiet", "--run-dir", "run", "--overwrite"}, small()...)
	_, line, code := s.run(train...)
	if code != term.ExitUsage || strings.Count(line, "is a device, where a run writes a file: remove it") != 1 || strings.Count(line, "\n") != 1 {
		t.Errorf("exit code %d, %q, want %d and the advice once", code, line, term.ExitUsage)
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	stdout, stderr, code := s.run("demo", "--generated")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"accuracy", "epoch time", "run folder", "capgnn train"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("summary lacks %q:\n%s", want, stdout)
		}
	}
	if strings.Contains(stderr, `\n`) { // a table that was taken for one line
		t.Errorf("a line holds several:\n%s", stderr)
	}
	folders, err := filepath.Glob(s.path("runs/*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("run folders %v: %v", folders, err)
	}
	r, err := runfolder.Dir(folders[0]).ReadResult()
	if err != nil {
		t.Fatal(err)
	}
	if long.Wanted() {
		r = readResultLine(t, s.must("demo", "--generated", "--json", "--quiet"))
	}
	// Chance is 1/7, and 5 % of the labels are wrong.
	if r.Test == nil || *r.Test < 0.6 || *r.Test > 0.98 || r.Parts != 2 {
		t.Errorf("test accuracy %v with %d parts", term.Score(r.Test), r.Parts)
	}
}

func TestSameDevices(t *testing.T) {
	const recorded = "cpu:0,threads=1,cpu:threads=2,slow=3"
	for given, want := range map[string]bool{
		"cpu:0,cpu:threads=2,slow=3": true, recorded: true, "cpu:0,threads=2,cpu:threads=2,slow=3": false, "cpu:0": false,
		"cpu:0,cpu:threads=2": false, "cuda:0": false,
	} {
		if got := sameDevices(given, recorded); got != want {
			t.Errorf("%s: same is %v, want %v", given, got, want)
		}
	}
}
