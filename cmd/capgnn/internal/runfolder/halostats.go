package runfolder

import (
	"fmt"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/runfile"
	"capgnn/jaca"
)

// Capacity is the sizes of the caches.
type Capacity runfile.Capacity

// CapacityOf returns the sizes of the caches of a plan, nil of none.
func CapacityOf(p *jaca.Plan) *Capacity {
	if p == nil {
		return nil
	}
	c := &p.Capacities
	return &Capacity{Local: c.Local, Global: c.Global, LocalUnion: c.LocalUnion, GlobalUnion: c.GlobalUnion, SlotBytes: int64(c.Slot)}
}

// String says how many of the rows that may be kept have a slot.
func (c *Capacity) String() string {
	var local []string
	for i, n := range c.Local {
		local = append(local, fmt.Sprintf("%d of %d", n, c.LocalUnion[i]))
	}
	if len(local) == 0 || slices.Max(c.Local) == 0 {
		local = []string{"none"}
	}
	return fmt.Sprintf("slots on devices %s, on the host %d of %d", strings.Join(local, ", "), c.Global, c.GlobalUnion)
}

func cacheOf(policy string, s jaca.Stats) runfile.Cache {
	return runfile.Cache{Policy: policy, Lookups: s.Lookups, Coverage: s.Coverage(), LocalHits: s.LocalHits,
		GlobalHits: s.GlobalHits, Misses: s.Misses}
}

// StaleForecast is what was forecast of stale halo rows.
type StaleForecast runfile.StaleForecast

func (f *StaleForecast) String() string {
	exact, epoch := term.Duration(&f.ExactS), term.Duration(&f.EpochS)
	switch len(f.Layers) {
	case 0:
		return fmt.Sprintf("all rows stay fresh, as stale ones would save no time (forecast epoch %s)", exact)
	case 1:
		return fmt.Sprintf("stale rows in layer %d: forecast epoch %s, with fresh rows %s", f.Layers[0], epoch, exact)
	}
	return fmt.Sprintf("stale rows in layers %s: forecast epoch %s, with fresh rows %s", FormatLayers(f.Layers), epoch, exact)
}
