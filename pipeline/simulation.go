package pipeline

import (
	"context"
	"errors"

	"capgnn/internal/learn"
	"capgnn/internal/machines"
	"capgnn/internal/trainer"
	"capgnn/jaca"
	"capgnn/pipeline/link"
)

// simulation is the trainers of a simulated run, one for each machine.
type simulation struct {
	trainers []*Trainer
	net      *machines.Net // nil: there is one machine
}

// startSimulation returns the trainers of a run on the devices of all machines.
func startSimulation(ctx context.Context, p *learn.Problem, o Options, over *machines.Cluster) (*simulation, error) {
	if over == nil || len(over.Parts) < 2 {
		t, err := New(ctx, p, o)
		return &simulation{trainers: []*Trainer{t}}, err
	}
	m := &simulation{trainers: make([]*Trainer, len(over.Parts)), net: machines.New(len(over.Parts), over.Wire)}
	err := m.eachMachine(func(k int) (err error) {
		own := o
		lo, hi := over.Of(k)
		own.Parts, own.First, own.Devices, own.Ranks, own.Layout = len(o.Devices), lo, o.Devices[lo:hi:hi], m.net.Machine(k), nil
		if l := &own.Cache.Links; len(l.H2D) > 0 {
			own.Cache.Links = jaca.Links{H2D: l.H2D[lo:hi], D2H: l.D2H[lo:hi]}
		}
		m.trainers[k], err = New(ctx, p, own)
		return err
	})
	if err != nil {
		m.close()
	}
	return m, err
}

// A simulated machine is a rank whose messages take virtual time.
var (
	_ Ranks      = machines.Machine{}
	_ link.Timed = machines.Machine{}
)

// eachMachine calls f for all machines side by side and returns the first error. An error at one ends what the others wait for.
func (m *simulation) eachMachine(f func(k int) error) error {
	if m.net == nil {
		return f(0)
	}
	return m.net.Each(f)
}

// each is eachMachine for trainers.
func (m *simulation) each(f func(t *Trainer) error) error {
	return m.eachMachine(func(k int) error { return f(m.trainers[k]) })
}

// workers are those of all parts.
func (m *simulation) workers() (all []*trainer.Worker) {
	for _, t := range m.trainers {
		all = append(all, t.crew.Workers...)
	}
	return all
}

// received is what machines have sent each other so far.
func (m *simulation) received() (all []RankPair) {
	if m.net == nil {
		return nil
	}
	for to := range m.trainers {
		for from := range m.trainers {
			all = append(all, RankPair{From: from, To: to, Rows: m.net.Sent(from, to)})
		}
	}
	return all
}

// close gives all memory back.
func (m *simulation) close() error {
	var errs []error
	for _, t := range m.trainers {
		if t != nil {
			t.over = true // nothing is under way that a machine would write
			errs = append(errs, t.Close())
		}
	}
	if m.net != nil {
		m.net.Close()
	}
	return errors.Join(errs...)
}
