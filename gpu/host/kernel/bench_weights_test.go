package kernel

import (
	"fmt"
	"math"
	"testing"
	"time"

	"capgnn/gpu/host/workers"
)

// BenchmarkWeights reports the rate of sums with edge weights beside that of sums without, both with the scales of GCN: ratio is of the best rates of calls that take
// turns.
func BenchmarkWeights(b *testing.B) {
	for _, graph := range []string{"clustered", "rmat"} {
		for _, cols := range []int{256, 64} {
			b.Run(fmt.Sprintf("%s/%d", graph, cols), func(b *testing.B) {
				onPools(b, func(b *testing.B, p *workers.Pool) {
					o := newOperands(b)
					a := placed(o, benchGraph(graph))
					x, y := o.dense(a.Cols, cols), o.dense(a.Rows, cols)
					row, col := o.floats(a.Rows), o.floats(a.Cols)
					valued, sc := a, &Scratch{}
					valued.Val = o.floats(len(a.Idx))
					best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
					for b.Loop() {
						for k, a := range []Sparse{a, valued} {
							start := time.Now()
							SpMM(p, sc, y, a, x, Dense16{}, row, col, false, nil)
							best[k] = min(best[k], time.Since(start))
						}
					}
					b.ReportMetric(float64(a.Entries)/best[0].Seconds()/1e6, "plain-Medges/s")
					b.ReportMetric(float64(a.Entries)/best[1].Seconds()/1e6, "weighted-Medges/s")
					b.ReportMetric(float64(best[0])/float64(best[1]), "ratio")
				})
			})
		}
	}
}
