//go:build cuda

package cuda

import (
	"fmt"
	"runtime"
	"sync"

	"gorgonia.org/cu"

	"capgnn/gpu"
)

// Spec describes a GPU to open.
type Spec struct {
	Name    string    // as the user wrote it; "" = "cuda:ORDINAL"
	Ordinal int       // the driver's number of the GPU, CUDA_VISIBLE_DEVICES considered
	Memory  gpu.Bytes // budget; 0 = what is free at Open, less a reserve
	Share   int       // devices that this GPU is opened as, which divide what is free; 0 = 1
	TF32    bool      // products may round their operands to TF32
}

// device is a GPU, or a share of one. It implements gpu.Device.
type device struct {
	driver  *Driver
	info    gpu.Info
	primary *primary
	ctx     contextHandle // the primary's
	sms     int           // multiprocessors
	l2      gpu.Bytes     // cache that they share
	tf32    bool
	// chunkBytes is the scratch for rows of a product that are rounded together.
	chunkBytes gpu.Bytes
	inbox      chan message
	stopped    chan struct{} // closed when the thread has ended

	// Of the device's thread.
	blocks map[*buffer]struct{} // not freed yet
	trace  *trace               // nil: nobody asks when operations run

	memory account

	mu     sync.Mutex
	queues []*queue
	closed bool
	peers  map[*device]bool // whose memory the device reaches
}

var (
	_ gpu.Device = (*device)(nil)
	_ gpu.Traced = (*device)(nil)
)

// message is work for the device's thread: a batch of a queue, a queue that may go on, or a call.
type message struct {
	queue  *queue
	batch  []command
	resume bool
	call   func()
	stop   bool
}

// inboxDepth bounds the messages that may be on their way to the thread.
const inboxDepth = 64

// start opens the GPU on a thread of its own.
func (d *Driver) start(s Spec) (*device, error) {
	n, err := d.Count()
	if err != nil {
		return nil, err
	}
	if s.Ordinal < 0 || s.Ordinal >= n {
		return nil, fmt.Errorf("%w: the driver shows GPUs 0 to %d", gpu.ErrNoDevice, n-1)
	}
	dev := &device{
		driver: d, primary: d.primary(s.Ordinal), inbox: make(chan message, inboxDepth), stopped: make(chan struct{}),
		blocks: map[*buffer]struct{}{}, peers: map[*device]bool{},
	}
	opened := make(chan error)
	// Owned by the device: Close ends it and waits for it.
	go dev.thread(s, opened)
	if err := <-opened; err != nil {
		return nil, err
	}
	return dev, nil
}

// thread makes the device's driver calls. It stays locked, so its OS thread ends with it.
func (d *device) thread(s Spec, opened chan<- error) {
	runtime.LockOSThread()
	defer close(d.stopped)
	err := d.begin(s)
	opened <- err
	if err != nil {
		return
	}
	for m := range d.inbox {
		switch {
		case m.stop:
			return
		case m.call != nil:
			m.call()
		case m.resume:
			m.queue.parked, m.queue.waited = false, true
			m.queue.drive()
		default:
			m.queue.backlog = append(m.queue.backlog, m.batch...)
			m.queue.drive()
		}
	}
}

// do runs f on the device's thread and waits for it; on a closed device it does nothing.
func (d *device) do(f func()) {
	done := make(chan struct{})
	select {
	case d.inbox <- message{call: func() { f(); close(done) }}:
	case <-d.stopped:
		return
	}
	select {
	case <-done:
	case <-d.stopped:
	}
}

// begin makes the primary context current and finds out what the GPU is.
func (d *device) begin(s Spec) error {
	if err := d.primary.enter(); err != nil {
		return err
	}
	d.ctx = d.primary.handle
	err := d.describe(s)
	if err != nil {
		d.primary.note(err)
		d.primary.leave()
	}
	return err
}

func (d *device) describe(s Spec) error {
	card, err := describe(d.primary.ordinal)
	if err != nil {
		return err
	}
	d.sms = card.SMs
	l2, err := d.primary.ordinal.Attribute(cu.L2CacheSize)
	if err != nil {
		return named("cuDeviceGetAttribute", err)
	}
	d.l2 = gpu.Bytes(l2)
	free, total, err := cu.MemInfo()
	if err != nil {
		return named("cuMemGetInfo", err)
	}
	budget := s.Memory
	if budget == 0 {
		budget = gpu.Bytes(free) / gpu.Bytes(max(1, s.Share))
		budget -= min(budget/reserveShare, mostReserve)
	}
	d.tf32, d.chunkBytes = s.TF32, halfChunk
	d.info = gpu.Info{
		Name: s.Name, Kind: gpu.CUDA, Model: card.Model, UUID: card.UUID, Variant: d.variant(card), Budget: budget, Total: gpu.Bytes(total),
		HalfProducts: d.driver.HalfProducts(card),
		RowAlign:     gpu.Sector,
	}
	d.memory.state.Budget = budget
	return nil
}

// variant is what decides the last bits besides the model: the architecture and who multiplies matrices.
func (d *device) variant(c Card) string {
	v := fmt.Sprintf("sm_%d%d", c.Major, c.Minor)
	if lib, err := d.driver.blasLibrary(); err == nil {
		v += fmt.Sprintf(" cublas %s", lib.version())
		if d.tf32 {
			v += " tf32"
		}
		if d.driver.HalfProducts(c) {
			v += " bf16"
		}
	}
	return v
}

// Info describes the device.
func (d *device) Info() gpu.Info { return d.info }

// NewQueue returns an empty queue; it lives until the device is closed.
func (d *device) NewQueue(name string) gpu.Queue {
	q := &queue{dev: d, name: name, op: "launch", phase: gpu.PhaseOther, last: "Sync"}
	var err error
	d.do(func() { q.stream, err = cu.MakeStream(cu.NonBlocking) })
	if err != nil {
		q.fail("NewQueue", named("cuStreamCreate", err))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		panic(fmt.Sprintf("%s: new queue %s on a closed device", d.info.Name, name))
	}
	q.lane = len(d.queues)
	d.queues = append(d.queues, q)
	return q
}

// Close waits for all queues and releases everything. Closing twice does nothing.
func (d *device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	queues := d.queues
	d.mu.Unlock()
	for _, q := range queues {
		q.Sync() // a fault is the queue's, whoever cares has asked
	}
	var err error
	d.do(func() { err = d.release() })
	d.inbox <- message{stop: true}
	<-d.stopped
	return err
}

// release gives everything back but the context, on the device's thread.
func (d *device) release() error {
	for _, q := range d.queues {
		q.close()
	}
	for b := range d.blocks {
		cu.MemFree(b.ptr)
	}
	clear(d.blocks)
	return d.driver.forget(d)
}

// close gives back what the queue holds of the driver. Nothing of it is in use.
func (q *queue) close() {
	for _, e := range q.inflight {
		e.retire()
	}
	q.inflight = nil
	q.clock.collect(q)
	q.clock.close()
	q.staging.close()
	q.blas.close()
	q.stream.Destroy()
}
