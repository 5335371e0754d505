package profiler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// OpTime is the median time of one operation of the trainer, of one size. Fields that an operation does not have are 0.
//
//	launch                     an operation on one element
//	hop                        from an event on one queue to the queue that waits for it
//	copy, fill, axpby, colsum  Rows × Out
//	nn, nt, tn                 Rows × In times In × Out; tn is summed over rows
//	sum                        Rows sums of Entries rows in all, of Out columns, gathered at random from Cols rows
//	scaled                     the same with a factor for each row
//	gather                     Rows rows of Out columns at random from Cols rows
//	epilogue, epilogue_back    LayerNorm, ReLU and dropout of Rows × Out
//	softmax, bce               loss and gradient of Rows × Out
//	adam                       Out parameters
//	upload, download, peer     Bytes
type OpTime struct {
	Op      string  `json:"op"`
	Rows    int     `json:"rows,omitempty"`
	In      int     `json:"in,omitempty"`
	Out     int     `json:"out,omitempty"`
	Cols    int     `json:"cols,omitempty"`
	Entries int     `json:"entries,omitempty"`
	Bytes   int     `json:"bytes,omitempty"`
	Seconds float64 `json:"s"`
}

// maxCalibration bounds the operations that a profile holds of a device.
const maxCalibration = 1 << 10

func (d *DeviceProfile) validateCalibration() error {
	if n := len(d.Calibration) + len(d.Beside); n > maxCalibration {
		return fmt.Errorf("%d calibrated operations are more than %d", n, maxCalibration)
	}
	for _, list := range [][]OpTime{d.Calibration, d.Beside} {
		for i, k := range list {
			if k.Op == "" || len(k.Op) > 256 || min(k.Rows, k.In, k.Out, k.Cols, k.Entries, k.Bytes) < 0 || !(k.Seconds > 0 && k.Seconds <= maxSeconds) {
				return fmt.Errorf("calibrated operation %d of %g s is impossible", i, k.Seconds)
			}
		}
	}
	return nil
}

const (
	calibrationRounds = 5                    // timed rounds of each case; the median of an odd number is one of them
	calibrationRound  = 2 * time.Millisecond // a round lasts so long at least: what a Sync takes is lost in it
)

// operationTasks measure what the operations of training take, over the sizes that decide: in caches and out of them, narrow
// and wide. Cases that do not fit are left out. Devices take turns, so that what else the host does falls on all of them.
func (m *meter) operationTasks() []task {
	if !m.Calibrate {
		return nil
	}
	var tasks []task
	for r := range ranks {
		if r == usual {
			tasks = append(tasks, m.crowdTasks()...)
		}
		for _, k := range calibrationCases(r) {
			for i, dev := range m.devices {
				if m.source(i, k.crosses()).device == i && fits(dev, k) {
					tasks = append(tasks, m.operationTask(i, k, r == basic))
				}
			}
		}
	}
	return tasks
}

func (m *meter) operationTask(i int, k OpTime, needed bool) task {
	dev, p := m.devices[i], m.paces[i]
	once, ready := p.once(k), p.ready(k.bytes())
	round := max(once, calibrationRound.Seconds())
	return task{what: k.key(dev), stage: k.Op + " on " + dev.Info().Name, needed: needed,
		cost: ready + 2*once + calibrationRounds*round, least: ready + 2*once + fewest*round,
		measure: func(ctx context.Context, patience time.Duration) ([]Timing, error) {
			if err := m.release(); err != nil {
				return nil, err
			}
			t, err := m.calibration(i).time(ctx, k, patience)
			if err != nil || t.Runs == 0 {
				return nil, err
			}
			return []Timing{t}, nil
		}}
}

// key is the case of a device in the notes.
func (k *OpTime) key(dev gpu.Device) string {
	return fmt.Sprintf("%s %d %d %d %d %d %d %s", k.Op, k.Rows, k.In, k.Out, k.Cols, k.Entries, k.Bytes, dev.Info().UUID)
}

// fillOperations fills in what the operations take on device i.
func (m *meter) fillOperations(d *DeviceProfile, i int) {
	for r := range ranks {
		for _, k := range calibrationCases(r) {
			from := m.source(i, k.crosses())
			if t := m.Notes.get(k.key(m.devices[from.device])); t != nil {
				k.Seconds = t[0].times(from.factor).Median
				d.Calibration = append(d.Calibration, k)
			}
		}
	}
	for _, k := range crowdCases {
		var times []float64 // of all devices of this hardware, which count as equal
		for _, c := range m.crowds() {
			if t := m.Notes.get(m.crowdKey(&c, k)); t != nil {
				for at, j := range c.members[:c.own] {
					if m.devices[j].Info().UUID == m.devices[i].Info().UUID {
						times = append(times, t[at].Median)
					}
				}
			}
		}
		if len(times) > 0 {
			slices.Sort(times)
			k.Seconds = times[len(times)/2]
			d.Beside = append(d.Beside, k)
		}
	}
}

// fits reports whether a case takes at most half of what is free.
func fits(dev gpu.Device, k OpTime) bool {
	m := dev.Memory()
	return k.bytes() <= (m.Budget-m.Used)/2
}

// calibration is the operands of one case at a time.
type calibration struct {
	dev     gpu.Device
	now     func() time.Time
	q, side gpu.Queue
	bufs    []gpu.Buffer
	err     error
}

// calibration returns that of device i, whose queues live as long as the device.
func (m *meter) calibration(i int) *calibration {
	if m.calibrations[i] == nil {
		dev := m.devices[i]
		m.calibrations[i] = &calibration{dev: dev, now: m.Now, q: dev.NewQueue("calibrate"), side: dev.NewQueue("calibrate in")}
	}
	return m.calibrations[i]
}

// time returns the timing of one case, without runs if the device cannot run it.
func (c *calibration) time(ctx context.Context, k OpTime, patience time.Duration) (t Timing, err error) {
	defer func() { err = cmp.Or(err, c.free()) }()
	op, err := c.ready(k)
	if err != nil || op == nil {
		return t, err
	}
	return c.rounds(ctx, op, patience)
}

// ready makes the operands of a case and waits for them.
func (c *calibration) ready(k OpTime) (op func(), err error) {
	op = c.prepare(k)
	if c.err == nil {
		c.err = c.q.Sync()
	}
	return op, c.err
}

// rounds returns the timing of op.
func (c *calibration) rounds(ctx context.Context, op func(), patience time.Duration) (Timing, error) {
	begin := c.now()
	once, err := c.round(op, 1) // touches the memory
	if err == nil && once < calibrationRound {
		once, err = c.round(op, 1)
	}
	reps := 1 + int(calibrationRound/max(once, time.Microsecond))
	var times []float64
	for err == nil && len(times) < calibrationRounds {
		if err = ctx.Err(); err != nil {
			break
		}
		var t time.Duration
		if t, err = c.round(op, reps); err != nil {
			break
		}
		times = append(times, max(t, 1).Seconds()/float64(reps))
		if enough(times, c.now().Sub(begin), patience) {
			break
		}
	}
	if err != nil {
		return Timing{}, err
	}
	return summary(times), nil
}

func (c *calibration) round(op func(), reps int) (time.Duration, error) {
	start := c.now()
	for range reps {
		op()
	}
	err := c.q.Sync()
	return c.now().Sub(start), err
}

// free waits for the queues and returns the memory to the device.
func (c *calibration) free() error {
	err := c.q.Sync()
	if side := c.side.Sync(); err == nil {
		err = side
	}
	for _, b := range c.bufs {
		b.Free()
	}
	c.bufs, c.err = nil, nil
	return err
}

func (c *calibration) alloc(n int) gpu.Buffer {
	if c.err != nil {
		return nil
	}
	b, err := c.dev.Alloc(gpu.Bytes(n), "calibration")
	if err != nil {
		c.err = err
		return nil
	}
	c.bufs = append(c.bufs, b)
	return b
}

// matrix returns rows × cols numbers.
func (c *calibration) matrix(rows, cols int) gpu.Matrix {
	m := gpu.Matrix{Buf: c.alloc(4 * rows * cols), Rows: rows, Cols: cols, LD: cols}
	if c.err == nil {
		c.q.Fill(m, 0.5)
	}
	return m
}

func (c *calibration) vec(n int) gpu.Vec {
	return gpu.Vec{Buf: c.matrix(1, n).Buf, Len: n}
}

// place returns values in device memory.
func place[T gpu.Element](c *calibration, values []T) gpu.Array[T] {
	raw := hostmem.Bytes(values)
	b := c.alloc(len(raw))
	if c.err == nil {
		c.q.Upload(b, 0, raw)
	}
	return gpu.Array[T]{Buf: b, Len: len(values)}
}
