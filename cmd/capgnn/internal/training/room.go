package training

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strconv"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/hostmem"
	"capgnn/internal/memory"
	"capgnn/internal/room"
)

// HostRoom is what a run takes of the host's memory, with its CPU devices, and what this process may have. Amounts are
// in bytes.
type HostRoom struct {
	Need    gpu.Bytes `json:"need"`
	Devices gpu.Bytes `json:"devices"` // of Need, what CPU devices take
	May     gpu.Bytes `json:"may"`     // by the machine, control groups and ulimit
}

// Fits reports whether the process may have what it needs.
func (r *HostRoom) Fits() bool { return r == nil || r.Need <= r.May }

// ample reports whether it fits with room for what differs from process to process.
func (r *HostRoom) ample() bool { return r == nil || r.Need+r.Need/64+4<<20 <= r.May }

// boundHeap has the runtime collect its heap as was planned, and before it takes more than what devices and mapped
// memory leave. Of what the process had, only the heap grows by garbage.
func (t *Planner) boundHeap(r *HostRoom, host *Amount) {
	if r == nil {
		return
	}
	memory.Collect(t.heap+host.Bound-t.own.Bound-host.Mapped-(host.Garbage-t.own.Garbage), host.Garbage)
	if r.May < math.MaxInt64 {
		debug.SetMemoryLimit(int64(r.May - r.Devices - host.Mapped))
	}
}

// misfit is the error of a run that does not fit; Need is its bound: "up to" or "at least". A little is added, so that
// the rounded number is enough in another process.
func (r *HostRoom) misfit(bound, advice string) *term.FitError {
	need := r.Need + r.Need/16 + otherThreads
	return &term.FitError{Remedy: term.MoreMemory(need-r.May) + advice,
		Err: fmt.Errorf("the run needs %s %s of the host's memory, %s of it for CPU devices, and this process may have %s",
			bound, term.Size(need), term.Size(r.Devices), term.Size(r.May))}
}

// otherThreads is what processes of one run differ in: the runtime starts more threads or fewer, each with a stack.
const otherThreads = 16 << 20

// hostRoom compares what the process takes beside devices, and what each CPU device takes, with what it may have; nil:
// devices are simulated, or it was not asked.
func (t *Planner) hostRoom(own gpu.Bytes, taken func(device int) gpu.Bytes) *HostRoom {
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

// measureOwn sets what the process has now and what it may have in all: that, and its share of what is free. What
// reading the data set has left goes back first; little is left where there is plenty, and counts as what the process has.
func (t *Planner) measureOwn() {
	room.Release()
	left, known := t.free()
	if known && left < plenty {
		debug.FreeOSMemory()
		left, known = t.free()
	}
	t.own, t.heap = ownMemory()
	t.may = math.MaxInt64
	if known {
		_, here := t.Ranks.Local()
		t.may = left/gpu.Bytes(here) + gpu.Bytes(hostmem.Anonymous())
	}
}

// free is how much of the host's memory is free, if that is known.
func (t *Planner) free() (left gpu.Bytes, known bool) {
	free := t.Free
	if free == nil {
		free = hostmem.Free
	}
	n, _, err := free()
	return gpu.Bytes(n), err == nil
}

// roughly is what the run takes of the host with CPU devices, and rather more: for a limit that is raised once, where
// there is not even room to plan.
func (t *Planner) roughly() gpu.Bytes {
	p, model := t.Data.Problem, t.network(&t.Config)
	features := 4 * gpu.Bytes(p.FeatureEntries())
	weights := gpu.Bytes(min(gnn.FlatLen(model), math.MaxInt64/1024))
	n := t.own.Bound + leastGarbage + hostWeightBytes*weights + 2*features + t.rowBytes()
	for _, d := range t.Devices {
		n += t.weightsOn(d)
	}
	return n + n/4
}

// roughlyOn is what the run takes of a device that has the whole graph, and rather more.
func (t *Planner) roughlyOn(d gpu.Device) gpu.Bytes {
	n := t.weightsOn(d) + 4*gpu.Bytes(t.Data.Problem.FeatureEntries()) + t.rowBytes()
	return n + n/16
}

// rowBytes is what the rows of all layers and the edges take, about.
func (t *Planner) rowBytes() gpu.Bytes {
	p, model := t.Data.Problem, t.network(&t.Config)
	sum, widest := 0, model.In
	for l := range model.Layers {
		in, out := model.Width(l)
		sum, widest = sum+max(in, out), max(widest, out)
	}
	return 4*gpu.Bytes(p.Vertices())*gpu.Bytes(2*sum+widest+16) + 4*gpu.Bytes(p.Edges())*gpu.Bytes(8+4*t.Config.Heads)
}

// weightsOn is what weights, gradients, the moments of the optimiser and scratch memory take of a device.
func (t *Planner) weightsOn(d gpu.Device) gpu.Bytes {
	p, model := t.Data.Problem, t.network(&t.Config)
	n := 2 * weightBytes * gpu.Bytes(min(gnn.FlatLen(model), math.MaxInt64/1024))
	if d, ok := d.(gpu.Scratcher); ok {
		n += model.Scratch(d, p.Features.Sparse(), func(int) (int, int64) { return p.Vertices(), p.Edges() })
	}
	return n
}

// plenty of free memory is many times what room.Release leaves.
const plenty = 1 << 30

// leastGarbage is how far a heap grows before it is collected, and what the runtime takes besides.
const leastGarbage = 16 << 20

// leastTried is the smallest width of hidden layers that is advised.
const leastTried = 8

// fitting names settings with which the run fits, each tried: first what changes the run least. Without one it says so
// of sampled runs.
func (t *Planner) fitting(ctx context.Context) string {
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

// with returns the run with one setting changed, nil where that does not go with the others, or with a flag that was
// given, or is as it was.
func (t *Planner) with(flag, value string) *Planner {
	o, as := *t, flag == "storage" && t.Config.Storage == value
	o.Config.Set(flag, value)
	if as || o.Config.Validate() != nil || o.Config.RefuseFullBatch(t.Given) != nil {
		return nil
	}
	o.Console = quiet()
	o.settleSampled(t.Data.Problem.Features.Sparse())
	return &o
}

// fits reports whether the run fits its devices and the host.
func (t *Planner) fits(ctx context.Context) bool {
	if t.tooLarge() != nil || slices.ContainsFunc(t.Devices, t.tooSmall) {
		return false
	}
	room.Release() // what the last try has left
	if !t.Config.Sampled() {
		m, _, err := t.account(ctx, bare(t.ProblemOptions()), false)
		return err == nil && m.fits() && m.Room.ample()
	}
	if t.shares == nil && (t.alike() || t.Profile != nil) {
		d, err := settleShares(ctx, t.Forecaster)
		if err != nil {
			return false
		}
		t.Decisions = d
	}
	p, err := t.planSampled(ctx)
	return err == nil && slices.Max(p.lacks) == 0 && p.Room.ample()
}

// PredictionFits says of a prediction for which a device was too small with how much more memory it fits. try places
// or predicts on other devices: whole says that what it takes of them does not depend on what they have.
func (w *Where) PredictionFits(small *gpu.OutOfMemory, whole bool, try func(devices []gpu.Device) error) error {
	if small.Have >= small.Need || w.Ranks != nil { // the host's memory; all ranks would have to try
		return &term.FitError{Err: small, Remedy: MoreMemory(small) + ", or name more --devices"}
	}
	lacks, fault, last := make([]gpu.Bytes, len(w.Devices)), error(small), small
	for range moreTries {
		var books []gpu.Device
		for i, d := range w.Devices {
			budget := gpu.Bytes(0)
			if !whole {
				if d.Info().Name == last.Device {
					lacks[i] = max(2*lacks[i], last.Need-last.Have)
				}
				budget = d.Info().Budget + lacks[i]
			}
			books = append(books, ledger.InPlaceOf(d, budget))
		}
		if fault = try(books); whole && fault == nil {
			for i, d := range w.Devices {
				lacks[i] = max(0, books[i].Memory().HighWater-d.Info().Budget)
			}
		}
		if whole || !errors.As(fault, &last) {
			break
		}
	}
	if fault != nil {
		return &term.FitError{Err: small, Remedy: MoreMemory(small) + ", or name more --devices"}
	}
	i := slices.Index(lacks, slices.Max(lacks))
	have := w.Devices[i].Info().Budget
	return &term.FitError{Remedy: w.giveMore(lacks) + ", or name more --devices",
		Err: fmt.Errorf("%s: the prediction needs %s, the device has %s", w.Specs[i], term.Size(have+lacks[i]),
			term.Size(have))}
}
