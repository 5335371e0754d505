// Package machines joins the trainers of simulated machines, which are in one process and on one virtual clock, as ranks of a run are joined.
//
// Its nouns: a Wire carries bytes in virtual time (package gpu/sim); a Cluster says which parts are on which machine; a
// Net has the messages of all machines, a Machine is one end of it; a Run is the trainers of all of them.
//
// # Contract
//
// No byte is copied. On the host a message arrives as soon as it is sent and its area is free; in virtual time it
// takes its time on the wire, after the messages before it. Times do not depend on goroutines if nobody reads the
// clock while a machine sends. An error that ends one machine ends all of them. The maker of a Run closes it.
//
// # Usage
//
//	r, err := machines.Start(cluster, parts, start, (*Trainer).giveUp)
//	defer r.Close()
//	err = r.Each(func(t *Trainer) error { return t.runEpoch(0) })
package machines
