// Package cluster has the rules by which several processes train one model: the messages between them and their
// destinations.
//
// A rank is one process of a run. Before it joins: a Place is its number among the ranks and the address of rank 0
// (Find reads it from flags and from the variables of launchers); Nodes are a list of machines as Slurm writes it; a
// Share is the part of a shared machine that a rank gets. When ranks join: Facts are the data that each sends about
// itself, and Compare finds the first difference that forbids a run; Ranges say which parts each rank has. While they
// train: a Header precedes everything that one rank sends another, a Hello opens a connection, an Area is memory of
// one rank that one other rank fills.
//
// # Contract
//
// Everything in this package is a pure function of its arguments: no connection, no clock, no goroutine. Package
// cluster/tcp applies these rules. Consumers declare those methods of it that they call:
//
//	Rank() int
//	Ranks() int
//	Announce(ctx context.Context, areas []Area) error
//	Send(to int, area, epoch uint32, off int, b []byte, sent func(error))
//	Expect(from int, area uint32, into []byte, arrived func(epoch uint32, hi int))
//	Taken(from int, area, epoch uint32)
//	Gather(ctx context.Context, tag uint32, b []byte) ([][]byte, error)
//	Broadcast(ctx context.Context, tag uint32, b []byte) ([]byte, error)
//
// All ranks announce the same areas, which follow from the plan, before the first epoch. A rank receives only into areas that
// it has registered, and a sender writes into an area again only after the reader has called Taken. So no rank ever
// waits for memory in order to receive, no length from the network allocates anything, and a connection cannot block
// another.
//
// Received data are untrusted: parsers return errors, allocate nothing and never panic. A rank that violates its own
// table panics.
//
// # Wire format
//
// All numbers are little-endian. A connection begins with a Hello (64 bytes) and its answer; from then on each direction is a row of
// frames: a Header (32 bytes) and Length bytes. Control connections lie between rank 0 and every other rank, data connections between
// every two ranks.
//
// # Usage
//
//	areas, err := cluster.NewAreas(ranks, []cluster.Area{{From: 0, To: 1, Number: 0, Bytes: 4096}})
//	var raw [cluster.HeaderBytes]byte
//	cluster.Header{Kind: cluster.Rows, Area: 0, Epoch: 3, Length: 4096}.Put(&raw)
//	h, err := cluster.ParseHeader(&raw)
//	a, ok := areas.Find(0, 1, h.Area)
package cluster
