package sim

import (
	"errors"
	"fmt"
	"math"
	"time"

	"capgnn/gpu"
)

// Line is what connects one machine with another, in one direction.
type Line struct {
	BytesPerSec float64
	Latency     time.Duration // between the last byte that leaves and its arrival
}

// Network is machines, each with a network interface that its devices share. What a machine sends to others shares the rate of its interface fairly, and so
// does what it receives; the one does not slow down the other.
type Network struct {
	clock   *Clock
	lines   [][]Line
	nics    []*Device // by machine; their queues are the streams that leave it
	out, in []*Bus    // of each interface
	streams []*messageStream
}

// messageStream is messages from one machine to another, one behind the other.
type messageStream struct {
	*Queue
	line  Line
	lanes []lane
}

// fired is closed.
var fired = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// arrival is the event of what has arrived on the host: it has a place in virtual time alone.
type arrival struct{}

// Done implements gpu.Event.
func (arrival) Done() <-chan struct{} { return fired }

// NewNetwork returns the network of machines whose devices are on a clock: lines[i][j] leads from machine i to machine j. An interface is as fast as the fastest
// line that begins, or ends, there.
func NewNetwork(clock *Clock, lines [][]Line) (*Network, error) {
	n := &Network{clock: clock, lines: lines}
	var errs []error
	for i := range lines {
		out, in := 0.0, 0.0
		for j := range lines {
			if i == j {
				continue
			}
			if l := lines[i][j]; !(l.BytesPerSec > 0) || math.IsInf(l.BytesPerSec, 0) || l.Latency < 0 {
				errs = append(errs, fmt.Errorf("line from machine %d to %d: %g bytes/s or a latency of %v is impossible", i, j, l.BytesPerSec, l.Latency))
			}
			out, in = max(out, lines[i][j].BytesPerSec), max(in, lines[j][i].BytesPerSec)
		}
		name := fmt.Sprintf("network interface %d", i)
		n.nics = append(n.nics, &Device{clock: clock, costs: &Rates{}, info: gpu.Info{Name: name}})
		n.out, n.in = append(n.out, &Bus{Name: name, BytesPerSec: out}), append(n.in, &Bus{Name: name, BytesPerSec: in})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	clock.mu.Lock()
	defer clock.mu.Unlock()
	clock.devices = append(clock.devices, n.nics...)
	return n, nil
}

// Open makes a stream from one machine to another and returns its number. Nobody uses the network meanwhile.
func (n *Network) Open(from, to int) int {
	s := &messageStream{line: n.lines[from][to], lanes: []lane{{n.out[from], fromDevice}, {n.in[to], toDevice}}}
	s.Queue = n.nics[from].newQueue(fmt.Sprintf("to machine %d", to), nil)
	n.streams = append(n.streams, s)
	return len(n.streams) - 1
}

// Carry sends bytes by a stream once events have fired, behind what was sent before, and returns the event of their arrival. nil events have fired. It may be called from any goroutine;
// what one stream carries has one caller at a time.
func (n *Network) Carry(by int, bytes gpu.Bytes, after ...gpu.Event) gpu.Event {
	s := n.streams[by]
	for _, ev := range after {
		if e, ok := ev.(event); ok && e.node != nil {
			n.clock.add(&node{q: s.Queue, op: "Wait", phase: gpu.PhaseWait, waits: true, after: e.node})
		}
	}
	m := &node{q: s.Queue, op: "Send", phase: gpu.PhaseTransfer, bytes: bytes, work: float64(bytes) / s.line.BytesPerSec, tail: s.line.Latency.Seconds(), flies: true, lanes: s.lanes}
	n.clock.add(m)
	return event{Event: arrival{}, node: m}
}
