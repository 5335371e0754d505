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
	Net   Net    // to the other processes; nil: there are none, or nothing moves between them
	Area  uint32 // number of the first area that exchanges may use
	// Folded says that sums read edge weights as vectors, which go with the rows of the halo matrix.
	Folded bool
	Log    *slog.Logger
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
	training   []*traffic
	evaluation []*traffic
	caches     *jaca.Plan        // nil: none
	periods    *periods          // schedules of training's exchanges; nil: none
	region     *hostmem.Region   // the global cache as far as parts of this process make or read it, nil: nothing
	dynamic    decider           // of a policy that decides while rows are read; nil: slots stay with their rows
	sides      []*Exchange       // of training, of the parts of this process: as far as they have been attached
	arriving   map[int]*arrivals // by part of another rank: where its rows arrive
}

// parts returns the number of all parts.
func (c *Config) parts() int { return len(c.Cuts.Whole.Parts) }

// own reports whether a part is of this process.
func (c *Config) own(part int) bool { return c.Cuts.Whole.Own.Has(part) }

// side returns that of a part of this process.
func (p *Plan) side(part int) *Exchange { return p.sides[part-p.Cuts.Whole.Own.Lo] }

// decider decides before each epoch what moves in it.
type decider interface {
	Plan(epoch int) error
	Reach(epoch int) error // decides the epochs before one once more
	Restart()              // begins anew, with empty caches
}

// NewPlan decides what training and evaluation exchange, and takes the memory of the global cache. ErrNoSlots says that there is no room for
// rows that are to age.
func NewPlan(c Config) (*Plan, error) {
	p := newEvaluation(c, c.Model.Layers)
	if err := p.planTraining(); err != nil {
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

// newEvaluation decides what an evaluation exchanges.
func newEvaluation(c Config, layers int) *Plan {
	return &Plan{Config: c, evaluation: evaluationTraffic(c.Cuts, c.Model, c.Order, layers), sides: make([]*Exchange, len(c.Ends))}
}

// planTraining decides what training exchanges, and takes the memory of the global cache.
func (p *Plan) planTraining() error {
	var err error
	if p.periods, err = newPeriods(&p.Options, trainingExchanges(p.Model, p.Order, &p.Options)); err != nil {
		return err
	}
	p.training = exactTraffic(p.Cuts, p.Model, p.Order, &p.Options, p.periods)
	if p.policy() != jaca.None && p.exchanges() {
		if p.caches, err = p.planCaches(p.periods); err != nil {
			return err
		}
		if p.ages() && !p.Pipeline && !givesSlots(p.caches) {
			return ErrNoSlots
		}
		p.giveSlots()
	}
	p.cross()
	return p.openRegion(p.training)
}

// giveSlots makes exchanges cached ones, by the tables of the plan.
func (p *Plan) giveSlots() {
	static, next := p.policy().Static(), 0
	for i, l := range p.training {
		if !l.ages {
			continue
		}
		table := p.caches.Tables[next]
		next++
		switch {
		case !static:
			local, global := cacheSlots(table, &p.caches.Capacities)
			p.training[i] = p.withDynamicCaches(*l, local, global)
		case table.Slots() > 0:
			bare := *l
			bare.readers = nil
			p.training[i] = cached(bare, p.Cuts.At(l.Layer), table)
		}
	}
	if !static {
		p.dynamic = p.newDynamicCaches()
	}
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

// Schedules returns the schedules in force, by exchange of training in the order of an epoch.
func (p *Plan) Schedules() []jaca.Schedule {
	var all []jaca.Schedule
	for _, l := range p.training {
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

// BeginEpoch decides what an epoch of training moves, as far as that is not fixed.
func (p *Plan) BeginEpoch(epoch int) error {
	if p.dynamic == nil {
		return nil
	}
	return p.dynamic.Plan(epoch)
}

// EndEpoch puts the schedules of the next epoch into force. loss is that of all parts, harms what the epoch's probe has found; nil: it had none.
func (p *Plan) EndEpoch(epoch int, loss float64, harms []jaca.Harm) {
	if p.periods == nil {
		return
	}
	if l := p.periods.ladder; l != nil && l.Observe(epoch, loss, harms) {
		p.periods.adopt()
	}
	p.periods.beginAging(epoch + 1)
}

// ages reports whether training may use rows of other parts that an earlier epoch made.
func (c *Config) ages() bool { return c.Staleness.Bound > 0 }

// MayAge reports whether rows of other parts may be of an earlier epoch: the staleness allows it, a layer that ages reads such rows, and they
// are used an epoch later or have slots, if memory leaves room.
func (c *Config) MayAge() (bool, error) {
	if !c.ages() || !c.exchanges() {
		return false, nil
	}
	if c.Pipeline || c.policy() == jaca.None {
		return c.Pipeline, nil
	}
	p, err := c.buildCaches(c.cacheExchanges(), jaca.Memory{}, c.Staleness.Bound+1)
	return err == nil && givesSlots(p), err
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

// givesSlots reports whether some row has a slot by a plan, or may get one while rows are read.
func givesSlots(p *jaca.Plan) bool {
	return slices.ContainsFunc(p.Tables, func(table *jaca.Table) bool {
		if p.Policy.Static() {
			return table.Slots() > 0
		}
		local, global := cacheSlots(table, &p.Capacities)
		return global > 0 || slices.Max(local) > 0
	})
}
