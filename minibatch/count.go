package minibatch

import (
	"context"
	"runtime"
	"sync"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
)

// Trace counts what rows a run moves between its parts, without devices and without training. Samples are pure functions, so counts are those of the run.
type Trace struct {
	p     *learn.Problem
	o     *Options
	rules sample.Rules
	row   gpu.Bytes // of a vertex, entries of sparse features apart
	Steps int       // of an epoch
	turns int       // how often a part asks for rows in a step
	Parts int
	own   graph.Range // the parts that are traced
	// MachineOf is the machine of each part: rows from another part of the same machine do not count as fetched,
	// prefilled or requested. nil: each part is a machine.
	MachineOf []int
}

// Way is one way to fetch rows of other parts.
type Way struct {
	Rules rowcache.Rules
	Slots []int // by part
}

// NewTrace returns the trace of a run with this many parts. It uses the model, the sampling, homes of vertices and
// shares of the options; how rows are fetched is an argument of the methods.
func NewTrace(p *learn.Problem, o Options, parts int) *Trace {
	o.Devices, o.Ranks = make([]gpu.Device, parts), nil // how many there are is all that is asked of them
	if parts == 1 {
		o.Part = nil
	}
	d := design{sparse: p.Features.Sparse()}
	d.settle(p, &o)
	if o.Sampling.Merged == nil { // steps are counted as those of the first epoch
		o.Sampling.NoMerge = true
	}
	r := newRoots(p, &o)
	t := &Trace{p: p, o: &o, rules: d.rules, Steps: r.steps, turns: 1, Parts: parts, own: graph.Range{Lo: 0, Hi: parts}}
	if o.Sampling.NoGather {
		t.turns = r.units
	}
	for _, x := range d.tables(p, o.Model) {
		t.row += 4 * gpu.Bytes(x.cols)
	}
	return t
}

// each calls do with a reader of every part, as many at the same time as there are processors, and waits for all.
func (t *Trace) each(do func(r *reader)) {
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for part := t.own.Lo; part < t.own.Hi; part++ {
		all.Go(func() { // ends by itself; each waits
			turns <- struct{}{}
			do(t.reader(part))
			<-turns
		})
	}
	all.Wait()
}

// Reads returns how often each part reads each row of other parts in the first epochs: by part and vertex.
func (t *Trace) Reads(ctx context.Context, epochs int) ([][]int32, error) {
	out := make([][]int32, t.Parts)
	t.each(func(r *reader) {
		reads := make([]int32, t.p.Vertices())
		for turn := 0; turn < epochs*t.Steps*t.turns && ctx.Err() == nil; turn++ {
			for _, v := range r.at(turn).remote {
				reads[v]++
			}
			r.drop(turn + 1)
		}
		out[r.part] = reads
	})
	return out, ctx.Err()
}

// Distinct returns how many rows of other parts each part reads in the first epoch, each counted once.
func (t *Trace) Distinct(ctx context.Context) ([]int, error) {
	out := make([]int, t.Parts)
	reads, err := t.Reads(ctx, 1)
	for part := range reads {
		for _, n := range reads[part] {
			out[part] += int(min(n, 1))
		}
	}
	return out, err
}

// Count returns what the first epochs move, by way and epoch, over all parts.
func (t *Trace) Count(ctx context.Context, epochs int, ways []Way) ([][]Counts, error) {
	byPart := make([][][]Counts, t.Parts)
	t.each(func(r *reader) { byPart[r.part] = r.count(ctx, epochs, ways) })
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	sum := byPart[0]
	for _, list := range byPart[1:] {
		for w := range list {
			for e := range list[w] {
				sum[w][e].Add(&list[w][e])
			}
		}
	}
	return sum, nil
}

func (r *reader) count(ctx context.Context, epochs int, ways []Way) [][]Counts {
	t, epoch := r.t, r.t.Steps*r.t.turns
	world := r.world(epochs * epoch)
	policies, out := make([]rowcache.Policy, len(ways)), make([][]Counts, len(ways))
	for w := range ways {
		policies[w], out[w] = rowcache.New(ways[w].Rules, ways[w].Slots[r.part], world), make([]Counts, epochs)
	}
	var d rowcache.Decision
	asked := make([]bool, t.Parts)
	for turn := 0; turn < epochs*epoch && ctx.Err() == nil; turn++ {
		x := *r.at(turn) // what looks ahead may move it
		for w, p := range policies {
			p.Decide(rowcache.Step{Number: turn, Rows: x.remote}, &d)
			c := &out[w][turn/epoch]
			c.Add(&x.counts)
			t.moved(r.part, c, &d, asked)
		}
		r.drop(turn + 1)
	}
	for w := range out {
		for e := range out[w] {
			out[w][e].Steps = t.Steps
		}
	}
	return out
}

// moved counts the rows, requests and bytes of a decision of a part.
func (t *Trace) moved(part int, c *Counts, d *rowcache.Decision, asked []bool) {
	clear(asked)
	read := 0
	for _, f := range d.Fetch {
		if f.Row >= 0 {
			read++
		}
		home := t.o.Part[f.ID]
		if t.MachineOf != nil && t.MachineOf[home] == t.MachineOf[part] {
			continue
		}
		if !asked[home] {
			asked[home] = true
			c.Requests++
		}
		if f.Row >= 0 {
			c.Rows.Fetched++
		} else {
			c.Rows.Prefilled++
		}
		c.Bytes.Rows += t.bytes(f.ID)
		c.Bytes.IDs += idBytes
	}
	c.Rows.Hit += int64(len(d.From) - read)
	c.Rows.Evicted += int64(d.Evicted)
}

func (t *Trace) bytes(v graph.NodeID) gpu.Bytes {
	if t.row > 0 {
		return t.row
	}
	x := &t.p.Features
	return entryBytes * gpu.Bytes(x.Indptr[v+1]-x.Indptr[v])
}

// shares are the sizes among which Smallest chooses, as shares of the rows of other parts that an epoch reads.
var shares = []float64{0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1}

// Nearly is how many more rows than with the best cache the smallest good one fetches, at most.
const Nearly = 1.05

// Good is a row cache, and what it does in the first epoch.
type Good struct {
	Share  float64 // its slots, as share of the rows of other parts that the epoch reads
	Slots  []int   // by part
	Counts Counts  // with it
	Best   Counts  // with the size that fetches least
	Demand Counts  // without a cache
}

// Smallest returns the smallest row cache that fetches at most 5 % more rows in the first epoch than the best cache.
// Rows that are still cached from the first epoch save fetches in later ones.
func (t *Trace) Smallest(ctx context.Context, r rowcache.Rules) (*Good, error) {
	distinct, err := t.Distinct(ctx)
	if err != nil {
		return nil, err
	}
	ways := []Way{{Slots: make([]int, t.Parts)}}
	for _, share := range shares {
		ways = append(ways, Way{r, slotsOf(distinct, share)})
	}
	counts, err := t.Count(ctx, 1, ways)
	if err != nil {
		return nil, err
	}
	g := &Good{Demand: counts[0][0], Best: counts[1][0]}
	for _, c := range counts[2:] {
		if c[0].Rows.Brought() < g.Best.Rows.Brought() {
			g.Best = c[0]
		}
	}
	for i, share := range shares {
		g.Share, g.Slots, g.Counts = share, ways[i+1].Slots, counts[i+1][0]
		if float64(g.Counts.Rows.Brought()) <= Nearly*float64(g.Best.Rows.Brought()) {
			break
		}
	}
	return g, nil
}

func slotsOf(rows []int, share float64) (slots []int) {
	for _, n := range rows {
		slots = append(slots, int(share*float64(n)))
	}
	return slots
}

// settle decides what is sampled: sums says whether layer 0 reads rows of ÂX, so that the last hop is not drawn.
func (d *design) settle(p *learn.Problem, o *Options) {
	last := len(o.Sampling.Fanout) - 1
	d.sums = o.Model.Precomputes() && !d.sparse && o.Sampling.Fanout[last] == sample.All
	if o.Isolated != nil && o.Isolated.AllLayers { // sums are of the whole graph
		d.sums = false
	}
	d.rules = sample.Rules{Seed: o.Model.Seed, Fanout: o.Sampling.Fanout, AddLoops: p.Loops == graph.LoopsAdded}
	if o.Sampling.Ladies {
		d.rules.Ladies = max(1, min(o.Sampling.BatchSize, p.TrainingVertices()))
	}
	if d.sums {
		d.rules.Fanout = d.rules.Fanout[:last]
	}
}
