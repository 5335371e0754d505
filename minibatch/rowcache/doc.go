// Package rowcache decides which rows of other parts a part of a sampled run keeps, and which it fetches, step by step.
//
// Its nouns: Rules say which policy, and how it is set; a Policy decides; a Step is the rows that a part reads of others in one step; a Decision says where each
// of them comes from and what is fetched; the World is what a policy may know beside the steps.
//
// # Contract
//
// A policy is a function of its rules, its slots, its world and the steps so far: no clock, no chance, no goroutines. So counts repeat, and so does a run that is
// resumed: Restore of what Save returned continues with equal decisions. It belongs to one goroutine, which hands it every step once, in order.
//
// Within a step, rows are read from slots before slots are written: From names the slot of a row that was there before the step, even where Fetch gives that slot
// to another row. What Fetch brings in a step is read from where it arrives. So the caller writes a slot behind the reads of this step and of those before it.
//
// A row has at most one slot. Moving rows is the caller's: this package knows ids alone.
//
//   - Demand keeps nothing (DistDGL).
//   - Planned looks at the steps ahead: the row whose next read is farthest leaves, and a fetched row that is read later than all others is not kept (Belady, IBM
//     Systems Journal 5(2), 1966). Rows that no step ahead reads leave first, those of low degree before others. With few steps
//     ahead this fetches a tenth fewer rows than an order by age or by id, and rows that have just come do not push each other out.
//     With all steps ahead no policy fetches fewer rows.
//   - Rapid keeps the rows that an epoch reads most often, from its first step to its last (RapidGNN, Algorithm 1). Rows of two epochs stay, and others come when
//     they are first read, which fetches no more rows than the paper's refill (Rules.Pull) does.
//   - Massive keeps rows by two scores, and looks at nothing ahead (MassiveGNN, Algorithms 1 and 2).
//
// # Usage
//
//	p := rowcache.New(rowcache.Rules{Kind: rowcache.Planned}, slots, rowcache.World{Vertices: n, Remote: n, Ahead: ahead, Degree: degree})
//	var d rowcache.Decision
//	for t := range steps {
//		p.Decide(rowcache.Step{Number: t, Rows: rows(t)}, &d)
//		for i, from := range d.From {
//			if from >= 0 {
//				copy(input[i], cache[from])
//			}
//		}
//		for _, f := range d.Fetch {
//			row := fetch(f.ID) // to input[f.Row] where f.Row ≥ 0, and to cache[f.Slot] where f.Slot ≥ 0
//		}
//	}
package rowcache
