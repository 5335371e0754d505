// Package dynamic says what an exchange of halo rows moves in an epoch under a policy that decides while rows are read: fifo, lru or sieve.
//
// Its nouns: an Exchange is who reads whose rows, and what lies in its caches; Caches are those of all exchanges of a run; an Agenda is what
// every part sends, gets and keeps in an epoch.
//
// # Contract
//
// Nothing is moved here, and nothing knows a device: before each epoch Caches replay what every read will find, in the order that package
// jaca fixes, and give every Exchange its Agenda. Who moves rows does what the agenda says. Caches belong to one goroutine, between epochs.
//
// What is put into a global slot goes to the one of its two rows that was not put last. Reads that find it there in the epoch in
// which it was put take it from where its owner publishes all such rows of the epoch, so slots may change hands within an epoch
// as often as they like.
//
// # Source
//
// docs/caching.md. The policies are package jaca's (jaca.NewCache); SIEVE: Zhang et al., NSDI 2024.
//
// # Usage
//
//	x := dynamic.NewExchange(dynamic.Exchange{Readers: readers, ...}, []int{10, 10}, 100)
//	c := dynamic.New(plan, []*dynamic.Exchange{x})
//	err := c.Plan(epoch)
//	sends := x.Agenda().Sends[part]
package dynamic
