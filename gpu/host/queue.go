package host

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"capgnn/gpu"
)

// queueDepth bounds the operations that may be enqueued ahead of the one that runs.
const queueDepth = 256

// Queue runs operations in order on its own goroutine. It implements gpu.Queue and gpu.PeerCopier.
type Queue struct {
	dev   *Device
	name  string
	tasks chan task // closed by Device.Close
	done  chan struct{}

	mu    sync.Mutex
	usage gpu.Usage
	fault error
}

var (
	_ gpu.Queue      = (*Queue)(nil)
	_ gpu.PeerCopier = (*Queue)(nil)
)

// task is one enqueued operation.
type task struct {
	op      string
	phase   gpu.Phase
	compute bool // runs on the device's threads
	order   bool // event traffic: runs after a fault too, so that nobody hangs
	run     func()
}

func newQueue(d *Device, name string) *Queue {
	q := &Queue{dev: d, name: name, tasks: make(chan task, queueDepth), done: make(chan struct{})}
	// Owned by the device: Close ends it and waits for it.
	go func() {
		defer close(q.done)
		for t := range q.tasks {
			q.execute(t)
		}
	}()
	return q
}

// compute enqueues an operation that runs on the device's threads.
func (q *Queue) compute(op string, phase gpu.Phase, run func()) {
	q.tasks <- task{op: op, phase: phase, compute: true, run: run}
}

// execute runs one task and books its time. After a fault only event traffic runs.
func (q *Queue) execute(t task) {
	if !t.order && q.failed() {
		return
	}
	if t.compute {
		q.dev.compute.Lock()
		defer q.dev.compute.Unlock()
	}
	start := time.Now()
	err := guard(t.run)
	if t.compute {
		q.dev.slowDown(time.Since(start))
	}
	elapsed := time.Since(start)

	q.mu.Lock()
	defer q.mu.Unlock()
	q.usage.Time[t.phase] += elapsed
	if err != nil && q.fault == nil {
		q.fault = &gpu.Fault{Device: q.dev.info.Name, Queue: q.name, Op: t.op, Err: err}
	}
}

func (q *Queue) failed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fault != nil
}

// count adds to the queue's usage.
func (q *Queue) count(u gpu.Usage) {
	q.mu.Lock()
	q.usage = q.usage.Add(u)
	q.mu.Unlock()
}

// event is a gpu.Event; it fires by closing.
type event chan struct{}

func (e event) Done() <-chan struct{} { return e }

// Record returns an event that fires when everything enqueued so far has run, or was passed over after a fault.
func (q *Queue) Record() gpu.Event {
	e := make(event)
	q.tasks <- task{op: "Record", phase: gpu.PhaseOther, order: true, run: func() { close(e) }}
	return e
}

// Wait delays everything enqueued later until ev has fired. It is kept after a fault: events of the queue then still
// follow those it waited for.
func (q *Queue) Wait(ev gpu.Event) {
	done := ev.Done()
	q.tasks <- task{op: "Wait", phase: gpu.PhaseWait, order: true, run: func() { <-done }}
}

// Sync blocks until everything enqueued has run and returns the queue's first fault, if any.
func (q *Queue) Sync() error {
	<-q.Record().Done()
	return q.Fault()
}

// Fault returns the first fault of what has run so far.
func (q *Queue) Fault() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fault
}

// callError is an error of a Call on its way through a panic.
type callError struct{ err error }

// Call runs f when everything enqueued so far has run.
func (q *Queue) Call(op string, f func() error) {
	q.tasks <- task{op: op, phase: gpu.PhaseOther, run: func() {
		if err := f(); err != nil {
			panic(callError{err})
		}
	}}
}

// Usage returns what the queue has done since it was made. Exact after Sync.
func (q *Queue) Usage() gpu.Usage {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.usage
}

// opPanic is a panic inside an operation, with the place it came from.
type opPanic struct {
	value any
	where string // file:line
}

func (p *opPanic) Error() string { return fmt.Sprintf("%v (at %s)", p.value, p.where) }

// located makes an opPanic of a recovered value: its place is the innermost frame outside package runtime.
func located(v any) *opPanic {
	if p, ok := v.(*opPanic); ok {
		return p
	}
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	p := &opPanic{value: v, where: "unknown place"}
	for panicking := false; ; {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		if panicking && !inRuntime {
			p.where = fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
			return p
		}
		panicking = panicking || inRuntime && strings.Contains(f.Function, "panic")
		if !more {
			return p
		}
	}
}

// guard runs f and turns its panic into an error.
func guard(f func()) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case callError:
			err = v.err
		default:
			err = located(v)
		}
	}()
	f()
	return nil
}
