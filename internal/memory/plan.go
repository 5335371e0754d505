package memory

import (
	"runtime/debug"
	"slices"

	"capgnn/gpu"
)

// Plan is a list of uses, in bytes.
type Plan struct {
	Bound   gpu.Bytes `json:"bound"` // of all uses
	Slack   gpu.Bytes `json:"slack"` // of Bound, what is for steps that are larger than those that were sampled to see
	Uses    []Use     `json:"uses"`
	Mapped  gpu.Bytes `json:"-"` // of Bound, what is not of the heap
	Garbage gpu.Bytes `json:"-"` // of Bound, what the heap grows by before it is collected
}

// Use is memory for one purpose.
type Use struct {
	Name  string    `json:"name"`
	Bound gpu.Bytes `json:"bound"` // slack included
	Slack gpu.Bytes `json:"slack"`
}

// More makes a use larger.
func (u *Use) More(bound, slack gpu.Bytes) { u.Bound, u.Slack = u.Bound+bound, u.Slack+slack }

// LeastGarbage is how far a heap grows before it is collected, and what the runtime takes besides.
const LeastGarbage = 8 << 20

// garbageShare is the part of a large heap that it grows by before it is collected. Nearly all of it is blocks without
// pointers: collecting it takes little.
const garbageShare = 10

// Garbage is how far a heap with n bytes in use grows before it is collected, where Collect has been told so.
func Garbage(n gpu.Bytes) gpu.Bytes { return max(LeastGarbage, n/garbageShare) }

// Collect has the runtime collect its heap whenever n bytes in use have grown by garbage.
func Collect(n, garbage gpu.Bytes) { debug.SetGCPercent(int(min(400, 100*garbage/max(1, n)))) }

// granule is what devices round blocks up to, at most.
const granule = 512

// Block returns what a block of n bytes takes of a device at most.
func Block(n gpu.Bytes) gpu.Bytes { return (n + granule - 1) / granule * granule }

// Scratch is what devices take of the process while they compute: of each the most that of says of its parts, as parts
// of one device take turns.
func Scratch(devices []gpu.Device, of func(part int, dev gpu.Scratcher) gpu.Bytes) (n gpu.Bytes) {
	most := map[gpu.Device]gpu.Bytes{}
	for part, dev := range devices {
		if s, ok := dev.(gpu.Scratcher); ok {
			most[dev] = max(most[dev], of(part, s))
		}
	}
	for _, b := range most {
		n += b
	}
	return n
}

// Add adds a use, unless it is of nothing. Copies of m stay what they are.
func (m *Plan) Add(name string, bound, slack gpu.Bytes) {
	if bound > 0 {
		m.Bound, m.Slack, m.Uses = m.Bound+bound, m.Slack+slack, append(slices.Clip(m.Uses), Use{name, bound, slack})
	}
}

// Map adds a use that is not of the heap.
func (m *Plan) Map(name string, bound, slack gpu.Bytes) {
	m.Add(name, bound, slack)
	m.Mapped += bound
}

// Uncollected adds what a heap with n bytes in use grows by before it is collected.
func (m *Plan) Uncollected(n gpu.Bytes) {
	m.Add("not yet collected", Garbage(n), 0)
	m.Garbage += Garbage(n)
}

// And returns m with the uses of x.
func (m Plan) And(x Plan) Plan {
	for _, u := range x.Uses {
		m.Add(u.Name, u.Bound, u.Slack)
	}
	m.Mapped, m.Garbage = m.Mapped+x.Mapped, m.Garbage+x.Garbage
	return m
}
