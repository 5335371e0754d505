package host

import (
	"sync"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/host/workers"
)

// queueDepth bounds the operations that may be enqueued ahead of the one that runs.
const queueDepth = 256

// Queue runs operations in order on its own goroutine. It implements gpu.ResidentQueue and gpu.PeerCopier.
//
// Copies over an emulated link take place in the link's time: one begins when it was enqueued, when the operation before it
// was due, and when the events that it waits for were; not when the goroutine has woken up. So waking up late, which it does
// while all processors compute, costs a link nothing that it could not make up for.
type Queue struct {
	dev      *Device
	name     string
	lane     int       // its number on the device
	resident bool      // uploads and downloads cross no link
	tasks    chan task // closed by Device.Close
	done     chan struct{}

	// Of the queue's goroutine.
	due   time.Time // when the last operation was done, or would have been
	alarm alarm

	mu    sync.Mutex
	usage gpu.Usage
	fault error
}

var (
	_ gpu.ResidentQueue = (*Queue)(nil)
	_ gpu.HostWriter    = (*Queue)(nil)
	_ gpu.PeerCopier    = (*Queue)(nil)
)

// task is one enqueued operation: one of run, copy, call, record and wait.
type task struct {
	op    string
	phase gpu.Phase
	at    time.Time // when it was enqueued
	moves gpu.Usage // of a copy: its bytes, counted already

	run    func()                                // runs on the device's threads
	copy   func(ready time.Time) (due time.Time) // runs beside them; returns ready where no link is emulated
	call   func() error                          // of the host
	record *event
	wait   gpu.Event
}

// order reports whether the task is event traffic: it runs after a fault too, so that nobody hangs.
func (t *task) order() bool { return t.record != nil || t.wait != nil }

func newQueue(d *Device, name string, lane int, resident bool) *Queue {
	q := &Queue{dev: d, name: name, lane: lane, resident: resident, tasks: make(chan task, queueDepth), done: make(chan struct{})}
	// Owned by the device: Close ends it and waits for it.
	go func() {
		defer close(q.done)
		defer q.alarm.close()
		for t := range q.tasks {
			q.execute(t)
		}
	}()
	return q
}

// compute enqueues an operation that runs on the device's threads.
func (q *Queue) compute(op string, phase gpu.Phase, run func()) {
	q.tasks <- task{op: op, phase: phase, at: time.Now(), run: run}
}

// transfer enqueues a copy and counts its bytes; it runs beside computations. After a fault it would not run.
func (q *Queue) transfer(op string, moves gpu.Usage, copy func(ready time.Time) (due time.Time)) {
	if q.Fault() != nil {
		return
	}
	q.count(moves)
	q.tasks <- task{op: op, phase: gpu.PhaseTransfer, at: time.Now(), moves: moves, copy: copy}
}

// execute runs one task and books its time. After a fault only event traffic runs; copies that do not run do not count.
func (q *Queue) execute(t task) {
	if !t.order() && q.Fault() != nil {
		q.count(gpu.Usage{}.Sub(t.moves))
		return
	}
	q.due = latest(q.due, t.at)
	var elapsed time.Duration
	var err error
	switch {
	case t.run != nil:
		elapsed, err = q.calculate(t.run)
	case t.copy != nil:
		elapsed, err = q.carry(t.copy)
	case t.call != nil:
		elapsed, err = q.report(t.call)
	case t.record != nil:
		t.record.fire(q.due)
	default:
		elapsed = q.await(t.wait)
	}
	if trace := q.dev.tracer.Load(); trace != nil && t.record == nil {
		trace.say(q, &t, elapsed)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.usage.Time[t.phase] += elapsed
	if err != nil {
		q.usage = q.usage.Sub(t.moves)
	}
	if err != nil && q.fault == nil {
		q.fault = &gpu.Fault{Device: q.dev.info.Name, Queue: q.name, Op: t.op, Err: err}
	}
}

// calculate runs an operation on the device's threads, which are its own until it is done.
func (q *Queue) calculate(run func()) (elapsed time.Duration, err error) {
	q.dev.compute.Lock()
	defer q.dev.compute.Unlock()
	start := time.Now()
	err = workers.Guard(run)
	q.dev.slowDown(time.Since(start))
	q.due = time.Now()
	return q.due.Sub(start), err
}

// carry runs a copy, and waits until it has arrived. It took as long as its link was busy with it, or as the copying, if
// that is longer: time for which the queue is behind its link's is not counted, or each copy would count it until the queue has caught up.
func (q *Queue) carry(run func(ready time.Time) (due time.Time)) (elapsed time.Duration, err error) {
	ready, start := q.due, time.Now()
	due := ready
	err = workers.Guard(func() { due = run(ready) })
	if !due.After(ready) {
		q.due = time.Now()
		return q.due.Sub(start), err
	}
	q.due = latest(due, ready.Add(time.Since(start)))
	if wait := time.Until(q.due); wait > 0 {
		q.alarm.sleep(wait)
	}
	return q.due.Sub(ready), err
}

// report calls the host, which takes its time also where the queue is behind its link's.
func (q *Queue) report(f func() error) (elapsed time.Duration, err error) {
	start := time.Now()
	if broken := workers.Guard(func() { err = f() }); broken != nil {
		err = broken
	}
	elapsed = time.Since(start)
	q.due = q.due.Add(elapsed)
	return elapsed, err
}

// await waits for an event.
func (q *Queue) await(ev gpu.Event) (elapsed time.Duration) {
	start := time.Now()
	<-ev.Done()
	now := time.Now()
	if e, ok := ev.(*event); ok {
		q.due = latest(q.due, e.due)
	} else {
		q.due = now
	}
	return now.Sub(start)
}

// count adds to the queue's usage.
func (q *Queue) count(u gpu.Usage) {
	q.mu.Lock()
	q.usage = q.usage.Add(u)
	q.mu.Unlock()
}

// event is a gpu.Event.
type event struct {
	fired chan struct{} // closed when it has fired
	due   time.Time     // when everything before it was done, or would have been; written before fired is closed
}

// fire lets those go on that wait.
func (e *event) fire(due time.Time) {
	e.due = due
	close(e.fired)
}

// Done implements gpu.Event.
func (e *event) Done() <-chan struct{} { return e.fired }

// Record returns an event that fires when everything enqueued so far has run, or was passed over after a fault.
func (q *Queue) Record() gpu.Event {
	e := &event{fired: make(chan struct{})}
	q.tasks <- task{op: "Record", phase: gpu.PhaseOther, at: time.Now(), record: e}
	return e
}

// Wait delays everything enqueued later until ev has fired. It is kept after a fault: events of the queue then still
// follow those it waited for.
func (q *Queue) Wait(ev gpu.Event) {
	q.tasks <- task{op: "Wait", phase: gpu.PhaseWait, at: time.Now(), wait: ev}
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

// Call runs f when everything enqueued so far has run.
func (q *Queue) Call(op string, f func() error) {
	q.tasks <- task{op: op, phase: gpu.PhaseOther, at: time.Now(), call: f}
}

// Usage returns what the queue has done since it was made. Exact after Sync.
func (q *Queue) Usage() gpu.Usage {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.usage
}
