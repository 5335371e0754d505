package shaped

import (
	"context"
	"fmt"
	"sync"
)

// Local is a rank of a run in one process: rows are copied in memory.
type Local struct {
	rank  int
	world *world

	mu    sync.Mutex
	areas map[key]*area // that this rank reads
	calls []func()      // for the goroutine of this rank
	wake  chan struct{} // 1 slot
}

type world struct {
	ranks   []*Local
	up      []chan message // from each rank to rank 0
	down    []chan message // back
	quit    chan struct{}
	running sync.WaitGroup
}

type key struct {
	from int
	area uint32
}

type area struct {
	into    []byte
	arrived func(epoch uint32, hi int)
	epoch   uint32
	busy    bool
	begun   bool
	waiting []piece
}

type piece struct {
	epoch uint32
	off   int
	b     []byte
	sent  func(error)
}

type message struct {
	tag uint32
	b   []byte
}

// NewLocal returns n ranks. Each has one goroutine, for callbacks, which ends with Close of any.
func NewLocal(n int) []*Local {
	w := &world{quit: make(chan struct{})}
	for r := range n {
		l := &Local{rank: r, world: w, areas: map[key]*area{}, wake: make(chan struct{}, 1)}
		w.ranks = append(w.ranks, l)
		w.up = append(w.up, make(chan message, 1))
		w.down = append(w.down, make(chan message, 1))
		w.running.Go(l.run)
	}
	return w.ranks
}

// Close ends all ranks. Once, when none is used.
func (l *Local) Close() {
	close(l.world.quit)
	l.world.running.Wait()
}

// Rank is the number of this rank.
func (l *Local) Rank() int { return l.rank }

// Ranks is their number.
func (l *Local) Ranks() int { return len(l.world.ranks) }

func (l *Local) run() {
	for {
		select {
		case <-l.wake:
		case <-l.world.quit:
			return
		}
		l.mu.Lock()
		calls := l.calls
		l.calls = nil
		l.mu.Unlock()
		for _, call := range calls {
			call()
		}
	}
}

// area returns an area, which may not be expected yet. The lock is held.
func (l *Local) area(from int, number uint32) *area {
	k := key{from, number}
	if l.areas[k] == nil {
		l.areas[k] = &area{}
	}
	return l.areas[k]
}

// Send copies when the area is free.
func (l *Local) Send(to int, area, epoch uint32, off int, b []byte, sent func(error)) {
	reader := l.world.ranks[to]
	reader.mu.Lock()
	defer reader.mu.Unlock()
	a := reader.area(l.rank, area)
	a.waiting = append(a.waiting, piece{epoch, off, b, sent})
	reader.pump(a)
}

// Expect gives the memory of an area.
func (l *Local) Expect(from int, area uint32, into []byte, arrived func(epoch uint32, hi int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.area(from, area)
	a.into, a.arrived = into, arrived
	l.pump(a)
}

// Taken frees an area.
func (l *Local) Taken(from int, area, epoch uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.area(from, area)
	if !a.busy || a.epoch != epoch {
		panic(fmt.Sprintf("shaped: Taken of epoch %d in area %d from rank %d, which has not arrived", epoch, area, from))
	}
	a.busy = false
	l.pump(a)
}

// pump lets pieces arrive that may. The lock is held.
func (l *Local) pump(a *area) {
	for len(a.waiting) > 0 && a.arrived != nil {
		p := a.waiting[0]
		if a.busy && p.epoch != a.epoch {
			break
		}
		if !a.busy {
			if a.begun && p.epoch <= a.epoch || p.off != 0 {
				panic(fmt.Sprintf("shaped: epoch %d from byte %d on after epoch %d", p.epoch, p.off, a.epoch))
			}
			a.busy, a.begun, a.epoch = true, true, p.epoch
		}
		a.waiting = a.waiting[1:]
		l.calls = append(l.calls, func() {
			copy(a.into[p.off:p.off+len(p.b)], p.b)
			if p.sent != nil {
				p.sent(nil)
			}
			a.arrived(p.epoch, p.off+len(p.b))
		})
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Gather brings a message of every rank to rank 0.
func (l *Local) Gather(ctx context.Context, tag uint32, b []byte) ([][]byte, error) {
	if l.rank != 0 {
		return nil, put(ctx, l.world.up[l.rank], message{tag, b})
	}
	out := [][]byte{b}
	for _, c := range l.world.up[1:] {
		m, err := get(ctx, c, tag)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// Broadcast brings a message of rank 0 to every rank.
func (l *Local) Broadcast(ctx context.Context, tag uint32, b []byte) ([]byte, error) {
	if l.rank != 0 {
		return get(ctx, l.world.down[l.rank], tag)
	}
	for _, c := range l.world.down[1:] {
		if err := put(ctx, c, message{tag, b}); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func put(ctx context.Context, c chan<- message, m message) error {
	m.b = append([]byte{}, m.b...)
	select {
	case c <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func get(ctx context.Context, c <-chan message, tag uint32) ([]byte, error) {
	select {
	case m := <-c:
		if m.tag != tag {
			return nil, fmt.Errorf("message %d came where message %d was due", m.tag, tag)
		}
		return m.b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
