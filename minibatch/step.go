package minibatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
)

// stretch is some steps of an epoch that parts run without a stop, one behind the other. All parts run the same ones.
type stretch struct {
	epoch, from int
	ctx         context.Context // no part begins another step once it has ended
	until       time.Time       // nor, but for the first one, behind this; zero: there is no such time
	scale       func(batch int) float64
	consensus   *consensus // of several ranks, which begin the same steps; nil: there is one
	first       int        // the number of the epoch's first step in the run

	mu        sync.Mutex
	next, end int  // the step behind those that a part has begun, and the one behind the last
	told      int  // what follows the steps before this one is known
	halted    bool // a rank was asked to stop
}

// enter reports whether parts run a step: where one does, all do.
func (s *stretch) enter(batch int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if batch < s.next {
		return true
	}
	if s.consensus != nil {
		return s.follow(batch)
	}
	if s.ctx.Err() != nil || batch > s.from && s.over() {
		s.end = min(s.end, batch)
	}
	if batch >= s.end {
		return false
	}
	s.next = batch + 1
	return true
}

func (s *stretch) over() bool { return !s.until.IsZero() && time.Now().After(s.until) }

// follow is enter of several ranks, for a step that no part here has begun. What follows a step is known at its end. s.mu is locked.
func (s *stretch) follow(batch int) bool {
	if batch > s.from && batch > s.told {
		w := s.consensus.next()
		s.told = batch
		if w != goOn {
			s.end = min(s.end, batch)
		}
		s.halted = s.halted || w == halt
	}
	if batch >= s.end {
		return false
	}
	w := goOn
	switch {
	case s.ctx.Err() != nil:
		w = halt
	case s.over():
		w = pause
	}
	s.consensus.say(uint32(s.first+batch), w)
	s.next = batch + 1
	return true
}

// runPart runs a stretch on one part, and waits for it.
func (t *Trainer) runPart(w *worker, s *stretch) error {
	w.counts, w.linked = Counts{}, 0
	done := s.from
	w.Compute.Fill(gpu.Matrix{Buf: w.Sums.Buf, Rows: 1, Cols: 2 * w.Sums.Len, LD: 2 * w.Sums.Len}, 0) // steps without roots leave it so
	clear(w.LossHost)
	err := meet.Guard(func() {
		for b := s.from; s.enter(b); b++ {
			if t.step(w, s, b) && b-2 >= s.from {
				done = b - 1
				t.progress(w, s, done)
			}
			w.counts.Steps++
		}
	})
	if err != nil {
		return err
	}
	if n := w.counts.Steps * t.roots.units; n > 0 {
		w.Loss.Fetch(w.Compute, w.LossHost[:8*n], w.Sums)
	}
	if err := w.Sync(); err != nil {
		return err
	}
	for ; done < s.next; done++ {
		t.progress(w, s, done+1)
	}
	return nil
}

// progress says that a part has done the steps before one.
func (t *Trainer) progress(w *worker, s *stretch, done int) {
	if w.At == 0 && t.o.OnStep != nil {
		t.o.OnStep(Progress{Epoch: s.epoch, Step: done, Steps: t.roots.steps, Edges: t.progressed.edges + w.counts.Edges, Elapsed: time.Since(t.progressed.began), Since: t.progressed.since})
	}
}

// step enqueues a step of a part, unit by unit, each when the one before the last has been computed, and the update. It ends the part's meet.Guard with an error.
func (t *Trainer) step(w *worker, s *stretch, batch int) (awaited bool) {
	slot, waited := w.feed.take(t.Hub, s.epoch*t.roots.steps+batch)
	w.counts.Time.Wait += waited
	for u := range slot.units {
		w.counts.Add(&slot.units[u].counts)
		w.linked += slot.units[u].linked
	}
	t.charge(w, slot)
	units := left(slot.units)
	if w.migrator != nil {
		w.migrator.begin(units)
	}
	for k := range units {
		last := k == len(units)-1
		n, again := w.fetch(&units[k])
		awaited = awaited || again
		sent := w.prefetch.Record()
		if last {
			slot.release(sent)
		}
		w.Compute.Wait(sent)
		t.compute(w, n, trainer.Unit{At: (batch-s.from)*t.roots.units + k, Scale: s.scale(batch)}, last)
		n.read = w.Compute.Record()
	}
	return awaited
}

// charge has a simulated device's clock know what a step's rows take over links, between the upload that its slot had before and its own. They have been copied when their
// owners were asked. But who asks is ahead of the steps by as much as goroutines make it: the clock would know of requests that are none of the steps it is asked about.
func (t *Trainer) charge(w *worker, s *slot) {
	if w.fetcher == nil || !w.fetcher.charged {
		return
	}
	if s.sent != nil {
		w.rows.Wait(s.sent)
	}
	for k := range s.turns {
		if c := w.fetcher.across; c != nil {
			c.charge(w.fetcher, &s.turns[k], w.rows)
		}
		w.rows.Fetch(w.fetcher.parcels(&s.turns[k], t.o.Devices), func() {})
	}
	w.prefetch.Wait(w.rows.Record())
}

// left returns those units of a step that have a time step: the first ones, one at least.
func left(units []sampledUnit) []sampledUnit {
	for units[len(units)-1].time == dropped {
		units = units[:len(units)-1]
	}
	return units
}

// fetch enqueues the way of a unit to one of the inputs, when the unit that was there has been computed.
func (w *worker) fetch(d *sampledUnit) (n *input, awaited bool) {
	n = &w.inputs[w.turn%len(w.inputs)]
	w.turn++
	if n.read != nil {
		stop(w.Waits.Await(n.read))
		stop(w.Compute.Fault())
		awaited = true
		w.prefetch.Wait(n.read) // it has fired; a device's clock is to know
	}
	stop(w.Waits.Settle()) // forgets what is over
	stop(w.widen(n, d))
	n.lay(&w.stage, d)
	n.upload(w.prefetch, &w.stage, d)
	return n, awaited
}

// compute enqueues a unit, and behind the last one of a step the update.
func (t *Trainer) compute(w *worker, n *input, u trainer.Unit, last bool) {
	done := func(layer int) { t.Reduce.Done(w.At, layer) }
	if w.migrator == nil {
		t.gradient(w, n, u, done)
		t.Reduce.Finish(w.At)
		return
	}
	w.migrator.bring()
	t.gradient(w, n, u, func(int) {})
	w.migrator.give()
	if last {
		trainer.Idle(t.o.Model.Layers, done)
		t.Reduce.Finish(w.At)
	}
}

func (t *Trainer) gradient(w *worker, n *input, u trainer.Unit, done func(layer int)) {
	w.Clear()
	if n.roots == 0 { // nothing to add
		w.Pass.Absent(w.Compute)
		trainer.Idle(t.o.Model.Layers, done)
		return
	}
	stop(t.bind(w, n))
	u.Clock, u.Targets, u.Weight = n.step, n.targets, n.weight
	w.Gradient(u, done)
}

// bind has the pass go through the input's blocks. Where they exceed its memory, it gets more.
func (t *Trainer) bind(w *worker, n *input) error {
	err := w.Pass.Bind(n.layers, n.in)
	exceeds := new(gnn.Exceeds)
	if !errors.As(err, &exceeds) {
		return err
	}
	if err := w.Waits.Settle(w.Compute); err != nil {
		return err
	}
	t.grown(w, exceeds.Slab, exceeds.Have, exceeds.Need)
	if err := w.Pass.Grow(w.Device, n.layers); err != nil {
		return err
	}
	return w.Pass.Bind(n.layers, n.in)
}

// widen makes the input, which nobody reads any more, large enough for a sampledUnit.
func (w *worker) widen(n *input, d *sampledUnit) error {
	have, need := n.buf.Size(), d.layout.size
	if need <= have {
		return nil
	}
	n.buf.Free()
	n.buf = nil
	var err error
	if n.buf, err = w.Device.Alloc(need+need/slack, "input"); err != nil {
		n.buf, err = w.Device.Alloc(need, "input")
	}
	if err != nil {
		return err
	}
	n.size = n.buf.Size()
	w.stage.grown("input", have, n.size)
	return nil
}

// grown says that a buffer had to become larger.
func (t *Trainer) grown(w *worker, what string, was, is gpu.Bytes) {
	t.o.Log.Warn("a buffer has grown: this step is larger than those by which memory was planned", "part", w.Index, "what", what, "bytes", int64(is), "before", int64(was))
}

// stop ends the innermost meet.Guard if there is an error.
func stop(err error) {
	if err != nil {
		meet.Stop(err)
	}
}
