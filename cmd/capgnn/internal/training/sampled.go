package training

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/memory"
	"capgnn/minibatch"
	"capgnn/minibatch/rowcache"
)

// SampledPlan is what a run on samples would take: of memory at most, and what its epochs read, by the steps that were
// sampled to see.
type SampledPlan struct {
	Dataset   string       `json:"dataset"`
	Model     string       `json:"model"`
	BatchSize int          `json:"batch_size"`
	Sampler   string       `json:"sampler"`
	Fanout    string       `json:"fanout"` // nearest the roots first
	Storage   string       `json:"storage"`
	Fits      bool         `json:"fits"`
	Parts     []PartMemory `json:"parts"`
	Host      Amount       `json:"host"` // of the process
	Room      *HostRoom    `json:"room"` // null: devices are simulated
	Epoch     SampledEpoch `json:"epoch"`
	Rows      *RowsPlan    `json:"rows"` // null where nothing is fetched

	lacks []gpu.Bytes // by device of this process; 0: it is large enough
}

// PartMemory is what a part takes of its device, which its parts share. Amounts are in bytes.
type PartMemory struct {
	Device string    `json:"device"`
	Budget gpu.Bytes `json:"budget"`
	Roots  float64   `json:"roots"` // share of a step's that the part computes
	Rows   float64   `json:"rows"`  // share of the feature rows that are read which it reads
	// Resident is how many feature rows a GPU keeps, so that steps do not upload them.
	Resident int `json:"resident"`
	Amount
}

// Amount is memory for some uses.
type Amount = memory.Plan

// SampledEpoch is what an epoch reads.
type SampledEpoch struct {
	Steps        int       `json:"steps"`
	Edges        int64     `json:"edges"`
	Rows         int64     `json:"rows"`    // of features
	Fetched      int64     `json:"fetched"` // those of other parts
	FetchedBytes gpu.Bytes `json:"fetched_bytes"`
	Requests     int64     `json:"requests"`
}

// PlanSampled says what the run would take on its open devices.
func (t *Planner) PlanSampled(ctx context.Context) (*SampledPlan, error) {
	t.measureOwn()
	return t.planSampled(ctx)
}

// planSampled is PlanSampled, of a process that is known.
func (t *Planner) planSampled(ctx context.Context) (*SampledPlan, error) {
	m, err := minibatch.Plan(ctx, t.Data.Problem, t.sampledOptions())
	if err != nil {
		return nil, term.AsUsage(Explain(err))
	}
	c := &t.Config
	p := &SampledPlan{Dataset: t.Data.Name, Model: c.Model, BatchSize: c.BatchSize, Sampler: c.Sampler,
		Fanout: c.Fanout.String(), Storage: c.Storage,
		Host:  t.own.And(m.Host),
		Epoch: SampledEpoch{m.Steps, m.Edges, m.Rows.Read, m.Rows.Fetched, m.Bytes.Rows, m.Requests}}
	taken := make([]gpu.Bytes, len(t.Specs))
	for part, x := range m.Parts {
		p.Parts = append(p.Parts, PartMemory{t.Specs[t.deviceOf(part)].String(), x.Budget, x.Share.Roots,
			x.Share.Rows, x.Resident, x.Plan})
		taken[t.deviceOf(part)] += p.Parts[part].Bound
	}
	taken = taken[t.firstDevice():]
	p.lacks = make([]gpu.Bytes, len(t.Devices))
	for i, d := range t.Devices {
		p.lacks[i] = max(0, taken[i]-d.Memory().Budget)
	}
	p.Room = t.hostRoom(p.Host.Bound, func(device int) gpu.Bytes { return taken[device] })
	p.Fits = slices.Max(p.lacks) == 0 && p.Room.Fits()
	return p, nil
}

// ownMemory is what the process takes without the run: now, of which heap is in use, and as far as that grows before it
// is collected. What a heap grows by at least is counted with the run.
func ownMemory() (a Amount, heap gpu.Bytes) {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	heap = gpu.Bytes(now.HeapAlloc)
	a.Garbage = memory.Garbage(heap) - memory.LeastGarbage
	memory.Collect(heap, memory.Garbage(heap))
	a.Add("program and data set", gpu.Bytes(hostmem.Anonymous())+a.Garbage, 0)
	return a, heap
}

// Shares writes each part's share of a step's roots and of the rows that they read.
func (p *SampledPlan) Shares() string {
	roots, rows := func(m *PartMemory) float64 { return m.Roots }, func(m *PartMemory) float64 { return m.Rows }
	return "by part: " + sharesOf(p.Parts, roots) + " of the roots; " + sharesOf(p.Parts, rows) + " of the rows"
}

// sharesOf writes the share of each part, of many parts the least and the largest.
func sharesOf(parts []PartMemory, of func(*PartMemory) float64) string {
	const most = 2 // as many as a line has room for
	var shares []float64
	var text []string
	for i := range parts {
		shares = append(shares, of(&parts[i]))
		text = append(text, term.Percentage(shares[i]))
	}
	if len(shares) > most {
		return fmt.Sprintf("%s to %s", term.Percentage(slices.Min(shares)), term.Percentage(slices.Max(shares)))
	}
	return strings.Join(text, ", ")
}

// FitSampled returns a *FitError if a device or the host is too small, with what fits.
func (t *Planner) FitSampled(ctx context.Context, p *SampledPlan) error {
	switch {
	case p.Fits:
		return nil
	case !p.Room.Fits():
		return t.unbound(ctx, p.Room).misfit("up to", t.fitting(ctx))
	}
	device, part := slices.Index(p.lacks, slices.Max(p.lacks)), 0
	for t.deviceOf(part) != t.firstDevice()+device {
		part++
	}
	m := &p.Parts[part]
	largest := slices.MaxFunc(m.Uses, func(a, b memory.Use) int { return cmp.Compare(a.Bound, b.Bound) })
	return &term.FitError{Err: fmt.Errorf("%s: steps of %s need up to %s, the device has %s; %q alone takes %s", m.Device,
		term.Counted(p.BatchSize, "root"), term.Size(m.Budget+p.lacks[device]), term.Size(m.Budget), largest.Name,
		term.Size(largest.Bound)), Remedy: t.enough(ctx, p.lacks) + t.fitting(ctx)}
}

// fittingBatch says what to do where steps do not fit; 0: no batch does.
func fittingBatch(fits int) string {
	if fits == 0 {
		return "no --batch-size fits: give more memory (mem=)"
	}
	return fmt.Sprintf("give --batch-size %d, which fits, or more memory (mem=)", fits)
}

// sampledOptions returns what decides how the trainer on samples lays out the problem, on the devices of the run.
func (t *Forecaster) sampledOptions() minibatch.Options { return t.sampledOn(t.partDevices()) }

// sampledOn is sampledOptions on other devices, by part; nil: they are of other ranks.
func (t *Forecaster) sampledOn(list []gpu.Device) minibatch.Options {
	c := &t.Config
	s := c.SettledSampling(list)
	opt := minibatch.Options{Training: t.training(), EvalFanout: c.EvalFanout.Value, Devices: list, Shares: t.shares,
		Lock: devices.LockFor(t.ownSpecs()),
		Sampling: minibatch.Sampling{BatchSize: c.BatchSize, Fanout: c.Fanout.Value, Local: s.Local, Place: s.Place,
			Ladies: c.Sampler == runfolder.SamplerLadies, NoMerge: s.NoMerge, MeasureMerge: s.Measured,
			NoGather: s.NoGather, Fetch: s.Fetch, RowCache: c.RowCacheSize(), Resident: c.ResidentSize(),
			Prefetch: s.Prefetch}}
	if i := c.Isolated.Value; i != nil {
		opt.Isolated = &minibatch.Isolated{Isolated: i.Isolated, Of: t.Plan.Part}
		opt.Isolated.Chunks = t.Parts
	} else if t.Plan != nil {
		opt.Part = t.Plan.Part
	}
	if s.Place == minibatch.Hop && !s.NoMerge {
		opt.Sampling.Merged = c.Merged.Value
	}
	if t.Ranks != nil {
		opt.Ranks = t.Ranks
	}
	return opt
}

// partDevices returns the device of each part; nil: it is of another rank.
func (t *Forecaster) partDevices() []gpu.Device {
	devices, own := make([]gpu.Device, t.Workers()), t.ownParts()
	copy(devices[own.Lo:own.Hi], t.onWorkers())
	return devices
}

// RowsPlan is what the first epoch would fetch of other parts, counted from its samples. It does not depend on devices,
// and the run fetches so many rows, unless GPUs keep all of them.
type RowsPlan struct {
	Places []RowCount     `json:"places"` // by place of the roots, without a cache
	Ways   []RowCount     `json:"ways"`   // by way to fetch, with the run's place and Cache
	Cache  SmallRowsCache `json:"cache"`
}

// RowCount is what one way fetches.
type RowCount struct {
	Setting  string    `json:"setting"` // as --sampling has it
	Rows     int64     `json:"rows"`
	Bytes    gpu.Bytes `json:"bytes"`
	Requests int64     `json:"requests"`
}

// SmallRowsCache is the smallest cache that fetches at most 5 % more rows than the best one in the first epoch. Later
// epochs find more rows in a larger one.
type SmallRowsCache struct {
	Setting string  `json:"setting"` // the way to fetch that it is for
	Share   float64 `json:"share"`   // of the rows of other parts that an epoch reads: --sampling cache=
	Slots   []int   `json:"slots"`   // rows by part
	Rows    int64   `json:"rows"`    // that it fetches
	Best    int64   `json:"best"`    // that the best one fetches
}

func rowCountOf(setting string, c *minibatch.Counts) RowCount {
	return RowCount{setting, c.Rows.Fetched + c.Rows.Prefilled, c.Bytes.Rows, c.Requests}
}

// PlanRows samples an epoch of several parts, and counts.
func (t *Forecaster) PlanRows(ctx context.Context) (*RowsPlan, error) {
	return planRows(ctx, t.Data.Problem, t.sampledOptions(), nil)
}

// planRows is PlanRows with options. machineOf says on which machine each part is, and that only what crosses between
// machines is of interest; nil: there is one.
func planRows(ctx context.Context, p *learn.Problem, opt minibatch.Options, machineOf []int) (*RowsPlan, error) {
	out := new(RowsPlan)
	trace := func(o minibatch.Options) *minibatch.Trace {
		x := minibatch.NewTrace(p, o, len(opt.Devices))
		x.MachineOf = machineOf
		return x
	}
	places := []minibatch.Place{minibatch.Batch, minibatch.Home, minibatch.Hop}
	if opt.Sampling.Local { // which has no others
		places = []minibatch.Place{opt.Sampling.Place}
	}
	for _, place := range places {
		o := opt
		if o.Sampling.Place = place; place != opt.Sampling.Place {
			o.Sampling.NoMerge, o.Sampling.MeasureMerge, o.Sampling.NoGather, o.Sampling.Merged = false, false, false, nil
		}
		counts, err := trace(o).Count(ctx, 1, []minibatch.Way{{Slots: make([]int, len(opt.Devices))}})
		if err != nil {
			return nil, err
		}
		out.Places = append(out.Places, rowCountOf("place="+place.String(), &counts[0][0]))
	}
	return out, planWays(ctx, trace(opt), opt.Sampling.Fetch, out)
}

// planWays finds the smallest good cache, and counts what each way to fetch fetches with it.
func planWays(ctx context.Context, trace *minibatch.Trace, rules rowcache.Rules, out *RowsPlan) error {
	if rules.Kind == rowcache.Demand {
		rules = rowcache.Rules{Kind: rowcache.Planned}
	}
	g, err := trace.Smallest(ctx, rules)
	if err != nil {
		return err
	}
	brought := func(c *minibatch.Counts) int64 { return c.Rows.Fetched + c.Rows.Prefilled }
	out.Cache = SmallRowsCache{"fetch=" + rules.Kind.String(), g.Share, g.Slots, brought(&g.Counts), brought(&g.Best)}
	asked := []struct {
		name  string
		rules rowcache.Rules
	}{
		{"fetch=demand", rowcache.Rules{}},
		{"fetch=planned", rowcache.Rules{Kind: rowcache.Planned}},
		{"fetch=planned,lookahead=all", rowcache.Rules{Kind: rowcache.Planned, Lookahead: rowcache.All}},
		{"fetch=rapid", rowcache.Rules{Kind: rowcache.Rapid}},
		{"fetch=rapid,pull=on", rowcache.Rules{Kind: rowcache.Rapid, Pull: true}},
		{"fetch=massive", rowcache.Rules{Kind: rowcache.Massive}},
	}
	var ways []minibatch.Way
	for _, a := range asked {
		if a.rules.Kind == rules.Kind && a.rules.Lookahead == 0 && !a.rules.Pull {
			a.rules = rules // as the run has them
			a.rules.Pull = false
		}
		ways = append(ways, minibatch.Way{Rules: a.rules, Slots: g.Slots})
	}
	counts, err := trace.Count(ctx, 1, ways)
	if err != nil {
		return err
	}
	for i, a := range asked {
		out.Ways = append(out.Ways, rowCountOf(a.name, &counts[i][0]))
	}
	return nil
}
