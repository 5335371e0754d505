package training

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/graph/synth"
	"capgnn/internal/learn"
)

// settled returns a run on a generated graph that has come as far as which layers may read stale halo rows.
func settled(t *testing.T, settings map[string]string) *Run {
	t.Helper()
	const vertices, classes = 400, 5
	g, labels, err := synth.Blocks(vertices, classes, 20, 0.6, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := &learn.Problem{Graph: g, Features: learn.Features{Cols: 16, Dense: make([]float32, 16*vertices)}, Labels: labels, Classes: classes, Train: make([]bool, vertices)}
	for v := range p.Train {
		p.Train[v] = true
	}
	r := New(quiet(), "", runfolder.Default())
	r.Data = &datasets.Input{Problem: p}
	for name, text := range map[string]string{"dataset": "generated", "hidden": "64", "staleness": "4", "staleness.pipeline": "off"} {
		r.Config.Set(name, text)
	}
	for name, text := range settings {
		r.Config.Set(name, text)
	}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func(context.Context) error{r.Load, r.ChooseDevices, r.decided(Divide, SettleCache, SettleAging)} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// epochWith forecasts an epoch of a run in which these layers may read stale halo rows.
func epochWith(t *testing.T, r *Run, layers []int) float64 {
	t.Helper()
	with := *r
	with.Config.Set(runfolder.StaleLayers, runfolder.FormatLayers(layers))
	part, dropped := with.parts(len(r.Data.Problem.Labels))
	o, err := with.Forecast(t.Context(), part, dropped)
	if err != nil {
		t.Fatal(err)
	}
	return o.EpochS
}

// On slow links and on fast ones, with any model, cache size and pipeline, an epoch takes no longer than with fresh rows alone, and no
// choice of layers is faster by more than what counts as nothing.
func TestStaleLayersAreTheFastest(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	stale, exact := 0, 0
	for k, s := range []map[string]string{
		{"devices": "sim:rtx3090,sim:rtx3090"},
		{"devices": "sim:rtx3090,link=0.05GiB/s,sim:rtx3090,link=0.05GiB/s"},
		{"devices": "sim:rtx3090,link=0.05GiB/s,sim:gtx1650,link=0.2GiB/s,latency=1us", "staleness.pipeline": "on"},
		{"devices": "sim:rtx3090,link=0.2GiB/s,latency=1us,sim:rtx3090,link=0.2GiB/s,latency=1us", "cache.gpu": "5%", "cache.cpu": "5%"},
		{"devices": "sim:rtx3090,link=100GiB/s,latency=1us,sim:rtx3090,link=100GiB/s,latency=1us", "model": "sage"},
		{"devices": "sim:a40,link=0.1GiB/s,latency=1us,sim:a40,link=0.1GiB/s,latency=1us,sim:a40,link=0.1GiB/s,latency=1us", "model": "gin", "layers": "4"},
		{"devices": "sim:a40,link=0.1GiB/s,sim:a40,link=0.1GiB/s", "layers": "1"},
	} {
		r := settled(t, s)
		layers := r.Config.Layers
		if layers == 1 {
			if r.Aging != nil {
				t.Errorf("%d: one layer: %v", k, r.Aging)
			}
			continue
		}
		chosen := r.Config.HaloCache().Layers
		if r.Aging == nil || !slices.Equal(chosen, r.Aging.Layers) || chosen == nil {
			t.Fatalf("%d: %v chosen, %v recorded", k, r.Aging, chosen)
		}
		if len(chosen) > 0 {
			stale++
		} else {
			exact++
		}
		epoch, best := epochWith(t, r, chosen), math.Inf(1)
		if epoch != r.Aging.EpochS {
			t.Errorf("%d: an epoch takes %g s, %g was recorded", k, epoch, r.Aging.EpochS)
		}
		for set := range 1 << (layers - 1) {
			list := []int{}
			for l := 1; l < layers; l++ {
				if set>>(l-1)&1 == 1 {
					list = append(list, l)
				}
			}
			s := epochWith(t, r, list)
			if best = min(best, s); set == 0 && (epoch > s || s != r.Aging.ExactS) {
				t.Errorf("%d: an epoch takes %g s, with fresh rows %g, recorded %g", k, epoch, s, r.Aging.ExactS)
			}
		}
		if epoch > best*(1+2*agingGain) {
			t.Errorf("%d: layers %v take %g s, the best choice %g", k, chosen, epoch, best)
		}
	}
	if stale < 3 || exact < 1 {
		t.Errorf("%d runs with stale rows and %d without: the test compares too little", stale, exact)
	}
}

// A choice of the user stands, and where nothing is known of the links the widths of layers decide.
func TestStaleLayersAreLeftAlone(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	slow := "sim:rtx3090,link=0.05GiB/s,sim:rtx3090,link=0.05GiB/s"
	for name, tc := range map[string]struct {
		settings map[string]string
		want     []int
	}{
		"the user's":    {map[string]string{"devices": slow, "staleness.layers": "2"}, []int{2}},
		"the user's no": {map[string]string{"devices": slow, "staleness.layers": "none"}, []int{}},
		"by width":      {map[string]string{"devices": slow, "staleness.layers": "wide"}, nil},
		"recorded":      {map[string]string{"devices": slow, "cache-layers": "2", "plan-key": strings.Repeat("0", 64)}, nil},
		"host memory":   {map[string]string{"devices": "cpu:0,cpu:1"}, nil},
		"exact":         {map[string]string{"devices": slow, "staleness": "0"}, nil},
	} {
		if name == "recorded" { // its plan is gone, so the forecast decides again
			if r := settled(t, tc.settings); r.Aging == nil {
				t.Errorf("%s: nothing is decided on a new plan", name)
			}
			continue
		}
		r := settled(t, tc.settings)
		if got := r.Config.HaloCache().Layers; r.Aging != nil || !slices.Equal(got, tc.want) || (got == nil) != (tc.want == nil) {
			t.Errorf("%s: %v, want %v (%v)", name, got, tc.want, r.Aging)
		}
	}
}

func TestToggled(t *testing.T) {
	from := []int{1, 3}
	for l, want := range map[int][]int{0: {0, 1, 3}, 1: {3}, 2: {1, 2, 3}, 3: {1}, 4: {1, 3, 4}} {
		if got := toggled(from, l); !slices.Equal(got, want) || !slices.Equal(from, []int{1, 3}) {
			t.Errorf("%d: got %v, want %v; from %v", l, got, want, from)
		}
	}
}
