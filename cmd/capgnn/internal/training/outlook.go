package training

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/number"
	"capgnn/pipeline"
)

// Outlook is what an epoch of a run would take on its devices, told by simulating one. Times are in seconds.
type Outlook struct {
	EpochS float64 `json:"epoch_s"`
	// BusyS is by part: what its device computes and transfers in an epoch, waiting and hidden transfers not counted.
	BusyS  []float64 `json:"busy_s"`
	Spread float64   `json:"spread"`          // longest work of a device over the mean
	Bytes  gpu.Bytes `json:"bytes"`           // moved between devices and host, and between devices, in an epoch
	CommS  float64   `json:"communication_s"` // most that a device transfers in an epoch
	// GradientBytes and GradientS are what gradients and new weights take of Bytes and CommS; the rest is halo rows.
	GradientBytes gpu.Bytes   `json:"gradient_bytes"`
	GradientS     float64     `json:"gradient_s"`
	Open          float64     `json:"open"` // share of the transfers that computing does not hide
	PartUsage     []gpu.Usage `json:"-"`
	Peak          []gpu.Bytes `json:"-"` // of each part's device
	PartBytes     []gpu.Bytes `json:"-"` // of Bytes
	// MovesS is by part: for how long its device transfers in an epoch, and its machine sends or receives.
	MovesS []float64   `json:"-"`
	Pairs  []PairBytes `json:"pairs,omitempty"` // what machines send each other in an epoch
}

// PairBytes is what a machine sends another one in an epoch.
type PairBytes struct {
	From  int       `json:"from"`
	To    int       `json:"to"`
	Bytes gpu.Bytes `json:"bytes"`
}

// String says it in one line.
func (o *Outlook) String() string {
	return fmt.Sprintf("epoch %s, longest work of a device %s of the mean, %s moved in %s, %s of it hidden, "+
		"%s of it gradients and weights in %s", term.Duration(&o.EpochS), number.Plain.Text(o.Spread),
		term.Size(o.Bytes),
		term.Duration(&o.CommS), term.Percentage(1-o.Open), term.Size(o.GradientBytes), term.Duration(&o.GradientS))
}

// newOutlook sums a simulation up. What of the transfers computing does not hide, in the whole epoch, counts as work of
// every device in proportion to its transfers, over its link and over its machine's network interface. net is the
// seconds of the latter, by part; nil: there is one machine.
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

// TransferSeconds returns for how long a device transfers: its link carries both directions at the same time, so the
// longer one counts. They share their time as their bytes are shared.
func TransferSeconds(u gpu.Usage) float64 {
	in, out := float64(u.H2D+u.Peer), float64(u.D2H)
	if in+out == 0 {
		return 0
	}
	return u.Time[gpu.PhaseTransfer].Seconds() * max(in, out) / (in + out)
}
