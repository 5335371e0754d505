package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/jaca"
)

// Cache says which halo rows are kept in memory and how old they may get. The zero value keeps none: every row that is read
// remotely moves in every epoch.
type Cache struct {
	// Policy gives slots to rows; "" = none.
	Policy jaca.Policy
	// Local and Global are the sizes of a device's cache and of the host's; zero = what memory leaves, up to all rows.
	Local, Global jaca.Size
	// Slots are capacities that were decided before: rows of each part's cache, then of the host's. nil: Local and Global decide.
	Slots []int
	// ReserveDevice and ReserveHost is memory left alone.
	ReserveDevice, ReserveHost gpu.Bytes
	TopK                       int // halo rows that count per reader and owner (Algorithm 1); 0 = all
	// Links are the transfer rates that policy jaca decides by; zero: all equal.
	Links jaca.Links
	// Staleness bounds the age of halo rows in use. Where none can be of an earlier epoch, the run is that of staleness 0.
	Staleness jaca.Staleness
	// ExactEpochs is how many epochs at first use rows of their own epoch, as weights move most then. Adaptive staleness finds that
	// out itself.
	ExactEpochs int
	// Pipeline uses rows from the epoch on that follows the one that made them, so that they move while others compute. It
	// needs a staleness of 1 or more; at 0 transfers overlap inside the epoch alone.
	Pipeline bool
	// NoPeer lets rows pass through the host even where devices reach each other's memory.
	NoPeer bool
	// HaloType is what halo rows of training look like on their way, and in the global cache. Evaluation reads them as stored.
	HaloType Encoding
	// Bypass leaves caches alone for good once the mean hit rate of a period is below it: then all rows move in every epoch, where
	// they did not before. 0 = never. Not with adaptive staleness, which sets periods itself.
	Bypass float64
	// Host says how memory is locked that rows pass through; MLock as far as the system allows if Pinner is nil.
	Host hostmem.LockOptions
	Seed uint64 // of policy random

	piece gpu.Bytes // that a copy moves at most; 0 = pieceBytes. Tests have few rows, and many pieces
}

// policy returns the policy that the options ask for.
func (c *Cache) policy() jaca.Policy {
	if c.Policy == "" {
		return jaca.None
	}
	return c.Policy
}

// validate says what is wrong with the options.
func (c *Cache) validate(parts int) error {
	var errs []error
	if _, err := jaca.ParsePolicy(string(c.policy())); err != nil {
		errs = append(errs, err)
	}
	if s := c.Staleness; s.Bound < 0 || s.Bound > jaca.MaxStaleness || s.EPS < 0 || s.Auto() && s.Bound == 0 {
		errs = append(errs, fmt.Errorf("staleness %v is not in [0, %d]", s, jaca.MaxStaleness))
	}
	if int(c.HaloType) >= len(encodingNames) {
		errs = append(errs, fmt.Errorf("encoding %d of halo rows", c.HaloType))
	}
	errs = append(errs, c.checkStaleness()...)
	if c.ReserveDevice < 0 || c.ReserveHost < 0 || c.TopK < 0 || !(c.Bypass >= 0 && c.Bypass <= 1) {
		errs = append(errs, fmt.Errorf("cache reserves %d and %d, top %d, bypass at %g", c.ReserveDevice, c.ReserveHost, c.TopK, c.Bypass))
	}
	if n := len(c.Slots); n != 0 && n != parts+1 || n > 0 && slices.Min(c.Slots) < 0 {
		errs = append(errs, fmt.Errorf("cache slots %v of %d parts and the host", c.Slots, parts))
	}
	if n := len(c.Links.H2D); n != 0 && n != parts {
		errs = append(errs, fmt.Errorf("transfer rates of %d devices for %d", n, parts))
	}
	return errors.Join(errs...)
}

// checkStaleness says what does not go with old rows.
func (c *Cache) checkStaleness() (errs []error) {
	if !c.policy().Static() && c.Staleness.Bound > 0 && (c.Pipeline || c.Staleness.Auto()) {
		errs = append(errs, fmt.Errorf("policy %s decides while rows are read: it needs the pipeline off and a fixed staleness", c.Policy))
	}
	if c.ExactEpochs < 0 || c.ExactEpochs > 0 && (c.Staleness.Auto() || !c.policy().Static()) {
		errs = append(errs, fmt.Errorf("%d exact epochs need a fixed staleness, and a policy that keeps its rows", c.ExactEpochs))
	}
	if c.Bypass > 0 && c.Staleness.Auto() {
		errs = append(errs, fmt.Errorf("bypass at %g needs a fixed staleness", c.Bypass))
	}
	return errs
}

// trainingExchanges returns the exchanges of a training epoch, in its order, without what moves.
func trainingExchanges(model gnn.Config, plan gnn.Plan, as Encoding) []traffic {
	var exchanges []traffic
	add := func(l int, dir gnn.Direction) {
		if w := model.ExchangeWidth(plan, l, dir); w > 0 {
			stored := model.GatherType(plan, l, dir)
			exchanges = append(exchanges, traffic{exchangeID: exchangeID{l, dir}, index: len(exchanges),
				rowFormat: rowFormat{w, stored, codingOf(as, stored, model.ScoreColumns(dir))},
				keeps:     model.KeepsHalo() && dir == gnn.Forward, ages: plan.Ages(l)})
		}
	}
	for l := range model.Layers {
		add(l, gnn.Forward)
	}
	for l := model.Layers - 1; l >= 0; l-- {
		add(l, gnn.Backward)
	}
	for i := range exchanges {
		exchanges[i].until = i + 1
		for j := range exchanges {
			if exchanges[i].keeps && exchanges[j].exchangeID == (exchangeID{exchanges[i].layer, gnn.Backward}) {
				exchanges[i].until = j
			}
		}
	}
	return exchanges
}

// evaluationTraffic returns the exchanges of an evaluation through the first layers, which need every row.
func evaluationTraffic(lay *Layout, model gnn.Config, plan gnn.Plan, layers int) []*traffic {
	var out []*traffic
	for l := range layers {
		if w := model.ExchangeWidth(plan, l, gnn.Forward); w > 0 {
			t := traffic{exchangeID: exchangeID{l, gnn.Forward}, index: len(out), rowFormat: rowFormat{width: w, dtype: model.GatherType(plan, l, gnn.Forward)}}
			out = append(out, exact(t, lay.cut, func(b *graph.Block, k int) int { return b.Owners.At[k+1] - b.Owners.At[k] }))
		}
	}
	return out
}

// exactTraffic returns the exchanges of a training epoch without caches, by the schedules of p.
func exactTraffic(lay *Layout, model gnn.Config, plan gnn.Plan, o *Cache, p *periods) []*traffic {
	var out []*traffic
	for _, t := range trainingExchanges(model, plan, o.HaloType) {
		t.periods, t.piece = p, o.piece
		t.pipelined, t.adaptive = o.Pipeline && o.Staleness.Bound > 0, o.Staleness.Auto() || o.Bypass > 0
		out = append(out, exact(t, lay.at(t.layer), func(b *graph.Block, k int) int { return b.Count(k, t.layer) }))
	}
	return out
}

// planTraffic decides what training exchanges, and takes the memory of the global cache.
func (t planner) planTraffic() ([]*traffic, error) {
	o, model := &t.o, t.o.Model
	var err error
	if t.periods, err = newPeriods(&o.Cache, trainingExchanges(model, t.plan, o.Cache.HaloType)); err != nil {
		return nil, err
	}
	exchanges := exactTraffic(t.layout, model, t.plan, &o.Cache, t.periods)
	if t.traffic = exchanges; o.Cache.policy() == jaca.None || !t.exchanges() {
		return exchanges, nil
	}
	if t.caches, err = t.planCaches(exchanges, t.periods.largest()); err != nil {
		return nil, err
	}
	if t.Ages() && !o.Cache.Pipeline && !t.givesSlots(t.caches) {
		return nil, errNoSlots
	}
	t.giveSlots(exchanges)
	return exchanges, t.openRegion(exchanges)
}

// giveSlots makes exchanges cached ones, by the tables of the plan.
func (t planner) giveSlots(exchanges []*traffic) {
	static, next := t.o.Cache.policy().Static(), 0
	for i, l := range exchanges {
		if !l.ages {
			continue
		}
		table := t.caches.Tables[next]
		next++
		switch {
		case !static:
			local, global := cacheSlots(table, &t.caches.Capacities)
			exchanges[i] = withDynamicCaches(*l, local, global)
		case table.Slots() > 0:
			bare := *l
			bare.readers = nil
			exchanges[i] = cached(bare, t.layout.at(l.layer), table)
		}
	}
	if !static {
		t.dynamic = newDynamicCaches(t.Trainer)
	}
}

// cacheExchanges returns the exchanges whose rows may have slots.
func (t planner) cacheExchanges() []jaca.Exchange {
	var out []jaca.Exchange
	for _, l := range trainingExchanges(t.o.Model, t.plan, t.o.Cache.HaloType) {
		if l.ages {
			x := jaca.NewExchange(t.layout.at(l.layer), l.layer, l.dir, l.rowBytes(1))
			x.WireBytes = l.wireRow()
			out = append(out, x)
		}
	}
	return out
}

// planCaches gives rows their slots, as many as memory leaves room for. plain are the exchanges of training without caches.
func (t planner) planCaches(plain []*traffic, period int) (*jaca.Plan, error) {
	c := &t.o.Cache
	p, err := t.buildCaches(t.cacheExchanges(), jaca.Memory{Device: t.freeForCaches(plain), DeviceReserve: c.ReserveDevice,
		Host: t.freeOnHost(), HostReserve: c.ReserveHost}, period)
	if err == nil {
		t.o.Log.Info("caches planned", "policy", string(p.Policy), "local slots", fmt.Sprint(p.Capacities.Local), "global slots", p.Capacities.Global)
	}
	return p, err
}

// buildCaches gives rows of exchanges slots: as many as recorded, else by the options and memory, which counts as endless where it is
// zero.
func (t planner) buildCaches(exchanges []jaca.Exchange, m jaca.Memory, period int) (*jaca.Plan, error) {
	c := &t.o.Cache
	fresh := c.policy() == jaca.JACA && c.Staleness.Bound == 0 // every row moves in every epoch
	if m.Local, m.Global = c.Local, c.Global; fresh && c.Local == (jaca.Size{}) {
		m.Local = jaca.Rows(0)
	}
	if c.Slots != nil {
		m = jaca.Memory{}
	}
	m.TopK = c.TopK
	caps, err := jaca.Capacity(exchanges, m)
	if err != nil {
		return nil, err
	}
	switch n := len(caps.Local); {
	case c.Slots != nil:
		caps.Local, caps.Global = slices.Clone(c.Slots[:n]), c.Slots[n]
	case fresh && c.Global == (jaca.Size{}):
		caps.Global = min(caps.Global, sharedRows(exchanges)) // others are copied to the host once in any case
	}
	o := jaca.Options{Policy: c.policy(), Links: t.links(), Period: period, Seed: c.Seed}
	if o.Policy == jaca.Degree {
		o.Degree = [2][]int32{t.layout.cut.OutDegree, t.layout.cut.InDegree}
	}
	return jaca.Build(exchanges, caps, o)
}

// sharedRows returns the number of rows that several parts read, the most of any exchange.
func sharedRows(exchanges []jaca.Exchange) int {
	most := 0
	for i := range exchanges {
		n := 0
		_, readers := jaca.Overlap(&exchanges[i])
		for _, r := range readers {
			if r > 1 {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// links returns the rates of the options, with peer copies where devices reach each other: a copy crosses both links at once.
func (t planner) links() jaca.Links {
	l := t.o.Cache.Links
	if l.Peer != nil {
		return l
	}
	rate := func(x []float64, i int) float64 {
		if x == nil {
			return 1
		}
		return x[i]
	}
	type kind struct { // of parts with equal links
		dev      gpu.Device
		h2d, d2h float64
	}
	of, first := map[kind]int32{}, []int{} // the first part of each
	for i, w := range t.workers {
		k := kind{w.dev, rate(l.H2D, i), rate(l.D2H, i)}
		if _, ok := of[k]; !ok {
			of[k] = int32(len(first))
			first = append(first, i)
		}
		l.On = append(l.On, of[k])
	}
	for _, o := range first {
		row := make([]float64, len(first))
		for k, i := range first {
			if t.workers[i].reach[o] {
				row[k] = max(rate(l.D2H, o), rate(l.H2D, i))
			}
		}
		l.Peer = append(l.Peer, row)
	}
	return l
}

// freeOnHost returns the memory that the global cache may take, at least 1; 0 = unknown. CPU devices that keep accounts only have
// not taken theirs yet.
func (t planner) freeOnHost() gpu.Bytes {
	left, _, err := hostmem.Free()
	if err != nil {
		return 0
	}
	free := gpu.Bytes(left)
	for i, w := range t.workers {
		if w.ld.accounts && w.dev.Info().Kind == gpu.CPU && slices.Index(w.peers, true) == i {
			free -= w.dev.Memory().Used
		}
	}
	return max(1, free)
}

// Caches says which halo rows have slots; nil: none.
func (t *Trainer) Caches() *jaca.Plan { return t.caches }

// HostMemory returns what exchanges take of the host's memory: the global cache, and the rows on their way.
func (t *Trainer) HostMemory() (cache, staging gpu.Bytes) {
	if t.region != nil {
		cache = gpu.Bytes(t.region.Usage().Capacity)
	}
	for _, w := range t.workers {
		staging += w.staged
	}
	return cache, staging
}

// openRegion cuts the global cache into the blocks of the exchanges.
func (t planner) openRegion(exchanges []*traffic) error {
	var total int64
	each := func(f func(l *traffic, class, owner int, size int64) error) error {
		for _, l := range exchanges {
			for c := range l.global {
				for o, ids := range l.global[c] {
					if len(ids) == 0 {
						continue
					}
					if err := f(l, c, o, int64(l.wireRow())*int64(len(ids))); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	if err := each(func(_ *traffic, _, _ int, size int64) error { total += hostmem.BlockCost(size); return nil }); err != nil {
		return err
	}
	for _, l := range exchanges {
		if l.dynamic != nil {
			total += hostmem.SlotsCost(len(l.dynamic.global), int64(l.wireRow()))
		}
	}
	if total == 0 {
		return nil
	}
	r, err := hostmem.NewRegion("global cache", total, t.o.Cache.lock())
	if err != nil {
		return err
	}
	t.region = r
	if why := r.Unlocked(); why != nil {
		t.o.Log.Warn("the global cache is not page-locked", "why", why)
	}
	for _, l := range exchanges {
		if l.dynamic != nil {
			if l.dynamic.slots, err = r.Slots(l.exchangeID.String(), len(l.dynamic.global), int64(l.wireRow())); err != nil {
				return err
			}
		}
	}
	return each(func(l *traffic, class, owner int, size int64) error {
		if l.blocks == nil {
			l.blocks = make([][]*hostmem.Versioned, len(l.global))
			for c := range l.blocks {
				l.blocks[c] = make([]*hostmem.Versioned, len(l.global[c]))
			}
		}
		b, err := r.Block(fmt.Sprintf("%v, class %d of part %d", l.exchangeID, class, owner), size)
		l.blocks[class][owner] = b
		return err
	})
}

// lock says how host memory is locked that rows pass through.
func (c *Cache) lock() hostmem.LockOptions {
	l := c.Host
	if l.Pinner == nil {
		l.Optional = true
	}
	return l
}
