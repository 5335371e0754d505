package multilevel

import (
	"fmt"
	"math"
	"os"
	"time"
)

var P = struct {
	Shrink                                                                                   float64
	Sweeps, Coarsest, CoarsestMin, Trials, Rounds, Patience                                  int
	Temper                                                                                   float64
	ClimbEdges, ClimbRounds, Seeds, ClimbPatience, Cycles, Bisections, BisectTo, BisectSeeds int
	Heavy, Alpha                                                                             float64
	Trace                                                                                    bool
}{Shrink: 4, Sweeps: 3, Coarsest: 60, CoarsestMin: 1000, Trials: 16, Rounds: 12, Patience: 4, Temper: 0.25, ClimbEdges: 3_000_000,
	ClimbRounds: 4, Seeds: 10, ClimbPatience: 100, Cycles: 2, Bisections: 4, BisectTo: 60, BisectSeeds: 20, Heavy: 1.5, Alpha: 0.5}

var t0 = time.Now()

func trace(what string, levels []*level) {
	if !P.Trace {
		return
	}
	fmt.Fprintf(os.Stderr, "%s +%v", what, time.Since(t0).Round(time.Microsecond*100))
	t0 = time.Now()
	for _, l := range levels {
		fmt.Fprintf(os.Stderr, " [%d %d]", l.n, l.edges())
	}
	fmt.Fprintln(os.Stderr)
}

func scoreFn(w int32, cw int64) float64 {
	switch P.Alpha {
	case 0:
		return float64(w)
	case 1:
		return float64(w) / float64(cw)
	case 0.5:
		return float64(w) / math.Sqrt(float64(cw))
	}
	return float64(w) / math.Pow(float64(cw), P.Alpha)
}
