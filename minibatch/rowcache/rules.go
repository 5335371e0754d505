package rowcache

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Kind is a policy.
type Kind int

const (
	Demand  Kind = iota // no cache
	Planned             // the row whose next read is farthest leaves
)

var kinds = []string{"demand", "planned"}

func (k Kind) String() string { return kinds[k] }

// ParseKind returns the policy of that name.
func ParseKind(s string) (Kind, error) {
	if k := slices.Index(kinds, s); k >= 0 {
		return Kind(k), nil
	}
	return 0, fmt.Errorf("%q is no way to fetch rows, these are: %v", s, kinds)
}

// All is the look-ahead to the end of the run.
const All = math.MaxInt32

// Rules say which policy, and how it is set.
type Rules struct {
	Kind      Kind
	Lookahead int // Planned: steps behind the one decided whose reads are known; 0 = 64
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
	return errors.Join(errs...)
}

// settled returns r with defaults in place of zeros.
func (r Rules) settled() Rules {
	if r.Lookahead == 0 {
		r.Lookahead = 64
	}
	return r
}

// Reach returns how many steps behind the one decided a policy asks for at most.
func (r Rules) Reach() int {
	if r.Kind == Planned {
		return r.settled().Lookahead
	}
	return 0
}
