package training

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
)

// HostRoom is what a run takes of the host's memory, with its CPU devices, and what this process may have. Amounts are in bytes.
type HostRoom struct {
	Need    gpu.Bytes `json:"need"`
	Devices gpu.Bytes `json:"devices"` // of Need, what CPU devices take
	May     gpu.Bytes `json:"may"`     // by the machine, control groups and ulimit
}

// Fits reports whether the process may have what it needs.
func (r *HostRoom) Fits() bool { return r == nil || r.Need <= r.May }

// ample reports whether it fits with room for what differs from process to process.
func (r *HostRoom) ample() bool { return r == nil || r.Need+r.Need/64+4<<20 <= r.May }

// boundHeap has the runtime collect its heap before it takes more than what devices and mapped memory leave.
func (r *HostRoom) boundHeap(host *Amount) {
	if r != nil && r.May < math.MaxInt64 {
		debug.SetMemoryLimit(int64(r.May - r.Devices - host.mapped))
	}
}

// misfit is the error of a run that does not fit; Need is its bound: "up to" or "at least". A little is added, so that the rounded number is enough in another process.
func (r *HostRoom) misfit(bound, advice string) *term.FitError {
	need := r.Need + r.Need/16 + 4<<20
	return &term.FitError{Err: fmt.Errorf("the run needs %s %s of the host's memory, %s of it for CPU devices, and this process may have %s", bound, term.Size(need), term.Size(r.Devices), term.Size(r.May)),
		Remedy: term.MoreMemory(need-r.May) + advice}
}

// hostRoom compares what the process takes beside devices, and what each CPU device takes, with what it may have; nil: devices are simulated,
// or it was not asked.
func (t *Run) hostRoom(own gpu.Bytes, taken func(device int) gpu.Bytes) *HostRoom {
	if t.Specs[0].Simulated() || t.may == 0 {
		return nil
	}
	r := &HostRoom{Need: own, May: t.may}
	for i, d := range t.Devices {
		if d.Info().Kind == gpu.CPU {
			r.Devices += taken(i)
		}
	}
	r.Need += r.Devices
	return r
}

// measureOwn sets what the process has now and what it may have in all: that, and its share of what is free.
func (t *Run) measureOwn() {
	t.own, t.may = ownMemory(), math.MaxInt64
	free := t.Free
	if free == nil {
		free = hostmem.Free
	}
	left, _, err := free()
	if err != nil {
		return
	}
	if t.Ranks != nil {
		_, here := t.Ranks.Local()
		left /= int64(here)
	}
	t.may = gpu.Bytes(left + hostmem.Anonymous())
}

// giveMore says how much more a device needs; a little is added, so that the rounded number is enough.
func giveMore(n gpu.Bytes) string { return fmt.Sprintf("give it %s more (mem=)", term.Size(n+n/16)) }

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
func (t *Run) unbound(ctx context.Context, tight *HostRoom) *HostRoom {
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

// enough says with how much more memory for a device a run on samples fits it: evaluation takes more where there is more.
func (t *Run) enough(ctx context.Context, device int, more gpu.Bytes) string {
	for range moreTries {
		o := *t
		o.Devices = slices.Clone(t.Devices)
		at := &o.Devices[device-t.firstDevice()]
		*at = larger{*at, more}
		p, err := o.planSampled(ctx)
		switch {
		case err != nil:
			return giveMore(more)
		case !p.Room.Fits():
			return term.MoreMemory(p.Room.Need+p.Room.Need/16+4<<20-p.Room.May) + ", and " + strings.TrimPrefix(giveMore(more), "give ")
		case p.lacks == nil || p.device != device:
			return giveMore(more)
		}
		more *= 2
	}
	return giveMore(more)
}

// leastTried is the smallest width of hidden layers that is advised.
const leastTried = 8

// advice names settings with which the run fits, each tried: first what changes the run least. Without one it says so of sampled runs.
func (t *Run) advice(ctx context.Context) string {
	if t.Ranks != nil && !t.Config.Sampled() { // all ranks would have to try
		return ""
	}
	if !t.Config.Sampled() && t.lay() != nil { // once for all
		return ""
	}
	type setting struct{ flag, value string }
	var all []setting
	if t.Config.Sampled() {
		for n := min(t.Config.BatchSize, t.Data.Problem.TrainingVertices()) / 2; n > 0; n /= 2 {
			all = append(all, setting{"batch-size", strconv.Itoa(n)})
		}
	} else {
		all = []setting{{"storage", "bf16"}, {"batch-size", "1024"}, {"batch-size", "128"}, {"batch-size", "16"}}
	}
	for n := t.Config.Hidden / 2; n >= leastTried; n /= 2 {
		all = append(all, setting{"hidden", strconv.Itoa(n)})
	}
	for _, s := range all {
		if o := t.with(s.flag, s.value); o != nil && o.fits(ctx) {
			return fmt.Sprintf(", or give --%s %s, which fits", s.flag, s.value)
		}
	}
	if t.Config.Sampled() {
		return "; no --batch-size fits"
	}
	return ""
}

// with returns the run with one setting changed, nil where that does not go with the others, or with a flag that was given, or is as it was.
func (t *Run) with(flag, value string) *Run {
	o := *t
	o.Config.Set(flag, value)
	if flag == "storage" && t.Config.Storage == value || o.Config.Validate() != nil || o.Config.RefuseFullBatch(t.Given) != nil {
		return nil
	}
	o.Console = &term.Console{Out: io.Discard, Err: io.Discard, Quiet: true}
	o.settleSampled()
	return &o
}

// fits reports whether the run fits its devices and the host.
func (t *Run) fits(ctx context.Context) bool {
	if t.tooLarge() != nil {
		return false
	}
	debug.FreeOSMemory() // what the last try has left
	if !t.Config.Sampled() {
		m, _, err := t.account(ctx, bare(t.ProblemOptions()), false)
		return err == nil && m.lacking() == nil && m.Room.ample()
	}
	if t.shares == nil && (t.alike() || t.Profile != nil) && t.settleShares(ctx) != nil {
		return false
	}
	p, err := t.planSampled(ctx)
	return err == nil && p.lacks == nil && p.Room.ample()
}
