package balance

import (
	"cmp"
	"slices"

	"capgnn/rapa"
)

// candidate is a partition with what it costs.
type candidate struct {
	plan  *rapa.Plan // that the partitioner made, before vertices moved
	part  []int32
	score float64
	sigma float64 // as of Estimate
	lack  int64
	trace []rapa.Iteration // how it came about
	stop  rapa.Stop        // why the moving of vertices ended there, "" before that
}

func newCandidate(e *Estimate, part []int32) candidate {
	return candidate{part: part, score: e.Score, sigma: e.sigma(), lack: e.Lack}
}

const (
	// fairSigma is the deviation of the loads over their mean within which parts count as balanced.
	fairSigma = 0.03
	// sigmaPrice is what deviation beyond that counts for: 1 % of it as so many percent of the score.
	//
	// Why: a partition that leaves devices idle is fast only by the luck of its cut, and it is the first to lose where the
	// devices turn out a little slower or faster than profiled.
	sigmaPrice = 2
)

// price is the score, and more where the parts are not balanced.
func (c candidate) price() float64 { return c.score * (1 + sigmaPrice*max(0, c.sigma-fairSigma)) }

// compare orders candidates, the better one first: by the memory that devices lack, then by price.
func (c candidate) compare(other candidate) int {
	return cmp.Or(cmp.Compare(c.lack, other.lack), cmp.Compare(c.price(), other.price()))
}

// Better reports whether parts that cost this are better than others: they lack less memory, or their price is lower, the score with what imbalance adds.
func (e *Estimate) Better(than *Estimate) bool {
	return newCandidate(e, nil).compare(newCandidate(than, nil)) < 0
}

// best returns the best candidate, the first of equal ones.
func best(all []candidate) candidate { return slices.MinFunc(all, candidate.compare) }
