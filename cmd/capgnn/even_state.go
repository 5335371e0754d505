package main

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/stat"

	"capgnn/gpu"
	"capgnn/rapa"
)

// view is what parts cost as they are.
type view struct {
	counts []rapa.Counts
	memory rapa.Memory
	score  float64 // time of an epoch, or the largest λ
	sigma  float64 // population deviation of the parts' costs over their mean
	lack   gpu.Bytes
	cost   []float64
}

// iteration returns the view as an entry of a trace.
func (v view) iteration() rapa.Iteration {
	it := rapa.Iteration{Sigma: v.sigma, Mean: stat.Mean(v.cost, nil), Max: slices.Max(v.cost)}
	for i, n := range v.counts {
		have := v.memory.Have[i]
		it.Parts = append(it.Parts, rapa.PartState{Counts: n, Cost: v.cost[i], Fits: have == 0 || v.memory.Footprint.Of(n) <= have})
	}
	return it
}

// state is a partition with how good it is.
type state struct {
	plan  *rapa.Plan // of the partitioner, nil where vertices have moved since
	part  []int32
	score float64
	sigma float64
	lack  gpu.Bytes        // that devices lack for it, in sum
	trace []rapa.Iteration // how it came about
	stop  rapa.Stop        // why moving vertices ended there, "" before that
}

const (
	// evenSigma is the deviation of the parts' costs over their mean within which parts count as even.
	evenSigma = 0.03
	// unevenPrice is what deviation beyond that counts for: 1 % of it as so many percent of time. A partition that leaves
	// devices idle is fast by the luck of its cut, and is off first where rates are.
	unevenPrice = 2
)

// price is what a state is judged by: its score, and more where it is uneven.
func (s state) price() float64 { return s.score * (1 + unevenPrice*max(0, s.sigma-evenSigma)) }

// compare orders states, the better one first: by what does not fit, then by price.
func (s state) compare(other state) int {
	return cmp.Or(cmp.Compare(s.lack, other.lack), cmp.Compare(s.price(), other.price()))
}

// pick returns the best state, the first of equal ones.
func pick(states []state) state { return slices.MinFunc(states, state.compare) }

// tightShare is the share of a device's memory from which on the partitioner looks at it.
const tightShare = 0.7

// tight reports whether some part comes near the memory of its device.
func (v view) tight() bool {
	for i, n := range v.counts {
		if have := v.memory.Have[i]; have > 0 && float64(v.memory.Footprint.Of(n)) > tightShare*float64(have) {
			return true
		}
	}
	return false
}

// of returns the state that is viewed.
func (v view) of(part []int32) state {
	return state{part: part, score: v.score, sigma: v.sigma, lack: v.lack}
}

// whole returns what all parts hold together.
func (v view) whole() (sum rapa.Counts) {
	for _, n := range v.counts {
		sum = rapa.Counts{Inner: sum.Inner + n.Inner, Edges: sum.Edges + n.Edges, Outer: sum.Outer + n.Outer, Halo: sum.Halo + n.Halo, Sent: sum.Sent + n.Sent}
	}
	return sum
}

// deviation returns the population deviation of x over its mean.
func deviation(x []float64) float64 {
	mean, sd := stat.PopMeanStdDev(x, nil)
	return sd / mean
}
