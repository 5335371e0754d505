package pipeline

import (
	"context"

	"capgnn/internal/learn"
	"capgnn/internal/machines"
	"capgnn/internal/trainer"
	"capgnn/jaca"
	"capgnn/pipeline/link"
)

// simulation is the trainers of a simulated run, one for each machine.
type simulation struct{ *machines.Run[*Trainer] }

func startSimulation(ctx context.Context, p *learn.Problem, o Options, over *machines.Cluster) (simulation, error) {
	r, err := machines.Start(over, len(o.Devices), func(lo, hi int, m *machines.Machine) (*Trainer, error) {
		if m == nil {
			return New(ctx, p, o)
		}
		own := o
		own.Parts, own.First, own.Devices, own.Ranks, own.Layout = len(o.Devices), lo, o.Devices[lo:hi:hi], *m, nil
		if l := &own.Cache.Links; len(l.H2D) > 0 {
			own.Cache.Links = jaca.Links{H2D: l.H2D[lo:hi], D2H: l.D2H[lo:hi]}
		}
		return New(ctx, p, own)
	}, func(t *Trainer) {
		t.Over = true // nothing is under way that a machine would write
		t.Close()
	})
	return simulation{r}, err
}

// A simulated machine is a rank whose messages take virtual time.
var (
	_ Ranks      = machines.Machine{}
	_ link.Timed = machines.Machine{}
)

// workers are those of all parts.
func (m simulation) workers() (all []*trainer.Worker) {
	for _, t := range m.Trainers {
		all = append(all, t.Crew.Workers...)
	}
	return all
}

// received is what machines have sent each other so far.
func (m simulation) received() (all []RankPair) {
	for to := range m.Trainers {
		for from := range m.Trainers {
			all = append(all, RankPair{From: from, To: to, Rows: m.Sent(from, to)})
		}
	}
	return all
}
