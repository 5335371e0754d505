package report

import (
	"math"

	"capgnn/internal/runfile"
)

// or returns *x, NaN for nil.
func or[F ~float64](x *F) float64 {
	if x == nil {
		return math.NaN()
	}
	return float64(*x)
}

// some returns *p, the zero value for nil.
func some[T any](p *T) (zero T) {
	if p == nil {
		return zero
	}
	return *p
}

// ofHalo returns a number of what became of halo rows, NaN where there were none.
func ofHalo(of func(*runfile.HaloUse) float64) func(*Epoch) float64 {
	return func(e *Epoch) float64 {
		if e.HaloUse == nil {
			return math.NaN()
		}
		return of(e.HaloUse)
	}
}

func coverageOf(h *runfile.HaloUse) float64 { return h.Cache.Coverage }

// moved returns what all routes moved.
func moved(e *Epoch) float64 {
	b := &e.Bytes
	return float64(b.D2H) + float64(b.H2D) + float64(b.Peer) + float64(b.Host)
}
