package profiler

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// crowdCases are operations whose speed depends on what else the host does: arithmetic, gathers in a shared cache and
// beyond it, passes over memory.
var crowdCases = []OpTime{
	{Op: "nn", Rows: 6144, In: 256, Out: 256},
	{Op: "nt", Rows: 6144, In: 256, Out: 256},
	{Op: "tn", Rows: 6144, In: 256, Out: 256},
	{Op: "sum", Rows: gatherEntries / gatherDegree, Entries: gatherEntries, Cols: 2 << 10, Out: calibrateRow},
	{Op: "sum", Rows: gatherEntries / gatherDegree, Entries: gatherEntries, Cols: 8 << 10, Out: calibrateRow},
	{Op: "sum", Rows: gatherEntries / gatherDegree, Entries: gatherEntries, Cols: 16 << 10, Out: calibrateRow},
	{Op: "sum", Rows: gatherEntries / gatherDegree, Entries: gatherEntries, Cols: 48 << 10, Out: calibrateRow},
	{Op: "epilogue", Rows: 16384, Out: calibrateRow},
	{Op: "epilogue_back", Rows: 16384, Out: calibrateRow},
	{Op: "copy", Rows: 2048, Out: calibrateRow},
	{Op: "copy", Rows: 32768, Out: calibrateRow},
}

// crowd is devices that compute at the same time, by index.
type crowd struct {
	members []int
	own     int // the first ones, which are in no crowd before this one
}

// crowds puts every device into a crowd of those that follow it, around the list, as far as there are processors for their threads: of more, some would wait
// while others compute. Who cannot compute beside the next one is in none.
func (m *meter) crowds() (all []crowd) {
	n := len(m.devices)
	for first := 0; first < n; {
		var c crowd
		left := m.Processors
		for k := range n {
			threads := m.devices[(first+k)%n].Info().Threads
			if left -= threads; k > 0 && left < 0 {
				break
			}
			c.members = append(c.members, (first+k)%n)
		}
		c.own = min(len(c.members), n-first)
		if first += c.own; len(c.members) > 1 {
			all = append(all, c)
		}
	}
	return all
}

// crowdTasks measure what operations take on each device while all others of its crowd are running the same: devices made of one
// host's cores share its memory and caches. Cases that do not fit are left out.
func (m *meter) crowdTasks() []task {
	var tasks []task
	for _, k := range crowdCases {
		for _, c := range m.crowds() {
			if slices.ContainsFunc(c.members, func(i int) bool { return !fits(m.devices[i], k) }) {
				continue
			}
			once, ready := 0.0, 0.0
			for _, i := range c.members {
				p := m.paces[i]
				once, ready = max(once, p.once(k)), ready+p.ready(k.bytes())
			}
			tasks = append(tasks, task{what: m.crowdKey(&c, k), stage: k.Op + " on devices at once", cost: ready + (2+calibrationRounds)*once, least: ready + (2+fewest)*once,
				measure: func(ctx context.Context, patience time.Duration) ([]Timing, error) {
					if err := m.release(); err != nil {
						return nil, err
					}
					return m.together(ctx, &c, k, patience)
				}})
		}
	}
	return tasks
}

// crowdKey is a case of a crowd in the notes.
func (m *meter) crowdKey(c *crowd, k OpTime) string {
	key := "beside"
	for _, i := range c.members {
		key += " " + k.key(m.devices[i])
	}
	return key
}

// together returns, for every member of a crowd, the timing of one case beside the others.
func (m *meter) together(ctx context.Context, c *crowd, k OpTime, patience time.Duration) (timings []Timing, err error) {
	members := make([]*calibration, len(c.members))
	ops := make([]func(), len(c.members))
	for i, dev := range c.members {
		members[i] = m.calibration(dev)
		defer func() { err = cmp.Or(err, members[i].free()) }()
		if ops[i], err = members[i].ready(k); err != nil {
			return nil, err
		}
	}
	var busy atomic.Int64 // devices that are still being timed
	busy.Store(int64(len(members)))
	timings, errs := make([]Timing, len(members)), make([]error, len(members))
	var wg sync.WaitGroup
	for i, c := range members {
		// Owned by this call, which waits for it; it ends when all devices have been timed.
		wg.Go(func() {
			t, err := c.rounds(ctx, ops[i], patience)
			timings[i] = t
			busy.Add(-1)
			for err == nil && busy.Load() > 0 {
				_, err = c.round(ops[i], 1)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return timings, cmp.Or(errs...)
}
