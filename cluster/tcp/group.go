package tcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"capgnn/cluster"
)

// Group is a rank's side of a run of several processes. Its methods may be called from any goroutine.
type Group struct {
	o       Options
	members []Member // by rank
	control []*link  // rank 0: by rank, [0] is nil; elsewhere [0] alone
	data    []*link  // by rank, nil at this one's

	areas      *cluster.Areas
	collective sync.Mutex // one Gather or Broadcast at a time

	epoch atomic.Int64 // -1: before the first

	joined  atomic.Bool   // from here on a lost connection ends the group
	events  chan event    // what control connections bring while ranks join
	begun   chan struct{} // closed when all ranks have joined
	faults  chan fault
	done    chan struct{} // closed by end
	once    sync.Once
	err     error // set before done is closed
	running sync.WaitGroup
}

// event is what a control connection brought while ranks join; text nil and kind 0: its end.
type event struct {
	link *link
	kind cluster.Kind
	text []byte
	lost bool // of a refusal: a rank was lost
	err  error
}

func newGroup(o Options) *Group {
	g := &Group{
		o: o, members: make([]Member, o.Ranks), data: make([]*link, o.Ranks),
		events: make(chan event), begun: make(chan struct{}), faults: make(chan fault, 4*o.Ranks+8), done: make(chan struct{}),
	}
	g.epoch.Store(-1)
	return g
}

// Rank is the number of this process, from 0.
func (g *Group) Rank() int { return g.o.Rank }

// Ranks is the number of processes.
func (g *Group) Ranks() int { return g.o.Ranks }

// Members are all ranks, by number.
func (g *Group) Members() []Member { return g.members }

// Done is closed when the group has ended, by a fault or by Close.
func (g *Group) Done() <-chan struct{} { return g.done }

// Err is nil while the group lives, and then why it ended: an *Ended, or what says that it was closed.
func (g *Group) Err() error {
	select {
	case <-g.done:
		return g.err
	default:
		return nil
	}
}

// link returns the data connection with another rank.
func (g *Group) link(rank int) *link {
	if rank < 0 || rank >= len(g.data) || g.data[rank] == nil {
		panic(fmt.Sprintf("tcp: rank %d exchanges rows with rank %d of %d", g.o.Rank, rank, g.o.Ranks))
	}
	return g.data[rank]
}

// start runs the two goroutines of a link. They end with the link; Close and a Join that fails wait for them.
func (g *Group) start(l *link, handle func(*link, cluster.Header) error) {
	g.running.Go(func() {
		err := l.reading(func(h cluster.Header) error { return handle(l, h) })
		close(l.dead)
		g.lost(l, err)
	})
	g.running.Go(func() {
		if err := l.writing(); err != nil && !isClosed(err) {
			g.lost(l, err)
		}
	})
}

// lost handles the end of a link. One whose peer has said goodbye may end.
func (g *Group) lost(l *link, err error) {
	if l.hasLeft() && isClosed(err) {
		return
	}
	if g.joined.Load() {
		g.linkFault(l, err)
		return
	}
	g.event(event{link: l, err: err})
}

func (g *Group) event(e event) {
	select {
	case g.events <- e:
	case <-g.begun: // Join has returned, or is about to
		if e.err != nil {
			g.linkFault(e.link, e.err)
		}
	case <-g.done:
	case <-e.link.quit:
	}
}

// onData handles the frames of a data connection.
func (g *Group) onData(l *link, h cluster.Header) error {
	switch h.Kind {
	case cluster.Rows:
		return l.rows(h)
	case cluster.Open, cluster.Taken:
		if err := l.fill(nil); err != nil {
			return err
		}
		if h.Kind == cluster.Open {
			return l.opened(h)
		}
		return l.taken(h)
	}
	return protocolError(fmt.Errorf("it sent a frame of kind %d on a data connection", h.Kind))
}

// onControl handles the frames of a control connection.
func (g *Group) onControl(l *link, h cluster.Header) error {
	fromRoot := g.o.Rank != 0
	switch h.Kind {
	case cluster.Begin:
		return l.begin(h)
	case cluster.More:
		return l.more(h)
	case cluster.Ask, cluster.Ready, cluster.Start:
		if err := l.fill(nil); err != nil {
			return err
		}
		return g.onSign(l, h, fromRoot)
	case cluster.Join, cluster.Welcome, cluster.Refuse:
		if g.joined.Load() || (h.Kind == cluster.Join) == fromRoot {
			break
		}
		text, err := l.text(h)
		if err == nil {
			g.event(event{link: l, kind: h.Kind, text: text, lost: h.Area != 0})
		}
		return err
	case cluster.Fault, cluster.Verdict:
		if !g.joined.Load() || (h.Kind == cluster.Fault) == fromRoot {
			break
		}
		text, err := l.text(h)
		if err != nil {
			return err
		}
		if !fromRoot {
			return g.heard(l, text)
		}
		g.end(&Ended{line(string(text), cluster.MaxText)})
		return nil
	}
	return protocolError(fmt.Errorf("it sent a frame of kind %d that was not due", h.Kind))
}

// onSign handles the control frames that are a header only.
func (g *Group) onSign(l *link, h cluster.Header, fromRoot bool) error {
	switch {
	case h.Kind == cluster.Ask:
		return l.ask(h)
	case h.Kind == cluster.Ready && !fromRoot && !g.joined.Load():
		g.event(event{link: l, kind: h.Kind})
		return nil
	case h.Kind == cluster.Start && fromRoot && !g.joined.Load():
		g.joined.Store(true) // here, so that a loss right behind it counts
		g.event(event{link: l, kind: h.Kind})
		return nil
	}
	return protocolError(fmt.Errorf("it sent a frame of kind %d that was not due", h.Kind))
}

// Announce says which areas there are, the same ones at all ranks. All ranks call it, once, before Expect and Send; it
// returns when all have. A rank with others ends the group.
func (g *Group) Announce(ctx context.Context, list []cluster.Area) error {
	if g.areas != nil {
		panic("tcp: areas are announced a second time")
	}
	areas, err := cluster.NewAreas(g.o.Ranks, list)
	if err != nil {
		return err
	}
	g.areas = areas
	for r, l := range g.data {
		if l != nil {
			l.announce(areas.Between(g.o.Rank, r), areas.Between(r, g.o.Rank))
		}
	}
	digest := areas.Digest()
	all, err := g.Gather(ctx, announceTag, digest[:])
	if err != nil {
		return err
	}
	for r, d := range all {
		if string(d) != string(digest[:]) {
			return g.Fail(fmt.Errorf("its table of areas differs from that of %s", g.members[r].name()))
		}
	}
	_, err = g.Broadcast(ctx, announceTag, nil)
	return err
}

// announceTag is the tag of the messages of Announce.
const announceTag = 1<<32 - 1

func (l *link) announce(out, in []cluster.Area) {
	l.mu.Lock()
	l.out = make(map[uint32]*outbound, len(out))
	for _, a := range out {
		l.out[a.Number] = &outbound{area: a}
	}
	l.mu.Unlock()
	l.inbound.mu.Lock()
	l.inbound.areas = make(map[uint32]*inbound, len(in))
	for _, a := range in {
		l.inbound.areas[a.Number] = &inbound{area: a}
	}
	l.inbound.mu.Unlock()
}

// Traffic is what went between this rank and another: bytes of rows, and of all frames of their data connection.
type Traffic struct{ Sent, SentFrames, Received, ReceivedFrames int64 }

// Traffic returns it by rank. What is sent counts when the system has it, before sent is called; what is received when it is in its area, before
// arrived is called. So what a rank has received in an epoch is the same in every run, but for the signs of life among the frames.
func (g *Group) Traffic() []Traffic {
	out := make([]Traffic, g.o.Ranks)
	for r, l := range g.data {
		if l != nil {
			out[r] = Traffic{l.counts.sent.Load(), l.counts.sentFrames.Load(), l.counts.received.Load(), l.counts.receivedFrames.Load()}
		}
	}
	return out
}

// Received returns the bytes that another rank has sent so far: those of rows, and those of all frames.
func (g *Group) Received(from int) (rows, frames int64) {
	t := g.Traffic()[from]
	return t.Received, t.ReceivedFrames
}

// links are all connections.
func (g *Group) links() []*link {
	var out []*link
	for _, l := range append(append([]*link(nil), g.control...), g.data...) {
		if l != nil {
			out = append(out, l)
		}
	}
	return out
}

// end ends the group: all that was not sent is answered with err.
func (g *Group) end(err error) {
	g.once.Do(func() {
		g.err = err
		close(g.done)
		for _, l := range g.links() {
			l.shut(err)
		}
	})
}

// Close leaves the group: it sends what is enqueued, says goodbye, waits until all other ranks have said goodbye (at most PeerTimeout), and
// ends all goroutines and connections. It returns why the group ended before, if it did. Not to be called from a callback.
func (g *Group) Close() error {
	for _, l := range g.links() {
		l.sayBye()
	}
	timer := time.After(g.o.PeerTimeout)
wait:
	for _, l := range g.links() {
		for _, c := range []<-chan struct{}{l.parted, l.left} {
			select {
			case <-c:
			case <-g.done:
				break wait
			case <-timer:
				break wait
			}
		}
	}
	g.end(errClosed)
	g.running.Wait()
	if errors.Is(g.err, errClosed) {
		return nil
	}
	return g.err
}

// decode reads the JSON of another rank.
func decode(text []byte, into any) error {
	if err := cluster.CheckDepth(text, 32); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
