package main

import (
	"encoding/gob"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
)

const (
	// asWorker is the variable that makes a process of this test a worker.
	asWorker = "CAPGNN_TEST_WORKER"
	// mostLines is how many command lines a worker executes at most, so that what one leaves in memory does not add up.
	mostLines = 50
)

// worker is a process of this test that executes command lines one after the other, each in a folder and with variables of its own. Starting the program
// would be more than half of the time of a small command.
type worker struct {
	cmd         *exec.Cmd
	requests    *gob.Encoder
	codes       *gob.Decoder // exit codes
	pipes       []io.Closer
	stdout, err *os.File // its standard streams, empty before a command
	executed    int
}

// request is a command line for a worker.
type request struct {
	Args, Env []string
	Dir       string
}

// idleWorkers are workers that have nothing to do.
var idleWorkers = make(chan *worker, 64)

// inWorker reports whether a worker may execute this command line: none that starts the program again, says how it was built, or how much memory it has had.
func inWorker(args []string) bool {
	apart := []string{"bench", "completion", "demo", "doctor", "launch", "man", "profile", "version"}
	return !devices.BuiltWithCUDA && len(args) > 0 && !slices.Contains(apart, args[0]) && !slices.Equal(args[:min(2, len(args))], []string{"data", "import"}) &&
		!slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "--ranks") || slices.Contains([]string{"-v", "-version", "--version"}, a)
		})
}

// execute executes the command line of cmd in a worker, if one may. One that ends meanwhile has ended as the program would have.
func execute(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, code int, done bool) {
	t.Helper()
	if !inWorker(cmd.Args[1:]) {
		return "", "", 0, false
	}
	var w *worker
	select {
	case w = <-idleWorkers:
	default:
		w = startWorker(t)
	}
	if err := w.requests.Encode(request{cmd.Args, cmd.Env, cmd.Dir}); err != nil {
		t.Fatal(err)
	}
	ended := w.codes.Decode(&code) != nil
	if ended {
		code = w.end()
	}
	for stream, text := range map[*os.File]*string{w.stdout: &stdout, w.err: &stderr} {
		b, err := io.ReadAll(io.NewSectionReader(stream, 0, math.MaxInt64))
		if err := errors.Join(err, stream.Truncate(0)); err != nil {
			t.Fatal(err)
		}
		*text = string(b)
	}
	switch w.executed++; {
	case ended:
	case w.executed == mostLines:
		w.end()
	default:
		idleWorkers <- w
	}
	return stdout, stderr, code, true
}

func startWorker(t *testing.T) *worker {
	t.Helper()
	w := new(worker)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	stream := func() *os.File {
		f, err := os.CreateTemp(filepath.Dir(progtest.Program), "stream-")
		must(err)
		name := f.Name()
		must(f.Close())
		f, err = os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
		must(err)
		return f
	}
	self, err := os.Executable()
	must(err)
	from, to, err := os.Pipe()
	must(err)
	back, codes, err := os.Pipe()
	must(err)
	w.stdout, w.err = stream(), stream()
	w.cmd = exec.Command(self)
	w.cmd.Env = append(os.Environ(), "GOGC=400", asWorker+"=1")
	w.cmd.Stdout, w.cmd.Stderr, w.cmd.ExtraFiles = w.stdout, w.err, []*os.File{from, codes}
	must(w.cmd.Start())
	must(errors.Join(from.Close(), codes.Close()))
	w.requests, w.codes, w.pipes = gob.NewEncoder(to), gob.NewDecoder(back), []io.Closer{to, back}
	return w
}

// end waits for a worker, which ends when there is nothing left to read, and returns its exit code.
func (w *worker) end() int {
	for _, p := range w.pipes {
		p.Close()
	}
	_ = w.cmd.Wait() // the code says it
	return w.cmd.ProcessState.ExitCode()
}

// work is main of a worker.
func work() {
	term.WriteSignalsToErrors()
	term.ObeySignals()
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	requests, codes := gob.NewDecoder(os.NewFile(3, "requests")), gob.NewEncoder(os.NewFile(4, "codes"))
	for {
		var r request
		if requests.Decode(&r) != nil {
			os.Exit(0)
		}
		debug.SetGCPercent(400) // the heap of most commands is small, and the last command may have set another one
		os.Clearenv()
		for _, v := range r.Env {
			name, value, _ := strings.Cut(v, "=")
			os.Setenv(name, value)
		}
		if err := os.Chdir(r.Dir); err != nil {
			panic(err)
		}
		os.Args = r.Args
		if err := codes.Encode(run(r.Args, os.Stdout, os.Stderr)); err != nil {
			panic(err)
		}
	}
}
