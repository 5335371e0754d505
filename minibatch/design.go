package minibatch

import (
	"context"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
)

// design is what is decided before anything is on a device, from some steps that are sampled: the order of
// operations and how large buffers are.
type design struct {
	plan      gnn.Plan
	blockUses []blockUse
	rules     sample.Rules
	sums      bool // layer 0 reads rows of ÂX, and the last hop is not drawn
	sparse    bool // features travel as they are stored
	scaling   *gnn.Scaling
	extents   []extent   // by part, with slack
	seen      []extent   // by part, the largest
	epoch     Counts     // of the steps that were sampled
	work      []Counts   // the same by part
	units     [][]extent // by part and unit, the largest
	task      learn.Task
	roots     *roots
	vertices  int         // of the graph
	memory    int64       // of the host, by sampler; 0: not known
	chunk     gpu.Bytes   // of evaluation, by part
	scored    []bool      // vertices that evaluation is of; nil: all
	residents []*resident // by part; nil: its device keeps no rows

	// Where rows of other parts are fetched:
	away  []gpu.Bytes // by part: of a step that was sampled, the most
	areas []gpu.Bytes // by part: what rows come to
	slots []int       // by part: of its cache
	row   int         // bytes of a slot
}

// probes is how many steps are sampled to see how large they are. Those of few roots differ more: of them all that a
// run has are sampled too, as far as moreWork goes, of which an edge and a root take 1, and a unit workOfUnit.
const (
	probes     = 16
	moreWork   = 1 << 20
	workOfUnit = 64
)

func newDesign(ctx context.Context, p *learn.Problem, o *Options, r *roots) (design, error) {
	m := o.Model
	d := design{roots: r, vertices: p.Vertices(), sparse: p.Features.Sparse(), scored: p.Scored()}
	var err error
	if d.task, err = learn.Of(o.Task, p); err != nil {
		return d, err
	}
	d.settle(p, o)
	d.scaling = new(gnn.Scaling)
	if m.ScalesRows() {
		in, out := p.Loops.Degrees(p.Graph)
		*d.scaling = p.Scaling(m, in, out)
	}
	if _, total, err := hostmem.Free(); err == nil {
		d.memory = total / int64(r.parts*o.Sampling.Samplers)
	}
	all, steps, err := d.probe(ctx, p, o, r)
	if err != nil {
		return d, err
	}
	if !r.merging.Decided && !o.Sampling.MeasureMerge {
		kept, err := d.fewest(ctx, p, o, r)
		if err != nil {
			return d, err
		}
		r.merge(merging{Decided: true, Kept: kept, most: r.merging.most})
	}
	var sparse *learn.Features
	if d.sparse {
		sparse = &p.Features
	}
	d.plan = gnn.Choose(o.Model, shapeOf(all, steps, o.Model.Layers, sparse),
		gnn.Choice{Blocks: true, NoPrecompute: !d.sums, Storage: o.Storage})
	for l, lp := range d.plan.Layers {
		a := blockUse{hop: m.Layers - 1 - l, loops: m.Rescales() && p.Loops == graph.LoopsAdded, rescales: m.Rescales()}
		a.spreads = l > 0 || !lp.KeepAggregate || m.KeepsOrigin()
		if i := o.Isolated; i != nil {
			a.weighs = i.Correction.EdgeWeights() && (l > 0 || i.AllLayers)
		}
		if l == 0 && d.sums {
			a = blockUse{hop: -1}
		}
		d.blockUses = append(d.blockUses, a)
	}
	for i := range d.seen {
		d.extents = append(d.extents, d.seen[i].ample(p.Vertices(), r.units > 1))
	}
	d.chunk = newSizing(p, o, &d).chunk(r.steps)
	if err := d.keep(p, o, r.steps); err != nil {
		return d, err
	}
	if o.fetches() {
		err = d.sizeCaches(ctx, p, o, r)
	}
	return d, err
}

// probe samples some steps of the first epoch. It returns their extents, of all parts, and how many steps they are.
// Where they are all of it, or have few roots, it also samples others, for what steps take at most.
func (d *design) probe(ctx context.Context, p *learn.Problem, o *Options, r *roots) (
	all []extent, steps int, err error) {
	d.seen, d.work, d.away = make([]extent, r.parts), make([]Counts, r.parts), make([]gpu.Bytes, r.parts)
	s, steps := d.sampler(p), min(probes, r.steps)
	drawn, run := steps, r.steps*max(1, o.Epochs)
	if steps == r.steps { // steps of later epochs differ
		drawn = min(probes, run)
	}
	d.epoch.Steps = steps
	x := sampledUnit{group: new(group)}
	most := make([]int, r.units) // roots, by unit
	together := gpu.Bytes(0)     // rows that are fetched at once
	for part := range r.parts {
		g := d.stageOf(p, o, part)
		d.units = append(d.units, make([]extent, r.units))
		for _, merged := range r.merging.probed() {
			for unit := range most {
				most[unit] = r.most(part, unit, merged)
			}
			n, work := slices.Max(most), int64(moreWork)
			few := n > 0 && n < fewRoots
			var largest []int
			if r.isolation != nil {
				largest = r.isolation.largest(part, r.steps)
			}
			for k := 0; k < drawn*r.units+len(largest) || few && work > 0 && k < (drawn+run)*r.units; k++ {
				if err := ctx.Err(); err != nil {
					return nil, 0, err
				}
				step := k / r.units
				batch := r.steps * step / steps
				if step >= drawn {
					batch = step - drawn
				}
				if i := r.isolation; i != nil {
					switch at := k - drawn; {
					case at < 0:
						batch = i.spread(batch, k, drawn, r.steps)
					case at < len(largest):
						batch = largest[at]
					default:
						batch -= len(largest)
					}
					work -= i.look(s, &g, batch, r.steps)
				}
				x.unit = k % r.units
				x.roots = r.merged(batch, part, x.unit, merged, x.roots)
				s.Draw(&x.stack, uint32(batch), x.roots)
				if step >= drawn {
					work -= x.stack.Edges + int64(r.count(0, 0)+workOfUnit)
				}
				var e extent
				e.of(&x.stack, g.sparse())
				e.missing = g.others(x.ids())
				if merged == 0 {
					x.counts = Counts{Edges: x.stack.Edges}
					g.count(&x)
					if x.unit == 0 || g.apart {
						together = 0
					}
					together += x.counts.Bytes.Rows
					d.away[part] = max(d.away[part], together)
				}
				if merged == 0 && step < steps {
					x.counts.Roots = int64(len(x.roots))
					d.epoch.Add(&x.counts)
					d.work[part].Add(&x.counts)
					all = append(all, e)
					all[len(all)-1].hops = slices.Clone(e.hops)
				}
				if n := most[x.unit]; n < fewRoots && 2*e.roots >= n { // of a smaller share of them too little is seen
					e.grow(n, p.Vertices())
				}
				d.units[part][x.unit].cover(&e)
			}
			for unit := range d.units[part] {
				e := &d.units[part][unit]
				e.grow(most[unit], p.Vertices())
			}
		}
		for unit := range d.units[part] {
			e := &d.units[part][unit]
			if len(d.rules.Fanout) == 0 {
				e.ids = e.roots
			}
			d.seen[part].cover(e)
		}
		if r.units > 1 && d.seen[part].roots < fewRoots { // in later epochs roots fall to other units
			for unit := range d.units[part] {
				d.units[part][unit].cover(&d.seen[part])
			}
		}
	}
	return all, steps, nil
}

// share returns a part's share of the roots and of the rows of the steps that were sampled.
func (d *design) share(part int) Share {
	work, all := &d.work[part], &d.epoch
	of := func(n, all int64) float64 { return float64(n) / float64(max(1, all)) }
	return Share{of(work.Roots, all.Roots), of(work.Rows.Read, all.Rows.Read)}
}

// ring returns how many steps a part has on its device, and how many are sampled or on their way there. Where a CPU
// device reads most of the graph in a step, that is one each: a step takes about as much memory as the graph in
// full batch.
func (d *design) ring(o *Options, part int) (inputs, slots int) {
	if d.readsMost(o, part) {
		return 1, 1
	}
	return 2, o.Sampling.Prefetch + 1
}

// readsMost reports whether a part on a CPU device reads most of the graph in a step.
func (d *design) readsMost(o *Options, part int) bool {
	dev := o.Devices[part]
	return dev != nil && dev.Info().Kind == gpu.CPU && !o.fetches() && !Linked(o.ownDevices()) &&
		2*d.seen[part].ids > d.vertices
}

func (d *design) sampler(p *learn.Problem) *sample.Sampler {
	return sample.New(d.topology(p), d.rules)
}

// topology is what is sampled.
func (d *design) topology(p *learn.Problem) sample.Topology {
	return sample.Topology{Graph: p.Graph, Loops: p.Loops, Memory: d.memory}
}

// stageOf returns what makes the sampledUnits of a part, but for ÂX.
func (d *design) stageOf(p *learn.Problem, o *Options, part int) stage {
	var info gpu.Info // of a part of another process nothing is asked that depends on it
	if dev := o.Devices[part]; dev != nil {
		info = dev.Info()
	}
	tables := d.tables(p, o.Model)
	lock := o.Lock
	lock.Optional = true // slower, not wrong
	if info.Kind == gpu.CPU {
		lock = hostmem.LockOptions{Heap: o.Lock.Heap, Unlocked: true} // it copies from any memory
	}
	_, reaches := o.Devices[part].(gpu.Resident)
	near := reaches && o.fetches() && info.Kind == gpu.CPU && len(tables) > 0
	at := o.Part
	if o.Isolated != nil { // whatever it draws is there
		at = nil
	}
	var kept *resident
	if part < len(d.residents) {
		kept = d.residents[part]
	}
	gathers := info.Kind != gpu.CPU || !near && slices.ContainsFunc(tables, func(t table) bool { return t.of != nil }) || o.fetches() && !(near && d.whole(o, part))
	return stage{part: part, device: info.Name, p: p, parts: len(o.Devices), targets: d.task.Targets(true),
		roots: d.roots, scaling: d.scaling, blockUses: d.blockUses, sums: d.sums, drops: o.Model.DropsFeatures(),
		tables: tables, gathers: gathers, resident: kept, apart: o.Sampling.NoGather, fetches: o.fetches(),
		near: near, home: at, weighs: o.Isolated != nil && o.Isolated.Corrects(), idle: o.idle(),
		shares: reaches && d.readsMost(o, part), lock: lock}
}

// whole reports whether the cache of a part has room for every row of other parts, and keeps what it has.
func (d *design) whole(o *Options, part int) bool {
	return part < len(d.slots) && keepsAll(o.Sampling.Fetch, d.slots[part], remoteOf(o, part))
}

// keepsAll reports whether a cache with so many slots for so many rows keeps what it has.
func keepsAll(r rowcache.Rules, slots, rows int) bool {
	return r.Kind == rowcache.Planned && r.Reach(0, slots, rows) == 0
}
