package jaca

import (
	"encoding/json"
	"fmt"
	"math"
)

// MarshalJSON returns the state.
func (l *Ladder) MarshalJSON() ([]byte, error) { return json.Marshal(l.s) }

// Restore takes over the state that MarshalJSON has returned behind the epoch before one. It is refused, and nothing changes, if no ladder can be in it then.
func (l *Ladder) Restore(state []byte, epoch int) error {
	var s ladderState
	if err := json.Unmarshal(state, &s); err != nil {
		return fmt.Errorf("restore adaptive staleness: %w", err)
	}
	if err := s.validate(epoch); err != nil {
		return fmt.Errorf("restore adaptive staleness: %w", err)
	}
	l.s = s
	return nil
}

// validate says what is wrong with a state before an epoch.
func (s *ladderState) validate(epoch int) error {
	if s.Level < 0 || s.Level >= len(rungs) || len(s.Rungs) != len(rungs) {
		return fmt.Errorf("level %d of %d", s.Level, len(s.Rungs))
	}
	if s.Start < 0 || s.Start > epoch || s.Since < 0 || s.Since > epoch || s.Next < epoch {
		return fmt.Errorf("before epoch %d: begun in epoch %d, level since %d, next probe in %d", epoch, s.Start, s.Since, s.Next)
	}
	if len(s.Losses) > roughDiffs+1 {
		return fmt.Errorf("%d losses", len(s.Losses))
	}
	for i, r := range s.Rungs {
		if !(r.Rough >= 0) || math.IsInf(r.Rough, 0) || r.Wait < 0 || r.Retry < 0 {
			return fmt.Errorf("level %d: roughness %g, waits %d epochs, until %d", i, r.Rough, r.Wait, r.Retry)
		}
	}
	return nil
}
