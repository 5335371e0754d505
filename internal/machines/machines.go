package machines

import (
	"context"
	"sync"

	"capgnn/cluster"
	"capgnn/gpu"
)

// Wire carries bytes between machines in the time of a clock (package gpu/sim).
type Wire interface {
	// Open makes a stream from one machine to another and returns its number.
	Open(from, to int) (stream int)
	// Carry sends bytes by a stream once events have fired, behind what was sent before, and returns the event of their arrival. nil events have fired.
	Carry(stream int, bytes gpu.Bytes, after ...gpu.Event) gpu.Event
}

// Cluster is the machines over which a run is simulated: each a process with parts of its own.
type Cluster struct {
	Parts []int // of each, in a row
	Wire  Wire  // whose clock is that of the devices
}

// Of returns the parts of a machine: from lo to below hi.
func (c *Cluster) Of(machine int) (lo, hi int) {
	for _, n := range c.Parts[:machine] {
		lo += n
	}
	return lo, lo + c.Parts[machine]
}

// Net joins the trainers of simulated machines in one process. Nothing is copied: messages say when they come in virtual time, and how large they are.
//
// Method: as package cluster/tcp, a message is held back until the reader has taken the one before. Whatever is sent leaves at once on the host; on the wire it
// leaves when what it follows from is done. Callbacks come on a goroutine of each machine.
type Net struct {
	wire  Wire
	posts []*post // by machine

	mu       sync.Mutex
	areas    map[areaKey]*machineArea
	received [][]int64     // bytes by reader and sender
	done     chan struct{} // closed when a machine has failed
	err      error
	closed   bool
	running  sync.WaitGroup
}

// post is a machine's ends of what is gathered and spread, and the calls that wait for its goroutine.
type post struct {
	up, down chan []byte
	calls    []func()
	bell     chan struct{} // 1 slot: there are calls; closed: none will come
}

type areaKey struct {
	from, to int
	number   uint32
}

// machineArea is an area and the message that fills it.
type machineArea struct {
	stream  int
	arrived func(message uint32, hi int)
	message uint32
	busy    bool        // the message has not been taken
	taken   []gpu.Event // of the readers of the message before, then of this one
	leaving map[departing]gpu.Event
	waiting []leavingPiece
	there   []arrivedPiece // of the message, by ascending hi
}

type departing struct {
	message uint32
	off     int
}

type leavingPiece struct {
	departing
	bytes int
	sent  func(error)
}

type arrivedPiece struct {
	hi int
	at gpu.Event
}

// New returns the net of n machines. Each has a goroutine, which ends with Close.
func New(n int, wire Wire) *Net {
	net := &Net{wire: wire, areas: map[areaKey]*machineArea{}, done: make(chan struct{})}
	for range n {
		p := &post{up: make(chan []byte, 1), down: make(chan []byte, 1), bell: make(chan struct{}, 1)}
		net.posts, net.received = append(net.posts, p), append(net.received, make([]int64, n))
		net.running.Go(func() { net.run(p) })
	}
	return net
}

// run makes the calls of a machine until Close.
func (n *Net) run(p *post) {
	for range p.bell {
		for {
			n.mu.Lock()
			calls := p.calls
			p.calls = nil
			n.mu.Unlock()
			if len(calls) == 0 {
				break
			}
			for _, call := range calls {
				call()
			}
		}
	}
}

// Close ends the goroutines. No machine uses the net any more.
func (n *Net) Close() {
	n.mu.Lock()
	n.closed = true
	for _, p := range n.posts {
		close(p.bell)
	}
	n.mu.Unlock()
	n.running.Wait()
}

// fail ends what all machines wait for.
func (n *Net) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err == nil {
		n.err = err
		close(n.done)
	}
}

// call has a machine's goroutine call f. The lock is held.
func (n *Net) call(machine int, f func()) {
	if n.closed {
		return
	}
	p := n.posts[machine]
	p.calls = append(p.calls, f)
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

// pump lets pieces leave that may. The lock is held.
func (n *Net) pump(k areaKey, a *machineArea) {
	for len(a.waiting) > 0 && a.arrived != nil {
		p := a.waiting[0]
		if a.busy && p.message != a.message {
			return
		}
		leaves, timed := a.leaving[p.departing]
		delete(a.leaving, p.departing)
		after := []gpu.Event{leaves}
		if !a.busy {
			after = append(after, a.taken...)
			a.busy, a.message, a.there, a.taken = true, p.message, a.there[:0], a.taken[:0]
		}
		a.waiting = a.waiting[1:]
		hi := p.off + p.bytes
		if timed {
			a.there = append(a.there, arrivedPiece{hi, n.wire.Carry(a.stream, gpu.Bytes(p.bytes), after...)})
		}
		n.received[k.to][k.from] += int64(p.bytes)
		n.call(k.from, func() { p.sent(nil) })
		n.call(k.to, func() { a.arrived(p.message, hi) })
	}
}

// Machine returns one of them.
func (n *Net) Machine(rank int) Machine { return Machine{n, rank} }

// Each calls f for all machines side by side and returns the first error. An error at one ends what the others wait for.
func (n *Net) Each(f func(rank int) error) error {
	var all sync.WaitGroup
	for rank := range n.posts {
		all.Go(func() { // ends by itself, at the latest when the net fails; Each waits
			if err := f(rank); err != nil {
				n.fail(err)
			}
		})
	}
	all.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

// Sent returns the bytes that a machine has sent another one so far.
func (n *Net) Sent(from, to int) gpu.Bytes {
	n.mu.Lock()
	defer n.mu.Unlock()
	return gpu.Bytes(n.received[to][from])
}

// Machine is one of a Net: what its trainer knows of the others.
type Machine struct {
	*Net
	rank int
}

// Rank implements together.Ranks, as all methods do that do not say otherwise.
func (m Machine) Rank() int { return m.rank }

// Ranks is the number of machines.
func (m Machine) Ranks() int { return len(m.posts) }

// SetEpoch does nothing.
func (Machine) SetEpoch(uint32) {}

// Announce opens a stream for each area. Streams are in the order of the table, so that times do not depend on goroutines.
func (m Machine) Announce(ctx context.Context, areas []cluster.Area) error {
	if m.rank == 0 {
		for _, a := range areas {
			m.areas[areaKey{a.From, a.To, a.Number}] = &machineArea{stream: m.wire.Open(a.From, a.To), leaving: map[departing]gpu.Event{}}
		}
	}
	_, err := m.Broadcast(ctx, 0, nil)
	return err
}

// area returns one that was announced.
func (m Machine) area(from, to int, number uint32) (areaKey, *machineArea) {
	k := areaKey{from, to, number}
	return k, m.areas[k]
}

// Depart says that the bytes of a message from byte off on are there when ev fires. Send follows; what is sent without it takes no time on the wire, but is counted.
func (m Machine) Depart(to int, number, message uint32, off int, ev gpu.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, a := m.area(m.rank, to, number)
	a.leaving[departing{message, off}] = ev
}

// Send hands over the size of b.
func (m Machine) Send(to int, number, message uint32, off int, b []byte, sent func(error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, a := m.area(m.rank, to, number)
	a.waiting = append(a.waiting, leavingPiece{departing{message, off}, len(b), sent})
	m.pump(k, a)
}

// Expect has arrived called; nothing is written.
func (m Machine) Expect(from int, number uint32, _ []byte, arrived func(message uint32, hi int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, a := m.area(from, m.rank, number)
	a.arrived = arrived
	m.pump(k, a)
}

// Arrival returns the event of bytes [0,hi) of a message, which have arrived.
func (m Machine) Arrival(from int, number, message uint32, hi int) gpu.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, a := m.area(from, m.rank, number)
	for _, p := range a.there {
		if p.hi >= hi {
			return p.at
		}
	}
	panic("machines: a message is waited for that has not arrived")
}

// Carry sends bytes between two machines by the stream of an area once events have fired, and returns the event of their arrival. Nothing of it happens on the host. An area has one
// caller at a time.
func (n *Net) Carry(from, to int, number uint32, bytes gpu.Bytes, after ...gpu.Event) gpu.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.received[to][from] += int64(bytes)
	return n.wire.Carry(n.areas[areaKey{from, to, number}].stream, bytes, after...)
}

// Release says that the next message to an area waits for an event.
func (m Machine) Release(from int, number, message uint32, ev gpu.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, a := m.area(from, m.rank, number)
	a.taken = append(a.taken, ev)
}

// Taken says that an area may be written to again.
func (m Machine) Taken(from int, number, message uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, a := m.area(from, m.rank, number)
	a.busy = false
	m.pump(k, a)
}

func (m Machine) Received(from int) (rows, frames int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.received[m.rank][from]
	return n, n
}

func (m Machine) Done() <-chan struct{} { return m.done }

func (m Machine) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

func (m Machine) Gather(ctx context.Context, _ uint32, b []byte) ([][]byte, error) {
	if err := m.put(ctx, m.posts[m.rank].up, b); err != nil || m.rank > 0 {
		return nil, err
	}
	var all [][]byte
	for _, p := range m.posts {
		b, err := m.take(ctx, p.up)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

func (m Machine) Broadcast(ctx context.Context, _ uint32, b []byte) ([]byte, error) {
	for k := 0; m.rank == 0 && k < len(m.posts); k++ {
		if err := m.put(ctx, m.posts[k].down, b); err != nil {
			return nil, err
		}
	}
	return m.take(ctx, m.posts[m.rank].down)
}

// put hands something over, unless a machine has failed: who should take it may be gone.
func (m Machine) put(ctx context.Context, to chan<- []byte, b []byte) error {
	select {
	case to <- b:
		return nil
	case <-m.done:
		return m.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take returns what comes, unless a machine has failed.
func (m Machine) take(ctx context.Context, from <-chan []byte) ([]byte, error) {
	select {
	case b := <-from:
		return b, nil
	case <-m.done:
		return nil, m.Err()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
