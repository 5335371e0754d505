package minibatch

import "time"

// merging says how many time steps of Hop each epoch drops (HopGNN, section 5.3): none in the first epoch, one more in each epoch behind it while that made epochs
// faster. The first epoch that took no less time than the one before ends the search, and from then on as many are dropped as in the one before. It is in
// checkpoints.
type merging struct {
	Decided bool
	Kept    int           // time steps that are dropped for good; with Decided
	Last    time.Duration // of the epoch before; without Decided
	most    int           // time steps that can be dropped
}

// newMerging returns that of so many parts which o wants.
func newMerging(s *Sampling, parts int) merging {
	m := merging{most: parts - 1}
	switch {
	case s.Place != Hop || s.NoMerge || s.Local || parts == 1:
		return merging{Decided: true}
	case s.Merged != nil:
		m.Decided, m.Kept = true, min(*s.Merged, m.most)
	}
	return m
}

// of returns how many time steps an epoch drops. It is a function of the outcome: who knows that repeats the search too.
func (m *merging) of(epoch int) int {
	if m.Decided && epoch > m.Kept+1 {
		return m.Kept
	}
	return min(epoch, m.most)
}

// probed returns how many time steps are dropped in the epochs that are looked at beforehand: none, as in the first epoch, and as many as can be. Units are the smallest and the
// largest there. It is the same for a run that knows the outcome: the order of operations and the size of areas follow from it.
func (m *merging) probed() []int {
	if m.most == 0 {
		return []int{0}
	}
	return []int{0, m.most}
}

// open reports whether an epoch is one of the search: nobody knows before its end how many time steps the next one drops, so nobody samples beyond it. A run that knows
// the outcome does not either: so policies see as far ahead, and the same rows are fetched.
func (m *merging) open(epoch int) bool {
	return m.most > 0 && (!m.Decided || epoch <= min(m.Kept+1, m.most))
}

// over says what an epoch took.
func (m *merging) over(epoch int, took time.Duration) {
	if m.Decided {
		return
	}
	if epoch > 0 && took >= m.Last {
		m.Decided, m.Kept = true, epoch-1
	} else if m.of(epoch) == m.most {
		m.Decided, m.Kept = true, m.most
	}
	m.Last = took
}

// kept returns the outcome: that of the search, or where it is not over, what repeats the epochs so far.
func (m *merging) kept() int {
	if m.Decided {
		return m.Kept
	}
	return m.most
}
