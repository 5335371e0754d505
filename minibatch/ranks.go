package minibatch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"capgnn/chunks"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/together"
	"capgnn/internal/trainer"
	"capgnn/pipeline/link"
)

// Ranks connects this process to the other processes of a run. Each rank has consecutive parts, rank 0 the first
// ones.
type Ranks = together.Ranks

// What ranks tell each other beside rows and gradients, in the order of a run.
const (
	tagFacts uint32 = 1 + iota
	tagResume
	tagFound
	tagRefilled
	tagSteps
	tagLayer
	tagEvaluation
	tagScores
	tagSave
	tagCaches
	tagSection
	tagResult
)

// tagNames says what a rank waits for meanwhile.
var tagNames = [...]string{tagFacts: "what others know of their devices", tagResume: "rank 0 to say how the run begins", tagFound: "rank 0 to read the checkpoint",
	tagRefilled: "others to fill their row caches", tagSteps: "the numbers of the steps", tagLayer: "rows of a layer", tagEvaluation: "scores", tagScores: "scores of vertices",
	tagSave: "rank 0 to decide if a checkpoint follows", tagCaches: "what row caches remember", tagSection: "a piece of the checkpoint", tagResult: "the last numbers"}

// Numbers of areas: of gradients and weights between neighbours, of what follows a step, then of requests of each part, of answers to it, and of sums of gradients from one to another.
const (
	gradientArea uint32 = iota
	weightArea
	consensusArea
	firstRowArea
)

// several reports whether the run has other processes.
func (o *Options) several() bool { return o.Ranks != nil && o.Ranks.Ranks() > 1 }

// leads reports whether the process is rank 0.
func (o *Options) leads() bool { return o.Ranks == nil || o.Ranks.Rank() == 0 }

// own returns the parts of this process.
func (o *Options) own() (r graph.Range) {
	r.Lo = max(0, slices.IndexFunc(o.Devices, func(d gpu.Device) bool { return d != nil }))
	for r.Hi = r.Lo; r.Hi < len(o.Devices) && o.Devices[r.Hi] != nil; r.Hi++ {
	}
	return r
}

// ownDevices returns the devices of these parts.
func (o *Options) ownDevices() []gpu.Device {
	own := o.own()
	return o.Devices[own.Lo:own.Hi]
}

// checkRanks says what does not go with several ranks, or with one.
func (o *Options) checkRanks() (errs []error) {
	own := o.own()
	others := len(o.Devices) - (own.Hi - own.Lo)
	switch {
	case others > 0 && !o.several():
		errs = append(errs, fmt.Errorf("devices for %d of %d parts: this process does not reach the others", own.Hi-own.Lo, len(o.Devices)))
	case slices.ContainsFunc(o.Devices[own.Hi:], func(d gpu.Device) bool { return d != nil }):
		errs = append(errs, fmt.Errorf("parts of this process are not in a row"))
	}
	if !o.several() {
		return errs
	}
	if _, simulated := machineOf(o.Ranks); !simulated && trainer.ClockOf(o.ownDevices()) != nil {
		errs = append(errs, fmt.Errorf("simulated devices have one clock, in one process: over several ranks use real ones"))
	}
	return errs
}

// own are the parts of this process.
func (t *Trainer) own() graph.Range { return t.o.own() }

// at returns the place of a worker among those of this process.
func (t *Trainer) at(w *worker) int { return w.Index - t.own().Lo }

// talk is this process's side of what ranks say to each other.
func (t *Trainer) talk() together.Talk {
	talk := together.Talk{Parts: len(t.o.Devices), Names: tagNames[:], Waits: &t.gathering}
	if t.o.several() {
		talk.Ranks = t.o.Ranks
	}
	return talk
}

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
		if t.o.several() {
			mine[i].Rank = t.o.Ranks.Rank()
		}
	}
	all, err := together.Gather(ctx, t.talk(), tagFacts, mine)
	for _, f := range all {
		t.rankOf, t.design.chunk = append(t.rankOf, f.Rank), min(t.design.chunk, f.Chunk)
	}
	return err
}

// join lets gradients, weights and rows travel to other ranks.
func (t placer) join() error {
	if !t.o.several() {
		return nil
	}
	own := t.own()
	t.rows = &rows{Trainer: t.Trainer, net: link.Over(t.o.Ranks, t.hub)}
	t.consensus = &consensus{net: t.rows.net, hub: t.hub, own: own.Lo}
	if own.Lo == 0 {
		t.consensus.other = own.Hi
	}
	areas := slices.Concat(t.rows.areas(), t.consensus.areas(), t.carryAreas(), t.reduce.Areas(gradientArea, weightArea))
	if err := t.o.Ranks.Announce(t.hub.Context(), areas); err != nil {
		return fmt.Errorf("agree on the memory between ranks: %w", err)
	}
	var compute []gpu.Queue
	for _, w := range t.workers {
		compute = append(compute, w.Compute)
	}
	t.waiting = t.hub.Watch(own.Lo, compute)
	go func() { // ends with the run
		select {
		case <-t.o.Ranks.Done():
			t.hub.Fail(t.o.Ranks.Err())
		case <-t.hub.Context().Done():
		}
	}()
	t.reduce.Join(t.rows.net, gradientArea, weightArea, t.workers[0].Locking(t.o.Lock))
	t.consensus.open()
	t.counter = together.NewCounter(t.o.Ranks)
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
			w.migrator.open(t.Trainer)
		}
	}
	t.rows.open()
	return nil
}

// begin settles whether the run writes checkpoints, and continues from one if that is asked for: as rank 0 says.
func (t *Trainer) begin() error {
	type asked struct {
		Saves, Resume bool
		Steps, Every  int
	}
	a, err := together.First(t.hub.Context(), t.talk(), tagResume, asked{t.o.CheckpointDir != "", t.o.Resume, t.o.CheckpointSteps, t.o.CheckpointEvery})
	if err != nil {
		return err
	}
	if t.saves, t.o.CheckpointSteps, t.o.CheckpointEvery = a.Saves, a.Steps, a.Every; a.Resume {
		return saver{t}.restore()
	}
	return nil
}

// Waits names what this process waits for from another one, such as "rows of rank 1 for step 12"; "": nothing. Any
// goroutine may call it.
func (t *Trainer) Waits() string {
	if !t.o.several() {
		return ""
	}
	for _, f := range t.fetchers {
		if owner := f.awaited.Load(); owner >= 0 && !t.own().Has(int(owner)) {
			return fmt.Sprintf("rows of part %d of rank %d in step %d", owner, t.rankOf[owner], f.due.Load())
		}
	}
	if x := t.waiting.Now(); x != nil {
		return fmt.Sprintf("%s of rank %d in step %d", x.What, t.rankOf[x.For], int(t.consensus.said.Load())%t.roots.steps)
	}
	if what := t.gathering.Load(); what != nil {
		return *what
	}
	return ""
}

// partSteps is what a part has done in a stretch.
type partSteps struct {
	Loss                      []learn.Number // by step and unit
	Usage, Gradients, Carried gpu.Usage
	Computed                  time.Duration
	Work                      Counts
	Covered                   *chunks.Coverage // what an isolated part sees, behind the first steps of its phase
	// Of the process, at its first part:
	Train, CPU time.Duration
	Switch     time.Duration
	Norm       learn.Number // of gradients, summed over
	Norms      int          // so many steps
	Pairs      []together.Pair
	Meters     []gpu.Metered `json:",omitempty"`
}

// received returns what other ranks have sent since the last call, and how long it was waited for. Rows of steps ahead are among it.
func (t *Trainer) received() []together.Pair {
	if !t.o.several() {
		return nil
	}
	all, waited := t.counter.Take(), make([]time.Duration, t.o.Ranks.Ranks())
	for part, d := range t.waiting.Take() {
		waited[t.rankOf[part]] += d / time.Duration(len(t.workers))
	}
	for i := range all {
		all[i].Wait = waited[all[i].From]
	}
	return all
}

// addPairs adds what ranks have sent each other to sums.
func addPairs(sums, more []together.Pair) []together.Pair {
	for _, x := range more {
		k := slices.IndexFunc(sums, func(y together.Pair) bool { return y.From == x.From && y.To == x.To })
		if k < 0 {
			sums = append(sums, x)
			continue
		}
		y := &sums[k]
		y.Rows, y.Frames, y.Wait = y.Rows+x.Rows, y.Frames+x.Frames, y.Wait+x.Wait
	}
	return sums
}
