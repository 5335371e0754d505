package runfolder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	Across  *int           `json:"bound_net,omitempty"` // of rows that cross between ranks, where it is another
	Auto    bool           `json:"auto"`                // the period adapts
	MaxSeen int            `json:"max_seen"`
	Mean    float64        `json:"mean_seen"`
	Period  map[string]int `json:"period"` // epochs between two refreshes of a row by layer; 0: used in the epoch that makes them
}

// staleUseOf returns it for a bound, and that of rows that cross between ranks.
func staleUseOf(bound, across jaca.Staleness, s jaca.Stats, period map[string]int) staleUse {
	u := staleUse{Bound: bound.Bound, Auto: bound.Auto(), MaxSeen: s.AgeMax, Mean: s.MeanAge(), Period: period}
	if across != bound {
		u.Across = &across.Bound
	}
	return u
}

func (s *staleUse) String() string {
	text := fmt.Sprintf("rows up to %s old, mean %s, bound %d", term.Counted(s.MaxSeen, "epoch"), number.Ratio.Text(s.Mean), s.Bound)
	if s.Across != nil {
		text += fmt.Sprintf(", between ranks %d", *s.Across)
	}
	if !s.Auto {
		return text
	}
	var periods []string
	for _, layer := range slices.SortedFunc(maps.Keys(s.Period), byNumber) {
		every := fmt.Sprintf("every %d epochs", s.Period[layer])
		if s.Period[layer] == 0 {
			every = "in every epoch and used at once"
		}
		periods = append(periods, fmt.Sprintf("layer %s %s", layer, every))
	}
	return text + "; at the end refreshed: " + strings.Join(periods, ", ")
}

// StaleForecast is what an epoch was forecast to take with fresh halo rows alone, and with stale rows in the layers that were chosen.
// Times are in seconds.
type StaleForecast struct {
	Layers []int   `json:"layers"` // whose rows may be stale; empty: in none does it save time
	ExactS float64 `json:"exact_s"`
	EpochS float64 `json:"epoch_s"`
	// Open is the share of ExactS in which devices wait for transfers; left out but where it is so small that adaptive staleness leaves all rows fresh.
	Open *float64 `json:"open,omitempty"`
}

func (f *StaleForecast) String() string {
	exact, epoch := term.Duration(&f.ExactS), term.Duration(&f.EpochS)
	switch len(f.Layers) {
	case 0:
		if f.Open != nil {
			return fmt.Sprintf("all rows stay fresh, as transfers that computing does not hide take %s of a forecast epoch of %s", term.Percentage(*f.Open), exact)
		}
		return fmt.Sprintf("all rows stay fresh, as stale ones would save no time (forecast epoch %s)", exact)
	case 1:
		return fmt.Sprintf("stale rows in layer %d: forecast epoch %s, with fresh rows %s", f.Layers[0], epoch, exact)
	}
	return fmt.Sprintf("stale rows in layers %s: forecast epoch %s, with fresh rows %s", FormatLayers(f.Layers), epoch, exact)
}

// byNumber orders texts of numbers.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// haloBytes is what halo rows moved by route.
type haloBytes struct {
	D2H  gpu.Bytes `json:"d2h"`
	H2D  gpu.Bytes `json:"h2d"`
	Peer gpu.Bytes `json:"peer"`
}

// measuredHarm is what a probe has found in a layer: relative to the norm of its gradient. null: not finite.
type measuredHarm struct {
	Rho   *float64 `json:"rho"`   // of the difference that stale rows make
	Noise *float64 `json:"noise"` // of the change since the epoch before, over √2
}

// harmsOf returns what a probe has found by layer; nil: there was none.
func harmsOf(all []jaca.Harm) map[string]measuredHarm {
	if all == nil {
		return nil
	}
	out := map[string]measuredHarm{}
	for _, h := range all {
		out[strconv.Itoa(h.Layer)] = measuredHarm{finite(h.Rho), finite(h.Noise)}
	}
	return out
}

// harmPoint is what a probe has found in a result, where it stands under its layer.
type harmPoint struct {
	Epoch int `json:"epoch"`
	measuredHarm
}

// maxHarms bounds what a result tells of probes, about 80 bytes for each layer; metrics.jsonl has all.
const maxHarms = 4096

// ReadHarms returns what the newest probes have found by a metrics file, by layer.
func ReadHarms(path string) (map[string][]harmPoint, error) {
	points := map[string][]harmPoint{}
	err := eachLine(path, "what probes found", func(e *struct {
		Epoch int                     `json:"epoch"`
		Harm  map[string]measuredHarm `json:"harm"`
	}) {
		for layer, h := range e.Harm {
			points[layer] = append(points[layer], harmPoint{e.Epoch, h})
		}
	})
	for layer, p := range points {
		points[layer] = p[max(0, len(p)-maxHarms/len(points)):]
	}
	return points, err
}
