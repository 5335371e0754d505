//go:build !mpi || !linux

package main

import "testing"

// A program that was built without MPI says so, whoever asks.
func TestMPINotBuilt(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	_, stderr, code := s.run("train", "--dataset", "ok.npz", "--transport", "mpi")
	want := "capgnn: --transport mpi: this program was built without MPI: build it on Linux with `go build -tags mpi ./cmd/capgnn`, or drop it\n"
	if code != 2 || stderr != want {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
