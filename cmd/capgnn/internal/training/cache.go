package training

import (
	"context"
	"errors"
	"slices"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/jaca"
	"capgnn/pipeline"
)

// SettleCache decides what caches are decided by and what the settings leave open, the links, and checks what a config
// file recorded.
func SettleCache(ctx context.Context, t Forecaster) (Decisions, error) {
	c := &t.Config
	if n := len(c.CacheSlots.Value); n > 0 && n != t.Parts+1 {
		return t.Decisions, term.Usagef("config: cache-slots: %d numbers for the caches of %d parts and of the host",
			n, t.Parts)
	}
	if n := len(c.CacheLinks.Value); n > 0 && n != len(t.Specs) && t.placed == nil {
		return t.Decisions, term.Usagef("config: cache-links: %d links of %d devices", n, len(t.Specs))
	}
	if t.Parts == 1 || t.streams || c.Isolated.Value != nil || c.CacheLinks.String() != "" || jaca.Policy(c.Cache) != jaca.JACA {
		return t.Decisions, nil
	}
	profile, err := t.Profile, error(nil)
	if !t.linksKnown() {
		if profile, err = t.Measured(ctx); err != nil {
			return t.Decisions, err
		}
	}
	links, err := t.links(profile)
	if err == nil {
		c.Set("cache-links", runfolder.FormatLinks(links))
	}
	return t.Decisions, err
}

// agingGain is the share of an epoch that a choice of stale layers must save for it to be taken: less is within the
// error of the forecast, and fresh rows cost no accuracy.
const agingGain = 0.005

// SettleAging decides which layers may read stale halo rows, where the settings leave that open: those by which a
// forecast epoch gets faster. Where nothing is known of the links, between CPU devices that read each other's memory,
// it leaves it to the widths of layers (docs/adr/0020).
func SettleAging(ctx context.Context, t Forecaster) (Decisions, error) {
	d, err := agingOf(ctx, t)
	if err == nil && d.Aging != nil {
		t.Console.Note("staleness: %s", d.Aging)
	}
	return d, err
}

// agingOf is SettleAging without a word. Parts for unequal devices are fitted to what it decides on the parts that the
// partitioner made; the fitted ones decide anew.
func agingOf(ctx context.Context, t Forecaster) (Decisions, error) {
	c := &t.Config
	// By a flag, or by the run that is repeated.
	decided := !c.StaleByForecast() || c.CacheLayers.Value != nil && t.Aging == nil
	if t.Resume || t.Bare || t.Parts == 1 || c.Exchanges() <= 1 || c.Staleness == 0 || decided ||
		slices.ContainsFunc(t.Specs, func(d devices.Spec) bool { return !d.Simulated() && !d.GPU && d.Link == 0 }) {
		return t.Decisions, nil
	}
	profile, err := t.Measured(ctx)
	if err != nil {
		return t.Decisions, err
	}
	t.forgetAging()
	measured := t
	measured.Profile = profile
	best, err := fastestAging(ctx, measured)
	if err == nil && best != nil {
		t.settleAging(best)
	}
	return t.Decisions, err
}

// fastestAging returns the layers by which an epoch gets fastest that read stale halo rows. It begins with none or all,
// and adds or takes away one layer at a time while that saves time: every choice is forecast in its own order of
// operations and with the cache slots that it would have. nil: the run does not fit its devices.
func fastestAging(ctx context.Context, t Forecaster) (*runfolder.StaleForecast, error) {
	opt, err := t.forecastOptions(t.parts(t.Data.Problem.Vertices()))
	if err != nil {
		return nil, err
	}
	if opt.Layout, err = pipeline.NewLayout(t.Data.Problem, opt, t.Parts); err != nil {
		return nil, err
	}
	defer opt.Layout.Release()
	var best *runfolder.StaleForecast
	// try forecasts a choice and keeps it if it is faster than the one that is kept.
	try := func(layers []int) error {
		opt.Cache.Layers = layers
		o, err := t.simulate(ctx, opt, true, 0)
		switch oom := (*gpu.OutOfMemory)(nil); {
		case errors.As(err, &oom):
			return nil
		case err != nil:
			return err
		case best == nil:
			best = &runfolder.StaleForecast{Layers: layers, ExactS: o.EpochS, EpochS: o.EpochS}
		case o.EpochS < best.EpochS*(1-agingGain):
			best = &runfolder.StaleForecast{Layers: layers, ExactS: best.ExactS, EpochS: o.EpochS}
		}
		return nil
	}
	if err := try([]int{}); best == nil {
		return nil, err
	}
	var all []int
	for l := 1; l < t.Config.Exchanges(); l++ {
		all = append(all, l)
	}
	if err := try(all); err != nil {
		return nil, err
	}
	for more := true; more; {
		from := best.Layers
		for _, l := range all {
			layers := toggled(from, l)
			if len(layers) == 0 || len(layers) == len(all) {
				continue
			}
			if err := try(layers); err != nil {
				return nil, err
			}
		}
		more = !slices.Equal(from, best.Layers)
	}
	return best, nil
}

// toggled returns the layers with one more, or with one less.
func toggled(layers []int, l int) []int {
	out := slices.Clone(layers)
	i, there := slices.BinarySearch(out, l)
	if there {
		return slices.Delete(out, i, i+1)
	}
	return slices.Insert(out, i, l)
}
