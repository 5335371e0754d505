package profiler

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"capgnn/gpu"
)

// clock is a virtual clock that fake devices move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(seconds float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Duration(seconds * 1e9))
}

// fake is a device whose operations take a chosen time and do nothing else.
type fake struct {
	info  gpu.Info
	clock *clock
	flops float64 // per second
	bytes float64 // per second, of links; memory is ten times as fast
	peer  bool
	slow  float64 // that it says of itself; 0 = 1
	fail  string  // operation that faults
	// other returns how long other work keeps an operation that takes so many seconds; nil: there is none.
	other func(op string, seconds float64) float64

	used, high gpu.Bytes
	ops        []string
	link       Link
}

func newFake(name string, c *clock, flops float64) *fake {
	return &fake{
		info:  gpu.Info{Name: name, Kind: gpu.CPU, Model: "fake", UUID: "u-" + name, Variant: "v1", Threads: 1, Budget: 8 << 30, Total: 9 << 30},
		clock: c, flops: flops, bytes: 4e9,
	}
}

func (d *fake) Info() gpu.Info { return d.info }
func (d *fake) Memory() gpu.Memory {
	return gpu.Memory{Used: d.used, HighWater: d.high, Budget: d.info.Budget}
}
func (d *fake) Close() error { return nil }
func (d *fake) Slowdown() float64 {
	if d.slow == 0 {
		return 1
	}
	return d.slow
}
func (d *fake) Link() Link { return d.link }

func (d *fake) Alloc(n gpu.Bytes, name string) (gpu.Buffer, error) {
	if d.used+n > d.info.Budget {
		return nil, &gpu.OutOfMemory{Device: d.info.Name, Name: name, Need: n, Have: d.info.Budget - d.used}
	}
	d.used += n
	d.high = max(d.high, d.used)
	return &fakeBuffer{d, n}, nil
}

func (d *fake) NewQueue(name string) gpu.Queue { return &fakeQueue{dev: d} }

type fakeBuffer struct {
	dev  *fake
	size gpu.Bytes
}

func (b *fakeBuffer) Size() gpu.Bytes { return b.size }
func (b *fakeBuffer) Free()           { b.dev.used -= b.size }

// fakeQueue implements what the profiler uses; anything else is a nil call.
type fakeQueue struct {
	gpu.Queue
	dev   *fake
	fault error
}

func (q *fakeQueue) run(op string, seconds float64) {
	if op == q.dev.fail && q.fault == nil {
		q.fault = &gpu.Fault{Device: q.dev.info.Name, Queue: "profile", Op: op, Err: errors.New("broken")}
	}
	q.dev.ops = append(q.dev.ops, op)
	if q.dev.other != nil {
		seconds += q.dev.other(op, seconds)
	}
	q.dev.clock.pass(seconds)
}

// stream passes over a matrix.
func (q *fakeQueue) stream(op string, m gpu.Matrix) {
	q.run(op, 16*float64(m.Rows)*float64(m.Cols)/(q.dev.flops/intensity))
}

func (q *fakeQueue) Sync() error                                            { return q.fault }
func (q *fakeQueue) Record() gpu.Event                                      { return nil }
func (q *fakeQueue) Wait(gpu.Event)                                         { q.run("Wait", 1e-6) }
func (q *fakeQueue) Linear(a gpu.LinearArgs)                                { q.Gemm(gpu.GemmArgs{C: a.Z, A: a.X, B: a.W}) }
func (q *fakeQueue) ColSum(_ gpu.Vec, m gpu.Matrix, _ float32)              { q.stream("ColSum", m) }
func (q *fakeQueue) Axpby(m gpu.Matrix, _ float32, _ gpu.Matrix, _ float32) { q.stream("Axpby", m) }
func (q *fakeQueue) Gather(m, _ gpu.Matrix, _ gpu.Ints)                     { q.stream("Gather", m) }
func (q *fakeQueue) Epilogue(a gpu.Epilogue)                                { q.stream("Epilogue", a.Z) }
func (q *fakeQueue) EpilogueBackward(a gpu.EpilogueGrad)                    { q.stream("EpilogueBackward", a.X) }
func (q *fakeQueue) SoftmaxLoss(a gpu.LossArgs)                             { q.stream("SoftmaxLoss", a.Logits) }
func (q *fakeQueue) BCELoss(a gpu.LossArgs)                                 { q.stream("BCELoss", a.Logits) }
func (q *fakeQueue) Adam(a gpu.AdamArgs)                                    { q.stream("Adam", gpu.Matrix{Rows: 1, Cols: a.Param.Len}) }
func (q *fakeQueue) Fill(gpu.Matrix, float32)                               { q.run("Fill", 0) }
func (q *fakeQueue) Copy(dst, src gpu.Matrix) {
	q.run("Copy", 4*float64(src.Rows)*float64(src.Cols)/q.dev.bytes/10)
}
func (q *fakeQueue) Gemm(a gpu.GemmArgs) {
	q.run("Gemm", 2*float64(a.C.Rows)*float64(a.C.Cols)*float64(a.A.Cols)/q.dev.flops)
}
func (q *fakeQueue) Aggregate(a gpu.AggregateArgs) {
	q.run("Aggregate", 20*float64(a.A.Entries)*float64(a.X.Cols)/q.dev.flops)
}

func (q *fakeQueue) Upload(dst gpu.Buffer, off gpu.Bytes, src []byte) {
	if gpu.Bytes(len(src)) > dst.Size() {
		panic(fmt.Sprintf("upload of %d bytes to %d", len(src), dst.Size()))
	}
	q.run("Upload", float64(len(src))/q.dev.bytes)
}

func (q *fakeQueue) Download(dst []byte, src gpu.Buffer, off gpu.Bytes) {
	q.run("Download", float64(len(dst))/q.dev.bytes)
}

func (q *fakeQueue) CanCopyFrom(src gpu.Device) bool { return q.dev.peer && src.(*fake).peer }

func (q *fakeQueue) CopyFrom(dst, src gpu.Matrix) {
	q.run("CopyFrom", 4*float64(src.Rows)*float64(src.Cols)/q.dev.bytes/2)
}
