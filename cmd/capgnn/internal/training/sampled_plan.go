package training

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/minibatch"
)

// SampledPlan is what a run on samples would take: of memory at most, and what its epochs read, by the steps that were sampled to see.
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

// Amount is memory for some uses: a bound, and how much of it is for steps that are larger than those that were sampled to see.
type Amount struct {
	Bound gpu.Bytes `json:"bound"`
	Slack gpu.Bytes `json:"slack"`
	Uses  []MemUse  `json:"uses"`

	mapped gpu.Bytes // of Bound, what is not of the heap
}

// MemUse is memory for one purpose.
type MemUse struct {
	Name  string    `json:"name"`
	Bound gpu.Bytes `json:"bound"`
	Slack gpu.Bytes `json:"slack"`
}

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
func (t *Run) PlanSampled(ctx context.Context) (*SampledPlan, error) {
	t.measureOwn()
	return t.planSampled(ctx)
}

// planSampled is PlanSampled, of a process that is known.
func (t *Run) planSampled(ctx context.Context) (*SampledPlan, error) {
	m, err := minibatch.Plan(ctx, t.Data.Problem, t.sampledOptions())
	if err != nil {
		return nil, term.AsUsage(t.Explain(err))
	}
	c := &t.Config
	p := &SampledPlan{Dataset: t.Data.Name, Model: c.Model, BatchSize: c.BatchSize, Sampler: c.Sampler, Fanout: c.Fanout.String(), Storage: c.Storage, Host: amountOf(m.Host),
		Epoch: SampledEpoch{m.Steps, m.Edges, m.Rows.Read, m.Rows.Fetched, m.Bytes.Rows, m.Requests}}
	p.Host.mapped = m.Mapped
	for part, memory := range m.Parts {
		p.Parts = append(p.Parts, PartMemory{t.Specs[t.deviceOf(part)].String(), memory.Budget, memory.Share.Roots, memory.Share.Rows, memory.Resident, amountOf(memory.Uses)})
	}
	p.Host.Bound += t.own.Bound
	p.Host.Uses = append([]MemUse{t.own}, p.Host.Uses...)
	taken := make([]gpu.Bytes, len(t.Specs))
	for part := range p.Parts {
		taken[t.deviceOf(part)] += p.Parts[part].Bound
	}
	p.lacks = make([]gpu.Bytes, len(t.Devices))
	for i, d := range t.Devices {
		p.lacks[i] = max(0, taken[t.firstDevice()+i]-d.Memory().Budget)
	}
	p.Room = t.hostRoom(p.Host.Bound, func(device int) gpu.Bytes { return taken[t.firstDevice()+device] })
	p.Fits = slices.Max(p.lacks) == 0 && p.Room.Fits()
	return p, nil
}

// ownMemory is what the process takes without the run: now, and as much again as its heap holds before that is collected.
func ownMemory() MemUse {
	debug.FreeOSMemory() // what reading the data set has left
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	return MemUse{Name: "program and data set", Bound: gpu.Bytes(hostmem.Anonymous()) + gpu.Bytes(heap.HeapAlloc)}
}

// add adds a use.
func (a *Amount) add(u MemUse) {
	a.Bound, a.Slack, a.Uses = a.Bound+u.Bound, a.Slack+u.Slack, append(a.Uses, u)
}

func amountOf(uses []minibatch.Use) (a Amount) {
	for _, u := range uses {
		a.add(MemUse(u))
	}
	return a
}

// preflightSampled refuses a run on samples that does not fit before anything large is asked for.
func (t *Run) preflightSampled(ctx context.Context) error {
	t.Console.Enter(term.Checking)
	p, err := t.PlanSampled(ctx)
	if err != nil {
		return err
	}
	t.noteShares(p)
	if err := t.FitSampled(ctx, p); err != nil {
		return err
	}
	p.Room.boundHeap(&p.Host)
	return nil
}

// noteShares says what each part has of a step, where a preset is of a system in which each part has a batch of its own.
func (t *Run) noteShares(p *SampledPlan) {
	name := t.Config.Sampling.Value.Name
	if len(p.Parts) < 2 || name == runfolder.SamplingNames()[0] {
		return
	}
	t.Console.Note("%s: %s", name, p.Shares())
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
func (t *Run) FitSampled(ctx context.Context, p *SampledPlan) error {
	switch {
	case p.Fits:
		return nil
	case !p.Room.Fits():
		return t.unbound(ctx, p.Room).misfit("up to", t.advice(ctx))
	}
	device, part := slices.Index(p.lacks, slices.Max(p.lacks)), 0
	for t.deviceOf(part) != t.firstDevice()+device {
		part++
	}
	m := &p.Parts[part]
	largest := slices.MaxFunc(m.Uses, func(a, b MemUse) int { return cmp.Compare(a.Bound, b.Bound) })
	return &term.FitError{Err: fmt.Errorf("%s: steps of %s need up to %s, the device has %s; %q alone takes %s", m.Device, term.Counted(p.BatchSize, "root"), term.Size(m.Budget+p.lacks[device]), term.Size(m.Budget),
		largest.Name, term.Size(largest.Bound)), Remedy: t.enough(ctx, p.lacks) + t.advice(ctx)}
}

// fittingBatch says what to do where steps do not fit; 0: no batch does.
func fittingBatch(fits int) string {
	if fits == 0 {
		return "no --batch-size fits: give more memory (mem=)"
	}
	return fmt.Sprintf("give --batch-size %d, which fits, or more memory (mem=)", fits)
}
