package jaca

import "fmt"

// MaxStaleness is the largest bound that may be asked for: rows of more ages than this are of no use (docs/caching.md).
const MaxStaleness = 16

// Schedule says in which epochs cached rows are refreshed and which version a reader uses. It is a function of epochs and
// classes alone, never of what has arrived.
type Schedule struct {
	// Period p ≥ 1: class c, 0 ≤ c < p, is due in epochs t ≡ c (mod p).
	Period int
	// Lag is 1 if a row is used from the epoch after the one that made it (pipeline on), else 0.
	Lag int
	// Start is the epoch in which everything was due at once and used at once: the first one, or that of a new period.
	Start int
}

// NewSchedule returns the schedule that keeps versions at most s epochs old from epoch start on: p = s+1, or p = s with the
// pipeline. At s = 0 the pipeline stays inside the epoch, so there p = 1 without lag.
func NewSchedule(s int, pipeline bool, start int) (Schedule, error) {
	if s < 0 || s > MaxStaleness {
		return Schedule{}, fmt.Errorf("staleness %d is not in [0, %d]", s, MaxStaleness)
	}
	if pipeline && s > 0 {
		return Schedule{Period: s, Lag: 1, Start: start}, nil
	}
	return Schedule{Period: s + 1, Start: start}, nil
}

// Due reports whether rows of a class are refreshed in an epoch.
func (s Schedule) Due(class, epoch int) bool {
	return epoch == s.Start || (epoch-class)%s.Period == 0
}

// Version returns the epoch that made the rows of a class that readers use in an epoch: the newest in which they were due, up
// to epoch − Lag, but never one before Start.
func (s Schedule) Version(class, epoch int) int {
	t := epoch - s.Lag
	return max(s.Start, t-((t-class)%s.Period+s.Period)%s.Period)
}

// Fresh returns the epoch that made the rows without a slot that readers use in an epoch: they are exchanged in every epoch.
func (s Schedule) Fresh(epoch int) int { return max(s.Start, epoch-s.Lag) }

// Bound is the largest age of a version in any epoch.
func (s Schedule) Bound() int { return s.Period - 1 + s.Lag }

// CheckAge returns an error if a version is older than staleness bound s allows, or not made yet.
func CheckAge(version, epoch, s int) error {
	if age := epoch - version; age < 0 || age > s {
		return fmt.Errorf("epoch %d uses rows of epoch %d, the bound is %d", epoch, version, s)
	}
	return nil
}
