package multilevel

import "sync/atomic"

// progress tells the caller how far the work has come. Runs (attempts and combinations) count alike, those of other goroutines when
// they are over. Those that nobody counted on come at the end, where all is said to be done.
type progress struct {
	tell func(done, total int)
	runs int
	over atomic.Int64
	last int
}

// steps is the number of steps that a run counts for.
const steps = 100

// at says that the share x of the current run is done; only with first, which says that this is the caller's goroutine, is it told.
func (p *progress) at(x float64, first bool) {
	if p.tell == nil || !first {
		return
	}
	if now := min(int(p.over.Load())*steps+int(x*steps), p.runs*steps); now > p.last {
		p.last = now
		p.tell(now, p.runs*steps)
	}
}

// next says that the current run is over.
func (p *progress) next(first bool) {
	p.over.Add(1)
	p.at(0, first)
}

// done says that everything is.
func (p *progress) done() {
	p.over.Store(int64(p.runs))
	p.at(0, true)
}
