package training

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/number"
	"capgnn/jaca"
	"capgnn/pipeline"
	"capgnn/profiler"
)

// Outlook is what an epoch of a run would take on its devices, told by simulating one. Times are in seconds.
type Outlook struct {
	EpochS float64   `json:"epoch_s"`
	BusyS  []float64 `json:"busy_s"`          // by part: what its device computes and transfers in an epoch, waiting and hidden transfers not counted
	Spread float64   `json:"spread"`          // longest work of a device over the mean
	Bytes  gpu.Bytes `json:"bytes"`           // moved between devices and host, and between devices, in an epoch
	CommS  float64   `json:"communication_s"` // most that a device transfers in an epoch
	// GradientBytes and GradientS are what gradients and new weights take of Bytes and CommS; the rest is halo rows.
	GradientBytes gpu.Bytes   `json:"gradient_bytes"`
	GradientS     float64     `json:"gradient_s"`
	Open          float64     `json:"open"` // share of the transfers that computing does not hide
	PartUsage     []gpu.Usage `json:"-"`
	Peak          []gpu.Bytes `json:"-"`               // of each part's device
	PartBytes     []gpu.Bytes `json:"-"`               // of Bytes
	MovesS        []float64   `json:"-"`               // by part: for how long its device transfers in an epoch, and its machine sends or receives
	Pairs         []PairBytes `json:"pairs,omitempty"` // what machines send each other in an epoch
}

// PairBytes is what a machine sends another one in an epoch.
type PairBytes struct {
	From  int       `json:"from"`
	To    int       `json:"to"`
	Bytes gpu.Bytes `json:"bytes"`
}

// String says it in one line.
func (o *Outlook) String() string {
	return fmt.Sprintf("epoch %s, longest work of a device %s of the mean, %s moved in %s, %s of it hidden, %s of it gradients and weights in %s", term.Duration(&o.EpochS), number.Plain.Text(o.Spread),
		term.Size(o.Bytes), term.Duration(&o.CommS), term.Percentage(1-o.Open),
		term.Size(o.GradientBytes), term.Duration(&o.GradientS))
}

// Forecast simulates an epoch of the run with these parts on the devices of a profile. Nothing is computed. Caches that take
// what memory leaves take that of the devices; where a run does not fit, memory is counted without a limit and without them.
func (t *Run) Forecast(ctx context.Context, profile *profiler.Profile, part []int32, dropped [][]graph.NodeID) (*Outlook, error) {
	opt, err := t.forecastOptions(profile, part, dropped)
	if err != nil {
		return nil, err
	}
	if opt.Cache.Local == (jaca.Size{}) && opt.Cache.Slots == nil {
		o, err := t.simulate(ctx, profile, opt, true)
		if oom := (*gpu.OutOfMemory)(nil); !errors.As(err, &oom) {
			return o, err
		}
		opt.Cache.Local = jaca.Rows(0)
	}
	return t.simulate(ctx, profile, opt, false)
}

// forecastOptions returns the run's options with these parts, and, where parts keep rows of each other, with the links of a profile unless others are recorded.
func (t *Run) forecastOptions(profile *profiler.Profile, part []int32, dropped [][]graph.NodeID) (pipeline.Options, error) {
	opt := t.ProblemOptions()
	opt.Part, opt.Dropped = part, dropped
	if t.Config.CacheLinks.String() != "" || t.Config.Isolated.Value != nil {
		return opt, nil
	}
	links, err := t.links(profile)
	opt.Cache.Links = t.partLinks(links)
	return opt, err
}

// simulate is forecast with the budgets of the devices, or without.
func (t *Run) simulate(ctx context.Context, profile *profiler.Profile, opt pipeline.Options, limited bool) (*Outlook, error) {
	return t.simulateOver(ctx, profile, opt, limited, 0)
}

// simulateOver is simulate over links of so many bytes per second; 0: those of the devices.
func (t *Run) simulateOver(ctx context.Context, profile *profiler.Profile, opt pipeline.Options, limited bool, link float64) (*Outlook, error) {
	var budgets []gpu.Bytes
	if limited {
		for i := range t.Specs {
			budgets = append(budgets, t.Budget(profile, i))
		}
	}
	machines, lines, err := t.machinesOfForecast()
	if err != nil {
		return nil, err
	}
	var first []int
	switch {
	case t.place != nil:
		first = t.place.first
	case machines != nil:
		first = firstsOf(machines)
	}
	opened, err := devices.OpenForecast(t.Specs, profile, budgets, first, link)
	if err != nil {
		return nil, err
	}
	for p := range t.Workers() {
		opt.Devices = append(opt.Devices, opened[t.deviceOf(p)])
	}
	over, err := overMachines(machines, lines, opened)
	var s *pipeline.Simulation
	if err == nil {
		s, err = pipeline.Simulate(ctx, labelled(t.Data.Problem), opt, over)
	}
	if err := errors.Join(err, devices.CloseAll(opened)); err != nil {
		return nil, term.AsUsage(runfolder.ExplainCache(err))
	}
	o := newOutlook(s, t.deviceOf, netSeconds(s.Pairs, machines, lines))
	if limited && s.Caches != nil { // what a cache takes is free for all else
		for i, n := range s.Caches.Capacities.Local {
			for j := range t.Workers() {
				if t.deviceOf(j) == t.deviceOf(i) {
					o.Peak[j] -= gpu.Bytes(n) * s.Caches.Capacities.Slot
				}
			}
		}
	}
	return o, nil
}

// labelled returns a problem that can be trained on: that of a prediction has no labels, and each vertex gets one.
func labelled(p *learn.Problem) *learn.Problem {
	if p.Labels != nil || p.Targets != nil || p.Shards != nil {
		return p
	}
	x := *p
	x.Labels, x.Train = make([]int32, p.Vertices()), slices.Repeat([]bool{true}, p.Vertices())
	return &x
}

// newOutlook sums a simulation up. What of the transfers computing does not hide, in the whole epoch, counts as work of every
// device in proportion to its transfers, over its link and over its machine's network interface. net is the seconds of the latter, by part; nil: there is one machine.
func newOutlook(s *pipeline.Simulation, deviceOf func(part int) int, net []float64) *Outlook {
	o := &Outlook{EpochS: s.Epoch.Seconds(), PartUsage: s.Parts, Peak: s.Peak}
	computes := 0.0
	for i, u := range s.Parts {
		moves := TransferSeconds(u)
		if net != nil {
			moves += net[i]
		}
		o.MovesS = append(o.MovesS, moves)
		computes, o.CommS = max(computes, s.Busy[i].Seconds()), max(o.CommS, moves)
		moved, g := u.H2D+u.D2H+u.Peer, s.Gradients[i]
		o.GradientBytes, o.GradientS = o.GradientBytes+g.H2D+g.D2H+g.Peer, max(o.GradientS, TransferSeconds(g))
		o.PartBytes = append(o.PartBytes, moved)
		o.Bytes += moved
	}
	for _, x := range s.Pairs {
		o.Pairs = append(o.Pairs, PairBytes{x.From, x.To, x.Rows})
	}
	if o.CommS > 0 {
		o.Open = min(1, max(0, (o.EpochS-computes)/o.CommS))
	}
	load := map[int]float64{}
	for i, moves := range o.MovesS {
		busy := s.Busy[i].Seconds() + o.Open*moves
		o.BusyS = append(o.BusyS, busy)
		load[deviceOf(i)] += busy
	}
	loads := make([]float64, 0, len(load))
	for _, d := range slices.Sorted(maps.Keys(load)) {
		loads = append(loads, load[d])
	}
	o.Spread = slices.Max(loads) / max(stat.Mean(loads, nil), math.SmallestNonzeroFloat64)
	return o
}

// TransferSeconds returns for how long a device transfers: its link carries both directions at the same time, so the longer
// one counts. They share their time as their bytes are shared.
func TransferSeconds(u gpu.Usage) float64 {
	in, out := float64(u.H2D+u.Peer), float64(u.D2H)
	if in+out == 0 {
		return 0
	}
	return u.Time[gpu.PhaseTransfer].Seconds() * max(in, out) / (in + out)
}

// Budget returns the memory that part i has.
func (t *Run) Budget(profile *profiler.Profile, i int) gpu.Bytes {
	d := t.deviceOf(i)
	if b := t.Specs[d].Memory; b > 0 {
		return b
	}
	return profile.Devices[d].FreeBytes
}
