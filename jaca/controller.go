package jaca

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// quietPeriods is after how many quiet periods a period rises (docs/caching.md).
const quietPeriods = 5

// riseMargin is the share of EPS below which the 90th percentile of drift over the next period must stay before the period rises.
// With it 95 % of the rows, and not just 90 %, stay under EPS until the period falls again. Measured in training (ppi, tolokers,
// coauthor_physics; EPS 0.3): 95 % are under EPS where the 90th percentile is EPS, 96.5 % where it is 0.8·EPS, 97 % where it is
// 0.7·EPS. Each fall comes one period late, and in that period it is 75 to 90 %.
const riseMargin = 0.7

// mostPause bounds the epochs without sampling of a layer that drifts by far too much even at the smallest period.
const mostPause = 32

// Controller sets the refresh period of each layer so that what readers use has drifted by EPS at most (auto:EPS[,MAX]).
//
// Periods are powers of two, and the schedule's bound is at most MAX. With the pipeline there is one more step below period 1,
// synchronous: rows are used in the epoch that made them, as at period 1 without the pipeline. So rows that drift by more than
// EPS in one epoch are never used stale. Layers begin at period 1 with the pipeline, and at 2 without it, because period 1 saves
// nothing there.
//
// Method: if drift over a period exceeds EPS, the period falls at once: to the half, or further if drift grows so fast with time
// that the half is too long. It doubles after 5 periods in which drift over the doubled period was under riseMargin·EPS. The
// caller had best measure that drift, by comparing rows over two periods too, because the noise of dropout does not grow
// with time. If the caller compares over one period only, twice that drift counts. At the smallest period drift above EPS cannot
// change anything, so rows are sampled only now and then (ShouldSample): above 2·EPS in two of 3, 5, 9, … epochs. Otherwise samples
// would cost what staleness saves. A change holds from the next epoch on, in which all rows of the layer are due and used at once
// (Schedule.Start).
//
// A Controller is a function of what it observes, in order.
type Controller struct {
	eps      float64
	max      int
	pipeline bool
	layers   []adaptive
}

// adaptive is the state of one layer.
type adaptive struct {
	Layer   int `json:"layer"`
	Period  int `json:"period"`  // 0 = synchronous
	Start   int `json:"start"`   // of the schedule
	Quiet   int `json:"quiet"`   // epoch from which on all was quiet
	Longest int `json:"longest"` // epochs that an observation has spanned, at most those of the next period; shorter ones say less
	Pause   int `json:"pause"`   // between two looks at the rows; 0 = none
	Next    int `json:"next"`    // epoch of the next look after a pause; the one behind it is looked at too
}

// NewController returns the controller of layers that start in epoch 0.
func NewController(eps float64, max int, pipeline bool, layers []int) (*Controller, error) {
	var errs []error
	if !(eps > 0) || math.IsInf(eps, 0) {
		errs = append(errs, fmt.Errorf("drift %g is not above 0", eps))
	}
	if max < 1 || max > MaxStaleness {
		errs = append(errs, fmt.Errorf("staleness %d is not in [1, %d]", max, MaxStaleness))
	}
	c := &Controller{eps: eps, max: max, pipeline: pipeline}
	for _, layer := range layers {
		if slices.ContainsFunc(c.layers, func(l adaptive) bool { return l.Layer == layer }) {
			errs = append(errs, fmt.Errorf("layer %d twice", layer))
		}
		l := adaptive{Layer: layer, Period: 2}
		if pipeline {
			l.Period = 1
		}
		c.layers = append(c.layers, l)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("adaptive staleness: %w", err)
	}
	return c, nil
}

// Observe takes the 90th percentile q90 of a layer's relative drift between epoch-epochs and epoch, the larger one of both
// directions, and reports whether the layer's schedule has changed. The caller should observe the drift over each period and, if it
// can, over each two periods; other spans help less. Observations come in order of epochs, at least one per period. Those of
// epochs before the schedule's Start belong to an earlier schedule and are ignored.
func (c *Controller) Observe(epoch, layer, epochs int, q90 float64) (changed bool) {
	l := c.layer(layer)
	if epochs < 1 {
		panic(fmt.Sprintf("jaca: drift over %d epochs", epochs))
	}
	if epoch < l.Start {
		return false
	}
	perEpoch, used := q90/float64(epochs), span(l.Period)
	if drift := min(q90, perEpoch*float64(used)); !(drift <= c.eps) {
		l.Quiet = epoch
		l.pause(epoch, drift <= 2*c.eps)
		return l.move(c.lower(l.Period, perEpoch), epoch+1)
	}
	if l.Pause > 0 { // nobody knows how quiet it was
		l.Pause, l.Next, l.Quiet = 0, 0, max(l.Quiet, epoch-epochs)
	}
	next := c.above(l.Period)
	if epochs < max(used, l.Longest) || epochs > next {
		return false
	}
	if epochs > l.Longest {
		l.Longest, l.Quiet = epochs, max(l.Start, epoch-epochs)
	}
	if drift := perEpoch * float64(next); !(drift <= riseMargin*c.eps) {
		l.Quiet = epoch
		return false
	}
	if epoch-l.Quiet < quietPeriods*used {
		return false
	}
	return l.move(next, epoch+1)
}

// move sets a period and where its schedule starts, and reports whether it is another one.
func (l *adaptive) move(period, start int) bool {
	if period == l.Period {
		return false
	}
	*l = adaptive{Layer: l.Layer, Period: period, Start: start, Quiet: start}
	return true
}

// pause stops the sampling of a layer for some epochs, only few if its period could soon rise. A fall of the period ends it.
func (l *adaptive) pause(epoch int, near bool) {
	if l.Pause = min(max(2, 2*l.Pause), mostPause); near {
		l.Pause = 2
	}
	l.Next = epoch + l.Pause
}

// ShouldSample reports whether the drift of a layer's rows is to be measured in an epoch, and whether sampling begins anew then:
// earlier samples must be forgotten, because epochs since them were left out.
func (c *Controller) ShouldSample(layer, epoch int) (sample, anew bool) {
	l := c.layer(layer)
	if !Refreshes(epoch, c.schedule(l.Period, l.Start)) || l.Pause > 0 && epoch < l.Next {
		return false, false
	}
	return true, l.Pause > 0 && epoch == l.Next
}

// span is over how many epochs rows drift at a period.
func span(period int) int { return max(1, period) }

// least is the smallest period.
func (c *Controller) least() int {
	if c.pipeline {
		return 0
	}
	return 1
}

// Largest is the largest period, the one to plan for: with slots for half of the rows of 4 parts of tolokers such a plan takes
// up to 1.1 % longer at another period than a plan for that; one for period 1 takes up to 5.3 % longer.
func (c *Controller) Largest() int {
	p := c.periods()
	return p[len(p)-1]
}

// periods lists the periods that a layer may have, ascending.
func (c *Controller) periods() []int {
	list := []int{c.least()}
	for next := c.above(c.least()); next > 0; next = c.above(next) {
		list = append(list, next)
	}
	return list
}

// above returns the next larger period, 0 if there is none.
func (c *Controller) above(period int) int {
	next := max(1, 2*period)
	if s := c.schedule(next, 0); s.Bound() > c.max {
		return 0
	}
	return next
}

// lower returns the largest period up to the half of one at which drift of so much per epoch stays under EPS, or the least.
func (c *Controller) lower(period int, perEpoch float64) int {
	p := period / 2
	for p > c.least() && !(perEpoch*float64(span(p)) <= c.eps) {
		p /= 2
	}
	return max(p, c.least())
}

func (c *Controller) layer(layer int) *adaptive {
	for i := range c.layers {
		if c.layers[i].Layer == layer {
			return &c.layers[i]
		}
	}
	panic(fmt.Sprintf("jaca: layer %d has no adaptive staleness", layer))
}

// schedule returns the schedule of a period.
func (c *Controller) schedule(period, start int) Schedule {
	s := Schedule{Period: span(period), Start: start}
	if c.pipeline && period > 0 {
		s.Lag = 1
	}
	return s
}

// Schedule returns a layer's schedule from now on. A synchronous layer has period 1 without lag.
func (c *Controller) Schedule(layer int) Schedule {
	l := c.layer(layer)
	return c.schedule(l.Period, l.Start)
}

// Restart lets all schedules begin anew in an epoch, with the periods that they have.
func (c *Controller) Restart(epoch int) {
	for i := range c.layers {
		l := &c.layers[i]
		*l = adaptive{Layer: l.Layer, Period: l.Period, Start: epoch, Quiet: epoch}
	}
}
