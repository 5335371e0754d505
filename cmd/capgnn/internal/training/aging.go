package training

import (
	"context"
	"errors"
	"slices"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/pipeline"
	"capgnn/profiler"
)

// agingGain is the share of an epoch that a choice of stale layers must save for it to be taken: less is within the error of the
// forecast, and fresh rows cost no accuracy.
const agingGain = 0.005

// SettleAging decides which layers may read stale halo rows, where the settings leave that open: those by which a forecast epoch gets
// faster. Where nothing is known of the links, between CPU devices that read each other's memory, it leaves it to the widths of layers (docs/adr/0020).
func (t *Run) SettleAging(ctx context.Context) error {
	if err := t.agingOf(ctx, t.Profile); err != nil {
		return err
	}
	if t.Aging != nil {
		t.Console.Note("staleness: %s", t.Aging)
	}
	return nil
}

// agingOf is SettleAging without a word, on the devices of a profile; nil: it is looked up, or measured. Parts for unequal devices are
// fitted to what it decides on the parts that the partitioner made; the fitted ones decide anew.
func (t *Run) agingOf(ctx context.Context, profile *profiler.Profile) error {
	if !t.opensAging() {
		return nil
	}
	if slices.ContainsFunc(t.Specs, func(d devices.Spec) bool { return !d.Simulated() && !d.GPU && d.Link == 0 }) {
		return nil
	}
	if profile == nil {
		var err error
		if profile, err = devices.Profile(ctx, t.Console, t.Specs, t.Config.Profile); err != nil {
			return err
		}
	}
	return t.chooseAging(ctx, profile)
}

// opensAging reports whether it is open which layers may read stale halo rows.
func (t *Run) opensAging() bool {
	decided := !t.Config.StaleByForecast() || t.Config.CacheLayers.Value != nil && t.Aging == nil // by a flag, or by the run that is repeated
	return !t.Resume && !t.Bare && t.Parts > 1 && t.Config.Layers > 1 && t.Config.Staleness > 0 && !decided
}

// chooseAging sets the layers that may read stale halo rows to those by which an epoch on the devices of a profile gets fastest. It
// begins with none or all, and adds or takes away one layer at a time while that saves time: every choice is forecast in its own order of
// operations and with the cache slots that it would have. Where a run does not fit its devices it decides nothing.
func (t *Run) chooseAging(ctx context.Context, profile *profiler.Profile) error {
	t.forgetAging()
	part, dropped := t.parts()
	opt, err := t.forecastOptions(profile, part, dropped)
	if err != nil {
		return err
	}
	if opt.Layout, err = pipeline.NewLayout(t.Data.Problem, opt, t.Parts); err != nil {
		return err
	}
	defer opt.Layout.Release()
	// try forecasts a choice and keeps it if it is faster than the one that is kept.
	try := func(kept *runfolder.StaleForecast, layers []int) (*runfolder.StaleForecast, error) {
		opt.Cache.Layers = layers
		o, err := t.simulate(ctx, profile, opt, true)
		switch oom := (*gpu.OutOfMemory)(nil); {
		case errors.As(err, &oom):
			return kept, nil
		case err != nil:
			return nil, err
		case kept == nil:
			return &runfolder.StaleForecast{Layers: layers, ExactS: o.EpochS, EpochS: o.EpochS}, nil
		case o.EpochS < kept.EpochS*(1-agingGain):
			return &runfolder.StaleForecast{Layers: layers, ExactS: kept.ExactS, EpochS: o.EpochS}, nil
		}
		return kept, nil
	}
	best, err := try(nil, []int{})
	if best == nil {
		return err
	}
	var all []int
	for l := 1; l < t.Config.Layers; l++ {
		all = append(all, l)
	}
	if len(all) == 0 {
		return nil
	}
	if best, err = try(best, all); err != nil {
		return err
	}
	for more := true; more; {
		from := best.Layers
		for _, l := range all {
			layers := toggled(from, l)
			if len(layers) == 0 || len(layers) == len(all) {
				continue
			}
			if best, err = try(best, layers); err != nil {
				return err
			}
		}
		more = !slices.Equal(from, best.Layers)
	}
	t.settleAging(best)
	return nil
}

// settleAging records the choice of a forecast.
func (t *Run) settleAging(f *runfolder.StaleForecast) {
	t.Aging = f
	t.Config.Set(runfolder.CacheLayers, runfolder.FormatLayers(f.Layers))
}

// forgetAging leaves it open again which layers may read stale halo rows, if a forecast decided it.
func (t *Run) forgetAging() {
	if t.Aging != nil {
		t.Aging = nil
		t.Config.Set(runfolder.CacheLayers, runfolder.FormatLayers(nil))
	}
}

// parts returns the part of every vertex, and which replicas are left out.
func (t *Run) parts() ([]int32, [][]graph.NodeID) {
	if t.Plan == nil {
		return make([]int32, t.Data.Problem.Vertices()), nil
	}
	return t.Plan.Part, t.Plan.Dropped
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
