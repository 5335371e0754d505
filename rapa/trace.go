package rapa

import "math"

// Stop says why an adjustment or the moving of vertices ended.
type Stop string

// The reasons.
const (
	StopBalanced Stop = "balanced"         // the spread of costs is within what was asked for and everything fits
	StopReplicas Stop = "no replicas left" // the parts that cost too much have nothing left to prune
	StopMaxPrune Stop = "max-prune"        // the next replica to go would exceed the share of cut edges that may
	StopMemory   Stop = "memory"           // some part does not fit and nothing more may be done about it
	StopMoves    Stop = "no move helps"    // no vertex can leave a part that costs too much
)

// Stops lists the reasons.
var Stops = []Stop{StopBalanced, StopReplicas, StopMaxPrune, StopMemory, StopMoves}

// Iteration is the state of all parts after an iteration; the first one of a trace is the state before.
type Iteration struct {
	Parts []PartState `json:"parts"`
	Mean  float64     `json:"mean"`  // mean of the costs
	Sigma float64     `json:"sigma"` // population deviation of the costs over their mean; 0 if the mean is
	Max   float64     `json:"max"`   // largest cost
}

// PartState is one part in an iteration.
type PartState struct {
	Counts
	Cost float64 `json:"cost"` // λ, or seconds: what the table of costs is in
	Fits bool    `json:"fits"` // within the memory of its device
}

// observe returns the state of parts with these counts.
func observe(counts []Counts, costs []PartCost, m Memory) Iteration {
	it := Iteration{Parts: make([]PartState, len(counts))}
	lambda := make([]float64, len(counts))
	for i, n := range counts {
		lambda[i] = costs[i].Of(n)
		it.Parts[i] = PartState{n, lambda[i], m.Fits(i, n)}
		it.Max = max(it.Max, lambda[i])
	}
	it.Mean, it.Sigma = meanSigma(lambda)
	return it
}

// meanSigma returns the mean of x and its population deviation over the mean, 0 where the mean is.
func meanSigma(x []float64) (mean, sigma float64) {
	for _, y := range x {
		mean += y
	}
	mean /= float64(len(x))
	for _, y := range x {
		sigma += (y - mean) * (y - mean)
	}
	if mean == 0 {
		return 0, 0
	}
	return mean, math.Sqrt(sigma/float64(len(x))) / mean
}

// fits reports whether every part is within its memory.
func (it Iteration) fits() bool {
	for _, p := range it.Parts {
		if !p.Fits {
			return false
		}
	}
	return true
}

// maxTrace bounds the entries (iterations × parts) of a trace; after that only the last iteration is replaced.
const maxTrace = 1 << 16

// record appends an iteration, or replaces the last one where the trace is full.
func record(trace []Iteration, it Iteration) []Iteration {
	if len(trace) > 1 && (len(trace)+1)*len(it.Parts) > maxTrace {
		trace[len(trace)-1] = it
		return trace
	}
	return append(trace, it)
}
