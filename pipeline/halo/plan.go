package halo

import (
	"errors"
	"log/slog"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/jaca"
	"capgnn/pipeline/link"
)

// Config is what a run has decided before its exchanges are planned.
type Config struct {
	Options
	Model gnn.Config
	Order gnn.Plan // of operations
	Cuts  Cuts
	Ends  []*Endpoint // of the parts of this process, in part order
	Facts []Facts     // by part: OwnFacts of all processes
	Hub   *meet.Hub
	Net   *link.Net // to the other processes; nil: there are none, or nothing moves between them
	Area  uint32    // number of the first area that exchanges may use
	// Pairs are the seconds that a byte takes between hosts, latency included, by reading rank and owner's rank, in the units of Links; nil: as from a device to its host.
	Pairs [][]float64
	Log   *slog.Logger
}

// Cuts are the cuts by which a run exchanges: that of the whole graph, and what is left of it where replicas are dropped.
type Cuts struct {
	Whole *graph.Cut // for evaluation, and the first layer of training
	Kept  *graph.Cut // for the other layers of training; Whole itself if nothing is dropped
}

// At returns the cut by which a layer of training exchanges and aggregates. The first layer is the whole graph's even where
// it exchanges: no saving changes what is computed.
func (c *Cuts) At(layer int) *graph.Cut {
	if layer == 0 {
		return c.Whole
	}
	return c.Kept
}

// Plan is what the parts of a run exchange: which rows of which layers move, by which schedules, and which have slots. It belongs to one
// goroutine, but for Attach. The zero value is that of a run whose parts exchange nothing.
type Plan struct {
	Config
	training   []*traffic           // of rows that stay in a rank
	evaluation []*traffic           // the same
	beyond     [2][]*traffic        // training's and evaluation's rows that cross between ranks, in the order of training and evaluation; nil: there is one rank
	caches     *jaca.Plan           // of what parts of this process read; nil: none
	tables     [][]*jaca.Table      // by rank, and exchange whose rows age
	periods    *periods             // schedules of training's exchanges; nil: none
	region     *hostmem.Region      // the global cache as far as parts of this process make or read it, nil: nothing
	sides      []*Exchange          // of training, of the parts of this process: as far as they have been attached
	arriving   map[uint32]*arrivals // by area
	streamed   *tables              // of parts that take turns; nil: they take none
}

func (c *Config) parts() int { return len(c.Cuts.Whole.Parts) }

func (c *Config) own(part int) bool { return c.Cuts.Whole.Own.Has(part) }

func (p *Plan) side(part int) *Exchange { return p.sides[part-p.Cuts.Whole.Own.Lo] }

// NewPlan decides what training and evaluation exchange, and takes the memory of the global cache. ErrNoSlots says that there is no room for
// rows that are to age.
func NewPlan(c Config) (*Plan, error) {
	p := newEvaluation(c, c.Model.Layers)
	err := p.planTraining()
	if err == nil {
		p.cross()
		err = p.openRegion(p.allTraining())
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.openAreas()
	return p, nil
}

// NewEvaluation returns the plan of a run that only evaluates, through the first layers.
func NewEvaluation(c Config, layers int) *Plan {
	p := newEvaluation(c, layers)
	p.cross()
	p.openAreas()
	return p
}

func newEvaluation(c Config, layers int) *Plan {
	p := &Plan{Config: c, sides: make([]*Exchange, len(c.Ends))}
	near, far := c.scopes()
	p.evaluation = evaluationTraffic(&p.Config, layers, near)
	if far.across {
		p.beyond[1] = evaluationTraffic(&p.Config, layers, far)
	}
	return p
}

// scopes returns which rows stay in a rank, and which cross.
func (c *Config) scopes() (near, far scope) {
	if c.Net == nil || c.Net.Ranks() == 1 {
		return scope{}, scope{}
	}
	ranks := make([]int, len(c.Facts))
	for part := range ranks {
		ranks[part] = c.rank(part)
	}
	return scope{ranks, false}, scope{ranks, true}
}

// allTraining returns the exchanges of training, those of rows that cross behind the others.
func (p *Plan) allTraining() []*traffic { return slices.Concat(p.training, p.beyond[0]) }

func (p *Plan) planTraining() error {
	var err error
	near, far := p.scopes()
	exchanges := p.exchangesOf(near)
	if far.across {
		exchanges = append(exchanges, p.exchangesOf(far)...)
	}
	if p.periods, err = newPeriods(&p.Options, exchanges); err != nil {
		return err
	}
	if p.training = exactTraffic(&p.Config, p.periods, near); far.across {
		p.beyond[0] = exactTraffic(&p.Config, p.periods, far)
	}
	if p.policy() != jaca.None && p.exchanges() {
		if err = p.planCaches(p.periods); err != nil {
			return err
		}
		if p.ages() && !p.Pipeline && !givesSlots(slices.Concat(p.tables...)) {
			return ErrNoSlots
		}
		p.giveSlots()
	}
	return nil
}

// giveSlots makes exchanges cached ones, by the tables of the plan.
func (p *Plan) giveSlots() {
	next := 0
	for i, l := range p.training {
		if !l.ages {
			continue
		}
		var tables []*jaca.Table
		for _, of := range p.tables {
			tables = append(tables, of[next])
		}
		next++
		if givesSlots(tables) {
			p.training[i] = p.cachedAs(*l, tables)
			if p.beyond[0] != nil {
				p.beyond[0][i] = p.cachedAs(*p.beyond[0][i], tables)
			}
		}
	}
}

// cachedAs returns an exact exchange with slots.
func (p *Plan) cachedAs(l traffic, tables []*jaca.Table) *traffic {
	own := 0
	if l.ranks != nil {
		own = p.Net.Rank()
	}
	l.readers = nil
	return cached(l, p.Cuts.At(l.Layer), tables, own)
}

// Close gives up the global cache. Nobody may read or write it any more.
func (p *Plan) Close() {
	if p.region != nil {
		p.region.Close()
		p.region = nil
	}
}

// Caches says which halo rows have slots; nil: none.
func (p *Plan) Caches() *jaca.Plan { return p.caches }

// Schedules returns the schedules in force, by exchange of training in the order of an epoch; over ranks, then those of rows that cross.
func (p *Plan) Schedules() []jaca.Schedule {
	var all []jaca.Schedule
	for _, l := range p.allTraining() {
		all = append(all, l.schedule())
	}
	return all
}

// HostMemory returns what exchanges take of the host's memory: the global cache, and the rows on their way.
func (p *Plan) HostMemory() (cache, staging gpu.Bytes) {
	if p.region != nil {
		cache = gpu.Bytes(p.region.Usage().Capacity)
	}
	for _, e := range p.Ends {
		staging += e.staged
	}
	return cache, staging
}

// EndEpoch puts the schedules of the next epoch into force.
func (p *Plan) EndEpoch(epoch int) {
	if p.periods != nil {
		p.periods.beginAging(epoch + 1)
	}
}

// ages reports whether training may use rows of other parts that an earlier epoch made.
func (c *Config) ages() bool { return c.Options.Ages() }

// MayAge reports whether rows of other parts may be of an earlier epoch: the staleness allows it, a layer that ages reads such rows, and they
// are used an epoch later or have slots, if memory leaves room.
func (c *Config) MayAge() (bool, error) {
	if !c.ages() || !c.exchanges() {
		return false, nil
	}
	if c.Pipeline || c.policy() == jaca.None {
		return c.Pipeline, nil
	}
	_, tables, err := c.buildCaches(c.cacheExchanges(), jaca.Memory{}, c.Staleness+1)
	return err == nil && givesSlots(slices.Concat(tables...)), err
}

// ErrNoSlots says that rows were to age in slots, and memory leaves room for none.
var ErrNoSlots = errors.New("no row has a slot")

// exchanges reports whether a layer whose rows may have slots reads rows of other parts, forward or backward.
func (c *Config) exchanges() bool {
	for l := range c.Order.Layers {
		if c.Order.Ages(l) && slices.ContainsFunc(c.Cuts.At(l).Parts, func(p *graph.Part) bool { return p.In.Exchanged(l)+p.Out.Exchanged(l) > 0 }) {
			return true
		}
	}
	return false
}

func givesSlots(tables []*jaca.Table) bool {
	return slices.ContainsFunc(tables, func(t *jaca.Table) bool { return t.Slots() > 0 })
}
