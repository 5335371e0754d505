package window

import "capgnn/gpu"

// Script is what comes up before each turn of a space, and goes down behind it.
type Script struct{ turns []turn }

type turn struct{ up, written, down set }

// Record notes what the operations of f, which run nothing, read and write of the space. Next parts them into turns.
// Nothing of a later run of f is read that an earlier one wrote.
func (s *Space) Record(f func()) *Script {
	s.notes = &Script{turns: []turn{{up: set{}, written: set{}}}}
	f()
	x := s.notes
	s.notes = nil
	x.close()
	return x
}

// Recording reports whether operations are noted.
func (s *Space) Recording() bool { return s.notes != nil }

// Next ends a turn that is recorded, and begins another.
func (s *Space) Next() {
	s.notes.turns = append(s.notes.turns, turn{up: set{}, written: set{}})
}

// note notes an operation: what it reads that the turn has not written comes up.
func (x *Script) note(reads, writes set) {
	t := &x.turns[len(x.turns)-1]
	t.up = t.up.or(reads.without(t.written))
	t.written = t.written.or(writes)
}

// close finds what goes down: of what a turn wrote, that which later turns read before it is written again. What
// nobody has written has no content to come up.
func (x *Script) close() {
	live := set{}
	for k := len(x.turns) - 1; k >= 0; k-- {
		t := &x.turns[k]
		t.down = t.written.and(live)
		live = live.without(t.written).or(t.up)
	}
	there := set{}
	for b := range live.or(x.written()) {
		there[b] = b.full
	}
	for k := range x.turns {
		t := &x.turns[k]
		t.up = t.up.and(there)
		there = there.or(t.down)
	}
}

func (x *Script) written() set {
	all := set{}
	for k := range x.turns {
		all = all.or(x.turns[k].written)
	}
	return all
}

// Bytes returns what comes up and goes down in all turns.
func (x *Script) Bytes() (up, down gpu.Bytes) {
	for k := range x.turns {
		up, down = up+x.turns[k].up.size(), down+x.turns[k].down.size()
	}
	return up, down
}

// Reserve takes the host memory of what goes down.
func (s *Space) Reserve(x *Script) {
	for k := range x.turns {
		for _, b := range x.turns[k].down.blocks() {
			s.copyOf(b)
		}
	}
}

// Run begins a script with its first turn. The window reaches the space's Size.
func (s *Space) Run(x *Script) { s.script, s.turn = x, 0 }

// Up enqueues what the turn needs.
func (s *Space) Up() { s.raise(s.script.turns[s.turn].up) }

// Down enqueues what is left of the turn. Behind the last one the script is over.
func (s *Space) Down() {
	s.lower(s.script.turns[s.turn].down)
	if s.w.Spoil != nil {
		s.w.Spoil(s.q, s.w.buf)
	}
	if s.turn++; s.turn == len(s.script.turns) {
		s.script = nil
	}
}
