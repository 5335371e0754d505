package trainer

import (
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/together"
	"capgnn/jaca"
	"capgnn/pipeline/chunks"
)

// Record is what a part has done in a stretch.
type Record struct {
	Loss             []learn.Number // by step and unit
	Usage, Gradients gpu.Usage      // as in EpochStats
	Stop             bool           // its process has been asked to end
	// Covered is what an isolated part sees, behind the first steps of its phase.
	Covered []chunks.Coverage `json:",omitempty"`
	// Of whole parts:
	Halo     jaca.Stats    `json:",omitzero"`
	Checking time.Duration `json:",omitempty"`
	Copied   gpu.Bytes     `json:",omitempty"` // by switching
	// Of samples:
	Carried  gpu.Usage     `json:",omitzero"`
	Computed time.Duration `json:",omitempty"`
	Work     Counts        `json:",omitzero"`
	// Of the process, at its first part:
	Train, CPU     time.Duration
	Reduce, Switch time.Duration   `json:",omitempty"`
	Norm           learn.Number    // of gradients, summed over
	Norms          int             // so many steps
	Pairs          []together.Pair `json:",omitempty"` // what others have sent it
	Meters         []gpu.Metered   `json:",omitempty"`
}

// State is what a run counts besides weights; it goes into checkpoints.
type State struct {
	fit.State[learn.Metrics]
	// Batch is how many steps are done of the epoch that is not over: all until it has been evaluated and reported.
	Batch   int     `json:",omitempty"`
	Partial Partial `json:",omitzero"` // of them
	Totals  Totals

	best *gnn.Weights
}

// Partial is what is known of the epoch that is not over.
type Partial struct {
	Counts
	Loss      learn.Number // times roots, where these are counted
	Train     time.Duration
	Parts     []gpu.Usage
	Computed  []time.Duration // by part
	Work      []Counts        // by part
	Gradients gpu.Usage
	Carried   gpu.Usage
	Norm      learn.Number    `json:",omitzero"`  // of gradients, summed over
	Norms     int             `json:",omitempty"` // so many steps
	Pairs     []together.Pair `json:",omitempty"` // what ranks have sent each other
	Meters    []gpu.Metered   `json:",omitempty"` // once the epoch has been trained
	// Of isolated parts: what those that have begun see, in their order, and what switching took.
	Covered []chunks.Coverage `json:",omitempty"`
	Switch  time.Duration     `json:",omitempty"`
	// Of whole parts, whose epochs are not interrupted:
	halo     []jaca.Stats
	checking []time.Duration
	reduce   time.Duration
	copied   gpu.Bytes
}

// Take adds what all parts have done in a stretch, in part order: whatever is decided between two epochs is decided by
// that.
func (p *Partial) Take(all []Record) {
	if p.Parts == nil {
		p.Parts, p.Computed = make([]gpu.Usage, len(all)), make([]time.Duration, len(all))
	}
	if p.Work == nil {
		p.Work = make([]Counts, len(all))
	}
	if p.halo == nil {
		p.halo, p.checking = make([]jaca.Stats, len(all)), make([]time.Duration, len(all))
	}
	var took, reduced, switching time.Duration
	for i := range all {
		x := &all[i]
		p.Parts[i], p.Computed[i] = p.Parts[i].Add(x.Usage), p.Computed[i]+x.Computed
		p.Gradients, p.Carried = p.Gradients.Add(x.Gradients), p.Carried.Add(x.Carried)
		p.Add(&x.Work)
		p.Work[i].Add(&x.Work)
		p.halo[i].Add(x.Halo)
		p.checking[i] += x.Checking
		took, reduced, switching = max(took, x.Train), max(reduced, x.Reduce), max(switching, x.Switch)
		p.Covered, p.copied, p.CPU = append(p.Covered, x.Covered...), p.copied+x.Copied, p.CPU+x.CPU
		p.Norm, p.Norms = p.Norm+x.Norm, p.Norms+x.Norms
		p.Pairs, p.Meters = addPairs(p.Pairs, x.Pairs), append(p.Meters, x.Meters...)
	}
	p.Train, p.reduce, p.Switch = p.Train+took, p.reduce+reduced, p.Switch+switching
}

// Report makes e that of an epoch that is over. Isolated it completes.
func (p *Partial) Report(epoch int, e *EpochStats) {
	e.Epoch, e.Counts, e.Train, e.Reduce, e.Parts, e.Work = epoch, p.Counts, p.Train, p.reduce, p.Parts, p.Work
	e.Gradients, e.Pairs, e.Meters, e.HaloParts, e.CheckParts = p.Gradients, p.Pairs, p.Meters, p.halo, p.checking
	e.Bytes.Gradients, e.Bytes.Carried = between(p.Gradients), between(p.Carried)
	e.Loss = float64(p.Loss) / float64(max(1, p.Roots))
	if p.Norms > 0 {
		norm := float64(p.Norm) / float64(p.Norms)
		e.GradNorm = &norm
	}
	for i, u := range p.Parts {
		e.Usage = e.Usage.Add(u)
		if p.Computed[i] > p.Computed[e.Slowest] {
			e.Slowest = i
		}
	}
	for i := range p.halo {
		e.Halo.Add(p.halo[i])
		e.CheckCache += p.checking[i] / time.Duration(len(p.halo))
	}
	if x := e.Isolated; x != nil {
		x.Switch, x.Bytes, x.Coverage = p.Switch, p.copied, chunks.Total(p.Covered)
	}
}

// between is what was copied to, from and between devices.
func between(u gpu.Usage) gpu.Bytes { return u.H2D + u.D2H + u.Peer }
