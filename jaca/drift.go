package jaca

import (
	"math"
	"slices"

	"capgnn/gpu"
	"capgnn/graph"
)

// SampleRows is on how many boundary rows of a layer and direction drift is measured at least, or on all if there are fewer
// (docs/caching.md).
const SampleRows = 1024

// Sample returns the places of n of the ids, ascending, or of all ids if there are not more than n. It cuts the list into n runs of
// equal length and takes the id of each run whose Philox word under the seed is smallest.
func Sample(ids []graph.NodeID, n int, seed uint64) []int {
	n = min(max(0, n), len(ids))
	key := gpu.SeedKey(seed)
	places := make([]int, 0, n)
	for k := range n {
		best, least := -1, uint64(math.MaxUint64)
		for i := k * len(ids) / n; i < (k+1)*len(ids)/n; i++ {
			if w := uint64(gpu.Philox([4]uint32{uint32(ids[i])}, key)[0]); w < least {
				best, least = i, w
			}
		}
		places = append(places, best)
	}
	return places
}

// RowDrifts returns the relative drift of each row: ‖new−old‖/max(‖old‖, tiny) in L2, where tiny is the least normal float32.
// A row of NaN or of infinity gives NaN or infinity.
func RowDrifts(old, new []float32, cols int) []float64 { return rowDrifts(old, new, cols, false) }

// GradientDrifts is RowDrifts for gradients, of which many rows are small and do not matter: the change of a row whose ‖old‖ is
// below the root mean square over the sample is taken relative to that root mean square. The error of a reader's sum depends on
// the change of a row, not on how small the row was.
func GradientDrifts(old, new []float32, cols int) []float64 { return rowDrifts(old, new, cols, true) }

func rowDrifts(old, new []float32, cols int, typical bool) []float64 {
	if cols < 1 || len(old) != len(new) || len(old)%cols != 0 {
		panic("jaca: drift of rows of different shapes")
	}
	const tiny = 0x1p-126
	drifts, norms := make([]float64, len(old)/cols), make([]float64, len(old)/cols)
	total := 0.0
	for r := range drifts {
		for c := r * cols; c < (r+1)*cols; c++ {
			x, d := float64(old[c]), float64(new[c])-float64(old[c])
			norms[r] += x * x
			drifts[r] += d * d
		}
		total += norms[r]
	}
	least := tiny
	if typical {
		least = max(least, math.Sqrt(total/float64(max(1, len(drifts)))))
	}
	for r := range drifts {
		drifts[r] = math.Sqrt(drifts[r]) / max(math.Sqrt(norms[r]), least)
	}
	return drifts
}

// Percentile returns the percentile p, 1 to 100, of numbers by nearest rank: the least of them that at least p per cent do not
// exceed. It is NaN if one of them is, and 0 if there are none.
func Percentile(x []float64, p int) float64 {
	if len(x) == 0 {
		return 0
	}
	sorted := slices.Clone(x)
	slices.Sort(sorted) // NaN first
	if math.IsNaN(sorted[0]) {
		return sorted[0]
	}
	return sorted[(len(sorted)*p+99)/100-1]
}

// CountWithin returns how many of the drifts are at most eps.
func CountWithin(drifts []float64, eps float64) int {
	n := 0
	for _, d := range drifts {
		if d <= eps {
			n++
		}
	}
	return n
}
