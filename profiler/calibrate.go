package profiler

import (
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

// Calibrate measures what the operations of training take on one device, over the sizes that decide: in caches and out of
// them, narrow and wide. It takes some seconds on a CPU and frees everything. Cases that do not fit are left out.
func Calibrate(ctx context.Context, dev gpu.Device, progress func(stage string, done, total int)) ([]OpTime, error) {
	c := newCalibration(dev)
	cases := calibrationCases()
	var times []OpTime
	for i, k := range cases {
		if progress != nil {
			progress("calibrate "+dev.Info().Name+" "+k.Op, i, len(cases))
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !fits(dev, k) {
			continue
		}
		var err error
		if k.Seconds, err = c.time(k); err != nil {
			return nil, fmt.Errorf("calibrate %s: %s: %w", dev.Info().Name, k.Op, err)
		}
		if k.Seconds > 0 {
			times = append(times, k)
		}
	}
	return times, nil
}

// fits reports whether a case takes at most half of what is free.
func fits(dev gpu.Device, k OpTime) bool {
	m := dev.Memory()
	return k.bytes() <= (m.Budget-m.Used)/2
}

// calibration is the operands of one case at a time.
type calibration struct {
	dev     gpu.Device
	q, side gpu.Queue
	bufs    []gpu.Buffer
	err     error
}

func newCalibration(dev gpu.Device) *calibration {
	return &calibration{dev: dev, q: dev.NewQueue("calibrate"), side: dev.NewQueue("calibrate in")}
}

// time returns the median seconds of one case, 0 if the device cannot run it.
func (c *calibration) time(k OpTime) (s float64, err error) {
	defer func() {
		if freed := c.free(); err == nil {
			err = freed
		}
	}()
	op, err := c.ready(k)
	if err != nil || op == nil {
		return 0, err
	}
	return c.rounds(op)
}

// ready makes the operands of a case and waits for them.
func (c *calibration) ready(k OpTime) (op func(), err error) {
	op = c.prepare(k)
	if c.err == nil {
		c.err = c.q.Sync()
	}
	return op, c.err
}

// rounds returns the median seconds of op.
func (c *calibration) rounds(op func()) (float64, error) {
	if _, err := c.round(op, 1); err != nil { // touches the memory
		return 0, err
	}
	once, err := c.round(op, 1)
	if err != nil {
		return 0, err
	}
	reps := 1 + int(calibrationRound/max(once, time.Microsecond))
	var times []float64
	for range calibrationRounds {
		t, err := c.round(op, reps)
		if err != nil {
			return 0, err
		}
		times = append(times, t.Seconds()/float64(reps))
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

func (c *calibration) round(op func(), reps int) (time.Duration, error) {
	start := time.Now()
	for range reps {
		op()
	}
	err := c.q.Sync()
	return time.Since(start), err
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
