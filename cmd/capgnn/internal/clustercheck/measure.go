package clustercheck

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
)

// Group is what measuring asks of the ranks: rows and messages of package cluster.
type Group interface {
	Rank() int
	Ranks() int
	Announce(ctx context.Context, areas []cluster.Area) error
	Send(to int, area, epoch uint32, off int, b []byte, sent func(error))
	Expect(from int, area uint32, into []byte, arrived func(epoch uint32, hi int))
	Taken(from int, area, epoch uint32)
	Gather(ctx context.Context, tag uint32, b []byte) ([][]byte, error)
	Broadcast(ctx context.Context, tag uint32, b []byte) ([]byte, error)
	Done() <-chan struct{}
	Err() error
}

// Pair is what one rank found on its way to another.
type Pair struct {
	From      int           `json:"from"`
	To        int           `json:"to"`
	Rate      float64       `json:"bytes_per_s"` // of rows, as a run sends them
	RoundTrip time.Duration `json:"round_trip_ns"`
	MTU       int           `json:"mtu"` // of the way there; 0: not known
}

// Areas of a pair and what travels there.
const (
	signArea  uint32 = iota // eight bytes: how many bytes of load follow
	loadArea                // what is timed
	signBytes = 8
	loadBytes = 8 << 20 // 67 ms at 1 Gbit/s
	firstLoad = 16 << 10
	ping      = 0          // a sign that is only answered
	farewell  = ^uint64(0) // a sign behind which the other side leads
)

// Times of a direction, which takes less than a second on lines of 1 Mbit/s or more.
const (
	pingTime  = 100 * time.Millisecond
	leastPing = 5
	worthIt   = 20 * time.Millisecond // a load that takes less is doubled
	loadTime  = 300 * time.Millisecond
	wholeTime = time.Minute // of all rounds: where there are many, each has less
)

// station is a rank while pairs are measured.
type station struct {
	g     Group
	stall time.Duration // a pair that takes longer does not get on
	haste float64       // the share of its time that a pair takes
	out   []byte        // what is sent: nothing that can be compressed
	peers []peer        // by rank
}

// peer is another rank as a station sees it.
type peer struct {
	signIn        [signBytes]byte
	sign, load    inbox
	signs, loads  uint32 // messages sent, by which epochs ascend
	signed, taken uint32 // messages taken
}

// inbox is an area that fills.
type inbox struct {
	hi   atomic.Int64
	bell chan struct{} // 1 slot: hi has grown
}

func (b *inbox) arrived(_ uint32, hi int) {
	b.hi.Store(int64(hi))
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

// newStation announces the areas of all pairs. Loads of all ranks come to one memory, as a rank is in one pair at a time.
func newStation(ctx context.Context, g Group) (*station, error) {
	var areas []cluster.Area
	for from := range g.Ranks() {
		for to := range g.Ranks() {
			if from != to {
				areas = append(areas, cluster.Area{From: from, To: to, Number: signArea, Bytes: signBytes},
					cluster.Area{From: from, To: to, Number: loadArea, Bytes: loadBytes})
			}
		}
	}
	if err := g.Announce(ctx, areas); err != nil {
		return nil, err
	}
	s := &station{g: g, stall: 10 * time.Second, haste: 1, out: make([]byte, loadBytes), peers: make([]peer, g.Ranks())}
	noise := rand.NewChaCha8([32]byte{})
	for i := 0; i < len(s.out); i += 8 {
		binary.LittleEndian.PutUint64(s.out[i:], noise.Uint64())
	}
	in := make([]byte, loadBytes)
	for r := range s.peers {
		if p := &s.peers[r]; r != g.Rank() {
			p.sign.bell, p.load.bell = make(chan struct{}, 1), make(chan struct{}, 1)
			g.Expect(r, signArea, p.signIn[:], p.sign.arrived)
			g.Expect(r, loadArea, in, p.load.arrived)
		}
	}
	return s, nil
}

// await waits until n bytes are in an inbox, and empties it.
func (s *station) await(ctx context.Context, b *inbox, n int) error {
	for b.hi.Load() < int64(n) {
		select {
		case <-b.bell:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.g.Done():
			return s.g.Err()
		}
	}
	b.hi.Store(0)
	return nil
}

// say sends a sign.
func (s *station) say(to int, what uint64) {
	p := &s.peers[to]
	p.signs++
	s.g.Send(to, signArea, p.signs, 0, binary.LittleEndian.AppendUint64(nil, what), func(error) {})
}

// hear returns the next sign.
func (s *station) hear(ctx context.Context, from int) (uint64, error) {
	p := &s.peers[from]
	if err := s.await(ctx, &p.sign, signBytes); err != nil {
		return 0, err
	}
	what := binary.LittleEndian.Uint64(p.signIn[:])
	p.signed++
	s.g.Taken(from, signArea, p.signed)
	return what, nil
}

// exchange sends a sign and n bytes, and returns how long their answer took.
func (s *station) exchange(ctx context.Context, to, n int) (time.Duration, error) {
	start := time.Now()
	s.say(to, uint64(n))
	if n > 0 {
		p := &s.peers[to]
		p.loads++
		s.g.Send(to, loadArea, p.loads, 0, s.out[:n], func(error) {})
	}
	_, err := s.hear(ctx, to)
	return time.Since(start), err
}

// of is the share of a time that there is.
func (s *station) of(t time.Duration) time.Duration { return time.Duration(s.haste * float64(t)) }

// lead measures the way to another rank, which follows.
func (s *station) lead(ctx context.Context, to int) (Pair, error) {
	out := Pair{From: s.g.Rank(), To: to}
	var pings []time.Duration
	for start := time.Now(); len(pings) < leastPing || time.Since(start) < s.of(pingTime); {
		t, err := s.exchange(ctx, to, ping)
		if err != nil {
			return out, s.stuck(to, signBytes, err)
		}
		pings = append(pings, t)
	}
	slices.Sort(pings)
	out.RoundTrip = pings[len(pings)/2]
	total, spent := 0, time.Duration(0)
	for n, start := firstLoad, time.Now(); total == 0 || time.Since(start) < s.of(loadTime); {
		t, err := s.exchange(ctx, to, n)
		if err != nil {
			return out, s.stuck(to, n, err)
		}
		if t < worthIt && n < loadBytes {
			n, total, spent = 2*n, 0, 0
			continue
		}
		total, spent = total+n, spent+max(t-out.RoundTrip, t/10) // a line that is faster than its answers is not measured by one message
	}
	out.Rate = float64(total) / spent.Seconds()
	s.say(to, farewell)
	return out, nil
}

// follow answers a rank that leads.
func (s *station) follow(ctx context.Context, from int) error {
	for {
		what, err := s.hear(ctx, from)
		switch {
		case err != nil:
			return s.stuck(from, signBytes, err)
		case what == farewell:
			return nil
		case what > loadBytes:
			return fmt.Errorf("measure the line from rank %d: it announced %d bytes", from, what)
		case what > ping:
			p := &s.peers[from]
			if err := s.await(ctx, &p.load, int(what)); err != nil {
				return s.stuck(from, int(what), err)
			}
			p.taken++
			s.g.Taken(from, loadArea, p.taken)
		}
		s.say(from, ping)
	}
}

// stuck says what it means that something did not come.
func (s *station) stuck(peer, n int, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	a, b := min(peer, s.g.Rank()), max(peer, s.g.Rank())
	if n <= signBytes {
		return term.Usagef("measure the line between ranks %d and %d: no answer within %v: see whether one of their machines is busy or asleep", a, b, s.stall)
	}
	return term.Usagef("measure the line between ranks %d and %d: %s did not arrive within %v, though smaller messages did: %s",
		a, b, term.Size(gpu.Bytes(n)), s.stall, oneMTU)
}

// pair measures both directions of a pair that this rank is in; the lower rank leads first.
func (s *station) pair(ctx context.Context, p [2]int) (found Pair, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.stall)
	defer cancel()
	if s.g.Rank() == p[0] {
		if found, err = s.lead(ctx, p[1]); err == nil {
			err = s.follow(ctx, p[1])
		}
		return found, err
	}
	if err = s.follow(ctx, p[0]); err == nil {
		found, err = s.lead(ctx, p[0])
	}
	return found, err
}

// measure measures all pairs, a round at a time, and returns those that begin at this rank. What fails at one rank ends the group.
func measure(ctx context.Context, g Group, tag uint32, hosts []string) (own []Pair, err error) {
	s, err := newStation(ctx, g)
	if err != nil {
		return nil, err
	}
	all := rounds(hosts)
	if whole := time.Duration(len(all)) * 2 * (pingTime + loadTime); whole > wholeTime {
		s.haste = wholeTime.Seconds() / whole.Seconds()
	}
	for _, round := range all {
		for _, p := range round {
			if p[0] != g.Rank() && p[1] != g.Rank() {
				continue
			}
			found, err := s.pair(ctx, p)
			if err != nil {
				return nil, err
			}
			own = append(own, found)
		}
		if _, err := g.Gather(ctx, tag, nil); err != nil {
			return nil, err
		}
		if _, err := g.Broadcast(ctx, tag, nil); err != nil {
			return nil, err
		}
	}
	return own, nil
}
