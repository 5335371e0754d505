package shaped

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Transport is what consumers see of the other ranks.
type Transport interface {
	Rank() int
	Ranks() int
	Send(to int, area, epoch uint32, off int, b []byte, sent func(error))
	Expect(from int, area uint32, into []byte, arrived func(epoch uint32, hi int))
	Taken(from int, area, epoch uint32)
	Gather(ctx context.Context, tag uint32, b []byte) ([][]byte, error)
	Broadcast(ctx context.Context, tag uint32, b []byte) ([]byte, error)
}

// Options say what the lines between this rank and others are like. Zero: as fast as what carries them.
type Options struct {
	Rate    float64       // bytes per second to each rank; 0 = no bound
	Latency time.Duration // of every piece and sign
	Jitter  time.Duration // at most so much more
	Seed    uint64        // of the jitter
}

// Shaped is a Transport with these lines.
type Shaped struct {
	Transport
	o       Options
	mu      sync.Mutex
	random  *rand.Rand
	queue   events
	number  int                // of the next event
	free    map[int]time.Time  // when the line to a rank is free
	last    map[line]time.Time // when the last event of an area is due
	cut     map[int][]event    // what waits for ranks that are cut off
	wake    chan struct{}      // the first event is another one; 1 slot
	quit    chan struct{}
	running sync.WaitGroup
}

// line is a row of events that keep their order.
type line struct {
	rank  int
	area  uint32
	taken bool
}

type event struct {
	due    time.Time
	number int
	rank   int
	do     func()
}

// events is a heap: the first one is due first.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].due.Before(e[j].due) || e[i].due.Equal(e[j].due) && e[i].number < e[j].number
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// Shape shapes what a rank sends. Its one goroutine ends with Close.
func Shape(t Transport, o Options) *Shaped {
	s := &Shaped{
		Transport: t, o: o, random: rand.New(rand.NewPCG(o.Seed, uint64(t.Rank()))),
		free: map[int]time.Time{}, last: map[line]time.Time{}, cut: map[int][]event{},
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
	}
	s.running.Go(s.run)
	return s
}

// Close ends the goroutine. What is under way is lost.
func (s *Shaped) Close() {
	close(s.quit)
	s.running.Wait()
}

// delay returns when bytes for a rank arrive. The lock is held.
func (s *Shaped) delay(rank, bytes int) time.Time {
	start := time.Now()
	if f := s.free[rank]; f.After(start) {
		start = f
	}
	if s.o.Rate > 0 {
		start = start.Add(time.Duration(float64(bytes) / s.o.Rate * float64(time.Second)))
	}
	s.free[rank] = start
	due := start.Add(s.o.Latency)
	if s.o.Jitter > 0 {
		due = due.Add(time.Duration(s.random.Int64N(int64(s.o.Jitter))))
	}
	return due
}

// after lets do happen when bytes of a line have arrived, behind what the line has already.
func (s *Shaped) after(l line, bytes int, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.delay(l.rank, bytes)
	if before := s.last[l]; due.Before(before) {
		due = before
	}
	s.last[l] = due
	s.number++
	e := event{due, s.number, l.rank, do}
	if held, is := s.cut[l.rank]; is {
		s.cut[l.rank] = append(held, e)
		return
	}
	s.add(e)
}

func (s *Shaped) add(e event) {
	heap.Push(&s.queue, e)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run does what is due.
func (s *Shaped) run() {
	for {
		var timer <-chan time.Time
		s.mu.Lock()
		for len(s.queue) > 0 {
			first := s.queue[0]
			if held, is := s.cut[first.rank]; is {
				s.cut[first.rank] = append(held, heap.Pop(&s.queue).(event))
				continue
			}
			if wait := time.Until(first.due); wait > 0 {
				timer = time.After(wait)
				break
			}
			heap.Pop(&s.queue)
			s.mu.Unlock()
			first.do()
			s.mu.Lock()
		}
		s.mu.Unlock()
		select {
		case <-timer:
		case <-s.wake:
		case <-s.quit:
			return
		}
	}
}

// Cut holds all that leads to a rank, until Mend.
func (s *Shaped) Cut(rank int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, is := s.cut[rank]; !is {
		s.cut[rank] = nil
	}
}

// Mend lets what was held go on.
func (s *Shaped) Mend(rank int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.cut[rank]
	delete(s.cut, rank)
	for _, e := range held {
		s.add(e)
	}
}

// Send sends when the piece has come through the line.
func (s *Shaped) Send(to int, area, epoch uint32, off int, b []byte, sent func(error)) {
	s.after(line{rank: to, area: area}, len(b), func() { s.Transport.Send(to, area, epoch, off, b, sent) })
}

// Taken says so when the sign has come through the line.
func (s *Shaped) Taken(from int, area, epoch uint32) {
	s.after(line{rank: from, area: area, taken: true}, 0, func() { s.Transport.Taken(from, area, epoch) })
}

// Gather gathers after the time that the message takes to rank 0.
func (s *Shaped) Gather(ctx context.Context, tag uint32, b []byte) ([][]byte, error) {
	s.pause(ctx, len(b))
	return s.Transport.Gather(ctx, tag, b)
}

// Broadcast broadcasts after the time that the message takes from rank 0 to another.
func (s *Shaped) Broadcast(ctx context.Context, tag uint32, b []byte) ([]byte, error) {
	s.pause(ctx, len(b))
	return s.Transport.Broadcast(ctx, tag, b)
}

func (s *Shaped) pause(ctx context.Context, bytes int) {
	s.mu.Lock()
	wait := time.Until(s.delay(-1, bytes))
	s.mu.Unlock()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}
