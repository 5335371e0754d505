package chunks

// Rotation says which chunks parts hold: in a super-epoch of shift t, 1 to c-1, part i holds i and (i+t) mod c.
type Rotation struct {
	Chunks int // c ≥ 2
}

// Pair is the two chunks that a part holds.
type Pair struct {
	Base  int // the part's own
	Added int
}

// Shifts returns the number of super-epochs in a sweep.
func (r Rotation) Shifts() int { return r.Chunks - 1 }

// Pair returns what a part holds in a super-epoch.
func (r Rotation) Pair(part, shift int) Pair {
	return Pair{Base: part, Added: (part + shift) % r.Chunks}
}
