package pipeline

import (
	"fmt"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
	"capgnn/graph"
	"capgnn/internal/ref"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// keptRow is a halo row that has a slot.
type keptRow struct {
	id        halo.ID
	vertex    graph.NodeID
	owner     int
	first     int // where it begins in what its owner sends
	cols      int
	dtype     gpu.DType
	published bool // it comes through the global cache
}

func (a archive) rawKey(l halo.ID, epoch, part int) string { return a.key(l, epoch, part) + " raw" }

// average is the slow and plain truth about a smoothed row: the moving average over all refreshes of the schedule so far. A reader takes it of what it has
// been sent, in the type that it keeps; for the global cache the owner takes it of its own rows, and sends it.
func (a archive) average(r keptRow, s jaca.Schedule, class, now int) []byte {
	gamma := float32(a.tr.o.Cache.Smoothing)
	newest, size := s.Version(class, now), r.cols*r.dtype.Size()
	var state []float32
	for epoch := s.Start; epoch <= newest; epoch++ {
		if !s.Due(class, epoch) {
			continue
		}
		row, x := a.past.get(a.rawKey(r.id, epoch, r.owner))[r.first:r.first+size], make([]float64, r.cols)
		for j := range x {
			x[j] = load(row, j, r.dtype)
		}
		if !r.published && !(a.tr.o.Cache.HaloType == halo.BF16 && r.dtype == gpu.BF16) {
			blurRow(&a.tr.o, r.id, x, r.vertex, epoch)
		}
		fresh := make([]float32, r.cols)
		for j := range fresh {
			fresh[j] = float32(x[j])
		}
		if state == nil {
			state = fresh
		} else {
			kernel.Axpby(state, 1-gamma, fresh, gamma)
		}
		for j := range state {
			if !r.published && r.dtype == gpu.BF16 {
				state[j] = float32(ref.BF16(float64(state[j])))
			}
		}
	}
	x, out := make([]float64, r.cols), make([]byte, size)
	for j := range x {
		x[j] = float64(state[j])
	}
	if r.published {
		blurRow(&a.tr.o, r.id, x, r.vertex, newest)
	}
	for j := range x {
		store(out, j, r.dtype, x[j])
	}
	return out
}

// smoothedCases are ways of rows that get old and are smoothed: in both kinds of slots, in every encoding.
func smoothedCases() []staleCase {
	var out []staleCase
	for n, c := range staleCases() {
		if c.policy != jaca.None {
			c.halo, c.gamma = halo.Encoding(n%3), 0.25
			if c.staleness == 1 && !c.pipeline {
				c.staleness = 3
			}
			out = append(out, c)
		}
	}
	return out
}

// Smoothed rows are moving averages of those that the schedule names, bit for bit.
func TestSmoothedRowsAreAverages(t *testing.T) {
	t.Parallel()
	const parts, epochs = 3, 11
	cases := smoothedCases()
	taken := takes(t, 3, staleValues(cases))
	for n, c := range cases {
		if !taken[n] {
			continue
		}
		kind := kindOf(n)
		t.Run(fmt.Sprintf("%s/%v", kind, c), func(t *testing.T) {
			p, m := task{share: 0.2, directed: n%2 == 0}.make(t, kind)
			train := func(gamma float64, plain bool) string {
				tr := newTrainer(t, p, m, c.devices(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
					o.Epochs, o.Cache = epochs, c.cache(t)
					o.Cache.Smoothing, o.Cache.ExactEpochs = gamma, n%3
					if n%4 == 0 && kind.StoresBF16() {
						o.Storage = gpu.BF16
					}
				})
				if plain {
					replaceByHistory(tr)
				}
				return run(t, tr).WeightsSHA
			}
			want := train(c.gamma, true)
			if train(c.gamma, false) != want {
				t.Error("weights differ from those with averages of the rows that the schedule names")
			}
			if c.local != "0" && train(0, false) == want {
				t.Error("smoothing changes nothing")
			}
		})
	}
}

// Behind the exact epochs no gradient of a layer that ages moves, and rows of other parts count as constants.
func TestGradientsOfExactEpochsOnly(t *testing.T) {
	t.Parallel()
	const parts, epochs, exact = 3, 6, 2
	for n, kind := range kinds(t) {
		for _, pipeline := range []bool{false, true} {
			c := staleCase{policy: jaca.JACA, local: "60%", global: "40%", staleness: 2, pipeline: pipeline, peers: n%2 > 0, gamma: float64(n%2) / 4}
			p, m := task{share: 0.3, directed: n%2 == 0}.make(t, kind)
			m.Layers = 3
			train := func(exact int, lean, plain bool) (string, []jaca.Stats) {
				var seen []jaca.Stats
				tr := newTrainer(t, p, m, c.devices(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
					o.Epochs, o.Cache = epochs, c.cache(t)
					o.Cache.ExactEpochs, o.Cache.BackwardExact = exact, lean
					o.OnEpoch = func(e EpochStats) error {
						seen = append(seen, e.Halo)
						return nil
					}
				})
				if plain {
					replaceByHistory(tr)
				}
				return run(t, tr).WeightsSHA, seen
			}
			for _, exact := range []int{0, exact} {
				want, _ := train(exact, true, true)
				got, lean := train(exact, true, false)
				both, all := train(exact, false, false)
				if got != want {
					t.Errorf("%s, pipeline %t, %d exact epochs: weights differ from those with gradients of zero", kind, pipeline, exact)
				}
				if got == both {
					t.Errorf("%s, pipeline %t, %d exact epochs: gradients that are left out change nothing", kind, pipeline, exact)
				}
				for e := range lean {
					if fewer := lean[e].Lookups < all[e].Lookups; fewer != (e >= exact) {
						t.Errorf("%s, pipeline %t, %d exact epochs: epoch %d looks %d rows up, with all gradients %d", kind, pipeline, exact, e, lean[e].Lookups, all[e].Lookups)
					}
				}
			}
		}
	}
}
