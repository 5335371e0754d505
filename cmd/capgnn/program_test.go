package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/internal/npy"
)

// program is the built binary; TestMain makes it.
var program string

func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		work()
	}
	dir, err := os.MkdirTemp("", "capgnn-test-*")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "capgnn")
	tags := mpiTag
	if devices.BuiltWithCUDA {
		tags += " cuda"
	}
	// Linking without symbols takes half the time.
	if out, err := exec.Command("go", "build", "-tags", tags, "-ldflags=-s -w", "-o", program, ".").CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		panic("build the program under test: " + err.Error() + "\n" + string(out))
	}
	// Tests wait for processes, which wait for disks, signals and each other: twice as many at once keep the processors busy.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); !kept.MatchString(name) {
			os.Unsetenv(name)
		}
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // so that programs under test do not ignore it, as those of nohup do
	code := m.Run()
	for len(idleWorkers) > 0 {
		(<-idleWorkers).end()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// kept are the variables of whoever calls the tests that stay: of programs, folders, Go, C, Python, GPUs and MPI, and those that are for tests. Whatever
// else the program under test may look at, such as ranks, a secret, a limit of its cache, a language, a width or NO_COLOR, tests give it themselves.
var kept = regexp.MustCompile(`^(PATH|HOME|TMPDIR|CI|CC|CXX|LD_.*|GO.*|CGO_.*|PYTHON.*|FAKECUDA.*|CUDA_.*|NVIDIA_.*|OMPI_MCA_.*|UCX_.*|` +
	`CAPGNN_(CUDA|CUDA_DRIVER|NVML|CUBLAS|SHARED|LONG|TURN|REACHED))$`)

// sandbox is a folder to run the program in: working folder, home and cache of its own.
type sandbox struct {
	t   *testing.T
	dir string
}

func newSandbox(t *testing.T) *sandbox { return &sandbox{t, t.TempDir()} }

// measured puts a profile of devices into the cache, made of few measurements: otherwise the first command that wants one takes seconds
// for it. It replaces that of an earlier call.
func (s *sandbox) measured(devices string) {
	s.t.Helper()
	s.must("profile", "--quick", "--quiet", "--devices", devices)
}

func (s *sandbox) path(name string) string { return filepath.Join(s.dir, name) }

// command returns the program with these arguments, ready to run. It finds other programs where the test puts them: in the folder bin.
// Its heap may grow before it is collected, which took an eighth of its processor time. What a test allows of memory holds all the same.
func (s *sandbox) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GOGC=400", "PATH="+s.path("bin"), "HOME="+s.dir, "TMPDIR="+s.dir, "XDG_CACHE_HOME="+s.path("cache"), "XDG_DATA_HOME="+s.path("data"))
	return cmd
}

// run runs the program, or a worker in its place, and returns what it printed and its exit code.
func (s *sandbox) run(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	if inWorker(args) {
		return execute(s.t, s.command(args...))
	}
	var out, errs bytes.Buffer
	cmd := s.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must runs the program, which is to succeed, and returns its standard output.
func (s *sandbox) must(args ...string) string {
	s.t.Helper()
	stdout, stderr, code := s.run(args...)
	if code != 0 {
		s.t.Fatalf("capgnn %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// train runs `train --json --quiet` and returns the last line of its output, read.
func (s *sandbox) train(args ...string) *runfolder.Result {
	s.t.Helper()
	return readResultLine(s.t, s.must(append([]string{"train", "--json", "--quiet"}, args...)...))
}

func readResultLine(t *testing.T, stdout string) *runfolder.Result {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	r := new(runfolder.Result)
	if err := json.Unmarshal([]byte(all[len(all)-1]), r); err != nil {
		t.Fatalf("last line of output: %v in %q", err, stdout)
	}
	return r
}

// fails runs the program, which is to end with this code and one line that contains all of want.
func (s *sandbox) fails(code int, want []string, args ...string) {
	s.t.Helper()
	stdout, stderr, got := s.run(args...)
	line := strings.TrimSuffix(stderr, "\n")
	if got != code || !strings.HasPrefix(line, "capgnn: ") || strings.Contains(line, "\n") || stdout != "" {
		s.t.Errorf("capgnn %s: exit code %d, want %d with one line\nstdout %q\nstderr %q", strings.Join(args, " "), got, code, stdout, stderr)
		return
	}
	for _, w := range want {
		if !strings.Contains(line, w) {
			s.t.Errorf("capgnn %s: %q does not name %q", strings.Join(args, " "), line, w)
		}
	}
}

// store is a small data set as an .npz with the store's keys: two rings of 30 vertices, one class each.
type store map[string]npy.Entry

func newStore() store {
	const n, d = 60, 6
	var indptr []int64
	var indices []int32
	x, y := make([]float32, n*d), make([]int64, n)
	for v := range n {
		indptr = append(indptr, int64(len(indices)))
		half := v / 30 * 30
		indices = append(indices, int32(half+(v+29)%30), int32(half+(v+1)%30))
		x[v*d+v%d], y[v] = 1, int64(v/30)
		x[v*d+v/30] += 0.5
	}
	indptr = append(indptr, int64(len(indices)))
	return store{
		"indptr": {Data: indptr}, "indices": {Data: indices}, "x": {Shape: []int{n, d}, Data: x}, "y": {Data: y},
	}
}

// write puts the store into the sandbox under this name.
func (st store) write(s *sandbox, name string) string {
	s.t.Helper()
	var entries []npy.Entry
	for _, key := range []string{"indptr", "indices", "edge_weight", "x", "y", "train_mask", "val_mask", "test_mask"} {
		if e, ok := st[key]; ok {
			e.Key = key
			entries = append(entries, e)
		}
	}
	if err := npy.WriteArchiveFile(s.path(name), entries, npy.Archiving{}); err != nil {
		s.t.Fatal(err)
	}
	return name
}
