package profiler

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"capgnn/gpu"
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

// crowdTasks measure what operations take on each device while all the others are running the same: devices made of one
// host's cores share its memory and caches. Cases that do not fit are left out.
func (m *meter) crowdTasks() []task {
	var tasks []task
	for _, k := range crowdCases {
		if slices.ContainsFunc(m.devices, func(d gpu.Device) bool { return !fits(d, k) }) {
			continue
		}
		once, ready := 0.0, 0.0
		for i := range m.devices {
			p := m.paces[i]
			once, ready = max(once, p.once(k)), ready+p.ready(k.bytes())
		}
		tasks = append(tasks, task{what: m.crowdKey(k), stage: k.Op + " on all devices at once", cost: ready + (2+calibrationRounds)*once, least: ready + (2+fewest)*once,
			measure: func(ctx context.Context, patience time.Duration) ([]Timing, error) {
				if err := m.release(); err != nil {
					return nil, err
				}
				return m.crowd(ctx, k, patience)
			}})
	}
	return tasks
}

// crowdKey is a case of all devices in the notes.
func (m *meter) crowdKey(k OpTime) string {
	key := "beside"
	for _, d := range m.devices {
		key += " " + k.key(d)
	}
	return key
}

// crowd returns, for every device, the timing of one case beside the others.
func (m *meter) crowd(ctx context.Context, k OpTime, patience time.Duration) (timings []Timing, err error) {
	members := make([]*calibration, len(m.devices))
	ops := make([]func(), len(m.devices))
	for i := range m.devices {
		members[i] = m.calibration(i)
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
