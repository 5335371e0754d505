package minibatch

import (
	"fmt"

	"capgnn/cluster"
	"capgnn/gpu"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
	"capgnn/pipeline/link"
)

// migrator is a part's side of Hop, where each model comes by several parts in a step and brings the sum of its gradients along, never its weights: all models of a step
// have the same.
//
// Method: a part computes the gradient of a unit as always. It adds what the model brought, and copies the sum to memory of its own, from where the part at which the
// model is next fetches it while it computes its unit: from the device, or where it does not reach that, through host memory, or as a message from another rank. So a sum is that of the model's units in
// the order of time steps, ((g₀ + g₁) + g₂) + …, wherever they are computed. Behind its last unit each part has the whole sum of one model as its gradient, and
// package reduce adds these in part order.
type migrator struct {
	hub   *meet.Hub
	w     *worker
	all   []*worker // by part; nil: it is another rank's
	ways  []*way    // by part: of another rank's; nil: those of this one
	queue gpu.Queue // fetches sums, and takes them to host memory
	in    gpu.Vec   // a sum that has come
	out   gpu.Vec   // one that leaves
	stage []byte    // out in host memory; empty: all others reach it
	steps []int     // by unit of the step that is enqueued: its time step
	at    int       // the unit under way

	ready []chan gpu.Event // by time step: the sum for it is there
	taken chan gpu.Event   // the part that out was for has it; nil: out is free
	last  int              // that part
	added gpu.Event        // in has been added; nil: never
	came  gpu.Event        // the model's sum, at the part where it was
	net   *link.Net        // to other ranks; nil: there are none
}

// newMigrator returns the migrator of a part; nil: models stay where they are.
func (t *Trainer) newMigrator(w *worker) *migrator {
	if t.roots.units == 1 {
		return nil
	}
	n := len(t.Weights.Flat)
	c := &migrator{hub: t.Hub, w: w, all: make([]*worker, t.roots.parts), ways: make([]*way, t.roots.parts), queue: w.Queue("carry"), taken: make(chan gpu.Event, 1)}
	c.in, c.out = gpu.Vec{Buf: w.Alloc(4*gpu.Bytes(n), "sum of a model's gradients"), Len: n}, gpu.Vec{Buf: w.Alloc(4*gpu.Bytes(n), "sum that is carried on"), Len: n}
	c.taken <- nil
	for range t.roots.units {
		c.ready = append(c.ready, make(chan gpu.Event, 1)) // a step has one for each, and no part is a step ahead of the others
	}
	for _, other := range t.workers {
		c.all[other.Index] = other
	}
	for _, other := range c.all {
		if other == nil || !other.reach[w.Index] {
			c.stage = make([]byte, 4*n)
		}
	}
	return c
}

// way is how sums travel between a part and one of another rank: by an area in each direction.
type way struct {
	in   *link.Inbox
	came uint32       // messages that have come
	to   cluster.Area // of the other part
	went uint32       // messages to it
}

// carryAreas are those of sums, from each part to each of another rank.
func (t *Trainer) carryAreas() (all []cluster.Area) {
	if t.roots.units == 1 {
		return nil
	}
	for from, a := range t.RankOf {
		for to, b := range t.RankOf {
			if a != b {
				all = append(all, t.carryArea(from, to))
			}
		}
	}
	return all
}

func (t *Trainer) carryArea(from, to int) cluster.Area {
	number := trainer.FirstRowArea + uint32((2+from)*t.roots.parts+to)
	return cluster.Area{From: t.RankOf[from], To: t.RankOf[to], Number: number, Bytes: 4 * len(t.Weights.Flat)}
}

// open begins to expect sums of other ranks.
func (c *migrator) open(t *Trainer) {
	for part, other := range c.all {
		if other != nil {
			continue
		}
		area := t.carryArea(part, c.w.Index)
		x := &way{in: link.NewInbox(area, c.w.Locking(t.o.Lock)(make([]byte, area.Bytes))), to: t.carryArea(c.w.Index, part)}
		x.in.Open(t.rows.net, nil)
		c.ways[part] = x
	}
	c.net = t.rows.net
}

// begin has the next units be these of a step.
func (c *migrator) begin(units []sampledUnit) {
	c.steps, c.at = c.steps[:0], 0
	for u := range units {
		c.steps = append(c.steps, units[u].time)
	}
}

// modelName names a model's way in errors.
type modelName struct{ model int }

func (c modelName) String() string { return fmt.Sprintf("model %d", c.model) }

// model returns which model is at the part in the time step under way.
func (c *migrator) model() modelName { return modelName{c.part(-c.steps[c.at])} }

// part returns the part some places behind.
func (c *migrator) part(places int) int {
	n := len(c.all)
	return ((c.w.Index+places)%n + n) % n
}

// before and behind return the parts at which the model was in the time step before, and which has the part's own one in the next.
func (c *migrator) before() int { return c.part(c.steps[c.at-1] - c.steps[c.at]) }
func (c *migrator) behind() int { return c.part(c.steps[c.at+1] - c.steps[c.at]) }

// bring enqueues the way of the model's sum to the part.
func (c *migrator) bring() {
	if c.at == 0 {
		return
	}
	if x := c.ways[c.before()]; x != nil {
		c.bringFar(c.before(), x)
		return
	}
	from, w := c.all[c.before()], c.w
	c.came = meet.Receive(c.hub, c.ready[c.steps[c.at]], w.Index, from.Index, "gradients of "+c.model().String())
	if from.Device == w.Device {
		return
	}
	if c.added != nil {
		c.queue.Wait(c.added)
	}
	w.Waits.For(c.queue, c.came, from.Index, c.model(), "gradients")
	if w.reach[from.Index] {
		c.queue.(gpu.PeerCopier).CopyFrom(trainer.Row(c.in), trainer.Row(from.migrator.out))
	} else {
		c.queue.Upload(c.in.Buf, 0, from.migrator.stage)
	}
	from.migrator.taken <- c.queue.Record()
}

// bringFar is bring from a part of another rank.
func (c *migrator) bringFar(from int, x *way) {
	by := link.Reader{Part: c.w.Index, Owner: from, What: "gradients of " + c.model().String()}
	x.in.Await(by, x.came, len(x.in.Mem), c.queue)
	if c.added != nil {
		c.queue.Wait(c.added)
	}
	c.queue.Upload(c.in.Buf, 0, x.in.Mem)
	x.in.Taken(c.queue, x.came, 1)
	x.came++
}

// give enqueues, behind the gradient of a unit, the sum with what the model brought, and its way on. The last unit's stays.
func (c *migrator) give() {
	w := c.w
	q, own := w.Compute, trainer.Row(w.Grads.Flat)
	if c.at > 0 {
		if from := c.all[c.before()]; from != nil && from.Device == w.Device {
			w.Waits.For(q, c.came, from.Index, c.model(), "gradients")
			q.Axpby(own, 1, trainer.Row(from.migrator.out), 1)
			from.migrator.taken <- q.Record()
		} else {
			q.Wait(c.queue.Record())
			q.Axpby(own, 1, trainer.Row(c.in), 1)
			c.added = q.Record()
		}
	}
	if c.at+1 < len(c.steps) {
		if x := c.ways[c.behind()]; x != nil {
			c.sendFar(c.behind(), x)
		} else {
			c.send(c.all[c.behind()])
		}
	}
	c.at++
}

// leave enqueues the copy of the part's gradient to memory of its own, once what was there before has gone. to is the part that it is for.
func (c *migrator) leave(to int) gpu.Event {
	w := c.w
	if free := meet.ReceiveRoom(c.hub, c.taken, w.Index, c.last, "to take gradients"); free != nil {
		w.Waits.ForRoom(w.Compute, free, c.last, c.model(), "gradients")
	}
	w.Compute.Copy(trainer.Row(c.out), trainer.Row(w.Grads.Flat))
	c.last = to
	return w.Compute.Record()
}

// sendFar enqueues the way of the part's gradient to a part of another rank.
func (c *migrator) sendFar(to int, x *way) {
	c.queue.Wait(c.leave(to))
	c.queue.Download(c.stage, c.out.Buf, 0)
	c.net.Send(c.queue, x.to, x.went, 0, c.stage, "gradients", func() { c.taken <- nil })
	x.went++
}

// send enqueues the way of the part's gradient to memory from where another part fetches it.
func (c *migrator) send(to *worker) {
	w := c.w
	there := c.leave(to.Index)
	if !to.reach[w.Index] {
		c.queue.Wait(there)
		c.queue.Download(c.stage, c.out.Buf, 0)
		there = c.queue.Record()
	}
	w.Waits.Owe(there)
	to.migrator.ready[c.steps[c.at+1]] <- there
}
