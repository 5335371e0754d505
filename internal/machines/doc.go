// Package machines joins the trainers of simulated machines, which are in one process and on one virtual clock, as ranks of a run are joined.
//
// Its nouns: a Wire carries bytes in virtual time (package gpu/sim); a Cluster says which parts are on which machine; a Net has the messages of all machines, a Machine is one end of it.
//
// # Contract
//
// No byte is copied. On the host a message arrives as soon as it is sent and its area is free; in virtual time it
// takes its time on the wire, after the messages before it. Times do not depend on goroutines if nobody reads the
// clock while a machine sends. An error that ends one machine ends all of them. The maker of a Net closes it.
//
// # Usage
//
//	net := machines.New(len(cluster.Parts), cluster.Wire)
//	defer net.Close()
//	err := net.Each(func(rank int) error { return train(net.Machine(rank)) })
package machines
