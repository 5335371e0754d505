package profiler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

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

// Crowd measures what operations take on each device while all the others are running the same: devices made of one host's
// cores share its memory and caches. Cases that do not fit are left out.
func Crowd(ctx context.Context, devices []gpu.Device) ([][]OpTime, error) {
	out := make([][]OpTime, len(devices))
	for _, k := range crowdCases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(devices, func(d gpu.Device) bool { return !fits(d, k) }) {
			continue
		}
		seconds, err := crowd(devices, k)
		if err != nil {
			return nil, fmt.Errorf("measure %s on all devices at once: %w", k.Op, err)
		}
		for i, s := range seconds {
			k.Seconds = s
			out[i] = append(out[i], k)
		}
	}
	return out, nil
}

// calibrate fills in what Options.Calibrate asks for.
func (m *meter) calibrate(ctx context.Context, devices []gpu.Device, p *Profile) (err error) {
	if !m.Calibrate {
		return nil
	}
	for i, dev := range devices {
		if p.Devices[i].Calibration, err = Calibrate(ctx, dev, m.Progress); err != nil {
			return err
		}
	}
	if len(devices) < 2 {
		return nil
	}
	beside, err := Crowd(ctx, devices)
	for i := range beside {
		p.Devices[i].Beside = beside[i]
	}
	return err
}

// crowd returns, for every device, the median seconds of one case beside the others.
func crowd(devices []gpu.Device, k OpTime) (seconds []float64, err error) {
	members := make([]*calibration, len(devices))
	ops := make([]func(), len(devices))
	for i, d := range devices {
		members[i] = newCalibration(d)
		defer func() { err = errors.Join(err, members[i].free()) }()
		if ops[i], err = members[i].ready(k); err != nil {
			return nil, err
		}
	}
	var busy atomic.Int64 // devices that are still being timed
	busy.Store(int64(len(devices)))
	seconds, errs := make([]float64, len(devices)), make([]error, len(devices))
	var wg sync.WaitGroup
	for i, m := range members {
		// Owned by this call, which waits for it; it ends when all devices have been timed.
		wg.Go(func() {
			s, err := m.rounds(ops[i])
			seconds[i] = s
			busy.Add(-1)
			for err == nil && busy.Load() > 0 {
				_, err = m.round(ops[i], 1)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return seconds, errors.Join(errs...)
}
