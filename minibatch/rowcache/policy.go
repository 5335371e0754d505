package rowcache

import (
	"fmt"

	"capgnn/graph"
)

// Step is what a part reads of other parts in one step.
type Step struct {
	Number int            // of the run; a policy is given each number once, ascending by one
	Rows   []graph.NodeID // each once, in the order in which the step reads them
}

// Decision says where the rows of a step come from. Decide uses its slices again.
type Decision struct {
	// From has for each row of the step the slot that has held it since before the step; or ^k, where Fetch[k] brings it.
	From    []int32
	Fetch   []Fetched
	Evicted int // rows that had slots before the step and have none behind it
}

// Fetched is a row that is asked for in a step.
type Fetched struct {
	ID   graph.NodeID
	Slot int32 // that it is kept in; -1: none
	Row  int32 // its place in Step.Rows; -1: the step does not read it
}

func (d *Decision) reset(rows int) {
	if cap(d.From) < rows {
		d.From = make([]int32, rows, rows+rows/8)
	}
	d.From, d.Fetch, d.Evicted = d.From[:rows], d.Fetch[:0], 0
}

// fetch asks for a row of the step, and returns its number in d.Fetch.
func (d *Decision) fetch(row int, id graph.NodeID, slot int32) int {
	k := len(d.Fetch)
	d.From[row] = ^int32(k)
	d.Fetch = append(d.Fetch, Fetched{id, slot, int32(row)})
	return k
}

// Ahead returns the rows of a step behind the one that is decided, as that step will read them; false: the run has no such step. A policy asks for each step
// once, ascending, but for those that it has restored, and for steps that are not there. It does not keep the slice.
type Ahead func(step int) ([]graph.NodeID, bool)

// World is what a policy may know beside the steps.
type World struct {
	Vertices int // ids are 0 to Vertices-1
	Remote   int // Planned: how many of them steps may read, those of other parts
	Ahead    Ahead
	Steps    int                    // Rapid: of an epoch
	Halo     []graph.NodeID         // Massive: vertices of other parts with edges into the part (Halo returns them)
	Degree   func(graph.NodeID) int // Planned, Massive
}

// Halo returns the in-neighbours of a part's vertices that are in other parts, ascending.
func Halo(g *graph.CSR, part []int32, self int32) (halo []graph.NodeID) {
	seen := make([]bool, g.Rows())
	for v := range part {
		if part[v] == self {
			for _, u := range g.Row(v) {
				seen[u] = part[u] != self
			}
		}
	}
	for v := range seen {
		if seen[v] {
			halo = append(halo, graph.NodeID(v))
		}
	}
	return halo
}

// Policy decides which rows have slots.
type Policy interface {
	// Decide writes to d where the rows of the next step come from.
	Decide(s Step, d *Decision)
	// Held returns the row of every slot, -1: none. It is valid until the next call of another method.
	Held() []graph.NodeID
	// Save returns what Restore of a policy of equal rules, slots and world needs to go on.
	Save() []byte
	// Restore makes the policy what another one was. The rows of Held are the caller's to fetch again.
	Restore(state []byte) error
}

// New returns a policy with so many slots, none of which holds a row. Rules must be valid.
func New(r Rules, slots int, w World) Policy {
	if err := r.Validate(); err != nil || slots < 0 {
		panic(fmt.Sprintf("rowcache: %d slots: %v", slots, err))
	}
	r = r.settled()
	slots = min(slots, w.Vertices)
	switch r.Kind {
	case Planned:
		if r.Reach(w.Steps, slots, w.Remote) == 0 {
			return &whole{held: newHeld(slots, w.Vertices)}
		}
		return newPlanned(r, slots, w)
	case Rapid:
		return newRapid(r, slots, w)
	case Massive:
		return newMassive(r, slots, w)
	}
	return &demand{}
}

// clock is the number of the step that is decided next.
type clock struct {
	next  int
	known bool // false: the first step's number is not known yet
}

// take takes the number of the next step.
func (c *clock) take(number int) {
	if c.known && number != c.next {
		panic(fmt.Sprintf("rowcache: step %d in place of step %d", number, c.next))
	}
	c.next, c.known = number+1, true
}
