package halo

import "capgnn/jaca"

// NewBypass returns what decides whether caches are worth their work; its mean is over one period, in which every class is due
// once.
func (p *Plan) NewBypass(threshold float64) jaca.Bypass {
	b := jaca.Bypass{Threshold: threshold}
	if p.periods != nil {
		b.Window = p.periods.longest()
	}
	return b
}

// Judge looks at the share of hits in an epoch, and leaves caches alone from the next one on if there were too few. An epoch in
// which all rows are due does not count: nothing can be hit in it. Where all rows move in every epoch anyway there is nothing to decide.
func (p *Plan) Judge(b *jaca.Bypass, epoch int, hits float64) {
	if p.caches == nil || b.Threshold == 0 || b.Off || epoch < p.ExactEpochs || p.periods.longest() == 1 || p.periods.cold(epoch) {
		return
	}
	if b.Observe(hits) {
		p.leaveCaches(epoch + 1)
		p.Log.Warn("caches are bypassed: too few hits", "from epoch", epoch+1, "threshold", b.Threshold, "mean of epochs", b.Window)
	}
}

// leaveCaches makes all rows move in every epoch from one on. Rows keep their ways: what goes through the global cache is read by
// several parts and still copied to the host once. With the pipeline they are due and used at once in that epoch.
func (p *Plan) leaveCaches(epoch int) {
	p.periods.bypass(epoch)
}
