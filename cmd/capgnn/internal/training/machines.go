package training

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/pipeline/halo"
)

// MachinePlan is what a run would take on one machine, on two, and so on.
type MachinePlan struct {
	Dataset string `json:"dataset"`
	Model   string `json:"model"`
	Net     string `json:"net"` // what connects machines
	// Counts are by number of machines: the first one alone, the first two, …
	Counts []MachineCount `json:"counts"`
	// Best is the number of machines with the shortest epoch of those that fit, and of equally short ones the smallest; 0:
	// it fits none. Encoded says that it is so with encoded rows, and that without them it is longer.
	Best    int  `json:"best"`
	Encoded bool `json:"best_encoded"`
}

// MachineCount is the forecast of a run on so many machines.
type MachineCount struct {
	Machines int `json:"machines"`
	Subset
	// Pairs is what machines send each other in an epoch, Busiest what goes through the network interface with most to
	// send or to receive.
	Pairs   []PairBytes `json:"pairs"`
	Busiest gpu.Bytes   `json:"busiest"`
	// EncodedS is the epoch with rows of other parts as int8; null: they are encoded already, or there are none.
	EncodedS *float64 `json:"encoded_epoch_s"`
}

// Doubtful is that of Subset for machines in place of devices, also of encoded rows against those on one machine.
func (p *MachinePlan) Doubtful(k int) bool {
	c := p.Counts[k]
	if c.Subset.Doubtful() || c.EncodedS == nil {
		return c.Subset.Doubtful()
	}
	one := p.Counts[0].EpochS
	if encoded := p.Counts[0].EncodedS; encoded != nil {
		one = *encoded
	}
	c.Speedup = one / *c.EncodedS
	return c.Subset.Doubtful()
}

// ChooseMachines is ChooseDevices of a plan for machines: devices are those of all machines, or of one of machines that
// are alike.
func (t *Run) ChooseMachines(ctx context.Context) error {
	if t.Config.Parts != 0 {
		return term.Usagef("--parts %d: machines are planned with one part on each device: drop it", t.Config.Parts)
	}
	list, isolated, named := t.Config.Machines, t.Config.Isolated, t.Config.Devices != ""
	t.Config.Isolated.Value = nil // chunks are as many as parts, of all machines
	t.Config.Set("machines", "")
	err := t.ChooseDevices(ctx)
	t.Config.Machines, t.Config.Isolated = list, isolated
	if err != nil {
		return err
	}
	n := len(t.Specs)
	machines := list.Value
	switch sum := sumOf(machines); {
	case len(machines) == 1 && n%machines[0] == 0:
		machines = slices.Repeat([]int{n / machines[0]}, machines[0])
	case len(machines) == 1 && n > 1 && named:
		_, err := t.Config.PartsOfMachines(n)
		return err
	case len(machines) == 1:
		machines = slices.Repeat([]int{n}, machines[0])
	case sum != n && sum != n*len(machines):
		return term.Usagef("--machines %s with %s: give those of all machines, %d, or those of each, %d",
			list, term.Counted(n, "device"), sum, machines[0])
	}
	for _, m := range machines {
		if n != sumOf(machines) && m != n {
			return term.Usagef("--machines %s with %s: machines are not alike: give the devices of all",
				list, term.Counted(n, "device"))
		}
	}
	if n != sumOf(machines) {
		t.Specs = slices.Repeat(t.Specs, len(machines))
	}
	if t.Parts = len(t.Specs); t.Parts > t.Data.Problem.Vertices() {
		return term.Usagef("--machines %s: the graph has %s: use at most that many devices",
			list, term.Counted(t.Data.Problem.Vertices(), "vertex"))
	}
	t.Config.Set("machines", joinInts(machines))
	return nil
}

func sumOf(list []int) (sum int) {
	for _, n := range list {
		sum += n
	}
	return sum
}

func joinInts(list []int) string {
	text := make([]string, len(list))
	for i, n := range list {
		text[i] = strconv.Itoa(n)
	}
	return strings.Join(text, ",")
}

// overMachines forecasts the run on one machine, on two, and so on, each with parts made for it.
func (t Forecaster) overMachines(ctx context.Context,
	forecast func(t, first *Forecaster, machines []int) error) (err error) {
	if err := t.settleNet(); err != nil {
		return err
	}
	if t.Profile, err = t.Measured(ctx); err != nil {
		return err
	}
	machines := t.Config.Machines.Value
	bar := t.Console.Begin("forecast", int64(len(machines)), "machines", 0)
	defer bar.End()
	for k := range machines {
		first := t.onMachines(machines, 0, k+1)
		if err := forecast(&t, &first, machines[:k+1]); err != nil {
			return err
		}
		bar.At(int64(k+1), term.Counted(k+1, "machine"))
	}
	return nil
}

// onMachines returns the run as it would be on some of its machines, which have so many devices each.
func (t *Forecaster) onMachines(machines []int, from, to int) Forecaster {
	m, n, some := sumOf(machines[:from]), sumOf(machines[:to]), *t.Profile
	some.Devices = t.Profile.Devices[m:n]
	o := t.on(t.Specs[m:n], &some)
	o.Parts, o.Config.Parts = n-m, n-m
	o.Config.Set("machines", "")
	if to-from > 1 {
		o.Config.Set("machines", joinInts(machines[from:to]))
	}
	return o
}

// PlanMachines forecasts the run on one machine, on two, and so on.
func (t *Forecaster) PlanMachines(ctx context.Context) (*MachinePlan, error) {
	p := &MachinePlan{Dataset: t.Data.Name, Model: t.Config.ModelName()}
	least, fits := 0.0, false
	var alone []float64 // seconds of an epoch, by machine
	return p, t.overMachines(ctx, func(t, first *Forecaster, machines []int) error {
		p.Net = t.Config.Net.String()
		c, err := first.countMachines(ctx, machines)
		if err != nil {
			return err
		}
		if t.Config.Isolated.Value == nil { // else parts leave work out
			took, err := t.alone(ctx, alone, c.EpochS)
			if err != nil {
				return err
			}
			alone = append(alone, took)
			for _, s := range alone {
				c.Sum += alone[0] / max(s, math.SmallestNonzeroFloat64)
			}
		}
		if p.Counts = append(p.Counts, c); p.Counts[0].EpochS > 0 {
			p.Counts[len(p.Counts)-1].Speedup = p.Counts[0].EpochS / c.EpochS
		}
		for encoded, s := range []*float64{&c.EpochS, c.EncodedS} {
			if c.Fits && s != nil && (!fits || *s < least) {
				fits, least, p.Best, p.Encoded = true, *s, c.Machines, encoded == 1
			}
		}
		return nil
	})
}

// alone returns the seconds of an epoch on the next machine alone, behind those of the machines before it; of the first
// one they are known.
func (t *Forecaster) alone(ctx context.Context, before []float64, first float64) (float64, error) {
	k, machines := len(before), t.Config.Machines.Value
	kinds := func(k int) (list []int) {
		for i := sumOf(machines[:k]); i < sumOf(machines[:k+1]); i++ {
			list = append(list, devices.KindOf(t.Specs, i))
		}
		return list
	}
	for j := range before {
		if slices.Equal(kinds(j), kinds(k)) {
			return before[j], nil
		}
	}
	if k == 0 {
		return first, nil
	}
	next := t.onMachines(machines, k, k+1)
	c, err := next.countMachines(ctx, machines[k:k+1])
	return c.EpochS, err
}

// countMachines forecasts a run on all its machines, which have so many devices each.
func (t *Forecaster) countMachines(ctx context.Context, machines []int) (MachineCount, error) {
	c := MachineCount{Machines: len(machines)}
	if t.Config.Isolated.Value != nil {
		if t.Parts == 1 { // it has all rows
			t.Config.Set("isolated", "")
		} else if n, err := t.Config.PartCount(t.Parts, t.Data.Problem.Vertices()); err != nil || n != t.Parts {
			return c, term.Usagef("--isolated %s on %s: machines are planned with one part on each device: "+
				"drop chunks and phases", t.Config.Isolated, term.Counted(t.Parts, "device"))
		}
	}
	o, s, err := t.outlook(ctx)
	if err != nil {
		return c, err
	}
	c.Subset, c.Pairs = s, o.Pairs
	c.Busiest = slices.Max(throughEach(len(machines), o.Pairs,
		func(x PairBytes) (int, int, gpu.Bytes) { return x.From, x.To, x.Bytes }))
	if t.Parts == 1 || !c.Fits || t.Config.Isolated.Value != nil {
		return c, nil
	}
	opt, err := t.forecastOptions(t.Plan.Part, t.Plan.Dropped)
	if err != nil || opt.Cache.HaloType != halo.FP32 || opt.Model.Messages() {
		return c, err
	}
	opt.Cache.HaloType = halo.Int8
	encoded, err := t.simulate(ctx, opt, true, 0)
	if err != nil {
		return c, err
	}
	if saved := &encoded.EpochS; *saved < c.EpochS*(1-encodedGain) {
		c.EncodedS = saved
	}
	return c, nil
}

// throughEach returns what goes through the network interface of each of n machines, in the direction with more of it.
func throughEach[P any, X gpu.Bytes | float64](n int, pairs []P, of func(P) (from, to int, x X)) []X {
	out, in := make([]X, n), make([]X, n)
	for _, p := range pairs {
		from, to, x := of(p)
		out[from], in[to] = out[from]+x, in[to]+x
	}
	for m := range out {
		out[m] = max(out[m], in[m])
	}
	return out
}
