package minibatch

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/hostmem"
	"capgnn/internal/fit"
	"capgnn/internal/named"
	"capgnn/minibatch/rowcache"
)

func areaOf(t *testing.T, f *fetcher, n gpu.Bytes) *hostmem.Block {
	t.Helper()
	mem, err := f.arena.Alloc(int64(n), "area")
	if err != nil {
		t.Fatal(err)
	}
	return mem
}

// ruin writes NaN everywhere.
func ruin(mem []byte) {
	for i, all := 0, hostmem.Of[uint32](mem[:len(mem)/4*4]); i < len(all); i++ {
		all[i] = math.Float32bits(float32(math.NaN()))
	}
}

// ruinAll fills caches, areas and slots of a run that has not begun.
func ruinAll(tr *Trainer) {
	for _, w := range tr.workers {
		ruin(w.fetcher.cache.Bytes())
		for _, s := range w.feed.slots {
			for u := range s.units {
				ruin(s.units[u].mem.Bytes())
			}
			for k := range s.turns {
				ruin(s.turns[k].area.Bytes())
			}
		}
	}
}

// What is read of caches and areas was written there before, and a slot is not written before it was read: of trainers
// that do otherwise the weights are others.
func TestCachesAreReadBehindWrites(t *testing.T) {
	for name, mutate := range map[string]func(f *fetcher, step int, x *fetching) error{
		"none": nil,
		"slots are written a step early": func(f *fetcher, _ int, x *fetching) error {
			if x.to < len(x.order) {
				return errors.New("not in one round")
			}
			if err := f.await(x); err != nil {
				return err
			}
			for k := range x.order {
				if r := x.fetched(k); r.Slot >= 0 {
					f.g.packRow(f.slot(r.Slot), r.ID)
				}
			}
			return nil
		},
		"nobody answers": func(f *fetcher, _ int, x *fetching) error {
			if err := f.await(x); err != nil {
				return err
			}
			ruin(x.area.Bytes())
			return nil
		},
		"nothing is kept": func(f *fetcher, step int, _ *fetching) error {
			if step == 3 {
				ruin(f.cache.Bytes())
			}
			return nil
		},
	} {
		for _, rules := range []rowcache.Rules{{Kind: rowcache.Planned}, {Kind: rowcache.Planned, Lookahead: 2}} {
			p, m := task{}.make(t, named.SAGE)
			o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
			want := trained(t, p, o).WeightsSHA
			o.Sampling.Fetch, o.Sampling.RowCache = rules, CacheSize{CacheRows, 20}
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			ruinAll(tr)
			for _, w := range tr.workers {
				if collect := w.feed.then[1]; mutate != nil {
					w.feed.then[1] = func(s *slot) error {
						if err := mutate(w.fetcher, s.step, &s.turns[0]); err != nil {
							return err
						}
						return collect(s)
					}
				}
			}
			r, err := tr.Run(t.Context())
			tr.Close()
			if diverged := new(Diverged); err != nil && !errors.As(err, &diverged) {
				t.Fatal(err)
			}
			if equal := err == nil && r.WeightsSHA == want; equal != (mutate == nil) {
				t.Errorf("%s, %v: equal weights: %t", name, rules.Kind, equal)
			}
		}
	}
}

// A run with caches that is interrupted anywhere and resumed ends in the bits and counts of one that is not: what fills
// caches again is counted apart.
func TestCachesAreResumed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n, rules := range policies[1:] {
		if testing.Short() && n%2 != 0 { // under the race detector
			continue
		}
		p, m := task{sparse: rules.Kind == rowcache.Rapid}.make(t, named.SAGE)
		home := homes(p.Vertices(), 3)
		if n/2%2 == 1 { // nearly all is at home in one part, which has no slots
			clear(home)
			home[0], home[1] = 1, 2
		}
		o := small(m, devices(t, 3, linked), home)
		o.Epochs, o.Sampling.BatchSize, o.Sampling.Fetch, o.Sampling.RowCache = 8, 12, rules, CacheSize{CacheShare, 0.3}
		if n%3 == 1 { // a part asks for rows several times in a step
			o.Sampling.Place, o.Sampling.NoMerge, o.Sampling.NoGather = Hop, true, true
		}
		want := trained(t, p, o)
		steps := want.Steps
		o.CheckpointDir, o.Resume, o.Identity, o.CheckpointSteps = t.TempDir(), true, "id", 5
		stops := 0
		for at := 0; ; stops++ {
			at += 1 + r.IntN(steps/3)
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			ruinAll(tr)
			ctx, cancel := context.WithCancel(t.Context())
			tr.o.OnStep = func(p Progress) {
				if p.Epoch*p.Steps+p.Step >= at {
					cancel()
				}
			}
			got, err := tr.Run(ctx)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			at = max(at, tr.state.Epochs*tr.roots.steps+tr.state.Batch)
			tr.Close()
			if got.Stopped == fit.Interrupted {
				continue
			}
			if stops < 2 || got.WeightsSHA != want.WeightsSHA || got.Rows != want.Rows || got.Bytes != want.Bytes ||
				got.Requests != want.Requests || got.Refilled == 0 {
				t.Errorf("%+v: stopped %d times: %s %+v %+v %d requests, %d refilled; want %s %+v %+v %d", rules, stops,
					got.WeightsSHA, got.Rows, got.Bytes, got.Requests, got.Refilled,
					want.WeightsSHA, want.Rows, want.Bytes, want.Requests)
			}
			break
		}
	}
}

// Plan names what caches and areas take: as much as a run has of them.
func TestPlanNamesCaches(t *testing.T) {
	p, m := task{vertices: 2000}.make(t, named.SAGE)
	o := small(m, devices(t, 3, linked), homes(p.Vertices(), 3))
	for _, rules := range policies {
		o.Sampling.Fetch, o.Sampling.RowCache = rules, CacheSize{CacheRows, 900}
		plan, err := Plan(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		bound := gpu.Bytes(0)
		for _, u := range plan.Host.Uses {
			if u.Name == "rows of other parts, on their way" || u.Name == "row caches" {
				bound += u.Bound
			}
		}
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		taken := gpu.Bytes(0)
		for _, w := range tr.workers {
			taken += gpu.Bytes(w.fetcher.arena.Usage().Used)
		}
		tr.Close()
		if taken > bound || float64(taken) < 0.8*float64(bound) {
			t.Errorf("%+v: %d bytes are taken, the bound is %d", rules, taken, bound)
		}
	}
}
