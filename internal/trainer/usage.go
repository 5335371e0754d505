package trainer

import (
	"slices"

	"capgnn/gpu"
)

// Done is what the queues of a worker have done since some time.
type Done struct {
	w  *Worker
	by []gpu.Usage // by queue
}

// Since counts from now on.
func (w *Worker) Since() Done { return Done{w, w.usages()} }

// usages are those of all queues.
func (w *Worker) usages() (all []gpu.Usage) {
	for _, q := range w.Queues() {
		all = append(all, q.Usage())
	}
	return all
}

func (d Done) end() {
	for i, u := range d.w.usages() {
		d.by[i] = u.Sub(d.by[i])
	}
}

// Of is what some of the queues have done.
func (d Done) Of(queues ...gpu.Queue) (u gpu.Usage) {
	all := d.w.Queues()
	for _, q := range queues {
		u = u.Add(d.by[slices.Index(all, q)])
	}
	return u
}

// Usage is what all have done, as Worker.Usage.
func (d Done) Usage() gpu.Usage { return total(d.by) }

// total sums up what queues have done. Waiting is that of the first one alone.
func total(by []gpu.Usage) gpu.Usage {
	u := by[0]
	waited := u.Time[gpu.PhaseWait]
	for _, x := range by[1:] {
		u = u.Add(x)
	}
	u.Time[gpu.PhaseWait] = waited
	return u
}
