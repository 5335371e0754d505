package balance

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"capgnn/rapa"
)

// Estimator says what a partition would cost on the devices.
type Estimator interface {
	// Estimate returns the estimate for a partition: part[v] is the part of vertex v. It keeps and changes nothing of part.
	Estimate(ctx context.Context, part []int32) (Estimate, error)
}

// Estimate is what the parts of one partition cost; entry i of each slice belongs to part i and the device it lies on.
// The unit of costs is the Estimator's.
type Estimate struct {
	Counts []rapa.Counts // what the parts hold (rapa.Count)
	// Load is what each part costs. Parts that share a device take it in turns, so each counts with all of them.
	Load []float64
	// Costs is a table of which Load is about the value at Counts: by it the balancer predicts what other parts would cost.
	Costs []rapa.PartCost
	// Score is what is made small: the time of an epoch, or the largest load.
	Score  float64
	Memory rapa.Memory // what parts need and devices have
	Lack   int64       // bytes that the devices lack for these parts, in sum; counts before Score
}

// check says what is wrong with an estimate for so many parts, nil if nothing is.
func (e *Estimate) check(parts int) error {
	if len(e.Counts) != parts || len(e.Load) != parts || len(e.Costs) != parts || e.Memory.Have != nil && len(e.Memory.Have) != parts {
		return fmt.Errorf("%d counts, %d loads, %d costs and the memory of %d devices for %d parts", len(e.Counts), len(e.Load), len(e.Costs), len(e.Memory.Have), parts)
	}
	for i, x := range e.Load {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("load %g of part %d is not a number ≥ 0", x, i)
		}
	}
	if !(e.Score >= 0) || math.IsInf(e.Score, 0) {
		return fmt.Errorf("score %g is not a number ≥ 0", e.Score)
	}
	if e.Lack < 0 {
		return fmt.Errorf("the devices lack %d bytes", e.Lack)
	}
	return nil
}

// sigma returns the population deviation of the loads over their mean, 0 where the mean is.
func (e *Estimate) sigma() float64 {
	mean, deviation := stat.PopMeanStdDev(e.Load, nil)
	if mean == 0 {
		return 0
	}
	return deviation / mean
}

// iteration returns the estimate as an entry of a trace.
func (e *Estimate) iteration() rapa.Iteration {
	it := rapa.Iteration{Sigma: e.sigma(), Mean: stat.Mean(e.Load, nil), Max: slices.Max(e.Load)}
	for i, n := range e.Counts {
		it.Parts = append(it.Parts, rapa.PartState{Counts: n, Cost: e.Load[i], Fits: e.Memory.Fits(i, n)})
	}
	return it
}

// whole returns what all parts hold together.
func (e *Estimate) whole() (sum rapa.Counts) {
	for _, n := range e.Counts {
		sum = sum.Add(n)
	}
	return sum
}

// tightShare is the share of a device's memory above which a part counts as large.
const tightShare = 0.7

// tight reports whether some part comes near the memory of its device, so that cuts must respect it.
func (e *Estimate) tight() bool {
	for i, n := range e.Counts {
		if e.Memory.Have != nil && e.Memory.Have[i] > 0 && float64(e.Memory.Footprint.Of(n)) > tightShare*float64(e.Memory.Have[i]) {
			return true
		}
	}
	return false
}

// work returns what vertices and edges cost beside each other: the mean over the devices of each one's own ratio.
func (e *Estimate) work() rapa.PartCost {
	var w rapa.PartCost
	for _, c := range e.Costs {
		sum := c.PerInner + c.PerEdge
		w.PerInner, w.PerEdge = w.PerInner+c.PerInner/sum, w.PerEdge+c.PerEdge/sum
	}
	return w
}
