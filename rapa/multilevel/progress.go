package multilevel

// progress tells the caller how far the work has come. Runs (attempts and combinations) count alike.
type progress struct {
	tell       func(done, total int)
	runs, over int
	last       int
}

// steps is the number of steps that a run counts for.
const steps = 100

// at says that the share x of the current run is done.
func (p *progress) at(x float64) {
	if now := p.over*steps + int(x*steps); p.tell != nil && now > p.last {
		p.last = now
		p.tell(now, p.runs*steps)
	}
}

// next says that the current run is over.
func (p *progress) next() {
	p.over++
	p.at(0)
}

// done says that everything is.
func (p *progress) done() {
	p.over = p.runs
	p.at(0)
}
