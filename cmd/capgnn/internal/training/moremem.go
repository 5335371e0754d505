package training

import (
	"context"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
)

// larger is a device with more memory.
type larger struct {
	gpu.Device
	more gpu.Bytes
}

// Scratch implements gpu.Scratcher.
func (d larger) Scratch(rows int, entries int64, in, out int) gpu.Bytes {
	if s, ok := d.Device.(gpu.Scratcher); ok {
		return s.Scratch(rows, entries, in, out)
	}
	return 0
}

func (d larger) Info() gpu.Info {
	i := d.Device.Info()
	i.Budget += d.more
	return i
}

func (d larger) Memory() gpu.Memory {
	m := d.Device.Memory()
	m.Budget += d.more
	return m
}

// unbound is what a run on samples takes of the host where it may have all that it can use, as far as that is known.
func (t *Planner) unbound(ctx context.Context, tight *HostRoom) *HostRoom {
	o := *t
	o.Devices = slices.Clone(t.Devices)
	for i, d := range o.Devices {
		if d.Info().Kind == gpu.CPU {
			o.Devices[i] = larger{d, 1 << 46} // more than any host has
		}
	}
	p, err := o.planSampled(ctx)
	if err != nil {
		return tight
	}
	return p.Room
}

// moreTries is how often what a device lacks is doubled.
const moreTries = 8

// narrowings is how often what devices are given is made less: to within an eighth of what too little has to it.
const narrowings = 3

// narrowed returns about the least that devices need between what is too little and what is enough, as fits tells.
func narrowed(little, enough []gpu.Bytes, fits func(more []gpu.Bytes) bool) []gpu.Bytes {
	for range narrowings {
		between := make([]gpu.Bytes, len(enough))
		for i := range between {
			between[i] = (little[i] + enough[i]) / 2
		}
		if fits(between) {
			enough = between
		} else {
			little = between
		}
	}
	return enough
}

// sampledWith plans a run on samples on devices with what giveMore says more memory.
func (t *Planner) sampledWith(ctx context.Context, lacks []gpu.Bytes) (*SampledPlan, error) {
	o := *t
	o.Devices = slices.Clone(t.Devices)
	for i, d := range t.Devices {
		o.Devices[i] = larger{d, withSpare(lacks[i])}
	}
	return o.planSampled(ctx)
}

// enough says with how much more memory for devices a run on samples fits them: evaluation takes more where there is
// more. lacks is by device, of this process.
func (t *Planner) enough(ctx context.Context, lacks []gpu.Bytes) string {
	little, more := make([]gpu.Bytes, len(lacks)), slices.Clone(lacks)
	for range moreTries {
		p, err := t.sampledWith(ctx, more)
		switch {
		case err != nil:
			return t.giveMore(more)
		case !p.Room.Fits():
			host := term.MoreMemory(p.Room.Need + p.Room.Need/16 + otherThreads - p.Room.May)
			return host + ", and " + strings.TrimPrefix(t.giveMore(more), "give ")
		case slices.Max(p.lacks) == 0:
			if slices.Max(little) > 0 {
				more = narrowed(little, more, func(more []gpu.Bytes) bool {
					p, err := t.sampledWith(ctx, more)
					return err == nil && p.Fits
				})
			}
			return t.giveMore(more)
		}
		copy(little, more)
		for i, n := range p.lacks {
			more[i] += min(n, 1) * max(n, more[i])
		}
	}
	return t.giveMore(more)
}

// enoughDivided says with how much more memory a full-batch run fits devices whose parts are made for unequal ones:
// where there is more, parts are others. more is what is tried first, for each device that has less than all parts
// need together, or for each where none is known to have less.
func (t *Planner) enoughDivided(ctx context.Context, more, need gpu.Bytes) string {
	lacks := make([]gpu.Bytes, len(t.ownSpecs()))
	give := func(more gpu.Bytes, all bool) (some bool) {
		for i := range lacks {
			lacks[i] = 0
			if b := t.budgetOf(i); all || b > 0 && b < need {
				lacks[i], some = more, true
			}
		}
		return some
	}
	all := t.Ranks != nil || !give(more, false)
	give(more, all)
	tries := moreTries
	if t.trying || t.Ranks != nil {
		tries = 0
	}
	little, fits := make([]gpu.Bytes, len(lacks)), func(more []gpu.Bytes) bool { return t.tryWith(ctx, more) == nil }
	for ; tries > 0; tries-- {
		err := t.tryWith(ctx, lacks)
		if err == nil {
			return t.giveMore(narrowed(little, lacks, fits))
		}
		if term.ExitCode(err) != term.ExitDoesNotFit {
			break
		}
		copy(little, lacks)
		more *= 2
		give(more, all)
	}
	return t.giveMore(lacks)
}

// budgetOf is the memory of a device, 0 where that is not known.
func (t *Planner) budgetOf(device int) gpu.Bytes {
	if t.Devices == nil {
		return t.Budget(device) // part i is on device i
	}
	return t.Devices[device].Info().Budget
}

// tryWith divides a full-batch run anew where devices have what giveMore says more memory, and returns whether it fits.
func (t *Planner) tryWith(ctx context.Context, lacks []gpu.Bytes) error {
	specs := slices.Clone(t.Specs)
	for i, n := range lacks {
		if n > 0 {
			specs[i].Memory = t.budgetOf(i) + withSpare(n)
		}
	}
	o := Run{Planner: Planner{Forecaster: t.on(specs, t.Profile)}}
	o.Parts, o.Config.Plan, o.Devices = t.Parts, t.Config.Plan, nil
	for _, step := range []Step{o.decided(Divide, SettleCache, SettleAging, Arrange), o.Open, o.preflight} {
		if err := step(ctx); err != nil {
			return devices.CloseAfter(err, o.Devices)
		}
	}
	return devices.CloseAll(o.Devices)
}
