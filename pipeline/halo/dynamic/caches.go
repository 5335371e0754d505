package dynamic

import (
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/jaca"
)

// Exchange is one exchange under a dynamic policy: who reads whose rows, and what lies in its caches.
type Exchange struct {
	Layer   int
	Readers []Reader   // by part
	Senders [][]Target // by owner
	LocalOf []int32    // of every vertex: its row in the part that owns it
	Row     gpu.Bytes  // of a row on its way, and in the global cache
	Bound   int        // on the age of rows, in epochs
	// Reach reports whether a part copies straight from another's device.
	Reach func(part, owner int) bool
	// Schedule returns the schedule in force.
	Schedule func() jaca.Schedule
	// Stale returns the error of a row that is not of the epoch that it must be of.
	Stale func(part, owner int, rows string, err error) error
	Slots *hostmem.Slots // the global cache; nil: it has none

	local  [][]held // by part and slot
	global []held   // by slot: the owner is in the row's halo of every reader, so halo is not used
	last   []int32  // by global slot: which of the two rows was put last
	today  *Agenda
}

// Reader is what one part reads.
type Reader struct {
	Owners []int32        // parts that own its halo vertices, ascending
	IDs    []graph.NodeID // by halo index
}

// Target is a reader of an owner's rows, and the owner's place among the reader's owners.
type Target struct{ Reader, At int }

// held is what lies in a slot.
type held struct {
	halo int32 // −1: nothing yet
	made int   // epoch
}

// NewExchange returns an exchange with empty caches of so many slots, by part and in host memory.
func NewExchange(x Exchange, local []int, global int) *Exchange {
	x.global, x.last = make([]held, global), make([]int32, global)
	for _, n := range local {
		x.local = append(x.local, make([]held, n))
	}
	return &x
}

// GlobalSlots is the number of slots in host memory.
func (x *Exchange) GlobalSlots() int { return len(x.global) }

// Agenda is what the exchange moves in the epoch that was planned last.
func (x *Exchange) Agenda() *Agenda { return x.today }

// clear empties the caches.
func (x *Exchange) clear() {
	for _, slots := range append([][]held{x.global}, x.local...) {
		for s := range slots {
			slots[s] = held{-1, -1}
		}
	}
	clear(x.last)
}

// Caches drives the caches of all exchanges under a dynamic policy: before each epoch it replays what every read finds.
type Caches struct {
	plan      *jaca.Plan
	exchanges []*Exchange // of the plan's tables
	replay    *jaca.Replay
	next      int // epoch
}

// New returns the caches of a plan; exchanges are those of its tables.
func New(plan *jaca.Plan, exchanges []*Exchange) *Caches {
	return &Caches{plan: plan, exchanges: exchanges}
}

// Plan sets the agendas of an epoch. Epochs that it has not seen are replayed first: a resumed run finds its caches as they were.
func (c *Caches) Plan(epoch int) error {
	if err := c.Reach(epoch); err != nil {
		return err
	}
	return c.step()
}

// Reach replays the epochs before one.
func (c *Caches) Reach(epoch int) error {
	if c.replay == nil {
		var schedules []jaca.Schedule
		plan := c.plan
		for _, x := range c.exchanges {
			s := x.Schedule()
			schedules = append(schedules, s)
			plan = plan.Renumber(x.Layer, s.Period)
			x.clear()
			c.next = s.Start
		}
		c.replay = jaca.NewReplay(plan, schedules)
	}
	for c.next < epoch {
		if err := c.step(); err != nil {
			return err
		}
	}
	return nil
}

// Restart empties the caches: they begin with the schedules' Start.
func (c *Caches) Restart() { c.replay = nil }

// step plans the next epoch.
func (c *Caches) step() error {
	for e, x := range c.exchanges {
		b := newBooking(x, c.next)
		c.replay.Exchange(e, c.next, b.look)
		if b.err != nil {
			return b.err
		}
		x.today = b.close()
	}
	c.next++
	return nil
}
