package pipeline

import (
	"context"
	"sync"

	"capgnn/gpu"
	"capgnn/pipeline/halo"
	"capgnn/reduce"
)

// Wire carries bytes between machines in the time of a clock (package gpu/sim).
type Wire interface {
	// Open makes a stream from one machine to another and returns its number.
	Open(from, to int) (stream int)
	// Carry sends bytes by a stream once events have fired, behind what was sent before, and returns the event of their arrival. nil events have fired.
	Carry(stream int, bytes gpu.Bytes, after ...gpu.Event) gpu.Event
}

// Machines are those over which a run is simulated: each a process with parts of its own.
type Machines struct {
	Parts []int // of each, in a row
	Wire  Wire  // whose clock is that of the devices
}

// machineNet joins the trainers of simulated machines in one process. Nothing is copied: messages say when they come in virtual time, and how large they are.
//
// Method: as package cluster/tcp, a message is held back until the reader has taken the one before. Whatever is sent leaves at once on the host; on the wire it
// leaves when what it follows from is done. Callbacks come on a goroutine of each machine.
type machineNet struct {
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

// newMachineNet returns the net of n machines. Each has a goroutine, which ends with close.
func newMachineNet(n int, wire Wire) *machineNet {
	net := &machineNet{wire: wire, areas: map[areaKey]*machineArea{}, done: make(chan struct{})}
	for range n {
		p := &post{up: make(chan []byte, 1), down: make(chan []byte, 1), bell: make(chan struct{}, 1)}
		net.posts, net.received = append(net.posts, p), append(net.received, make([]int64, n))
		net.running.Go(func() { net.run(p) })
	}
	return net
}

// run makes the calls of a machine until close.
func (n *machineNet) run(p *post) {
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

// close ends the goroutines. No machine uses the net any more.
func (n *machineNet) close() {
	n.mu.Lock()
	n.closed = true
	for _, p := range n.posts {
		close(p.bell)
	}
	n.mu.Unlock()
	n.running.Wait()
}

// fail ends what all machines wait for.
func (n *machineNet) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err == nil {
		n.err = err
		close(n.done)
	}
}

// call has a machine's goroutine call f. The lock is held.
func (n *machineNet) call(machine int, f func()) {
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
func (n *machineNet) pump(k areaKey, a *machineArea) {
	for len(a.waiting) > 0 && a.arrived != nil {
		p := a.waiting[0]
		if a.busy && p.message != a.message {
			return
		}
		after := []gpu.Event{a.leaving[p.departing]}
		delete(a.leaving, p.departing)
		if !a.busy {
			after = append(after, a.taken...)
			a.busy, a.message, a.there, a.taken = true, p.message, a.there[:0], a.taken[:0]
		}
		a.waiting = a.waiting[1:]
		hi := p.off + p.bytes
		a.there = append(a.there, arrivedPiece{hi, n.wire.Carry(a.stream, gpu.Bytes(p.bytes), after...)})
		n.received[k.to][k.from] += int64(p.bytes)
		n.call(k.from, func() { p.sent(nil) })
		n.call(k.to, func() { a.arrived(p.message, hi) })
	}
}

// machine is one of a machineNet.
type machine struct {
	*machineNet
	rank int
}

var (
	_ Ranks        = machine{}
	_ halo.Timed   = machine{}
	_ reduce.Timed = machine{}
)

// Rank implements halo.Net.
func (m machine) Rank() int { return m.rank }

// Ranks implements halo.Net.
func (m machine) Ranks() int { return len(m.posts) }

// SetEpoch implements Ranks.
func (machine) SetEpoch(uint32) {}

// Announce implements Ranks. Streams are in the order of the table, so that times do not depend on goroutines.
func (m machine) Announce(ctx context.Context, areas [][4]int) error {
	if m.rank == 0 {
		for _, a := range areas {
			m.areas[areaKey{a[0], a[1], uint32(a[2])}] = &machineArea{stream: m.wire.Open(a[0], a[1]), leaving: map[departing]gpu.Event{}}
		}
	}
	_, err := m.Broadcast(ctx, 0, nil)
	return err
}

// area returns one that was announced.
func (m machine) area(from, to int, number uint32) (areaKey, *machineArea) {
	k := areaKey{from, to, number}
	return k, m.areas[k]
}

// Depart implements halo.Timed.
func (m machine) Depart(to int, number, message uint32, off int, ev gpu.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, a := m.area(m.rank, to, number)
	a.leaving[departing{message, off}] = ev
}

// Send implements halo.Net.
func (m machine) Send(to int, number, message uint32, off int, b []byte, sent func(error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, a := m.area(m.rank, to, number)
	a.waiting = append(a.waiting, leavingPiece{departing{message, off}, len(b), sent})
	m.pump(k, a)
}

// Expect implements halo.Net.
func (m machine) Expect(from int, number uint32, _ []byte, arrived func(message uint32, hi int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, a := m.area(from, m.rank, number)
	a.arrived = arrived
	m.pump(k, a)
}

// Arrival implements halo.Timed.
func (m machine) Arrival(from int, number, message uint32, hi int) gpu.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, a := m.area(from, m.rank, number)
	for _, p := range a.there {
		if p.hi >= hi {
			return p.at
		}
	}
	panic("pipeline: a message is waited for that has not arrived")
}

// Release implements halo.Timed.
func (m machine) Release(from int, number, message uint32, ev gpu.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, a := m.area(from, m.rank, number)
	a.taken = append(a.taken, ev)
}

// Taken implements halo.Net.
func (m machine) Taken(from int, number, message uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, a := m.area(from, m.rank, number)
	a.busy = false
	m.pump(k, a)
}

// Received implements Ranks.
func (m machine) Received(from int) (rows, frames int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.received[m.rank][from]
	return n, n
}

// Done implements Ranks.
func (m machine) Done() <-chan struct{} { return m.done }

// Err implements Ranks.
func (m machine) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Gather implements Ranks.
func (m machine) Gather(ctx context.Context, _ uint32, b []byte) ([][]byte, error) {
	m.posts[m.rank].up <- b
	if m.rank > 0 {
		return nil, nil
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

// Broadcast implements Ranks.
func (m machine) Broadcast(ctx context.Context, _ uint32, b []byte) ([]byte, error) {
	for k := 0; m.rank == 0 && k < len(m.posts); k++ {
		m.posts[k].down <- b
	}
	return m.take(ctx, m.posts[m.rank].down)
}

// take returns what comes, unless a machine has failed.
func (m machine) take(ctx context.Context, from <-chan []byte) ([]byte, error) {
	select {
	case b := <-from:
		return b, nil
	case <-m.done:
		return nil, m.Err()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
