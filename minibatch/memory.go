package minibatch

import (
	"context"
	"errors"
	"fmt"
	"math"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/memory"
	"capgnn/internal/trainer"
	"capgnn/pipeline/layered"
	"capgnn/reduce"
)

// Memory is the memory of a run, known before it begins: bounds, with slack for steps that are larger than the
// sampled ones. If a step exceeds a bound, its buffer grows, with a line in the log.
type Memory struct {
	Parts []PartMemory // by part
	Host  memory.Plan  // of the process, beside the problem and devices: of its heap, what is page-locked, and tables
	Steps int          // of an epoch
	// Edges, Rows, Bytes and Requests are those of an epoch, from the steps that were sampled.
	Edges    int64
	Rows     Rows
	Bytes    Traffic
	Requests int64
}

// PartMemory is the memory of a part on its device.
type PartMemory struct {
	Device string    // "": it is another process's, of which the Share alone is known. Several may have one name
	Home   int       // the first part on the same device
	Budget gpu.Bytes // of the device, which its parts share
	memory.Plan
	Share Share // of an epoch, by the steps that were sampled
	// Resident is how many feature rows the device keeps, so that steps do not upload them.
	Resident int
}

// Share is which part of an epoch's roots a part computes, and of the rows that are read it reads; 0 to 1.
type Share struct{ Roots, Rows float64 }

// Steps returns how many steps an epoch has. Options are valid.
func Steps(p *learn.Problem, o Options) int { return newRoots(p, &o).steps }

// Plan returns the memory of a run. It samples some steps and does not use the devices.
func Plan(ctx context.Context, p *learn.Problem, o Options) (*Memory, error) {
	if err := o.Validate(p); err != nil {
		return nil, err
	}
	o.setDefaults()
	r := newRoots(p, &o)
	d, err := newDesign(ctx, p, &o, r)
	if err != nil {
		return nil, err
	}
	exact, err := d.bounds(p, &o)
	if err != nil {
		return nil, err
	}
	m := &Memory{Steps: r.steps}
	x, home := newSizing(p, &o, &d), trainer.HomesOf(o.Devices)
	for part, dev := range o.Devices {
		if dev == nil {
			m.Parts = append(m.Parts, PartMemory{Home: home[part], Share: d.share(part)})
			continue
		}
		uses, room := x.part(part, r.steps)
		x.evaluation(&uses, exact, part, room)
		m.Parts = append(m.Parts, PartMemory{Device: dev.Info().Name, Home: home[part],
			Budget: dev.Memory().Budget, Plan: uses, Share: d.share(part)})
		if kept := d.residents[part]; kept != nil {
			m.Parts[part].Resident = kept.rows
		}
	}
	x.host(&m.Host, r, exact)
	x.caches(&m.Host, r.steps)
	share := func(n int64) int64 { return n * int64(r.steps) / int64(max(1, d.epoch.Steps)) }
	e := &d.epoch
	m.Edges, m.Requests = share(e.Edges), share(e.Requests)
	m.Rows = Rows{Read: share(e.Rows.Read), Local: share(e.Rows.Local), Fetched: share(e.Rows.Fetched)}
	m.Bytes = Traffic{Rows: gpu.Bytes(share(int64(e.Bytes.Rows))), IDs: gpu.Bytes(share(int64(e.Bytes.IDs)))}
	return m, nil
}

// Fits reports whether every device has room for its parts.
func (m *Memory) Fits() bool {
	taken := make([]gpu.Bytes, len(m.Parts))
	for _, p := range m.Parts {
		if taken[p.Home] += p.Bound; taken[p.Home] > p.Budget {
			return false
		}
	}
	return true
}

// Fitting returns a batch size that fits the devices: the given one, halved until it fits; 0: not even one root fits.
func Fitting(ctx context.Context, p *learn.Problem, o Options) (int, error) {
	for ; o.Sampling.BatchSize > 0; o.Sampling.BatchSize /= 2 {
		m, err := Plan(ctx, p, o)
		if err != nil {
			return 0, err
		}
		if m.Fits() {
			return o.Sampling.BatchSize, nil
		}
	}
	return 0, nil
}

// TooLarge says that a run does not fit a device, and which batch size would. It is a *gpu.OutOfMemory.
type TooLarge struct {
	Batch, Fits int // Fits 0: no batch does
	Memory      *gpu.OutOfMemory
}

func (e *TooLarge) Error() string {
	if e.Fits == 0 {
		return fmt.Sprintf("place steps of %d roots: %v: no batch size fits: choose smaller fan-outs or a smaller "+
			"--hidden, or give the device more memory", e.Batch, e.Memory)
	}
	return fmt.Sprintf("place steps of %d roots: %v: --batch-size %d fits", e.Batch, e.Memory, e.Fits)
}

func (e *TooLarge) Unwrap() error { return e.Memory }

// tooLarge returns an error of placing a run, which says what fits where it is for lack of memory. Nothing lies on
// the devices any more.
func tooLarge(ctx context.Context, p *learn.Problem, o Options, err error) error {
	oom := new(gpu.OutOfMemory)
	if !errors.As(err, &oom) {
		return err
	}
	batch := min(o.Sampling.BatchSize, p.TrainingVertices())
	o.Sampling.BatchSize = batch / 2
	fits, planErr := Fitting(ctx, p, o)
	if planErr != nil {
		return err
	}
	return &TooLarge{batch, fits, oom}
}

// sizing adds up what a run takes.
type sizing struct {
	p        *learn.Problem
	o        *Options
	d        *design
	weights  *gnn.Weights
	division *reduce.Division
	left     gpu.Bytes // for tables, of what CPU devices have for steps
}

func newSizing(p *learn.Problem, o *Options, d *design) *sizing {
	x := &sizing{p: p, o: o, d: d, weights: gnn.NewWeights(o.Model)}
	whole := o.core()
	x.division = whole.Division(x.weights.Layers())
	return x
}

// Evaluation takes a quarter of what training takes of the host's memory for a part, within these limits: where
// there is more, a run needs no more. A GPU's memory is there for nothing else.
const leastOfHost, mostOfHost = 16 << 20, 128 << 20

// chunk returns what evaluation may take of a device for each part. Where training does not leave that, it is half
// of what it leaves: the rest is for steps that are larger than all before.
func (x *sizing) chunk(steps int) gpu.Bytes {
	least := gpu.Bytes(math.MaxInt64)
	for _, dev := range x.o.ownDevices() {
		m := dev.Memory()
		left, parts, most := m.Budget-m.Used, gpu.Bytes(0), gpu.Bytes(math.MaxInt64)
		for part, other := range x.o.Devices {
			if other == dev {
				m, _ := x.part(part, steps)
				left, parts = left-m.Bound, parts+1
				if dev.Info().Kind == gpu.CPU {
					most = min(most, mostOfHost, max(leastOfHost, m.Bound/4))
				}
			}
		}
		if most > left/parts {
			most = left / 2 / parts
		}
		least = min(least, most)
	}
	return max(1, least)
}

// part returns what a part takes of its device for training, block by block as the device rounds them. Of it,
// evaluation has room on a CPU.
func (x *sizing) part(part, steps int) (m memory.Plan, room gpu.Bytes) {
	ample, seen := x.layout(part)
	n := memory.Block(4 * gpu.Bytes(len(x.weights.Flat)))
	var owner, weighed gpu.Bytes
	into := func(sum *gpu.Bytes) func(gpu.Bytes, string) gpu.Buffer {
		return func(size gpu.Bytes, _ string) gpu.Buffer {
			*sum += memory.Block(size)
			return nil
		}
	}
	x.division.NewOwner(into(&owner), nil, x.o.Optimizer, part-x.o.own().Lo)
	activations, least := x.activations(&ample), x.activations(&seen)
	units := gpu.Bytes(x.d.roots.units)
	inputs, _ := x.d.ring(x.o, part)
	m.Add("inputs", gpu.Bytes(inputs)*memory.Block(ample.size), gpu.Bytes(inputs)*(ample.size-seen.size))
	m.Add("activations", activations, activations-least)
	room = m.Bound
	m.Add("weights, gradients and optimiser", 2*n+owner+memory.Block(8*units*gpu.Bytes(min(steps, longest))), 0)
	x.d.task.On(into(&weighed), nil, nil, x.o.lossRows(x.d.roots.total))
	m.Add("class weights and smoothed labels", weighed, 0)
	if units > 1 {
		m.Add("carried gradients", 2*n, 0)
	}
	if part < len(x.d.residents) && x.d.residents[part] != nil {
		m.Add("resident rows", memory.Block(x.d.residents[part].bytes(x.d.tables(x.p, x.o.Model))), 0)
	}
	return m, room
}

// evaluation adds what exact evaluation takes of the device of a part; on a CPU beyond the inputs and activations
// of a step, whose room it has. What it leaves of that is for tables. A vertex that takes more of the device than
// chunks may is named.
func (x *sizing) evaluation(m *memory.Plan, exact layered.Bound, part int, room gpu.Bytes) {
	name, bound := "evaluation", exact.Devices[part]
	if v := exact.Hubs[part]; v >= 0 {
		name = fmt.Sprintf("evaluation of vertex %d from %d in-neighbours", v, len(x.p.Graph.Row(v)))
	}
	if x.o.Devices[part].Info().Kind == gpu.CPU {
		weights := memory.Block(4 * gpu.Bytes(len(x.weights.Flat)))
		if !x.o.Several() { // else tables stay: other processes read them
			x.left += max(0, room+weights-bound)
		}
		bound = max(weights, bound-room)
	}
	m.Add(name, bound, 0)
}

// layout returns the layouts of a part's input, with slack and without.
func (x *sizing) layout(part int) (ample, seen layout) {
	g := x.d.stageOf(x.p, x.o, part)
	g.lay(&ample, &x.d.extents[part], nil)
	g.lay(&seen, &x.d.seen[part], nil)
	return ample, seen
}

// activations returns what a pass over blocks that are laid out takes.
func (x *sizing) activations(l *layout) (n gpu.Bytes) {
	ws := gnn.NewWorkspace(gpu.Info{})
	none := gnn.Bind(x.weights, gpu.Vec{Len: len(x.weights.Flat)})
	gnn.NewPass(x.o.Model, x.d.plan, l.layers, l.in, none, none, ws)
	for _, s := range ws.Slabs() {
		n += memory.Block(s.Size)
	}
	return n
}
