package training

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"

	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/jaca"
	"capgnn/pipeline"
)

// MemoryPlan is what a run would take on every device: the blocks that it would ask for, in order.
type MemoryPlan struct {
	Dataset string              `json:"dataset"`
	Model   string              `json:"model"`
	Parts   int                 `json:"parts"`
	Order   string              `json:"order"`
	Storage string              `json:"storage"`
	Devices []DeviceMemory      `json:"devices"`
	Host    hostMemory          `json:"host"`
	Caches  *runfolder.Capacity `json:"caches"`  // in rows; null: there are none
	Subsets []Subset            `json:"subsets"` // what some of the devices would take, the fastest first; null: not asked
	// Staleness says which layers may read stale halo rows; null: no forecast decided it.
	Staleness *runfolder.StaleForecast `json:"staleness"`
	// Encoding says on which links encoded rows pay; null: nothing goes from device to device, or it was not asked.
	Encoding *EncodedRows `json:"encoding"`
	// Process is what the process takes beside devices; null: these are simulated.
	Process *Amount   `json:"process,omitempty"`
	Room    *HostRoom `json:"room"` // null: devices are simulated
	ages    bool      // rows of other parts may be of an earlier epoch

	replaced bool // the ledgers hold what pipeline.Trainer.Replaced says
}

// hostMemory is what exchanges take of the host's memory, page-locked where the system allows. Amounts are in bytes.
type hostMemory struct {
	Cache   gpu.Bytes `json:"cache"`
	Staging gpu.Bytes `json:"staging"` // rows on their way between devices that do not reach each other
}

// DeviceMemory is one device of a MemoryPlan. Amounts are in bytes.
type DeviceMemory struct {
	Device  string         `json:"device"`
	Budget  gpu.Bytes      `json:"budget"`
	Peak    gpu.Bytes      `json:"peak"` // high-water mark
	Fits    bool           `json:"fits"`
	Buffers []plannedBlock `json:"buffers"`
}

// plannedBlock is the blocks of one name on a device.
type plannedBlock struct {
	Name   string    `json:"name"`
	Blocks int       `json:"blocks"`
	Bytes  gpu.Bytes `json:"bytes"`  // all of them together
	Before bool      `json:"before"` // needed only before the first epoch
}

// PlanMemory puts the run on ledgers in place of its open devices, and settles the sizes of caches.
func (t *Run) PlanMemory(ctx context.Context) (*MemoryPlan, error) {
	if t.Config.Phased() {
		t.measureOwn()
	}
	if err := t.lay(); err != nil {
		return nil, term.AsUsage(err)
	}
	if !t.Config.Phased() && !t.Specs[0].Simulated() {
		t.measureOwn()
	}
	m, err := t.settleHere(ctx)
	if err == nil && m.replaced {
		m, err = t.settleSlots(ctx) // memory leaves room for no row that ages, which is known now: the run is placed once
	}
	if err != nil {
		return nil, term.AsUsage(t.Explain(err))
	}
	if t.Config.Staleness > 0 && !m.ages && (t.Aging == nil || len(t.Aging.Layers) > 0) {
		t.Console.Note("note: --staleness %d has no effect here: no halo row can be from an earlier epoch", t.Config.Staleness)
	}
	return m, nil
}

// settleHere is settleSlots, together with other ranks if there are some.
func (t *Run) settleHere(ctx context.Context) (*MemoryPlan, error) {
	if t.Ranks != nil {
		return t.settleTogether(ctx)
	}
	return t.settleSlots(ctx)
}

// settleSlots puts the run on ledgers, and keeps the sizes of caches that it finds.
func (t *Run) settleSlots(ctx context.Context) (*MemoryPlan, error) {
	opt := t.ProblemOptions()
	m, caches, err := t.account(ctx, opt, true)
	if oom := (*gpu.OutOfMemory)(nil); errors.As(err, &oom) {
		m, caches, err = t.accountTight(ctx, opt, oom)
	}
	if err == nil && caches != nil && t.Config.CacheSlots.String() == "" {
		t.Config.Set("cache-slots", runfolder.FormatSlots(&caches.Capacities))
	}
	return m, err
}

// cacheTries is how often caches are made smaller until a run fits: each time by twice what was missing.
const cacheTries = 6

// accountTight puts a run on ledgers that did not fit the devices as it was. If it would without caches, these shrink;
// otherwise all that is needed counts.
func (t *Run) accountTight(ctx context.Context, opt pipeline.Options, oom *gpu.OutOfMemory) (*MemoryPlan, *jaca.Plan, error) {
	m, caches, err := t.account(ctx, bare(opt), false)
	if err != nil || !m.fits() {
		return m, nil, err
	}
	for range cacheTries {
		opt.Cache.ReserveDevice += 2 * (oom.Need - oom.Have)
		smaller, some, err := t.account(ctx, opt, true)
		if !errors.As(err, &oom) {
			return smaller, some, err
		}
	}
	return m, caches, nil
}

// bare is options without caches that take what memory leaves.
func bare(opt pipeline.Options) pipeline.Options {
	if opt.Cache.Local == (jaca.Size{}) && opt.Cache.Slots == nil {
		opt.Cache.Local = jaca.Rows(0)
	}
	return opt
}

// account puts the run on ledgers: with the budgets of the devices, or without an end.
func (t *Run) account(ctx context.Context, opt pipeline.Options, limited bool) (*MemoryPlan, *jaca.Plan, error) {
	var books []gpu.Device
	var ledgers []*ledger.Device
	for _, d := range t.Devices {
		budget := gpu.Bytes(0)
		if limited {
			budget = d.Info().Budget
		}
		l := ledger.InPlaceOf(d, budget)
		books, ledgers = append(books, l), append(ledgers, l)
	}
	opt.Layout = t.layout
	t.here(&opt, books)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	trainer, err := pipeline.New(ctx, t.Data.Problem, opt)
	if err != nil {
		return nil, nil, err
	}
	runtime.ReadMemStats(&after)
	m := &MemoryPlan{Dataset: t.Data.Name, Model: t.Config.ModelName(), Parts: t.Parts, Order: t.Config.Order, Storage: t.Config.Storage, Staleness: t.Aging, ages: trainer.Ages(), replaced: trainer.Replaced()}
	m.Host.Cache, m.Host.Staging = trainer.HostMemory()
	if t.may > 0 {
		uses, mapped, err := trainer.ProcessMemory(t.onWorkers())
		if err != nil {
			return nil, nil, errors.Join(err, trainer.Close())
		}
		m.Process = &Amount{mapped: mapped}
		m.Process.add(t.own)
		if !t.Config.Phased() {
			m.Process.add(MemUse{Name: "placing parts", Bound: gpu.Bytes(after.TotalAlloc - before.TotalAlloc)})
		}
		for _, u := range uses {
			m.Process.add(MemUse{Name: u.Name, Bound: u.Bound})
		}
	}
	for i, b := range ledgers {
		d := DeviceMemory{Device: t.ownSpecs()[i].String(), Budget: t.Devices[i].Info().Budget, Peak: b.Memory().HighWater, Buffers: blocksOf(b.Entries())}
		d.Fits = d.Peak <= d.Budget
		m.Devices = append(m.Devices, d)
	}
	if m.Process != nil {
		m.Room = t.hostRoom(m.Process.Bound, func(device int) gpu.Bytes { return m.Devices[device].Peak })
	}
	caches := trainer.Caches()
	if caches != nil {
		m.Caches = runfolder.CapacityOf(caches)
	}
	return m, caches, trainer.Close()
}

// lay cuts the graph, once for the plan and the run.
func (t *Run) lay() error {
	c, err := diskcache.Open(t.Console)
	if err != nil || t.layout != nil {
		return err
	}
	opt := t.ProblemOptions()
	opt.Log = slog.New(&term.NoteHandler{Console: t.Console})
	if c != nil {
		opt.Prepared = c
	}
	t.here(&opt, nil)
	own := t.ownParts()
	t.layout, err = pipeline.NewLayout(t.Data.Problem, opt, own.Hi-own.Lo)
	return err
}

// blocksOf adds up entries of one name, the largest first.
func blocksOf(entries []ledger.Entry) []plannedBlock {
	at := map[string]int{}
	var out []plannedBlock
	for _, e := range entries {
		i, ok := at[e.Name]
		if !ok {
			i = len(out)
			at[e.Name] = i
			out = append(out, plannedBlock{Name: e.Name, Before: true})
		}
		out[i].Blocks++
		out[i].Bytes += e.Size
		out[i].Before = out[i].Before && e.Freed
	}
	slices.SortStableFunc(out, func(a, b plannedBlock) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// preflight refuses a run that does not fit before anything large is asked for.
func (t *Run) preflight(ctx context.Context) error {
	t.Console.Enter(term.Checking)
	m, err := t.PlanMemory(ctx)
	if err != nil {
		return err
	}
	if err := t.FitMemory(ctx, m); err != nil {
		return err
	}
	m.Room.boundHeap(m.Process)
	return nil
}

// fits reports whether every device is large enough.
func (m *MemoryPlan) fits() bool { return slices.Max(m.lacks()) == 0 }

// lacks returns what each device lacks, 0 for those that are large enough.
func (m *MemoryPlan) lacks() []gpu.Bytes {
	lacks := make([]gpu.Bytes, len(m.Devices))
	for i, d := range m.Devices {
		lacks[i] = max(0, d.Peak-d.Budget)
	}
	return lacks
}

// FitMemory returns a *FitError if a device or the host is too small, naming what takes most and what fits.
func (t *Run) FitMemory(ctx context.Context, m *MemoryPlan) error {
	switch {
	case !m.Room.Fits(): // also of a device that is too small: what the host lacks no mem= gives
		return m.Room.misfit("up to", t.advice(ctx))
	case m.fits():
		return nil
	}
	lacks := m.lacks()
	d := m.Devices[slices.Index(lacks, slices.Max(lacks))]
	more := t.giveMore(lacks)
	if t.uneven() && t.changed() {
		more = t.enoughDivided(ctx, slices.Max(lacks))
	}
	largest := d.Buffers[0]
	return &term.FitError{Err: fmt.Errorf("%s: the run needs %s, the device has %s; %q alone takes %s", d.Device, term.Size(d.Peak), term.Size(d.Budget),
		largest.Name, term.Size(largest.Bytes)),
		Remedy: more + t.advice(ctx)}
}

// checkSize refuses what cannot fit before anything of that size is asked for.
func (t *Run) checkSize(ctx context.Context) error {
	if !t.Specs[0].Simulated() {
		t.measureOwn()
	}
	if e := t.tooLarge(); e != nil {
		e.Remedy += t.advice(ctx)
		return e
	}
	return nil
}

// network returns the model that is trained.
func (t *Run) network() gnn.Config {
	p := t.Data.Problem
	return t.Config.Network(p.Features.Cols, p.Classes, p.Targets != nil)
}

// tooLarge returns the host, or a simulated device, that has no room for the weights alone; nil: all have. It makes none.
func (t *Run) tooLarge() *term.FitError {
	parameters := gnn.FlatLen(t.network())
	weights := gpu.Bytes(min(parameters, math.MaxInt64/1024))
	if r := t.hostRoom(t.own.Bound+hostWeightBytes*weights, func(int) gpu.Bytes { return weightBytes * weights }); !r.Fits() {
		e := r.misfit("at least", "")
		e.Remedy = term.MoreMemory(max(r.Need, t.roughly()) - r.May)
		return e
	}
	if !t.Specs[0].Simulated() { // what the host has room for can be planned
		return nil
	}
	for _, d := range t.Devices {
		if have := d.Info().Budget; parameters > int64(have)/weightBytes {
			return &term.FitError{Err: fmt.Errorf("the model has %d parameters, %s has %s", parameters, d.Info().Name, term.Size(have)),
				Remedy: fmt.Sprintf("give it at least %s more (mem=)", term.Size(weightBytes*weights-have))}
		}
	}
	return nil
}

// Every device holds weights and gradients of 4 bytes each; the host what pipeline.Trainer.ProcessMemory and minibatch.Plan count at least.
const weightBytes, hostWeightBytes = 8, 16
