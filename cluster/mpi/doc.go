// Package mpi carries rows between ranks by the MPI library of a cluster, which knows its network. Build tag: mpi.
//
// Its nouns: the World is what mpirun or srun started this process into, made by Open; a stream is a connection between two of its ranks
// (a net.Conn); a library is an MPI, found and opened at run time, Open MPI or one with the interface of MPICH.
//
// # Why streams
//
// Package tcp has all rules of areas, frames and faults, and the streams of this package take the place of its data connections
// (tcp.Options.Carry). So what rows do is the same with every transport, and so are the bits. Control stays with package tcp: it notices at once when a rank is
// lost, and says which one.
//
// # Contract
//
// libmpi is opened by dlopen (purego): no cgo, and no MPI where the program is built. One goroutine on a thread of its own makes all
// calls: it posts what streams have to send, keeps receives posted, asks for what is done, and rests where nothing is: up to 200 µs, after a long silence up to 4 ms. No memory of
// Go's heap is given to MPI: messages pass through buffers outside of it, 1 MiB for each other rank, which MPI may write at any time until the
// process ends. A writer waits where all its buffers are under way.
//
// MPI keeps the order of the messages of two ranks; that of their completion is free, and streams put it right. An error of MPI ends the stream that it
// belongs to, or all. Close with finalize set sends what is left and calls MPI_Finalize, which all ranks have to do; without it, or where the others
// do not come, the process ends without, and its launcher ends the others.
//
// # Usage
//
//	w, err := mpi.Open(ctx, mpi.Options{Launcher: mpi.Launcher(os.Getenv)})
//	g, err := tcp.Join(ctx, tcp.Options{Rank: w.Rank(), Ranks: w.Ranks(), Carry: w.Conn})
//	err = g.Close()
//	err = w.Close(err == nil, time.Minute)
package mpi
