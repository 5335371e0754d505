//go:build mpi && linux

package tcp

import (
	"context"
	"net"
	"testing"

	"capgnn/cluster/mpi"
	"capgnn/cluster/mpi/fakempi"
)

func init() {
	for name, o := range map[string]fakempi.Options{
		"mpi":       {},
		"late mpi":  {Config: map[string]int{"late": 9, "shuffle": 1, "ring": 20_000}},
		"mpi mpich": {MPICH: true, Config: map[string]int{"ring": 1000}},
	} {
		modes[name] = Options{Secret: testSecret, Carry: network{make: func(t testing.TB, ranks int) []func(to int) net.Conn { return overMPI(t, ranks, o) }}.ask}
	}
}

// overMPI opens ranks of this process over a fake libmpi.
func overMPI(t testing.TB, ranks int, o fakempi.Options) []func(to int) net.Conn {
	out := make([]func(to int) net.Conn, ranks)
	for r, file := range fakempi.Libraries(t, ranks, o) {
		w, err := mpi.Open(context.Background(), mpi.Options{Library: file})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close(false, 0) })
		out[r] = w.Conn
	}
	return out
}
