//go:build mpi && linux

package ranks

import (
	"context"
	"os"

	"capgnn/cluster/mpi"
)

// libraryVariable names the file of the MPI library where several are there.
const libraryVariable = "CAPGNN_LIBMPI"

func mpiBuilt() error { return nil }

// openMPI begins the MPI that started this process.
func openMPI(ctx context.Context) (rowTransport, error) {
	family, known := mpi.Launcher(os.Getenv)
	library := os.Getenv(libraryVariable)
	if !known && library == "" {
		return nil, errNoMPI
	}
	w, err := mpi.Open(ctx, mpi.Options{Library: library, Launcher: family})
	if err != nil {
		return nil, err
	}
	return w, nil
}
