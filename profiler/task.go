package profiler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"capgnn/gpu"
)

// task is one thing to measure.
type task struct {
	what    string  // in the notes
	stage   string  // for the reader
	cost    float64 // seconds that it is expected to take in all
	least   float64 // of them, with the fewest runs that say something
	needed  bool    // measured even if there is no time for it
	measure func(ctx context.Context, patience time.Duration) ([]Timing, error)
}

const (
	// fewest runs are timed before patience ends: one that somebody else's work came between is not their median. Of runs that
	// are long, in seconds, one will do, in which such work counts as little as it does in an epoch.
	fewest, long = 3, 0.05
	// narrow is the standard error of the mean, over the mean, at which more runs say nothing new.
	narrow = 0.015
	// patient is how many times its share of the time that is left a task may take.
	patient = 2
	// largest is the share of the time that is left up to which a task is begun.
	largest = 0.25
)

// meter runs and times operations.
type meter struct {
	Options
	devices           []gpu.Device
	compute, crossing []source       // of every device
	paces             []pace         // of every device
	calibrations      []*calibration // of every device, nil: not needed yet
	budget            float64        // seconds of all measurements; 0 = no end
	all, open         float64        // seconds that the tasks are expected to take, and those that are not done
	shown             float64        // share that was shown last
	doing             task
	values            []float32 // one dense operand in host memory, nil: not needed yet
	held              *operands // of the device that was measured last, nil where they were freed
}

func newMeter(devices []gpu.Device, opt Options) *meter {
	m := &meter{Options: opt, devices: devices, paces: make([]pace, len(devices)), calibrations: make([]*calibration, len(devices)),
		compute: computing(devices, opt.Budget > 0), crossing: crossing(devices),
		budget: opt.Budget.Seconds() * float64(len(devices))}
	if m.Notes == nil {
		m.Notes = new(Notes)
	}
	return m
}

// run measures what is not known, as long as there is time. Tasks are in the order of what they bring.
func (m *meter) run(ctx context.Context, tasks []task) error {
	seen := map[string]bool{}
	tasks = slices.DeleteFunc(tasks, func(t task) bool {
		again := seen[t.what] || m.Notes.get(t.what) != nil
		seen[t.what] = true
		return again
	})
	m.all, m.open = 0, 0
	for _, t := range tasks {
		m.all += t.cost
	}
	m.open = m.all
	for _, t := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.doing = t
		m.show()
		left := m.open - t.cost
		if t.needed || m.affords(t) {
			if _, err := m.once(t.what, func() ([]Timing, error) { return t.measure(ctx, m.patience(t)) }); err != nil {
				return fmt.Errorf("profile %s: %w", t.stage, err)
			}
		}
		m.open = left
	}
	m.shown = 1
	m.show()
	return nil
}

// once returns the timings of what, which is measured if it is not known. No timings: the device cannot do it.
func (m *meter) once(what string, measure func() ([]Timing, error)) ([]Timing, error) {
	if known := m.Notes.get(what); known != nil {
		return known, nil
	}
	start := m.Now()
	timings, err := measure()
	if err == nil && len(timings) > 0 {
		m.Notes.put(entry{what, timings, m.Now().Sub(start).Seconds()})
	}
	return timings, err
}

// affords reports whether there is time for a task that one can do without.
func (m *meter) affords(t task) bool {
	return m.budget == 0 || t.least < largest*(m.budget-m.Notes.spent)
}

// patience returns after how long a task ends with what it has; 0 = never.
func (m *meter) patience(t task) time.Duration {
	if m.budget == 0 {
		return 0
	}
	share := patient * (m.budget - m.Notes.spent) * t.cost / m.open
	return max(calibrationRound, time.Duration(share*float64(time.Second)))
}

// show says what is measured, and how far all of it has come: never less far than before.
func (m *meter) show() {
	share := 0.0
	if m.all > 0 {
		share = 1 - m.open/m.all
	}
	if m.budget > 0 {
		share = max(share, m.Notes.spent/m.budget)
	}
	m.shown = max(m.shown, min(1, share))
	m.Progress(m.doing.stage, m.shown)
}

// time runs op, which returns when its work is done, and returns its times.
func (m *meter) time(ctx context.Context, patience time.Duration, op func() error) ([]Timing, error) {
	begin, seconds := m.Now(), make([]float64, 0, m.Runs)
	for i := range m.Warmups + m.Runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start := m.Now()
		if err := op(); err != nil {
			return nil, err
		}
		t := m.Now().Sub(start)
		m.open -= m.doing.cost / float64(m.Warmups+m.Runs)
		m.show()
		if i >= m.Warmups {
			seconds = append(seconds, max(t, 1).Seconds()) // a clock's tick at least
			if enough(seconds, m.Now().Sub(begin), patience) {
				break
			}
		}
	}
	return []Timing{summary(seconds)}, nil
}

// enough reports whether runs that took so long end early: where patience is limited, and used up or not needed any more.
func enough(seconds []float64, took, patience time.Duration) bool {
	if patience == 0 {
		return false
	}
	last := len(seconds) - 1
	if len(seconds) < fewest {
		return took > patience && seconds[last] > long
	}
	mean, std := stat.MeanStdDev(seconds, nil)
	return took > patience || stat.StdErr(std, float64(len(seconds))) <= narrow*mean
}

// summary returns the timing of runs.
func summary(seconds []float64) Timing {
	mean, std := stat.MeanStdDev(seconds, nil)
	if len(seconds) == 1 {
		std = 0
	}
	sorted := slices.Sorted(slices.Values(seconds))
	median := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	return Timing{Mean: mean, Std: std, Median: median, Runs: len(seconds)}
}
