package gnn

import (
	"math"
	"slices"
)

// Ranked are the scores of one label: of what it applies to, and of the rest, in any order. They are no NaN. What is made of them is a function of both as sets, so it
// does not depend on how vertices are divided.
type Ranked struct{ Pos, Neg []float32 }

// Add adds a score. One that is no number is the lowest.
func (r *Ranked) Add(score float32, applies bool) {
	if score != score {
		score = float32(math.Inf(-1))
	}
	if applies {
		r.Pos = append(r.Pos, score)
	} else {
		r.Neg = append(r.Neg, score)
	}
}

// ROCAUC returns the share of pairs of a positive and a negative in which the positive has the higher score, equal ones counting half: the area under the ROC curve.
// Pairs are counted in integers. It sorts the scores; false: all are of one kind.
func (r *Ranked) ROCAUC() (float64, bool) {
	if len(r.Pos) == 0 || len(r.Neg) == 0 {
		return 0, false
	}
	slices.Sort(r.Pos)
	slices.Sort(r.Neg)
	var halves uint64
	below, through := 0, 0 // negatives with scores below that of a positive, and up to it
	for _, s := range r.Pos {
		for below < len(r.Neg) && r.Neg[below] < s {
			below++
		}
		for through < len(r.Neg) && r.Neg[through] <= s {
			through++
		}
		halves += uint64(below) + uint64(through)
	}
	return float64(halves) / 2 / (float64(len(r.Pos)) * float64(len(r.Neg))), true
}

// AveragePrecision returns Σ_n (R_n − R_{n−1})·P_n over the scores as thresholds, from the highest on, with the precision P_n and the recall R_n of what reaches the
// threshold. It sorts the scores; false: all are of one kind.
func (r *Ranked) AveragePrecision() (float64, bool) {
	if len(r.Pos) == 0 || len(r.Neg) == 0 {
		return 0, false
	}
	slices.Sort(r.Pos)
	slices.Sort(r.Neg)
	sum, below := 0.0, len(r.Neg)
	for hi := len(r.Pos); hi > 0; {
		s, lo := r.Pos[hi-1], hi-1
		for lo > 0 && r.Pos[lo-1] == s {
			lo--
		}
		for below > 0 && r.Neg[below-1] >= s {
			below--
		}
		reach := len(r.Pos) - lo
		sum += float64(hi-lo) * float64(reach) / float64(reach+len(r.Neg)-below)
		hi = lo
	}
	return sum / float64(len(r.Pos)), true
}
