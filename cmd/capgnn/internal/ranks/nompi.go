//go:build !mpi || !linux

package ranks

import (
	"context"

	"capgnn/cmd/capgnn/internal/term"
)

func mpiBuilt() error {
	return term.Usagef("--transport mpi: this program was built without MPI: build it on Linux with `go build -tags mpi ./cmd/capgnn`, or drop it")
}

func openMPI(context.Context) (rowTransport, error) { return nil, mpiBuilt() }
