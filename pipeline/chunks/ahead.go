package chunks

// Ahead makes what workers hold at a moment beside training, before it comes.
type Ahead[P any] struct {
	Make func(at Moment) []P // by worker of this process
	at   Moment
	made chan []P // nil: nothing is being made
}

// Prepare begins to make what is held at a moment, unless something is being made. Whoever takes it, or Wait, waits for
// the goroutine.
func (a *Ahead[P]) Prepare(at Moment) {
	if a.made != nil {
		return
	}
	made, pairs := make(chan []P, 1), a.Make
	a.at, a.made = at, made
	go func() { made <- pairs(at) }()
}

// Take returns what is held at a moment: what was made before, if it is of that moment.
func (a *Ahead[P]) Take(at Moment) []P {
	if all := a.Wait(); all != nil && a.at == at {
		return all
	}
	return a.Make(at)
}

// Wait returns what is being made, which is nobody's then; nil: nothing was.
func (a *Ahead[P]) Wait() (all []P) {
	if a.made != nil {
		all = <-a.made
		a.made = nil
	}
	return all
}
