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
	"capgnn/cmd/capgnn/internal/ranks"
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
	// Streamed is by device; nil: all parts are held. HostCopies is the host's memory for what is not on a device.
	Streamed   []Streaming `json:"streamed,omitempty"`
	HostCopies gpu.Bytes   `json:"host_copies,omitempty"`
	Held       []gpu.Bytes `json:"held,omitempty"` // what held parts would take of each device

	ages bool // rows of other parts may be of an earlier epoch

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

// Planner plans the memory of a run: it puts trainers on ledgers in place of devices, and samples steps to see what
// they take. It is copied to ask what would fit.
type Planner struct {
	Forecaster
	own  Amount    // what the process had when memory was planned; of a run in phases, before it was cut
	heap gpu.Bytes // of own, what its heap had in use
	may  gpu.Bytes // what it may have in all; 0: not asked
}

// PlanMemory puts the run on ledgers in place of its open devices, and settles the sizes of caches.
func (t *Planner) PlanMemory(ctx context.Context) (*MemoryPlan, error) {
	if t.Config.Phased() {
		t.measureOwn()
	}
	if err := t.lay(); err != nil {
		return nil, term.AsUsage(err)
	}
	if !t.Config.Phased() && !t.Specs[0].Simulated() {
		t.measureOwn()
	}
	m, err := t.settleSlots(ctx)
	if err == nil && m.replaced {
		m, err = t.settleSlots(ctx) // memory leaves room for no row that ages, which is known now: the run is placed once
	}
	if err != nil {
		return nil, term.AsUsage(Explain(err))
	}
	if t.Config.Staleness > 0 && !m.ages && (t.Aging == nil || len(t.Aging.Layers) > 0) {
		t.Console.Note("note: --staleness %d has no effect here: no halo row can be from an earlier epoch",
			t.Config.Staleness)
	}
	return t.stream(ctx, m)
}

// cacheTries is how often caches are made smaller until a run fits: each time by twice what was missing.
const cacheTries = 6

// settleSlots puts the run on ledgers, and keeps the sizes of caches that it finds. If a device of a rank is too small
// for the caches and not for the run without them, those of all shrink; otherwise all that is needed counts.
func (t *Planner) settleSlots(ctx context.Context) (m *MemoryPlan, err error) {
	var caches *jaca.Plan
	defer func() {
		if err == nil && caches != nil && t.Config.CacheSlots.String() == "" {
			t.Config.Set("cache-slots", runfolder.FormatSlots(&caches.Capacities))
		}
	}()
	opt := t.ProblemOptions()
	without := func() (misfit gpu.Bytes, err error) {
		if m, caches, err = t.account(ctx, bare(opt), false); err == nil {
			misfit = slices.Max(m.lacks())
		}
		return t.mostLacking(ctx, misfit, err)
	}
	if t.Ranks != nil { // which are placed together: one that does not fit at all would leave the others waiting
		if misfit, err := without(); err != nil || misfit > 0 {
			return m, err
		}
	}
	for try := range cacheTries + 1 {
		tried, some, err := t.account(ctx, opt, true)
		lack, err := t.mostLacking(ctx, 0, err)
		if err != nil || lack == 0 {
			caches = some
			return tried, err
		}
		if try == 0 && t.Ranks == nil {
			if misfit, err := without(); err != nil || misfit > 0 {
				return m, err
			}
		}
		opt.Cache.ReserveDevice += 2 * lack
	}
	return m, nil
}

// mostLacking returns what the device of all ranks lacks that lacks most, by lack or by an error of this rank.
func (t *Planner) mostLacking(ctx context.Context, lack gpu.Bytes, err error) (gpu.Bytes, error) {
	if oom := (*gpu.OutOfMemory)(nil); errors.As(err, &oom) {
		lack, err = max(1, oom.Need-oom.Have), nil
	}
	if err := t.Ranks.Agree(ctx, err); err != nil {
		return 0, err
	}
	lacks, err := ranks.All(ctx, t.Ranks, lack)
	return slices.Max(append(lacks, 0)), err
}

// bare is options without caches that take what memory leaves.
func bare(opt pipeline.Options) pipeline.Options {
	if opt.Cache.Local == (jaca.Size{}) && opt.Cache.Slots == nil {
		opt.Cache.Local = jaca.Rows(0)
	}
	return opt
}

// account puts the run on ledgers: with the budgets of the devices, or without an end.
func (t *Planner) account(ctx context.Context, opt pipeline.Options, limited bool) (*MemoryPlan, *jaca.Plan, error) {
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
	c := &t.Config
	m := &MemoryPlan{Dataset: t.Data.Name, Model: c.ModelName(), Parts: t.Parts, Order: c.Order, Storage: c.Storage,
		Staleness: t.Aging, ages: trainer.Ages(), replaced: trainer.Replaced()}
	m.Host.Cache, m.Host.Staging = trainer.HostMemory()
	if t.may > 0 {
		m.Process = new(t.own)
		if !t.Config.Phased() {
			m.Process.Add("placing parts", gpu.Bytes(after.TotalAlloc-before.TotalAlloc), 0)
		}
		if err := trainer.ProcessMemory(m.Process, t.onWorkers()); err != nil {
			return nil, nil, errors.Join(err, trainer.Close())
		}
	}
	for i, b := range ledgers {
		d := DeviceMemory{Device: t.ownSpecs()[i].String(), Budget: t.Devices[i].Info().Budget,
			Peak: b.Memory().HighWater, Buffers: blocksOf(b.Entries())}
		d.Fits = d.Peak <= d.Budget
		m.Devices = append(m.Devices, d)
	}
	if opt.Stream {
		streams, copies := trainer.Streams()
		m.HostCopies = copies
		for _, b := range books {
			s := streams[b]
			m.Streamed = append(m.Streamed, Streaming{s.Parts, s.Up, s.Down, s.Window})
		}
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
func (t *Planner) lay() error {
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

// blocksOf adds up entries of one name, the largest first: those that stay, or if none does, all.
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
		switch b := &out[i]; {
		case e.Freed && !b.Before:
			continue
		case b.Before && !e.Freed:
			*b = plannedBlock{Name: e.Name}
		}
		out[i].Blocks++
		out[i].Bytes += e.Size
	}
	slices.SortStableFunc(out, func(a, b plannedBlock) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// preflight refuses a run that does not fit before anything large is asked for.
func (t *Planner) preflight(ctx context.Context) error {
	t.Console.Enter(term.Checking)
	if !t.Config.Sampled() {
		m, err := t.PlanMemory(ctx)
		if err == nil {
			err = t.FitMemory(ctx, m)
		}
		if err == nil {
			t.boundHeap(m.Room, m.Process)
		}
		return err
	}
	p, err := t.PlanSampled(ctx)
	if err != nil {
		return err
	}
	if name := t.Config.Sampling.Value.Name; len(p.Parts) > 1 && name != runfolder.SamplingNames()[0] {
		t.Console.Note("%s: %s", name, p.Shares()) // a preset of a system in which each part has a batch of its own
	}
	if err := t.FitSampled(ctx, p); err != nil {
		return err
	}
	t.boundHeap(p.Room, &p.Host)
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
func (t *Planner) FitMemory(ctx context.Context, m *MemoryPlan) error {
	switch {
	case !m.Room.Fits(): // also of a device that is too small: what the host lacks no mem= gives
		return m.Room.misfit("up to", t.fitting(ctx))
	case m.fits():
		return nil
	}
	lacks := m.lacks()
	d, more := m.Devices[slices.Index(lacks, slices.Max(lacks))], t.giveMore(lacks)
	if t.uneven() && t.changed() {
		all := gpu.Bytes(0)
		for _, d := range m.Devices {
			all += d.Peak
		}
		more = t.enoughDivided(ctx, slices.Max(lacks), all)
	}
	return &term.FitError{Remedy: more + t.fitting(ctx),
		Err: fmt.Errorf("%s: the run needs %s, the device has %s; %q alone takes %s", d.Device, term.Size(d.Peak),
			term.Size(d.Budget), d.Buffers[0].Name, term.Size(d.Buffers[0].Bytes))}
}

// tooLarge returns the host, or a simulated device, that has no room for the weights alone; nil: all have, or this
// process has room to plan what a simulated device lacks. It makes none.
func (t *Planner) tooLarge() *term.FitError {
	parameters := gnn.FlatLen(t.network(&t.Config))
	weights := gpu.Bytes(min(parameters, math.MaxInt64/1024))
	each := func(int) gpu.Bytes { return weightBytes * weights }
	if r := t.hostRoom(t.own.Bound+hostWeightBytes*weights, each); !r.Fits() {
		e := r.misfit("at least", "")
		e.Remedy = term.MoreMemory(max(r.Need, t.roughly()) - r.May)
		return e
	}
	first := slices.IndexFunc(t.Devices, t.tooSmall)
	left, known := t.free()
	if !t.Specs[0].Simulated() || !known || hostWeightBytes*weights <= left/2 || first < 0 {
		return nil
	}
	lacks := make([]gpu.Bytes, len(t.Devices))
	for i, d := range t.Devices {
		if t.tooSmall(d) {
			lacks[i] = max(weightBytes*weights, t.roughlyOn(d)) - d.Info().Budget
		}
	}
	d := t.Devices[first].Info()
	return &term.FitError{Remedy: t.giveMore(lacks),
		Err: fmt.Errorf("the model has %d parameters, %s has %s", parameters, d.Name, term.Size(d.Budget))}
}

// tooSmall reports whether a device has no room for the weights alone.
func (t *Forecaster) tooSmall(d gpu.Device) bool {
	return gnn.FlatLen(t.network(&t.Config)) > int64(d.Info().Budget)/weightBytes
}

// Every device holds weights and gradients of 4 bytes each; the host what pipeline.Trainer.ProcessMemory and
// minibatch.Plan count at least.
const weightBytes, hostWeightBytes = 8, 16
