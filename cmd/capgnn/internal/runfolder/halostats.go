package runfolder

import (
	"fmt"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/number"
	"capgnn/jaca"
)

// Capacity is the sizes of the caches, in rows of an exchange.
type Capacity struct {
	Local       []int     `json:"local"` // by part
	Global      int       `json:"global"`
	LocalUnion  []int     `json:"union_local"` // rows that a part could keep
	GlobalUnion int       `json:"union_global"`
	SlotBytes   gpu.Bytes `json:"slot_bytes"` // of a row in all exchanges, on a device
}

// CapacityOf returns the sizes of the caches of a plan, nil of none.
func CapacityOf(p *jaca.Plan) *Capacity {
	if p == nil {
		return nil
	}
	c := &p.Capacities
	return &Capacity{Local: c.Local, Global: c.Global, LocalUnion: c.LocalUnion, GlobalUnion: c.GlobalUnion, SlotBytes: c.Slot}
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

// cacheUse is what lookups of halo rows found, over all parts, exchanges and epochs of training.
type cacheUse struct {
	Policy     string  `json:"policy"`
	Lookups    int64   `json:"lookups"`
	Coverage   float64 `json:"coverage"`    // share of the lookups whose row has a slot
	LocalHits  int64   `json:"local_hits"`  // nothing moved
	GlobalHits int64   `json:"global_hits"` // read from the host's cache, without the owner sending in this epoch
	Misses     int64   `json:"misses"`      // all else, refreshes included
}

// runCache is the cacheUse of a run with the sizes of its caches; null: there were none.
type runCache struct {
	cacheUse
	Capacity *Capacity `json:"capacity"`
}

func cacheUseOf(policy string, s jaca.Stats) cacheUse {
	return cacheUse{Policy: policy, Lookups: s.Lookups, Coverage: s.Coverage(), LocalHits: s.LocalHits, GlobalHits: s.GlobalHits, Misses: s.Misses}
}

// share returns so many lookups as a share of all.
func (c *cacheUse) share(n int64) float64 { return float64(n) / float64(max(1, c.Lookups)) }

// staleUse is how old the rows were that training used, in epochs.
type staleUse struct {
	Bound   int            `json:"bound"`
	MaxSeen int            `json:"max_seen"`
	Mean    float64        `json:"mean_seen"`
	Period  map[string]int `json:"period"` // epochs between two refreshes of a row by layer; 0: used in the epoch that makes them
}

func (s *staleUse) String() string {
	return fmt.Sprintf("rows up to %s old, mean %s, bound %d", term.Counted(s.MaxSeen, "epoch"), number.Ratio.Text(s.Mean), s.Bound)
}

// StaleForecast is what an epoch was forecast to take with fresh halo rows alone, and with stale rows in the layers that were chosen.
// Times are in seconds.
type StaleForecast struct {
	Layers []int   `json:"layers"` // whose rows may be stale; empty: in none does it save time
	ExactS float64 `json:"exact_s"`
	EpochS float64 `json:"epoch_s"`
}

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

// haloBytes is what halo rows moved by route.
type haloBytes struct {
	D2H  gpu.Bytes `json:"d2h"`
	H2D  gpu.Bytes `json:"h2d"`
	Peer gpu.Bytes `json:"peer"`
}
