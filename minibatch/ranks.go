package minibatch

import (
	"context"
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/together"
	"capgnn/internal/trainer"
	"capgnn/pipeline/link"
)

// Ranks connects this process to the other processes of a run. Each rank has consecutive parts, rank 0 the first
// ones.
type Ranks = together.Ranks

// own returns the parts of this process.
func (o *Options) own() (r graph.Range) {
	r.Lo = max(0, slices.IndexFunc(o.Devices, func(d gpu.Device) bool { return d != nil }))
	for r.Hi = r.Lo; r.Hi < len(o.Devices) && o.Devices[r.Hi] != nil; r.Hi++ {
	}
	return r
}

func (o *Options) ownDevices() []gpu.Device {
	own := o.own()
	return o.Devices[own.Lo:own.Hi]
}

func (o *Options) checkRanks() (errs []error) {
	own := o.own()
	others := len(o.Devices) - (own.Hi - own.Lo)
	switch {
	case others > 0 && !o.Several():
		errs = append(errs, fmt.Errorf("devices for %d of %d parts: this process does not reach the others", own.Hi-own.Lo, len(o.Devices)))
	case slices.ContainsFunc(o.Devices[own.Hi:], func(d gpu.Device) bool { return d != nil }):
		errs = append(errs, fmt.Errorf("parts of this process are not in a row"))
	}
	if !o.Several() {
		return errs
	}
	if _, simulated := machineOf(o.Ranks); !simulated && trainer.ClockOf(o.ownDevices()) != nil {
		errs = append(errs, fmt.Errorf("simulated devices have one clock, in one process: over several ranks use real ones"))
	}
	return errs
}

func (t *Trainer) own() graph.Range { return t.o.own() }

// facts are what all ranks know of a part.
type facts struct {
	Rank  int
	Chunk gpu.Bytes // that evaluation may take of its device
}

// meetOthers learns what ranks have to know of each other before anything is placed.
func (t *Trainer) meetOthers(ctx context.Context) error {
	own := t.own()
	mine := make([]facts, own.Hi-own.Lo)
	for i := range mine {
		mine[i] = facts{Chunk: t.design.chunk}
		if t.o.Several() {
			mine[i].Rank = t.o.Ranks.Rank()
		}
	}
	all, err := together.Gather(ctx, t.Talk(), trainer.TagFacts, mine)
	for _, f := range all {
		t.RankOf, t.design.chunk = append(t.RankOf, f.Rank), min(t.design.chunk, f.Chunk)
	}
	return err
}

// join lets gradients, weights and rows travel to other ranks.
func (t *Trainer) join() error {
	if !t.o.Several() {
		return nil
	}
	own := t.own()
	t.rows = &rows{Trainer: t, net: link.Over(t.o.Ranks, t.Hub)}
	t.consensus = &consensus{net: t.rows.net, hub: t.Hub, own: own.Lo}
	if own.Lo == 0 {
		t.consensus.other = own.Hi
	}
	err := t.Join(t.rows.net, slices.Concat(t.rows.areas(), t.consensus.areas(), t.carryAreas()))
	if err != nil {
		return err
	}
	t.consensus.open()
	for _, w := range t.workers {
		if t.fetchers != nil {
			w.feed.owner = func() int {
				if owner := int(w.fetcher.awaited.Load()); !own.Has(owner) {
					return owner
				}
				return -1
			}
		}
		if w.migrator != nil {
			w.migrator.open(t)
		}
	}
	t.rows.open()
	return nil
}

// Waits names what this process waits for from another one, such as "rows of rank 1 for step 12"; "": nothing. Any
// goroutine may call it.
func (t *Trainer) Waits() string {
	if !t.o.Several() {
		return ""
	}
	for _, f := range t.fetchers {
		if owner := f.awaited.Load(); owner >= 0 && !t.own().Has(int(owner)) {
			return fmt.Sprintf("rows of part %d of rank %d in step %d", owner, t.RankOf[owner], f.due.Load())
		}
	}
	if x := t.Watch.Now(); x != nil {
		return fmt.Sprintf("%s of rank %d in step %d", x.What, t.RankOf[x.For], int(t.consensus.said.Load())%t.roots.steps)
	}
	return t.Gathering()
}
