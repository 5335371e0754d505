package minibatch

import (
	"bytes"
	"log/slog"
	"testing"

	"capgnn/gpu/host"
	"capgnn/graph/synth"
	"capgnn/internal/named"
)

// Where few roots fall to a part, a part has twice as many in one step as in another, and a plan's bounds hold all the same: no buffer grows.
func TestPlanOfFewRoots(t *testing.T) {
	for _, place := range []Place{Batch, Home, Hop} {
		for parts := 1; parts <= 7; parts++ {
			for seed := uint64(1); seed <= 10; seed++ {
				p, m := task{vertices: 200}.make(t, named.SAGE)
				g, err := synth.Random(p.Vertices(), int(2+seed%2*4)*p.Vertices(), false, seed)
				if err != nil {
					t.Fatal(err)
				}
				p.Graph, m.Seed = g.WithoutLoops(), seed
				o := small(m, devices(t, parts, host.Spec{}), homes(p.Vertices(), parts))
				o.Sampling.BatchSize, o.Sampling.Place = []int{1, 7}[seed%2], place
				var notes bytes.Buffer
				o.Log = slog.New(slog.NewTextHandler(&notes, &slog.HandlerOptions{Level: slog.LevelWarn}))
				plan, err := Plan(t.Context(), p, o)
				if err != nil {
					t.Fatal(err)
				}
				r := trained(t, p, o)
				for i, part := range plan.Parts {
					if bound := part.Bound; r.PeakDevice[i] > bound {
						t.Errorf("place %s, %d parts, seed %d: part %d took %d bytes, planned %d", place, parts, seed, i, r.PeakDevice[i], bound)
					}
				}
				if notes.Len() > 0 {
					t.Errorf("place %s, %d parts, seed %d: %s", place, parts, seed, notes.Bytes())
				}
			}
		}
	}
}
