package main

import (
	"os"
	"os/exec"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/runfolder"
)

// TestMain makes workers of processes that it starts, and builds the program.
func TestMain(m *testing.M) {
	if os.Getenv(asWorker) != "" {
		work()
	}
	progtest.Main(m, func() {
		for len(idleWorkers) > 0 {
			(<-idleWorkers).end()
		}
	})
}

// sandbox is that of progtest, whose command lines workers execute.
type sandbox struct{ *progtest.Sandbox }

func newSandbox(t *testing.T) *sandbox { return sandboxIn(t, t.TempDir()) }

func sandboxIn(t *testing.T, dir string) *sandbox {
	return &sandbox{&progtest.Sandbox{T: t, Dir: dir, Worker: execute}}
}

func (s *sandbox) measured(devices string)          { s.Measured(devices) }
func (s *sandbox) path(name string) string          { return s.Path(name) }
func (s *sandbox) put(name string, b []byte)        { s.T.Helper(); s.Put(name, b) }
func (s *sandbox) command(args ...string) *exec.Cmd { return s.Command(args...) }
func (s *sandbox) run(args ...string) (stdout, stderr string, code int) {
	s.T.Helper()
	return s.Run(args...)
}
func (s *sandbox) must(args ...string) string             { s.T.Helper(); return s.Must(args...) }
func (s *sandbox) train(args ...string) *runfolder.Result { s.T.Helper(); return s.Train(args...) }

func (s *sandbox) fails(code int, want []string, args ...string) {
	s.T.Helper()
	s.Fails(code, want, args...)
}

func (s *sandbox) limitedTo(what string, kib int, args ...string) *exec.Cmd {
	return s.LimitedTo(what, kib, args...)
}

func readResultLine(t *testing.T, stdout string) *runfolder.Result {
	t.Helper()
	return progtest.ReadResultLine(t, stdout)
}

// store is that of progtest.
type store progtest.Store

func newStore() store { return store(progtest.NewStore()) }

func (st store) write(s *sandbox, name string) string {
	s.T.Helper()
	return progtest.Store(st).Write(s.Sandbox, name)
}
