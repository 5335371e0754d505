package training

import (
	"testing"

	"capgnn/gpu"
	"capgnn/rapa"
)

// The footprint of parts covers what each takes, also where one has a single vertex; it does not take what such a part needs in
// any case for what every vertex needs.
func TestFootprint(t *testing.T) {
	known := rapa.Footprint{Fixed: 1000, PerEdge: 4, PerHalo: 64}
	counts := []rapa.Counts{{Inner: 500, Halo: 100, Edges: 4000}, {Inner: 800, Halo: 50, Edges: 3000}, {Inner: 1, Halo: 2, Edges: 3}}
	peak := []gpu.Bytes{200_000, 250_000, 40_000_000}
	f := footprint(known, counts, peak)
	for i, n := range counts {
		if f.Of(n) < int64(peak[i]) {
			t.Errorf("part %d: %d bytes, it takes %d", i, f.Of(n), peak[i])
		}
	}
	if f.PerInner > 250_000/800 {
		t.Errorf("%d bytes per vertex", f.PerInner)
	}
	whole := rapa.Counts{Inner: 1301, Halo: 152, Edges: 7003}
	if got := f.Of(whole); got > 41_000_000 {
		t.Errorf("the whole graph is said to take %d bytes", got)
	}
}
