package machines

import "capgnn/gpu"

// Run is the trainers of a simulated run, one for each machine.
type Run[T any] struct {
	Trainers []T

	net    *Net // nil: there is one machine
	giveUp func(T)
}

// Start makes the trainers of all machines side by side; giveUp is what Close calls for each. start gets the parts of a
// machine, from lo to below hi, and the machine as a rank; of fewer than two machines all parts, and nil.
func Start[T any](c *Cluster, parts int, start func(lo, hi int, m *Machine) (T, error),
	giveUp func(T)) (*Run[T], error) {
	r := &Run[T]{giveUp: giveUp}
	if c == nil || len(c.Parts) < 2 {
		t, err := start(0, parts, nil)
		if err == nil {
			r.Trainers = []T{t}
		}
		return r, err
	}
	r.net = New(len(c.Parts), c.Wire)
	made := make([]*T, len(c.Parts))
	err := r.net.Each(func(k int) error {
		lo, hi := c.Of(k)
		t, err := start(lo, hi, &Machine{r.net, k})
		if err == nil {
			made[k] = &t
		}
		return err
	})
	for _, t := range made {
		if t != nil {
			r.Trainers = append(r.Trainers, *t)
		}
	}
	if err != nil {
		r.Close()
	}
	return r, err
}

// Each calls f for all trainers side by side and returns the first error. An error at one ends what the others wait for.
func (r *Run[T]) Each(f func(t T) error) error {
	if r.net == nil {
		return f(r.Trainers[0])
	}
	return r.net.Each(func(k int) error { return f(r.Trainers[k]) })
}

// Sent returns the bytes that a machine has sent another one so far.
func (r *Run[T]) Sent(from, to int) gpu.Bytes {
	if r.net == nil {
		return 0
	}
	return r.net.Sent(from, to)
}

// Close gives up all trainers.
func (r *Run[T]) Close() {
	for _, t := range r.Trainers {
		r.giveUp(t)
	}
	if r.net != nil {
		r.net.Close()
	}
}
