package halo

import (
	"fmt"

	"capgnn/hostmem"
	"capgnn/internal/checkpoint"
	"capgnn/internal/contentkey"
)

func otherHalo(format string, a ...any) error {
	return fmt.Errorf("%w: %w", errOtherHalo, fmt.Errorf(format, a...))
}

// checkState says whether a state is of this plan: exchanges, classes, and the size of everything.
func (p *Plan) checkState(s *haloState, sections map[string]checkpoint.Section) error {
	if s.Plan != p.key() {
		return otherHalo("other rows have slots")
	}
	if len(s.Exchanges) != len(p.allTraining()) {
		return otherHalo("%d exchanges, not %d", len(s.Exchanges), len(p.allTraining()))
	}
	for k, l := range p.allTraining() {
		g := &s.Exchanges[k]
		if g.Exchange != l.ID.String() || len(g.Cached) != l.classes || len(g.Made) != p.parts() ||
			g.Schedule.Period < 1 || g.Schedule.Lag != 0 && !l.pipelined || l.classes > 0 && l.classes%g.Schedule.Period != 0 {
			return otherHalo("%s with %d classes, period %d", g.Exchange, len(g.Cached), g.Schedule.Period)
		}
		for _, x := range p.sides {
			if err := g.checkMade(x.ep.Part, l, x.relay(k), sections); err != nil {
				return err
			}
		}
		if err := p.checkCached(g, l, sections); err != nil {
			return err
		}
	}
	return nil
}

// key identifies what a checkpoint's halo rows are: which lie where, and how they travel.
func (p *Plan) key() string {
	things := []any{p.policy(), p.HaloType}
	if p.caches != nil {
		things = append(things, p.caches.Capacities)
	}
	if near, _ := p.scopes(); near.ranks != nil {
		things = append(things, near.ranks)
	}
	for _, l := range p.allTraining() {
		things = append(things, l.ID, l.classes)
		for i := range l.readers {
			r := &l.readers[i]
			things = append(things, hostmem.Bytes(r.ids), hostmem.Bytes(r.local), hostmem.Bytes(r.transient))
		}
		for _, owners := range l.global {
			for _, ids := range owners {
				things = append(things, hostmem.Bytes(ids))
			}
		}
	}
	return contentkey.Of("halo rows 1", things...)
}

// checkMade compares what part i has made and holds with its relay.
func (g *exchangeState) checkMade(i int, l *traffic, r *relay, sections map[string]checkpoint.Section) error {
	if len(g.Made[i]) != len(r.made) {
		return otherHalo("%s: %d blocks", g.Exchange, len(g.Made[i]))
	}
	for b := range r.made {
		if len(g.Made[i][b]) != len(r.made[b]) {
			return otherHalo("%s: blocks of %d parts", g.Exchange, len(g.Made[i][b]))
		}
	}
	for what, m := range r.lasting() {
		if got := checkpoint.Size(sections[l.section(i, what)]); got != int64(bytesOf(m)) {
			return otherHalo("%s of part %d: %s of %d bytes, not %d", g.Exchange, i, what, got, bytesOf(m))
		}
	}
	return nil
}

// checkCached compares the blocks of the cache in host memory with those of the plan.
func (p *Plan) checkCached(g *exchangeState, l *traffic, sections map[string]checkpoint.Section) error {
	for class := range l.classes {
		if len(g.Cached[class]) != p.parts() {
			return otherHalo("%s: class %d of %d parts", g.Exchange, class, len(g.Cached[class]))
		}
		for o, epoch := range g.Cached[class] {
			size := 0
			if l.blocks != nil && l.blocks[class][o] != nil {
				size = l.blocks[class][o].Size()
			}
			if got := checkpoint.Size(sections[l.blockSection(class, o, p.rankOf())]); epoch >= 0 && got != int64(size) || epoch < 0 && got != 0 {
				return otherHalo("%s: class %d of part %d of %d bytes, not %d", g.Exchange, class, o, got, size)
			}
		}
	}
	return nil
}
