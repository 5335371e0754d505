package chunks

import (
	"cmp"
	"fmt"
	"slices"
)

// Isolated configures parts that train without halo rows: part i is chunk i, and in each super-epoch it trains on the
// graph that two chunks induce (docs/adr/0034). Parts exchange only gradients, except in evaluation, which is on the
// whole graph.
type Isolated struct {
	// Chunks is the number of chunks; 0: as many as workers. If there are more, an epoch has phases: each trains as
	// many parts as there are workers, in their order (Phases). Devices then have memory for one pair per worker, and
	// evaluation goes layer by layer (docs/adr/0036).
	Chunks     int
	Targets    Targets    // "" = Base
	Correction Correction // "" = None
	// AllLayers lets layer 0 drop edges between parts, too. Otherwise layer 0 keeps all edges, because it reads only
	// features of other vertices, which do not change.
	AllLayers bool
}

// Check reports what is wrong with i for this many workers on a graph of this many vertices.
func (i *Isolated) Check(workers, vertices int) (errs []error) {
	n := i.Count(workers)
	if err := Check(n, vertices); err != nil {
		errs = append(errs, err)
	} else if err := CheckPhases(workers, n); err != nil {
		errs = append(errs, err)
	}
	if !slices.Contains(append(AllTargets, ""), i.Targets) || !slices.Contains(append(Corrections, ""), i.Correction) {
		errs = append(errs, fmt.Errorf("isolated parts: targets %q, correction %q", i.Targets, i.Correction))
	}
	return errs
}

// Count returns the number of chunks.
func (i *Isolated) Count(workers int) int { return cmp.Or(i.Chunks, workers) }

// Corrects reports whether losses of targets weigh differently, by row or by part.
func (i *Isolated) Corrects() bool {
	return slices.Contains([]Correction{Uniform, Resampling, Node}, i.Correction)
}
