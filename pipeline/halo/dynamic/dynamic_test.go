package dynamic

import (
	"errors"
	"fmt"
	"testing"

	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/hostmem"
	"capgnn/internal/direction"
	"capgnn/jaca"
)

// network is one exchange between parts of a random graph, without devices: rows are numbers that say their vertex and epoch.
type network struct {
	*Exchange
	plan  *jaca.Plan
	local [][]uint64 // by part and slot
}

func row(v graph.NodeID, epoch int) uint64 { return uint64(v)<<16 | uint64(epoch) }

func newNetwork(t *testing.T, policy jaca.Policy, schedule *jaca.Schedule, local, global int) *network {
	t.Helper()
	const n, parts = 60, 3
	g, err := synth.Random(n, 4*n, true, 7)
	if err != nil {
		t.Fatal(err)
	}
	part := make([]int32, n)
	for v := range part {
		part[v] = int32((v*7 + v/3) % parts)
	}
	c, err := graph.Split(g, 0, part, parts, graph.AllNeeded(n, 2), 2, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := Exchange{Layer: 1, Senders: make([][]Target, parts), LocalOf: c.LocalOf, Row: 8, Bound: schedule.Period - 1,
		Reach: func(_, _ int) bool { return true }, Schedule: func() jaca.Schedule { return *schedule },
		Stale: func(part, owner int, rows string, err error) error {
			return fmt.Errorf("part %d, owner %d, rows %s: %w", part, owner, rows, err)
		}}
	for i, p := range c.Parts {
		x.Readers = append(x.Readers, Reader{p.In.Owners.Parts, p.In.IDs})
		for at, o := range p.In.Owners.Parts {
			x.Senders[o] = append(x.Senders[o], Target{i, at})
		}
	}
	caps := &jaca.Capacities{Local: []int{local, local, local}, Global: global}
	plan, err := jaca.Build([]jaca.Exchange{jaca.NewExchange(c, 1, direction.Forward, 8)}, caps, jaca.Options{Policy: policy, Period: schedule.Period})
	if err != nil {
		t.Fatal(err)
	}
	w := &network{Exchange: NewExchange(x, caps.Local, global), plan: plan, local: [][]uint64{make([]uint64, local), make([]uint64, local), make([]uint64, local)}}
	if global > 0 {
		region, err := hostmem.NewRegion("cache", hostmem.SlotsCost(global, 8), hostmem.LockOptions{Heap: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { region.Close() })
		if w.Slots, err = region.Slots("rows", global, 8); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// run does what the agendas of an epoch say, and returns what every part reads, by halo index.
func (w *network) run(c *graphOf, epoch int) (read [][]uint64, err error) {
	published := make([][]uint64, len(w.Readers))
	a := w.Agenda()
	for o, s := range a.Sends {
		for _, r := range s.List[s.Published.First:][:s.Published.N] {
			published[o] = append(published[o], row(c.inner(o, r), epoch))
		}
	}
	for i := range w.Readers {
		g, arrived := &a.Gets[i], map[int]uint64{}
		for at, o := range w.Readers[i].Owners {
			s := a.Sends[o]
			to := -1
			for n, target := range w.Senders[o] {
				if target == (Target{i, at}) {
					to = n
				}
			}
			for k := range g.Direct[at].N {
				arrived[g.Direct[at].First+k] = row(c.inner(int(o), s.List[s.To[to].First+k]), epoch)
			}
			for k, p := range g.Shared[at].Rows {
				arrived[g.Shared[at].First+k] = published[o][p]
			}
		}
		for k, p := range g.Cached.Rows {
			if err := w.Slots.Check(g.Cached.Rows[k:k+1], g.Made[k:k+1]); err != nil {
				return nil, err
			}
			arrived[g.Cached.First+k] = hostmem.Of[uint64](w.Slots.Rows())[p]
		}
		now := make([]uint64, len(g.From))
		for h, from := range g.From {
			if int(from) < len(w.local[i]) {
				now[h] = w.local[i][from]
			} else {
				now[h] = arrived[int(from)-len(w.local[i])]
			}
		}
		for slot, h := range g.Renewed {
			w.local[i][slot] = now[h]
		}
		read = append(read, now)
	}
	for o, s := range a.Sends { // behind the reads: slots that were put are read from what was published
		for _, p := range s.Puts {
			if err := w.Slots.Put(p.Row, epoch, hostmem.Bytes(published[o][p.At:p.At+1])); err != nil {
				return nil, err
			}
		}
	}
	return read, nil
}

// graphOf knows which vertex a row of a part is.
type graphOf struct{ of map[[2]int]graph.NodeID }

func (c *graphOf) inner(part int, row int32) graph.NodeID { return c.of[[2]int{part, int(row)}] }

func vertices(w *network) *graphOf {
	c := &graphOf{map[[2]int]graph.NodeID{}}
	for _, r := range w.Readers {
		for _, v := range r.IDs {
			for o := range w.Readers {
				if (int(v)*7+int(v)/3)%3 == o {
					c.of[[2]int{o, int(w.LocalOf[v])}] = v
				}
			}
		}
	}
	return c
}

// Who does what the agendas say reads every row of its vertex, in the version that an independent replay of the lookups names: with caches
// of any size, also after the caches have been replayed or have begun anew.
func TestAgendasBringWhatLookupsName(t *testing.T) {
	routes := map[jaca.Route]int{}
	for _, policy := range []jaca.Policy{jaca.FIFO, jaca.LRU, jaca.SIEVE} {
		for _, size := range [][2]int{{0, 0}, {3, 0}, {0, 4}, {5, 3}, {0, 100}, {4, 30}, {20, 100}, {100, 0}, {100, 100}} {
			for _, bound := range []int{0, 1, 3} {
				schedule := jaca.Schedule{Period: bound + 1}
				w := newNetwork(t, policy, &schedule, size[0], size[1])
				c, replay := vertices(w), jaca.NewReplay(w.plan, []jaca.Schedule{schedule})
				caches := New(w.plan, []*Exchange{w.Exchange})
				for epoch := range 12 {
					if epoch == 6 {
						schedule.Start = epoch
						caches.Restart()
						replay = jaca.NewReplay(w.plan.Renumber(1, schedule.Period), []jaca.Schedule{schedule})
					}
					if err := caches.Plan(epoch); err != nil {
						t.Fatalf("%s %v, bound %d: %v", policy, size, bound, err)
					}
					read, err := w.run(c, epoch)
					if err != nil {
						t.Fatalf("%s %v, bound %d: %v", policy, size, bound, err)
					}
					replay.Exchange(0, epoch, func(l jaca.Lookup) {
						routes[l.Route]++
						if want := row(w.Readers[l.Part].IDs[l.Halo], l.Version); read[l.Part][l.Halo] != want {
							err = errors.Join(err, fmt.Errorf("epoch %d, part %d, halo row %d: %x, want %x", epoch, l.Part, l.Halo, read[l.Part][l.Halo], want))
						}
					})
					if err != nil {
						t.Fatalf("%s %v, bound %d: %v", policy, size, bound, err)
					}
				}
			}
		}
	}
	for _, r := range []jaca.Route{jaca.Stays, jaca.Fetched, jaca.Followed, jaca.Published, jaca.Direct} {
		if routes[r] == 0 {
			t.Errorf("no row took route %d", r)
		}
	}
}
