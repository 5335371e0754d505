package progtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/internal/npy"
	"capgnn/internal/regular"
)

// Sandbox is a folder to run the program in: working folder, home and cache of its own.
type Sandbox struct {
	T   *testing.T
	Dir string
	// Worker executes a command line in place of the program, if it can; nil: the program does.
	Worker func(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int, done bool)
}

// NewSandbox returns a sandbox that is gone when the test is done.
func NewSandbox(t *testing.T) *Sandbox {
	t.Helper()
	if err := lookAtSources(); err != nil {
		t.Fatal(err)
	}
	return &Sandbox{T: t, Dir: t.TempDir()}
}

// Measured puts a profile of devices into the cache, made of few measurements: otherwise the first command that wants
// one takes seconds for it. It replaces that of an earlier call.
func (s *Sandbox) Measured(devices string) {
	s.T.Helper()
	s.Must("profile", "--quick", "--quiet", "--devices", devices)
}

// Path returns where a file of the sandbox lies.
func (s *Sandbox) Path(name string) string { return filepath.Join(s.Dir, name) }

// Put writes a file, with its folders.
func (s *Sandbox) Put(name string, b []byte) {
	s.T.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(s.Path(name)), 0o755), os.WriteFile(s.Path(name), b,
		0o644)); err != nil {
		s.T.Fatal(err)
	}
}

// Command returns the program with these arguments, ready to run. It finds other programs where the test puts them: in
// the folder bin. Its heap may grow before it is collected, which took an eighth of its processor time. What a test
// allows of memory holds all the same.
func (s *Sandbox) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(Program, args...)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), "GOGC=400", "PATH="+s.Path("bin"), "HOME="+s.Dir, "TMPDIR="+s.Dir,
		"XDG_CACHE_HOME="+s.Path("cache"), "XDG_DATA_HOME="+s.Path("data"))
	return cmd
}

// LimitedTo returns the program with these arguments, to run under a limit of the shell: ulimit -WHAT KIB.
func (s *Sandbox) LimitedTo(what string, kib int, args ...string) *exec.Cmd {
	run := s.Command(args...)
	cmd := exec.Command("sh", append([]string{"-c", fmt.Sprintf(`ulimit -%s %d && exec "$0" "$@"`, what, kib), Program}, args...)...)
	cmd.Dir, cmd.Env = run.Dir, run.Env
	return cmd
}

// Run runs the program, or a worker in its place, and returns what it printed and its exit code.
func (s *Sandbox) Run(args ...string) (stdout, stderr string, code int) {
	s.T.Helper()
	cmd := s.Command(args...)
	if s.Worker != nil {
		if stdout, stderr, code, done := s.Worker(s.T, cmd); done {
			return stdout, stderr, code
		}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.T.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Must runs the program, which is to succeed, and returns its standard output.
func (s *Sandbox) Must(args ...string) string {
	s.T.Helper()
	stdout, stderr, code := s.Run(args...)
	if code != 0 {
		s.T.Fatalf("capgnn %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// Train runs `train --json --quiet` and returns the last line of its output, read.
func (s *Sandbox) Train(args ...string) *runfolder.Result {
	s.T.Helper()
	return ReadResultLine(s.T, s.Must(append([]string{"train", "--json", "--quiet"}, args...)...))
}

// ReadResultLine reads the last line that `train --json` printed.
func ReadResultLine(t *testing.T, stdout string) *runfolder.Result {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	r := new(runfolder.Result)
	if err := json.Unmarshal([]byte(all[len(all)-1]), r); err != nil {
		t.Fatalf("last line of output: %v in %q", err, stdout)
	}
	return r
}

// ResultOf reads what a run has left.
func (s *Sandbox) ResultOf(run string) *runfolder.Result {
	s.T.Helper()
	r, err := runfolder.Dir(s.Path(run)).ReadResult()
	if err != nil || r == nil {
		s.T.Fatalf("%s: %+v, %v", run, r, err)
	}
	return r
}

// Floats reads an array of float32 values, which is to have this shape.
func (s *Sandbox) Floats(name string, shape ...int) []float32 {
	s.T.Helper()
	a, err := npy.Open(s.Path(name))
	if err != nil {
		s.T.Fatal(err)
	}
	x, err := a.Float32()
	if err != nil || !slices.Equal(a.Shape, shape) {
		s.T.Fatalf("%s: shape %v, want %v (%v)", name, a.Shape, shape, err)
	}
	return x
}

// Fails runs the program, which is to end with this code and one line that contains all of want.
func (s *Sandbox) Fails(code int, want []string, args ...string) {
	s.T.Helper()
	stdout, stderr, got := s.Run(args...)
	line := strings.TrimSuffix(stderr, "\n")
	if got != code || !strings.HasPrefix(line, "capgnn: ") || strings.Contains(line, "\n") || stdout != "" {
		s.T.Errorf("capgnn %s: exit code %d, want %d with one line\nstdout %q\nstderr %q", strings.Join(args, " "),
			got, code, stdout, stderr)
		return
	}
	for _, w := range want {
		if !strings.Contains(line, w) {
			s.T.Errorf("capgnn %s: %q does not name %q", strings.Join(args, " "), line, w)
		}
	}
}

// MetricsOf returns the lines of a run folder's metrics.jsonl.
func (s *Sandbox) MetricsOf(run string) (lines []map[string]any) {
	s.T.Helper()
	data, err := regular.ReadFile(s.Path(filepath.Join(run, "metrics.jsonl")), 64<<20)
	if err != nil {
		s.T.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			s.T.Fatalf("%v in %s", err, line)
		}
		lines = append(lines, m)
	}
	return lines
}

// WaitForEpochs returns when a run has so many epochs; the test fails if the program ends before.
func (s *Sandbox) WaitForEpochs(cmd *exec.Cmd, run string, epochs int) {
	s.T.Helper()
	for {
		data, err := regular.ReadFile(s.Path(filepath.Join(run, "metrics.jsonl")), 64<<20)
		if err == nil && bytes.Count(data, []byte("\n")) >= epochs {
			return
		}
		if ended(cmd) {
			s.T.Fatalf("%v has ended, and there are no %d epochs", cmd.Args, epochs)
		}
		time.Sleep(time.Millisecond)
	}
}
