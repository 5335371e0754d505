package multilevel

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"capgnn/graph"
)

// Objective is what a partition shall have little of.
type Objective int

// The objectives.
const (
	Cut    Objective = iota // pairs of neighbours in different parts
	Volume                  // Σ over vertices of the other parts that hold a neighbour
)

// Constraint is one quantity that parts hold and that is bounded.
type Constraint struct {
	Weight []int32 // of every vertex, ≥ 0; nil: 1 each
	Bound  []int64 // per part: the most that it may hold
	// Hard bounds are kept; soft ones are kept as well as the graph allows, and moves never worsen what exceeds them.
	Hard bool
}

// Options says how to partition.
type Options struct {
	Parts int // ≥ 1, at most the number of vertices
	// Targets is the share of each part: positive, sum 1; nil = equal shares. Bounds decide what is allowed; targets are where
	// the first partition aims.
	Targets     []float64
	Constraints []Constraint // at most maxConstraints; none: 1.03 times the target in vertices, hard
	Objective   Objective
	Seed        uint64
	Threads     int // 0 = GOMAXPROCS; decides nothing
	// Effort is the number of attempts; for the cut only the best of up to four is finished, of more all are finished
	// and combined. 0 = by size: for the cut 8 up to 80,000 stored edges, 4 up to 475,000, 2 up to two millions, then
	// 1, and fewer for more than 16 parts, down to 1 (defaultEffort).
	Effort int
	// MaxEffort bounds the attempts where Effort is 0, which goes by size; 0 = no bound.
	MaxEffort int
	// Progress, if given, is called now and then from the goroutine of Partition with the share of the work that is done.
	Progress func(done, total int)
}

const (
	maxConstraints = 8
	maxParts       = 1 << 12
	maxEffort      = 100
	defaultBalance = 1.03
)

// resolve returns o with defaults filled in, checked against u. All problems are reported at once.
func (o Options) resolve(u *graph.CSR) (Options, error) {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	n := u.Rows()
	if u.Cols != n {
		bad("the graph has %d rows and %d columns, want a square one", n, u.Cols)
	}
	if o.Parts < 1 || o.Parts > maxParts || o.Parts > n {
		return o, errors.Join(append(errs, fmt.Errorf("%d parts of %d vertices are not in [1, min(vertices, %d)]", o.Parts, n, maxParts))...)
	}
	if o.Targets == nil {
		o.Targets = equalTargets(o.Parts)
	}
	errs = append(errs, o.checkTargets()...)
	if len(o.Constraints) == 0 && errs == nil {
		o.Constraints = []Constraint{{Bound: vertexBounds(o.Targets, n), Hard: true}}
	}
	if len(o.Constraints) > maxConstraints {
		bad("%d constraints are more than %d", len(o.Constraints), maxConstraints)
	}
	for i, c := range o.Constraints {
		if err := c.check(n, o.Parts); err != nil {
			bad("constraint %d: %w", i, err)
		}
	}
	if o.Objective != Cut && o.Objective != Volume {
		bad("objective %d is neither cut nor volume", o.Objective)
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.Effort < 0 || o.Effort > maxEffort {
		bad("effort %d is not in [0, %d]", o.Effort, maxEffort)
	}
	if o.MaxEffort < 0 {
		bad("effort of at most %d is not a number ≥ 0", o.MaxEffort)
	}
	if o.Effort == 0 {
		o.Effort = defaultEffort(n, u.Edges(), o.Parts, o.Objective)
		if o.MaxEffort > 0 {
			o.Effort = min(o.Effort, o.MaxEffort)
		}
	}
	return o, errors.Join(errs...)
}

func equalTargets(parts int) []float64 { return slices.Repeat([]float64{1 / float64(parts)}, parts) }

func (o Options) checkTargets() (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	sum := 0.0
	for p, t := range o.Targets {
		if !(t > 0 && t <= 1) {
			bad("target %g of part %d is not in (0, 1]", t, p)
		}
		sum += t
	}
	if len(o.Targets) != o.Parts || math.Abs(sum-1) > 1e-6 {
		bad("%d targets of sum %g for %d parts", len(o.Targets), sum, o.Parts)
	}
	return errs
}

const (
	// fewParts is the number of parts up to which everything is tried, whatever the size of the parts.
	fewParts = 16
	// fairPart is the number of vertices per part that is worth one attempt more.
	fairPart = 16
)

// defaultEffort returns the attempts for a graph of n vertices and so many stored edges. Volumes need three of them to be good,
// one from each kind of edge weights and one refined by the volume alone, which takes long for many parts.
//
// Why fewer for many parts: what an attempt costs grows with the number of bisections, and their accidents, for which attempts are
// made, cancel each other. Cora in 64 parts: 8 attempts cut 0.8 % less than 2, in 10 times the time; in 512 no less than 1.
func defaultEffort(n int, edges int64, parts int, objective Objective) int {
	e := int(min(4, max(1, 1_900_000/max(edges, 1))))
	switch {
	case edges <= 80_000:
		e = 8
	case edges <= 2_000_000:
		e = max(e, 2)
	}
	if parts > fewParts {
		e = max(1, min(2*fewParts*e/parts, n/parts/fairPart, e))
	}
	if objective == Volume && edges <= 8_000_000 {
		if e = max(e, 2); parts <= fewParts {
			e = max(e, 3)
		}
	}
	return e
}

// vertexBounds returns ⌈1.03·target·n⌉ per part; 1e-9 keeps an exact product from being rounded up.
func vertexBounds(targets []float64, n int) []int64 {
	b := make([]int64, len(targets))
	for p, t := range targets {
		b[p] = max(1, int64(math.Ceil(defaultBalance*t*float64(n)-1e-9)))
	}
	return b
}

func (c Constraint) check(n, parts int) error {
	if c.Weight != nil && len(c.Weight) != n {
		return fmt.Errorf("%d weights for %d vertices", len(c.Weight), n)
	}
	if len(c.Bound) != parts {
		return fmt.Errorf("%d bounds for %d parts", len(c.Bound), parts)
	}
	total, room := int64(0), int64(0)
	for v, w := range c.Weight {
		if w < 0 {
			return fmt.Errorf("weight %d of vertex %d is negative", w, v)
		}
		total += int64(w)
	}
	if c.Weight == nil {
		total = int64(n)
	}
	if total > math.MaxInt32 {
		return fmt.Errorf("weights sum to %d, want at most %d: scale them", total, math.MaxInt32)
	}
	for p, b := range c.Bound {
		if b < 0 {
			return fmt.Errorf("bound %d of part %d is negative", b, p)
		}
		room += min(b, math.MaxInt32)
	}
	if c.Hard && room < total {
		return fmt.Errorf("the parts may hold %d in sum, the vertices weigh %d", room, total)
	}
	return nil
}
