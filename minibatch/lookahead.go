package minibatch

import (
	"sync"
	"sync/atomic"
	"time"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/meet"
	"capgnn/minibatch/sample"
)

// mostKept is how much memory of the host blocks may take that were drawn for the sake of what they read, of all parts. What exceeds it is drawn a second time.
const mostKept = 1 << 30

// lookahead draws turns of one part before they are due, for a policy that asks which rows of other parts they read. It draws as far ahead as it was ever asked to look, in a
// goroutine of its own, and keeps what it drew for whoever fills the steps.
type lookahead struct {
	g     *stage
	turns int       // of a step
	most  gpu.Bytes // of kept stacks
	quit  chan struct{}
	done  sync.WaitGroup
	spent atomic.Int64 // ns of drawing that nobody has counted

	// Of who draws.
	sampler *sample.Sampler
	stack   *sample.Stack
	roots   []graph.NodeID
	known   numbers

	mu    sync.Mutex
	now   int // the turn that is decided
	far   int // how far behind it a turn was asked for
	next  int // the turn that is drawn next
	end   int // the one behind the last
	seen  map[int][]graph.NodeID
	kept  map[int]*sample.Stack // by unit, counted through the run
	held  gpu.Bytes             // of kept
	stir  chan struct{}         // closed, and replaced, when any of these has changed
	spare []*sample.Stack
	lists [][]graph.NodeID // to be used again
}

func newLookahead(g *stage, s *sample.Sampler, turns int, most gpu.Bytes) *lookahead {
	return &lookahead{g: g, sampler: s, stack: new(sample.Stack), turns: turns, most: most, quit: make(chan struct{}), seen: map[int][]graph.NodeID{}, kept: map[int]*sample.Stack{}, stir: make(chan struct{})}
}

// units returns which units belong to a turn, counted through the run.
func (s *lookahead) units(turn int) (lo, hi int) {
	n := s.g.roots.units / s.turns
	return turn * n, turn*n + n
}

// list draws a turn and appends the rows of other parts that it reads to into, which is empty. Each stack is offered to keep, which returns the one to draw the next unit into;
// nil: nobody keeps any.
func (s *lookahead) list(turn int, into []graph.NodeID, keep func(unit int, x *sample.Stack) *sample.Stack) []graph.NodeID {
	lo, hi := s.units(turn)
	for unit := lo; unit < hi; unit++ {
		step := unit / s.g.roots.units
		s.roots = s.g.roots.of(step, s.g.part, unit%s.g.roots.units, s.roots)
		s.sampler.Draw(s.stack, uint32(step), s.roots)
		for _, v := range s.stack.IDs {
			if !s.g.away(v) {
				continue
			}
			if hi-lo == 1 {
				into = append(into, v)
			} else {
				into, _ = s.known.add(into, v)
			}
		}
		if keep != nil {
			s.stack = keep(unit, s.stack)
		}
	}
	return into
}

// start begins to draw, as soon as anybody asks for a turn before end.
func (s *lookahead) start(now, end int) {
	s.now, s.next, s.end = now, now+1, end
	s.done.Add(1)
	// Owned by the lookahead: close ends it and waits for it.
	go func() {
		defer s.done.Done()
		for s.one() {
		}
	}()
}

func (s *lookahead) extend(end int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = end
	s.changed()
}

// changed tells those who wait that something has changed. s.mu is locked.
func (s *lookahead) changed() {
	close(s.stir)
	s.stir = make(chan struct{})
}

// turn waits for the next turn that is wanted, and for a list to write; false: no more is.
func (s *lookahead) turn() (turn int, list []graph.NodeID, ok bool) {
	s.mu.Lock()
	for s.next >= s.end || s.next > s.now+s.far {
		stir := s.stir
		s.mu.Unlock()
		select {
		case <-stir:
		case <-s.quit:
			return 0, nil, false
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	s.next++
	if n := len(s.lists); n > 0 {
		list, s.lists = s.lists[n-1], s.lists[:n-1]
	}
	return s.next - 1, list[:0], true
}

// one draws the next turn that is wanted, and reports whether it is to go on.
func (s *lookahead) one() bool {
	turn, list, ok := s.turn()
	if !ok {
		return false
	}
	start := time.Now()
	list = s.list(turn, list, s.keep)
	s.spent.Add(int64(time.Since(start)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[turn] = list
	s.changed()
	select {
	case <-s.quit:
		return false
	default:
		return true
	}
}

// keep keeps the stack of a unit, if it is still wanted and there is room, and returns another one.
func (s *lookahead) keep(unit int, x *sample.Stack) *sample.Stack {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := keptBytes(x)
	if _, hi := s.units(s.now); s.held+size > s.most || unit < hi {
		return x
	}
	s.kept[unit] = x
	s.held += size
	if x = taken(&s.spare); x == nil {
		x = new(sample.Stack)
	}
	return x
}

// taken takes the last element of a list; nil: there is none.
func taken[T any](list *[]*T) *T {
	n := len(*list)
	if n == 0 {
		return nil
	}
	x := (*list)[n-1]
	*list = (*list)[:n-1]
	return x
}

func keptBytes(x *sample.Stack) (n gpu.Bytes) {
	n = 4 * gpu.Bytes(len(x.IDs))
	for i := range x.Blocks {
		b := &x.Blocks[i]
		n += 8*gpu.Bytes(len(b.Begin)) + 4*gpu.Bytes(len(b.Indices)+len(b.Ratio)+len(b.Weight))
	}
	return n
}

// decides says which turn is decided from now on. What was kept of it is not wanted any more.
func (s *lookahead) decides(turn int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = turn
	for unit, hi := s.units(turn); unit < hi; unit++ {
		if x := s.kept[unit]; x != nil {
			s.drop(unit, x)
		}
	}
	s.changed()
}

// drop gives up a stack that is kept. s.mu is locked.
func (s *lookahead) drop(unit int, x *sample.Stack) {
	delete(s.kept, unit)
	s.held -= keptBytes(x)
	s.spare = append(s.spare, x)
}

// ahead is a rowcache.Ahead. It ends the caller's meet.Guard where the step does not come.
func (s *lookahead) ahead(h *meet.Hub, turn int) ([]graph.NodeID, bool) {
	for {
		list, stir, more := s.look(turn)
		if stir == nil {
			return list, more
		}
		meet.Receive(h, stir, s.g.part, s.g.part, samplersName)
	}
}

// look returns what a turn reads of other parts, and whether there is such a turn; or what to wait for, not nil, before it is asked for again.
func (s *lookahead) look(turn int) (list []graph.NodeID, wait <-chan struct{}, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if turn >= s.end {
		return nil, nil, false
	}
	for old, list := range s.seen { // each is asked for once, ascending
		if old < turn {
			s.lists = append(s.lists, list)
			delete(s.seen, old)
		}
	}
	if list, drawn := s.seen[turn]; drawn {
		return list, nil, true
	}
	if turn > s.next { // those before are known: the policy was restored
		s.next = turn
	}
	if turn > s.now+s.far {
		s.far = turn - s.now
		s.changed()
	}
	return nil, s.stir, true
}

// take gives a unit's stack for into, if it was drawn and kept.
func (s *lookahead) take(unit int, into *sample.Stack) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.kept[unit]
	if x == nil {
		return false
	}
	s.drop(unit, x)
	*into, *x = *x, *into
	return true
}

// close ends the goroutine and waits for it.
func (s *lookahead) close() {
	close(s.quit)
	s.done.Wait()
}
