package minibatch

import (
	"fmt"
	"sync"
	"time"

	"capgnn/gpu"
	"capgnn/internal/meet"
	"capgnn/minibatch/sample"
)

// feed is what one part samples ahead of its steps: a ring of slots, which goroutines fill in the order of steps and the part takes in that order. A slot is the same
// whoever has filled it.
type feed struct {
	part  int
	slots []*slot
	fill  func(s *sample.Sampler, d *sampledUnit, step int) error
	then  []func(s *slot) error // what is done with a slot behind fill, each by a goroutine of its own, in the order of steps
	blame func() string         // what else than samplers a step may wait for; "": nothing, and so if nil
	owner func() int            // the part of another rank that it waits for now; -1: none, and so if nil
	quit  chan struct{}         // closed when nothing more is wanted
	done  sync.WaitGroup

	mu        sync.Mutex
	next, end int // the step that is sampled next, and the one behind the last

	ending sync.Once
}

// slot is one step under way.
type slot struct {
	step  int
	units []sampledUnit // in the order in which they are computed
	group group
	turns []fetching // where rows of other parts are fetched: for all units at once, or for each
	err   error
	done  []chan struct{} // by feed.then: a token: that may be done with it
	full  chan struct{}   // a token: the part may take it
	free  chan gpu.Event  // it may be filled again when that has fired; nil: at once
	sent  gpu.Event       // the last one of these; of the part
}

// newFeed returns the feed of a part with so many slots, and so many units in each. fill makes a sampledUnit of a step; it is called by several goroutines, each with a sampler and
// sampledUnits of its own, for the units of a step in their order.
func newFeed(part, slots, units int, fill func(s *sample.Sampler, d *sampledUnit, step int) error) *feed {
	f := &feed{part: part, fill: fill, quit: make(chan struct{})}
	for range slots {
		s := &slot{units: make([]sampledUnit, units), full: make(chan struct{}, 1), free: make(chan gpu.Event, 1)}
		for u := range s.units {
			s.units[u].unit, s.units[u].group = u, &s.group
		}
		s.free <- nil
		f.slots = append(f.slots, s)
	}
	return f
}

// start has samplers fill slots with the steps from..end-1. The part has taken all steps before.
func (f *feed) start(from, end int, samplers []*sample.Sampler) {
	f.done.Wait()
	f.next, f.end = from, end
	for _, s := range f.slots {
		for len(s.done) < len(f.then) {
			s.done = append(s.done, make(chan struct{}, 1))
		}
	}
	for k := range f.then {
		f.done.Add(1)
		// Owned by the feed: close ends it and waits for it.
		go func() {
			defer f.done.Done()
			for step := from; step < end && f.pass(k, step); step++ {
			}
		}()
	}
	for _, s := range samplers {
		f.done.Add(1)
		// Owned by the feed: close ends it and waits for it.
		go func() {
			defer f.done.Done()
			for f.one(s) {
			}
		}()
	}
}

// one fills the next slot, and reports whether there may be another one.
func (f *feed) one(s *sample.Sampler) bool {
	step, at, read := f.turn()
	if at == nil {
		return false
	}
	if read != nil {
		select {
		case <-read.Done():
		case <-f.quit:
			return false
		}
	}
	at.step = step
	var err error
	for u := range at.units {
		if err == nil {
			err = f.fill(s, &at.units[u], step)
		}
	}
	at.err = err
	f.hand(at, 0)
	return err == nil
}

// hand gives a slot to who is k-th behind fill: behind all of them it is the part's.
func (f *feed) hand(s *slot, k int) {
	if k < len(f.then) {
		s.done[k] <- struct{}{}
	} else {
		s.full <- struct{}{}
	}
}

// pass does what is k-th behind fill with a step, and reports whether there may be another one.
func (f *feed) pass(k, step int) bool {
	s := f.at(step)
	select {
	case <-s.done[k]:
	case <-f.quit:
		return false
	}
	if s.err == nil {
		s.err = f.then[k](s)
	}
	failed := s.err != nil
	f.hand(s, k+1)
	return !failed
}

// turn returns the next step, its slot, which is the caller's from now on, and the event behind which it may be written; nil: there is no
// more. Whoever waits for a slot keeps the others waiting: of two that wait for one slot, the later step could get it first.
func (f *feed) turn() (step int, at *slot, read gpu.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next >= f.end {
		return 0, nil, nil
	}
	at = f.at(f.next)
	select {
	case read = <-at.free:
	case <-f.quit:
		return 0, nil, nil
	}
	f.next++
	return f.next - 1, at, read
}

func (f *feed) at(step int) *slot { return f.slots[step%len(f.slots)] }

// take returns the slot of a step, and how long the part has waited for it. It ends the part's meet.Guard with the error of the step, or if that takes too long.
func (f *feed) take(h *meet.Hub, step int) (*slot, time.Duration) {
	s := f.at(step)
	start := time.Now()
	f.wait(h, s)
	if s.err != nil {
		meet.Stop(s.err)
	}
	return s, time.Since(start)
}

// samplersName is what a part waits for whose steps are not drawn.
const samplersName = "its samplers"

// wait waits for a slot. Where that takes too long, its error says what for.
func (f *feed) wait(h *meet.Hub, s *slot) {
	owner, what := f.part, samplersName
	if f.owner != nil {
		if far := f.owner(); far >= 0 { // as far as is known when the wait begins
			owner, what = far, "rows"
		}
	}
	err := meet.Guard(func() { meet.Receive(h, s.full, f.part, owner, what) })
	if err == nil {
		return
	}
	if late := waited(err); late != nil {
		late.For, late.What = f.part, fmt.Sprintf("part %d: %s", f.part, samplersName)
	}
	if f.blame != nil {
		if what := f.blame(); what != "" {
			blamed(err, what)
		}
	}
	meet.Stop(err)
}

// release lets a slot be filled again when read has fired.
func (s *slot) release(read gpu.Event) {
	s.sent = read
	s.free <- read
}

// close ends the goroutines and waits for them.
func (f *feed) close() {
	f.ending.Do(func() { close(f.quit) })
	f.done.Wait()
}
