package pipeline

import (
	"capgnn/jaca"
)

// newBypass returns what decides whether caches are worth their work; its mean is over one period, in which every class is due
// once.
func (p *periods) newBypass(threshold float64) jaca.Bypass {
	return jaca.Bypass{Threshold: threshold, Window: p.fixed.Period}
}

// judge looks at the hits of an epoch, and leaves caches alone from the next one on if they were too few. An epoch in
// which all rows are due does not count: nothing can be hit in it. Where all rows move in every epoch anyway there is nothing to decide.
func (t *Trainer) judge(e *EpochStats) {
	b := &t.state.Bypass
	if t.caches == nil || b.Threshold == 0 || b.Off || e.Epoch < t.o.Cache.ExactEpochs || t.periods.fixed.Period == 1 || t.periods.cold(e.Epoch) {
		return
	}
	if b.Observe(e.Halo.HitRate()) {
		t.leaveCaches(e.Epoch + 1)
		t.o.Log.Warn("caches are bypassed: too few hits", "from epoch", e.Epoch+1, "threshold", b.Threshold, "mean of epochs", b.Window)
	}
}

// resumeBypass takes over what a checkpoint has seen of hits, if its mean is over as many epochs as that of a new run.
func (s *state) resumeBypass(b jaca.Bypass) {
	seen := s.Bypass
	if b.Off = seen.Off && b.Threshold > 0; len(seen.Rates) == b.Window && seen.Seen >= 0 {
		b.Rates, b.Seen = seen.Rates, seen.Seen
	}
	s.Bypass = b
}

// leaveCaches makes all rows move in every epoch from one on. Rows keep their ways: what goes through the global cache is read by
// several parts and still copied to the host once. With the pipeline they are due and used at once in that epoch.
func (t *Trainer) leaveCaches(epoch int) {
	t.periods.bypass(epoch)
	if t.dynamic != nil {
		t.dynamic.restart()
	}
}
