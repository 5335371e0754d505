package runfolder

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/fit"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// Values of switches, of --staleness exact= and of --staleness layers=.
const (
	SwitchOn   = "on"
	SwitchOff  = "off"
	exactAuto  = "auto" // a tenth
	LayersAuto = "auto" // where it saves time
	layersNone = "none"
	LayersWide = "wide" // by their widths (docs/adr/0020, point 4), whatever time that takes
)

// HaloDtype, gpuCache and cpuCache are options whose names others use.
const (
	HaloDtype = "halo-dtype"
	gpuCache  = "cache.gpu"
	cpuCache  = "cache.cpu"
)

// Names of the options that say which layers may read stale halo rows: as the user asks, and as a forecast decided.
const (
	StaleLayers = "staleness.layers"
	CacheLayers = "cache-layers"
)

// CacheOptions are the options of train that say which halo rows are kept, and how old they may get.
var CacheOptions = rowsOf("cache", "staleness", "peer", HaloDtype)

// cacheErrors says what is wrong with the settings of caches, each on its own and beside each other.
func (c *Config) cacheErrors() []error {
	errs := append(c.capacityErrors(jaca.Policy(c.Cache)), c.stalenessErrors()...)
	if err := c.HaloType.err; err != nil {
		errs = append(errs, fmt.Errorf("--%s: %w", HaloDtype, err))
	}
	return errs
}

// capacityErrors says what is wrong with the sizes of caches, and with the rows that they are for.
func (c *Config) capacityErrors(policy jaca.Policy) []error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	size := func(name string, s Text[jaca.Size]) {
		if s.err != nil {
			bad("%s: %w", Label(name), s.err)
		} else if policy == jaca.None && s.Value != (jaca.Size{}) && s.Value != jaca.Rows(0) {
			bad("%s: --cache none keeps no rows: drop one of them", written(name, s))
		}
	}
	size(gpuCache, c.GPUCache)
	size(cpuCache, c.CPUCache)
	for name, s := range map[string]Text[gpu.Bytes]{"cache.reserve-gpu": c.ReserveGPU, "cache.reserve-cpu": c.ReserveCPU} {
		if s.err != nil {
			bad("%s: %q %w", Label(name), s, s.err)
		}
	}
	if err := c.CacheSlots.err; err != nil {
		bad("config: cache-slots: %w", err)
	}
	if err := c.CacheLinks.err; err != nil {
		bad("config: cache-links: %w", err)
	}
	if c.CacheTopK < 0 {
		bad("--cache topk=%d is negative: 0 = all rows", c.CacheTopK)
	}
	return errs
}

// stalenessErrors says what is wrong with the ages that rows may reach.
func (c *Config) stalenessErrors() []error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if c.Staleness < 0 || c.Staleness > jaca.MaxStaleness {
		bad("--staleness %d is not in [0, %d]", c.Staleness, jaca.MaxStaleness)
	}
	if layers, err := c.StaleLayers.Value, c.StaleLayers.err; err != nil {
		bad("%s: %w", Label(StaleLayers), err)
	} else if n := len(layers); n > 0 && layers[n-1] >= c.Exchanges() {
		bad("%s: the last of %d layers is layer %d", written(StaleLayers, c.StaleLayers), c.Exchanges(), c.Exchanges()-1)
	} else if n > 0 && c.Staleness == 0 {
		bad("%s: with --staleness 0 all rows are fresh: give the largest age, too", written(StaleLayers, c.StaleLayers))
	}
	if c.CacheLayers.err != nil {
		bad("config: %s: %w", CacheLayers, c.CacheLayers.err)
	}
	if err := c.ExactEpochs.err; err != nil {
		bad("--staleness exact: %w", err)
	}
	return errs
}

// parseReserve reads an amount of memory, or 0.
func parseReserve(text string) (gpu.Bytes, error) {
	if text == "0" {
		return 0, nil
	}
	return term.ParseBytes(text)
}

// Pipelined reports whether rows are used from the epoch on that follows the one that made them, where they may be stale.
func (c *Config) Pipelined() bool { return c.Pipeline == SwitchOn }

// parseExactEpochs reads a number of epochs; auto is -1.
func parseExactEpochs(text string) (int, error) {
	if text == exactAuto {
		return -1, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is neither auto nor a number of epochs", text)
	}
	return int(n), nil
}

// parseLayers reads layers in ascending order; auto and wide are nil.
func parseLayers(text string) ([]int, error) {
	if text == LayersAuto || text == LayersWide {
		return nil, nil
	}
	layers := []int{}
	if text == layersNone {
		return layers, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		l, err := strconv.ParseUint(item, 10, 16)
		if err != nil || l == 0 {
			return nil, fmt.Errorf("%q is not a layer from 1 on: give a list such as 1,2, none, wide or auto", item)
		}
		layers = append(layers, int(l))
	}
	slices.Sort(layers)
	return slices.Compact(layers), nil
}

// StaleByForecast reports whether a forecast may decide which layers read stale halo rows.
func (c *Config) StaleByForecast() bool { return c.StaleLayers.String() == LayersAuto }

// layersOpen leaves it open which layers may read stale halo rows.
var layersOpen = Text[[]int]{text: LayersAuto}

// FormatLayers is the inverse of parseLayers.
func FormatLayers(layers []int) string {
	switch {
	case layers == nil:
		return LayersAuto
	case len(layers) == 0:
		return layersNone
	}
	items := make([]string, len(layers))
	for i, l := range layers {
		items[i] = strconv.Itoa(l)
	}
	return strings.Join(items, ",")
}

// exactEpochs returns how many epochs at first use rows of their own epoch. The settings are valid.
func (c *Config) exactEpochs() int {
	if c.Staleness == 0 {
		return 0
	}
	if n := c.ExactEpochs.Value; n >= 0 {
		return n
	}
	return cmp.Or(c.BegunEpochs, c.Epochs) / 10
}

// Lengthened says what went over fewer epochs before --resume made the run longer, so that no run from the start repeats it; "" = nothing.
func (c *Config) Lengthened() string {
	switch s := &c.Schedule.Value; {
	case c.BegunEpochs == 0:
		return ""
	case c.Isolated.Value != nil:
		return fmt.Sprintf("isolated parts took turns over %d epochs so far", c.BegunEpochs)
	case s.Kind == fit.Cosine || s.Kind == fit.Step && s.Every == 0:
		return fmt.Sprintf("--schedule %s went over %d epochs so far", s.Kind, c.BegunEpochs)
	}
	return ""
}

// HaloCache returns what valid settings say about keeping halo rows. Links are missing where they are not recorded.
func (c *Config) HaloCache() halo.Options {
	layers := c.StaleLayers.Value
	if layers == nil {
		layers = c.CacheLayers.Value
	}
	return halo.Options{Policy: jaca.Policy(c.Cache), TopK: c.CacheTopK, Staleness: c.Staleness, Layers: layers, ExactEpochs: c.exactEpochs(),
		Pipeline: c.Pipelined(),
		Local:    c.GPUCache.Value, Global: c.CPUCache.Value, HaloType: c.HaloType.Value, ReserveDevice: c.ReserveGPU.Value, ReserveHost: c.ReserveCPU.Value,
		NoPeer: c.Peer == SwitchOff}
}

// ExplainCache says of a cache that does not fit what would.
func ExplainCache(err error) error {
	var limit *hostmem.Limit
	if errors.As(err, &limit) {
		return &term.FitError{Err: err, Remedy: fmt.Sprintf("give --cache cpu=%dB or less", max(0, limit.Left))}
	}
	if errors.Is(err, syscall.ENOMEM) {
		return &term.FitError{Err: err, Remedy: "give this process more address space (ulimit -v), or take a smaller --cache cpu="}
	}
	least := map[string]*jaca.TooLarge{} // by key: one size is for the caches of all parts
	for _, large := range tooLarge(err) {
		key := "gpu"
		if large.Cache == globalCache {
			key = "cpu"
		}
		if l := least[key]; l == nil || large.Fit < l.Fit {
			least[key] = large
		}
	}
	if len(least) == 0 {
		return err
	}
	var says, give []string
	for _, key := range slices.Sorted(maps.Keys(least)) {
		l := least[key]
		says = append(says, fmt.Sprintf("%s: %d rows of %s are wanted, %d fit", l.Cache, l.Want, term.Size(l.Slot), l.Fit))
		give = append(give, fmt.Sprintf("%s=%d", key, l.Fit))
	}
	return &term.FitError{Err: errors.New(strings.Join(says, ", and ")), Remedy: fmt.Sprintf("give --cache %s, or more memory (mem=, ulimit -v, container, machine)", strings.Join(give, ","))}
}

// tooLarge returns all caches that an error says to be too large.
func tooLarge(err error) (all []*jaca.TooLarge) {
	switch e := err.(type) {
	case *jaca.TooLarge:
		return []*jaca.TooLarge{e}
	case interface{ Unwrap() error }:
		return tooLarge(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			all = append(all, tooLarge(err)...)
		}
	}
	return all
}

// globalCache is what package jaca calls the cache in host memory.
const globalCache = "global cache"
