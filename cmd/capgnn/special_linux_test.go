package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/term"
)

// endsWithin runs a command, which is to end within so long, and returns what it printed and its exit code.
func (s *sandbox) endsWithin(within time.Duration, cmd *exec.Cmd) (stdout, stderr string, code int) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), within)
	defer cancel()
	bounded := exec.CommandContext(ctx, cmd.Args[0], cmd.Args[1:]...)
	bounded.Path, bounded.Dir, bounded.Env, bounded.ExtraFiles = cmd.Path, cmd.Dir, cmd.Env, cmd.ExtraFiles
	var out, errs bytes.Buffer
	bounded.Stdout, bounded.Stderr = &out, &errs
	err := bounded.Run()
	var exit *exec.ExitError
	if ctx.Err() != nil {
		s.T.Fatalf("%s: has not ended after %v\n%s", strings.Join(cmd.Args, " "), within, errs.String())
	} else if err != nil && !errors.As(err, &exit) {
		s.T.Fatal(err)
	}
	return out.String(), errs.String(), bounded.ProcessState.ExitCode()
}

// fifo puts a FIFO that nobody writes into in the place of a file, until the test ends.
func (s *sandbox) fifo(name string) {
	s.T.Helper()
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.T.Fatal(err)
	}
	if err := os.Rename(path, path+"-aside"); err != nil && !os.IsNotExist(err) {
		s.T.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(func() {
		os.Remove(path)
		_ = os.Rename(path+"-aside", path) // where there was a file
	})
}

// tinyRun are the settings of a run that takes no time.
func tinyRun(more ...string) []string {
	return append([]string{"train", "--dataset", "ok.npz", "--hidden", "4", "--epochs", "2", "--devices", "cpu:0,threads=1", "--quiet", "--json"}, more...)
}

// A FIFO in place of any file that is read is refused: nothing waits for its writer.
func TestReadersRefuseFIFOs(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must(tinyRun("--run-dir", "run")...)
	s.put("edges/edges.csv", []byte("0,1\n1,2\n"))
	s.must("data", "import", "--quiet", "--out", "store", "ok.npz")
	list := s.path("list.txt")
	create := func(name string) { s.put(name, []byte("0 1\n1 2\n")) }
	create("list.txt")
	for _, what := range []string{"x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"} {
		s.put("toy/ind.toy."+what, []byte("1\n"))
	}
	saintOf(s, "saint", []byte(`{"0":0,"1":1}`), []byte(`{"tr":[0],"va":[1],"te":[]}`))
	info := func(name string) []string { return []string{"data", "info", "--quiet", name} }
	two := []string{"--parts", "2", "--devices", "cpu:0,threads=1,cpu:1,threads=1"}
	for _, c := range []struct {
		fifo string
		args []string
	}{
		{"c.yaml", tinyRun("--config", "c.yaml")},
		{"p.json", append(tinyRun("--profile", "p.json"), two...)},
		{"plan.bin", append(tinyRun("--plan", "plan.bin"), two...)},
		{"w.npz", tinyRun("--init", "w.npz")},
		{"w.safetensors", tinyRun("--init", "w.safetensors")},
		{"w.safetensors", []string{"predict", "--run", "run", "--quiet", "--weights", "w.safetensors"}},
		{"card.json", []string{"plan", "--dataset", "ok.npz", "--quiet", "--devices", "sim:" + s.path("card.json")}},
		{"fifo.npz", info("fifo.npz")},
		{"fifo.txt", info("fifo.txt")},
		{"fifo.csv", info("fifo.csv")},
		{"fifo.txt.gz", info("fifo.txt.gz")},
		{"folder/edges.csv", info("folder")},
		{"edges/features.csv", info("edges")},
		{"edges/labels.csv", info("edges")},
		{"store/meta.json", info("store")},
		{"store/indptr.npy", info("store")},
		{"store/x.npy", info("store")},
		{"toy/ind.toy.x", info("toy")},
		{"toy/ind.toy.test.index", info("toy")},
		{"saint/class_map.json", info("saint")},
		{"saint/role.json", info("saint")},
		{"nodes.csv", []string{"data", "tables", "--quiet", "--nodes", "nodes.csv", "--links", list, "--out", "made"}},
		{"links.csv", []string{"data", "tables", "--quiet", "--nodes", list, "--links", "links.csv", "--out", "made"}},
		{"run/result.json", []string{"report", "run", "--quiet"}},
		{"run/metrics.jsonl", []string{"report", "run", "--quiet"}},
		{"run/model.safetensors", []string{"predict", "--run", "run", "--quiet"}},
		{"run/config.yaml", []string{"train", "--resume", "run", "--quiet"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			inner := sandboxIn(t, s.Dir)
			inner.fifo(c.fifo)
			stdout, stderr, code := inner.endsWithin(10*time.Second, inner.command(c.args...))
			if line := strings.TrimSuffix(stderr, "\n"); code != term.ExitUsage || !strings.HasPrefix(line, "capgnn: ") || strings.Contains(line, "\n") || stdout != "" || !strings.Contains(line, filepath.Base(c.fifo)) {
				t.Errorf("exit code %d, want 2 with one line that names %s\n%q\n%q", code, c.fifo, stdout, stderr)
			}
		})
	}
}

// A name that leads to a FIFO, a device, a socket or a folder is not replaced by what a command writes, and no work begins.
func TestOutRefusesSpecialFiles(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must(tinyRun("--run-dir", "run")...)
	s.fifo("fifo")
	s.fifo("fifo.npy")
	if err := os.Symlink("/dev/null", s.path("null.npy")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(s.path("node"), syscall.S_IFCHR|0o600, 1<<8|3); err != nil {
		t.Logf("no device node can be made here (%v): FIFOs alone", err)
		s.fifo("node")
	}
	s.put("target", []byte("mine"))
	for _, name := range []string{"link", "link.npy", "link.svg"} {
		if err := os.Symlink("target", s.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", s.path("ahead")); err != nil {
		t.Fatal(err)
	}
	parts := []string{"partition", "--dataset", "ok.npz", "--parts", "2", "--quiet"}
	for _, args := range [][]string{append(parts, "--out", "link"), append(parts, "--out", "ahead"), append(parts, "--plot", "link"), {"report", "run", "--out", "link", "--quiet"},
		{"profile", "--devices", "cpu:0,threads=1", "--quiet", "--out", "link"}, {"predict", "--run", "run", "--quiet", "--out", "link.npy"}} {
		s.fails(term.ExitUsage, []string{"is a link to ", ", which is not replaced"}, args...)
	}
	if text, err := os.ReadFile(s.path("target")); err != nil || string(text) != "mine" || term.Exists(s.path("nowhere")) {
		t.Errorf("a link was written through: %q, %v", text, err)
	}
	if err := os.Symlink("self", s.path("self")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"none/x": "--out: there is no folder none: make it first", "target/x": "target is a file, no folder", "self": "self is a link to self", "ahead/x": "ahead is a link to nowhere"} {
		s.fails(term.ExitUsage, []string{want}, append(parts, "--out", name)...)
	}
	kind := func(name string) os.FileMode {
		info, err := os.Stat(s.path(name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	for _, c := range []struct {
		file string
		args []string
	}{
		{"fifo", append(parts, "--out", "fifo")},
		{"node", append(parts, "--out", "node")},
		{"run", append(parts, "--out", "run")},
		{"fifo", []string{"profile", "--devices", "cpu:0,threads=1", "--quiet", "--out", "fifo"}},
		{"node", []string{"report", "run", "--quiet", "--out", "node"}},
		{"fifo.npy", []string{"predict", "--run", "run", "--quiet", "--out", "fifo.npy"}},
		{"null.npy", []string{"predict", "--run", "run", "--quiet", "--out", "null.npy"}},
		{"node", tinyRun("--run-dir", "node")},
		{"fifo", tinyRun("--run-dir", "fifo")},
		{"node", []string{"data", "synth", "reddit-like", "--scale", "0.001", "--quiet", "--out", "node"}},
		{"fifo", []string{"data", "import", "--quiet", "--out", "fifo", "ok.npz"}},
		{"node", []string{"bench", "halo", "--quick", "--quiet", "--out", "node"}},
		{"fifo", []string{"data", "fetch", "cora_ml", "--quiet", "--out", "fifo"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			inner := sandboxIn(t, s.Dir)
			before := kind(c.file)
			stdout, stderr, code := inner.endsWithin(10*time.Second, inner.command(c.args...))
			if line := strings.TrimSuffix(stderr, "\n"); code != term.ExitUsage || !strings.HasPrefix(line, "capgnn: ") || strings.Contains(line, "\n") || stdout != "" || !strings.Contains(line, c.file) {
				t.Errorf("exit code %d, want 2 with one line that names %s\n%q\n%q", code, c.file, stdout, stderr)
			}
			if after := kind(c.file); after != before {
				t.Errorf("%s was %v, is %v", c.file, before, after)
			}
		})
	}
	for _, args := range [][]string{
		append(parts, "--out", "/dev/stdout"),
		{"report", "run", "--quiet", "--out", "/dev/stdout"},
		{"predict", "--run", "run", "--quiet", "--out", "/proc/self/fd/1"},
	} {
		out, err := os.Create(s.path("stdout"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := s.command(args...)
		cmd.Stdout = out
		err = cmd.Run()
		out.Close()
		b, rerr := os.ReadFile(s.path("stdout"))
		if err != nil || rerr != nil || len(b) < 100 || bytes.Contains(b, []byte("written")) {
			t.Errorf("capgnn %s: %v, %v, wrote %.100q", strings.Join(args, " "), err, rerr, b)
		}
	}
}

// stopWriting starts a command and stops it while the unfinished folder that it writes, which alone matches the pattern, holds a
// file: its lock is held then. A command that has ended before it was seen writing starts again. kill kills it and waits for its end.
func (s *sandbox) stopWriting(pattern, out string, args ...string) (kill func()) {
	s.T.Helper()
	var cmd *exec.Cmd
	var ended chan error
	start := func() {
		os.RemoveAll(s.path(out))
		cmd, ended = s.command(append(args, "--out", out)...), make(chan error, 1)
		if err := cmd.Start(); err != nil {
			s.T.Fatal(err)
		}
		go func(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }(cmd, ended)
	}
	start()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		select {
		case err := <-ended:
			if err != nil {
				s.T.Fatalf("capgnn %s: %v", strings.Join(args, " "), err)
			}
			start()
		default:
		}
		if list, _ := filepath.Glob(filepath.Join(pattern, "*")); len(list) == 0 {
			continue
		}
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			continue // it has just ended
		}
		time.Sleep(20 * time.Millisecond) // signals take a moment
		if list, _ := filepath.Glob(pattern); len(list) == 1 {
			kill = sync.OnceFunc(func() {
				_ = cmd.Process.Kill()
				<-ended
			})
			s.T.Cleanup(kill) // where the test ends before
			return kill
		}
		_ = cmd.Process.Signal(syscall.SIGCONT)
	}
	s.T.Fatalf("capgnn %s: not seen as it writes", strings.Join(args, " "))
	return nil
}

// What a killed run or import has left goes at the next start there, and nothing else.
func TestLeftoversGoAtTheNextStart(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must(tinyRun("--run-dir", "run")...)
	pattern := s.path(".set.tmp-*")
	kill := s.stopWriting(pattern, "set", "data", "synth", "reddit-like", "--scale", "0.1", "--quiet")
	living := func(want int) {
		t.Helper()
		s.must("data", "import", "--quiet", "--out", "other", "ok.npz")
		os.RemoveAll(s.path("other"))
		if list, err := filepath.Glob(pattern); err != nil || len(list) != want {
			t.Errorf("left are %q, %v, want %d", list, err, want)
		}
	}
	living(1)
	kill()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) != 1 {
		t.Fatalf("%q, %v", list, err)
	}
	tag := strings.TrimPrefix(filepath.Base(list[0]), ".set") // .tmp-HOST-NUMBER
	living(0)
	for _, name := range []string{"run/model.safetensors", "run/checkpoint/epoch-00000001.ckpt"} {
		s.put(name+tag, []byte("half"))
	}
	if err := os.Remove(s.path("run/result.json")); err != nil { // it was killed before its end
		t.Fatal(err)
	}
	s.put("run/notes.tmp1", []byte("somebody's"))
	s.must("train", "--resume", "run", "--quiet")
	for _, name := range []string{"run/*" + tag, "run/checkpoint/*" + tag} {
		if list, err := filepath.Glob(s.path(name)); err != nil || len(list) > 0 {
			t.Errorf("left are %q, %v", list, err)
		}
	}
	if !term.Exists(s.path("run/notes.tmp1")) {
		t.Error("a file that is not ours was removed")
	}
	// It was killed as it wrote its report, the last of its files.
	if err := os.Rename(s.path("run/report.html"), s.path("run/report.html"+tag)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.path("run"), s.path("moved")); err != nil {
		t.Fatal(err)
	}
	text := s.must("train", "--resume", "moved", "--quiet")
	if !strings.Contains(text, "moved (report.html in it is for a browser)") || !term.Exists(s.path("moved/report.html")) || term.Exists(s.path("moved/report.html"+tag)) {
		t.Errorf("no report, or half of one, is there, and this says\n%s", text)
	}
}
