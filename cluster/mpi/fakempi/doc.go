// Package fakempi makes libraries that behave as MPI does at its worst, for tests: done is reported late and in any order, messages go in small
// pieces, calls fail when they are told to. Whoever breaks a rule of MPI ends the process with a line.
//
// Its one function is Libraries. The C source is testdata/libmpi.c, which says what can be chosen; it is compiled with cc, and tests skip where
// there is none. The library of a rank finds its place and the others by the name of its own file, so ranks may be processes, or
// copies in one process.
//
// It is no MPI: one communicator, one tag, one type, and ranks of one machine.
//
//	files := fakempi.Libraries(t, 3, fakempi.Options{MPICH: true, Config: map[string]int{"late": 7, "shuffle": 1}})
//	w, err := mpi.Open(ctx, mpi.Options{Library: files[rank]})
package fakempi
