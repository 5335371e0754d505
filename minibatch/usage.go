package minibatch

import (
	"time"

	"capgnn/gpu"
	"capgnn/internal/trainer"
)

// meter measures what the parts of a run do.
type meter struct{ *Trainer }

// usages is what the queues of every part have done.
type usages struct {
	all, gradients, carried, compute, prefetch, rows []gpu.Usage
}

func (t meter) usages() (u usages) {
	u.all = trainer.Usages(t.crew.Workers, (*trainer.Worker).Usage)
	u.gradients = trainer.Usages(t.crew.Workers, (*trainer.Worker).Reduction)
	for _, w := range t.workers {
		u.carried = append(u.carried, w.carried())
		u.compute, u.prefetch = append(u.compute, w.Compute.Usage()), append(u.prefetch, w.prefetch.Usage())
		var rows gpu.Usage
		if w.rows != nil {
			rows = w.rows.Usage()
		}
		u.rows = append(u.rows, rows)
	}
	return u
}

// count returns what the parts of this process have done in so many steps since before.
func (t meter) count(before usages, steps int) []partSteps {
	now, own := t.usages(), make([]partSteps, len(t.workers))
	for i, w := range t.workers {
		x, work := &own[i], w.counts
		x.Loss = w.losses(steps * t.roots.units)
		rows := now.rows[i].Sub(before.rows[i])
		x.Usage, x.Gradients, x.Carried = now.all[i].Sub(before.all[i]), now.gradients[i].Sub(before.gradients[i]), now.carried[i].Sub(before.carried[i])
		compute, upload := now.compute[i].Sub(before.compute[i]), now.prefetch[i].Sub(before.prefetch[i]).Time
		for phase, d := range compute.Time {
			if phase != int(gpu.PhaseWait) && phase != int(gpu.PhaseTransfer) {
				x.Computed += d
			}
		}
		work.Time.Compute += x.Computed
		work.Time.Upload += upload[gpu.PhaseTransfer] + upload[gpu.PhasePick]
		if w.fetcher != nil && w.fetcher.linked != nil { // its queue is some steps ahead, as many as there was time for
			x.Usage.Peer += w.linked - rows.Peer
		}
		work.Time.Fetch += rows.Time[gpu.PhaseTransfer]
		work.Time.Wait += compute.Time[gpu.PhaseWait]
		x.Work = work
	}
	return own
}

// take adds what all parts have done in a stretch, in part order.
func (p *partial) take(all []partSteps) {
	if p.Parts == nil {
		p.Parts, p.Computed = make([]gpu.Usage, len(all)), make([]time.Duration, len(all))
	}
	if p.Work == nil {
		p.Work = make([]Counts, len(all))
	}
	took, switching := time.Duration(0), time.Duration(0)
	for i := range all {
		x := &all[i]
		p.Parts[i], p.Computed[i] = p.Parts[i].Add(x.Usage), p.Computed[i]+x.Computed
		p.Gradients, p.Carried = p.Gradients.Add(x.Gradients), p.Carried.Add(x.Carried)
		p.Add(&x.Work)
		p.Work[i].Add(&x.Work)
		took, switching = max(took, x.Train), max(switching, x.Switch)
		if x.Covered != nil {
			p.Covered = append(p.Covered, *x.Covered)
		}
		p.CPU += x.CPU
		p.Norm, p.Norms = p.Norm+x.Norm, p.Norms+x.Norms
		p.Pairs, p.Meters = addPairs(p.Pairs, x.Pairs), append(p.Meters, x.Meters...)
	}
	p.Train, p.Switch = p.Train+took, p.Switch+switching
}

// report makes e that of an epoch that is over.
func (p *partial) report(epoch int, e *EpochStats) {
	e.Epoch, e.Counts, e.Train, e.Parts, e.Work, e.Gradients, e.Pairs, e.Meters = epoch, p.Counts, p.Train, p.Parts, p.Work, p.Gradients, p.Pairs, p.Meters
	e.Bytes.Gradients, e.Bytes.Carried = between(p.Gradients), between(p.Carried)
	e.Loss = float64(p.Loss) / float64(max(1, p.Roots))
	if p.Norms > 0 {
		norm := float64(p.Norm) / float64(p.Norms)
		e.GradNorm = &norm
	}
	for i, u := range p.Parts {
		e.Usage = e.Usage.Add(u)
		if p.Computed[i] > p.Computed[e.Slowest] {
			e.Slowest = i
		}
	}
}

// between is what was copied to, from and between devices.
func between(u gpu.Usage) gpu.Bytes { return u.H2D + u.D2H + u.Peer }

// add adds an epoch.
func (t *Totals) add(e *EpochStats) {
	t.Counts.Add(&e.Counts)
	t.Steps += e.Steps
	t.CPU += e.CPU
	t.Usage, t.Gradients = t.Usage.Add(e.Usage), t.Gradients.Add(e.Gradients)
	t.TrainTime += e.Train
	if s := e.Isolated; s != nil {
		t.Switches, t.SwitchTime, t.Covered = t.Switches+s.Switches, t.SwitchTime+s.Switch, t.Covered+s.Coverage.Ratio
	}
}
