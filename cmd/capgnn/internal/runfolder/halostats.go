package runfolder

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/number"
	"capgnn/internal/regular"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
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
	AutoEPS *float64       `json:"auto_eps"` // null: the period is fixed
	MaxSeen int            `json:"max_seen"`
	Mean    float64        `json:"mean_seen"`
	Period  map[string]int `json:"period"` // epochs between two refreshes of a row by layer; 0: used in the epoch that makes them
}

func staleUseOf(bound jaca.Staleness, s jaca.Stats, period map[string]int) staleUse {
	out := staleUse{Bound: bound.Bound, MaxSeen: s.AgeMax, Mean: s.MeanAge(), Period: period}
	if bound.Auto() {
		out.AutoEPS = &bound.EPS
	}
	return out
}

func (s *staleUse) String() string {
	text := fmt.Sprintf("rows up to %s old, mean %s, bound %d", term.Counted(s.MaxSeen, "epoch"), number.Ratio.Text(s.Mean), s.Bound)
	if s.AutoEPS == nil {
		return text
	}
	var periods []string
	for _, layer := range slices.SortedFunc(maps.Keys(s.Period), byNumber) {
		often := [...]string{"in every epoch and used at once", "in every epoch"}
		every := fmt.Sprintf("every %d epochs", s.Period[layer])
		if p := s.Period[layer]; p < len(often) {
			every = often[p]
		}
		periods = append(periods, fmt.Sprintf("layer %s %s", layer, every))
	}
	return text + fmt.Sprintf(", drift %g; at the end refreshed: %s", *s.AutoEPS, strings.Join(periods, ", "))
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

// byNumber orders texts of numbers.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// haloBytes is what halo rows moved by route.
type haloBytes struct {
	D2H  gpu.Bytes `json:"d2h"`
	H2D  gpu.Bytes `json:"h2d"`
	Peer gpu.Bytes `json:"peer"`
}

// measuredDrift is one measurement of how far a layer's rows have drifted.
type measuredDrift struct {
	Layer  int      `json:"layer"`
	Epochs int      `json:"epochs"` // over which
	Q90    *float64 `json:"q90"`    // 90th percentile of relative drift; null: not finite
	Under  float64  `json:"under"`  // share of the sample rows that drifted by EPS at most
	Period int      `json:"period"` // from the next epoch on
}

func driftsOf(all []halo.Drift) []measuredDrift {
	var out []measuredDrift
	for _, d := range all {
		out = append(out, measuredDrift{Layer: d.Layer, Epochs: d.Epochs, Q90: finite(d.Q90), Under: float64(d.Under) / float64(max(1, d.Rows)), Period: d.Period})
	}
	return out
}

// driftPoint is a measurement in a result, where it stands under its layer.
type driftPoint struct {
	Epoch  int      `json:"epoch"`
	Epochs int      `json:"epochs"`
	Q90    *float64 `json:"q90"`
	Under  float64  `json:"under"`
}

// maxDrifts bounds the measurements in a result, of about 120 bytes each; metrics.jsonl has all.
const maxDrifts = 4096

// driftsIn returns the newest measurements in lines of metrics by layer, and the period that each layer came to.
func driftsIn(lines io.Reader) (points map[string][]driftPoint, period map[string]int, err error) {
	points, period = map[string][]driftPoint{}, map[string]int{}
	for in := json.NewDecoder(lines); ; {
		var e struct {
			Epoch  int             `json:"epoch"`
			Drifts []measuredDrift `json:"drifts"`
		}
		if err := in.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		for _, d := range e.Drifts {
			layer := strconv.Itoa(d.Layer)
			points[layer], period[layer] = append(points[layer], driftPoint{e.Epoch, d.Epochs, d.Q90, d.Under}), d.Period
		}
	}
	for layer, p := range points {
		points[layer] = p[max(0, len(p)-maxDrifts/len(points)):]
	}
	return points, period, nil
}

// ReadDrifts is driftsIn for a whole file.
func ReadDrifts(path string) (points map[string][]driftPoint, period map[string]int, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read drift: %w", err)
	}
	defer f.Close()
	if points, period, err = driftsIn(bufio.NewReader(f)); err != nil {
		return nil, nil, fmt.Errorf("read drift in %s: %w", path, err)
	}
	return points, period, nil
}
