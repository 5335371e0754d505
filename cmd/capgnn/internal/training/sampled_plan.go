package training

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/minibatch"
)

// SampledPlan is what a run on samples would take: of memory at most, and what its epochs read, by the steps that were sampled to see.
type SampledPlan struct {
	Dataset   string       `json:"dataset"`
	Model     string       `json:"model"`
	BatchSize int          `json:"batch_size"`
	Fanout    string       `json:"fanout"` // nearest the roots first
	Storage   string       `json:"storage"`
	Fits      bool         `json:"fits"`
	Parts     []PartMemory `json:"parts"`
	Host      Amount       `json:"host"` // of the process
	Epoch     SampledEpoch `json:"epoch"`
}

// PartMemory is what a part takes of its device, which its parts share. Amounts are in bytes.
type PartMemory struct {
	Device string    `json:"device"`
	Budget gpu.Bytes `json:"budget"`
	Amount
}

// Amount is memory for some uses: a bound, and how much of it is for steps that are larger than those that were sampled to see.
type Amount struct {
	Bound gpu.Bytes `json:"bound"`
	Slack gpu.Bytes `json:"slack"`
	Uses  []MemUse  `json:"uses"`
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
	m, err := minibatch.Plan(ctx, t.Data.Problem, t.sampledOptions())
	if err != nil {
		return nil, term.AsUsage(t.Explain(err))
	}
	c := &t.Config
	p := &SampledPlan{Dataset: t.Data.Name, Model: c.Model, BatchSize: c.BatchSize, Fanout: c.Fanout.String(), Storage: c.Storage, Host: amountOf(m.Host),
		Epoch: SampledEpoch{m.Steps, m.Edges, m.Rows.Read, m.Rows.Fetched, m.Bytes.Rows, m.Requests}}
	for part, memory := range m.Parts {
		p.Parts = append(p.Parts, PartMemory{t.Specs[t.deviceOf(part)].String(), memory.Budget, amountOf(memory.Uses)})
	}
	p.Fits = m.Fits()
	return p, nil
}

func amountOf(uses []minibatch.Use) (a Amount) {
	for _, u := range uses {
		a.Bound, a.Slack, a.Uses = a.Bound+u.Bound, a.Slack+u.Slack, append(a.Uses, MemUse(u))
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
	return t.FitSampled(ctx, p)
}

// FitSampled returns a *FitError if a device is too small, with a batch that fits.
func (t *Run) FitSampled(ctx context.Context, p *SampledPlan) error {
	if p.Fits {
		return nil
	}
	part, need := t.lacking(p)
	opt := t.sampledOptions()
	opt.Sampling.BatchSize /= 2
	fits, err := minibatch.Fitting(ctx, t.Data.Problem, opt)
	if err != nil {
		return err
	}
	m := &p.Parts[part]
	largest := slices.MaxFunc(m.Uses, func(a, b MemUse) int { return cmp.Compare(a.Bound, b.Bound) })
	return &term.FitError{Err: fmt.Errorf("%s: steps of %s need up to %s, the device has %s; %q alone takes %s", m.Device, term.Counted(p.BatchSize, "root"), term.Size(need), term.Size(m.Budget),
		largest.Name, term.Size(largest.Bound)), Remedy: fittingBatch(fits)}
}

// lacking returns the first part whose device is too small, and what its parts take. There is one.
func (t *Run) lacking(p *SampledPlan) (part int, need gpu.Bytes) {
	all := make([]gpu.Bytes, len(t.Specs))
	for part := range p.Parts {
		all[t.deviceOf(part)] += p.Parts[part].Bound
	}
	for all[t.deviceOf(part)] <= p.Parts[part].Budget {
		part++
	}
	return part, all[t.deviceOf(part)]
}

// fittingBatch says what to do where steps do not fit; 0: no batch does.
func fittingBatch(fits int) string {
	if fits == 0 {
		return "no --batch-size fits: give smaller fan-outs (--fanout), a smaller --hidden, or more memory (mem=)"
	}
	return fmt.Sprintf("give --batch-size %d, which fits, smaller fan-outs (--fanout), a smaller --hidden, or more memory (mem=)", fits)
}
