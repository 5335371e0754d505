package rowcache

import (
	"errors"
	"fmt"
	"math"
)

// Kind is a policy.
type Kind int

const (
	Demand  Kind = iota // no cache
	Planned             // the row whose next read is farthest leaves
	Rapid               // the rows that an epoch reads most often stay through it
	Massive             // rows that were not read for long leave for those that were often missed
)

var kinds = []string{"demand", "planned", "rapid", "massive"}

func (k Kind) String() string { return kinds[k] }

// All is the look-ahead to the end of the run.
const All = math.MaxInt32

// Rules say which policy, and how it is set.
type Rules struct {
	Kind      Kind
	Lookahead int     // Planned: steps behind the one decided whose reads are known, at most; All: from the first step on; 0 = 64
	Pull      bool    // Rapid: at the border of an epoch all its rows are fetched, as in the paper; else when they are first read, and those that are there stay
	Share     float64 // Massive: how many of the halo vertices have slots, the paper's f, if there are as many slots; 0 = 0.25
	Gamma     float64 // Massive: what a step that does not read a row leaves of its score, γ; 0 = 0.995
	Delta     int     // Massive: steps between exchanges, Δ; 0 = 64
	Alpha     float64 // Massive: rows with a score below it may leave, α; 0 = γ^Δ, the paper's Eq. 1
}

// Validate reports all problems at once.
func (r Rules) Validate() error {
	var errs []error
	if r.Kind < 0 || int(r.Kind) >= len(kinds) {
		errs = append(errs, fmt.Errorf("way to fetch rows %d: want 0 to %d", int(r.Kind), len(kinds)-1))
	}
	if r.Lookahead < 0 {
		errs = append(errs, fmt.Errorf("%d steps ahead: want a number that is not negative", r.Lookahead))
	}
	if !(r.Share >= 0 && r.Share <= 1) || !(r.Gamma >= 0 && r.Gamma <= 1) || !(r.Alpha >= 0 && r.Alpha <= 1) {
		errs = append(errs, fmt.Errorf("share of halo vertices %v, decay %v and threshold %v: want 0 to 1", r.Share, r.Gamma, r.Alpha))
	}
	if r.Delta < 0 || r.Delta > longest {
		errs = append(errs, fmt.Errorf("%d steps between two rounds of eviction: want at most %d", r.Delta, longest))
	}
	return errors.Join(errs...)
}

// longest is how many steps may be between exchanges at most.
const longest = 1 << 20

// settled returns r with defaults in place of zeros.
func (r Rules) settled() Rules {
	if r.Lookahead == 0 {
		r.Lookahead = 64
	}
	if r.Share == 0 {
		r.Share = 0.25
	}
	if r.Gamma == 0 {
		r.Gamma = 0.995
	}
	if r.Delta == 0 {
		r.Delta = 64
	}
	return r
}

// Reach returns how many steps behind the one decided a policy asks for at most, where an epoch has so many. It has so many slots for the rows that steps may read.
func (r Rules) Reach(epoch, slots, rows int) int {
	switch r.Kind {
	case Planned:
		if slots >= rows { // whole
			return 0
		}
		return r.settled().Lookahead
	case Rapid:
		return epoch
	}
	return 0
}
