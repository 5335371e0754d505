package learn

import "testing"

// Which weights are kept, with and without a score and a finite loss.
func TestBetter(t *testing.T) {
	of := func(val, loss float64) (m Metrics) { // 0: there is none
		if val > 0 {
			m.Val = &val
		}
		if loss > 0 {
			m.ValLoss = &loss
		}
		return m
	}
	for _, c := range []struct {
		m, best         Metrics
		byScore, byLoss bool
	}{
		{of(0.6, 1), of(0.5, 2), true, true},
		{of(0.6, 2), of(0.5, 1), true, false},
		{of(0.5, 1), of(0.6, 2), false, true},
		{of(0.5, 1), of(0.5, 1), false, false},
		{of(0.6, 0), of(0.5, 1), true, false}, // the loss is not finite
		{of(0.5, 1), of(0.6, 0), false, true},
		{of(0, 1), of(0, 2), true, true}, // a score that is not defined
		{of(0, 2), of(0, 1), true, false},
		{of(0, 0), of(0, 0), true, true}, // no validation
	} {
		if got := c.m.Better(c.best, false); got != c.byScore {
			t.Errorf("%+v in place of %+v by score: %t", c.m, c.best, got)
		}
		if got := c.m.Better(c.best, true); got != c.byLoss {
			t.Errorf("%+v in place of %+v by loss: %t", c.m, c.best, got)
		}
	}
}
