// Package jaca decides which halo rows are cached in device and host memory, when they are refreshed and which
// version a reader uses (joint adaptive caching). It only makes decisions: it copies nothing, and has no clock, no
// goroutine and no randomness except for a seed.
//
// Its nouns: an Exchange is the halo rows that one layer exchanges in one direction (forward or backward), listed by reader;
// Capacities are the sizes of the caches (Algorithm 1), from Memory and Sizes; a Plan has a Table for each exchange, which says
// which rows have local and global slots under a Policy; a Schedule says when a refresh class is due and which version is used; a
// Replay runs a plan through epochs and counts (Stats).
//
// # Contract
//
// Everything is a function of its arguments; equal arguments give equal plans on every machine. Ties go to the row with most
// edges into the part, then to the lowest id. No function changes its arguments; a Table shares the id lists of the cut from which
// its exchanges were made. A Replay has state: it belongs to one goroutine.
//
// A slot belongs to one exchange: each exchange has separate tables, with at most as many slots as the capacities
// say. So each layer may have its own period, and rows that a layer does not exchange take no slot in it. In a
// reader's halo region the local slots come first, grouped by class, then by source; the rows without a local slot
// follow, grouped by source. Place gives the position of both.
//
// Policies fifo and lru plan no slots: their tables are those of policy none. A Replay runs their caches (NewCache)
// in the order of reads and returns what each read finds and copies, as it does for static plans. The class of a row
// is then its number among the vertices of the exchange, modulo p.
//
// # Source
//
// Overlap ratio: Eq. 2 (overlap.go). Capacities: Algorithm 1 (capacity.go). Schedule, placement and counters: docs/caching.md. We
// differ from the paper in four points. R counts the readers of one exchange, so each direction has its own R. Layer 0 has no slots. A
// global slot holds two rows. Rows get slots by predicted transfer time; the paper's rule, the highest R, is policy paper.
//
// # Usage
//
//	exchanges := []jaca.Exchange{jaca.NewExchange(cut, 1, jaca.Forward, 4*256), jaca.NewExchange(cut, 1, jaca.Backward, 4*256)}
//	caps, err := jaca.Capacity(exchanges, jaca.Memory{Device: free, Host: freeHost, Global: jaca.Percent(20)})
//	s, err := jaca.NewSchedule(4, true, 0)
//	plan, err := jaca.Build(exchanges, caps, jaca.Options{Policy: jaca.JACA, Links: links, Period: s.Period})
//	r := &plan.Tables[0].Readers[part]
//	lo, hi := r.ClassSlots(class)       // rows to renew in epochs in which class is due
//	epoch := s.Version(class, t)        // that made what the reader uses in epoch t
//	err = jaca.CheckAge(epoch, t, 4)
package jaca
