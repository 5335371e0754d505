// Package ledger is a device that only keeps accounts: allocations are counted against a budget, operations do nothing.
//
// Its nouns: a Device; an Entry, one block it was asked for.
//
// # Contract
//
// Whoever puts a run on a ledger in place of a device learns what the run would take: the same code asks for the same blocks
// in the same order, so the plan cannot differ from the run. Blocks have a size and no memory; what is uploaded is dropped,
// what is downloaded is left as it was; Sync finds everything done. Calls are made. A request beyond the budget fails with
// *gpu.OutOfMemory, as a device's does; a Device without a budget counts on. What a run asks for depends on which devices
// reach each other: a ledger made by InPlaceOf answers as its device does, one made by New reaches all.
//
// # Source
//
// Ours (docs/adr/0006): buffers are planned once, so they can be counted beforehand.
//
// # Usage
//
//	d := ledger.New(gpu.Info{Name: "cpu:0"})
//	buf, err := d.Alloc(1<<20, "features")
//	d.Memory().HighWater // 1 MiB
//	d.Entries()          // [{features 1048576 false}]
package ledger
