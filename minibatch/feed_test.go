package minibatch

import (
	"runtime"
	"testing"

	"capgnn/minibatch/sample"
)

// A part takes its steps in order, however many goroutines fill few slots, and whichever of them is held up.
func TestFeedKeepsOrder(t *testing.T) {
	for slots := 1; slots <= 3; slots++ {
		const steps = 2000
		f := newFeed(0, slots, 2, func(_ *sample.Sampler, d *sampledUnit, step int) error {
			if step%3 == 0 {
				runtime.Gosched()
			}
			d.step = step
			return nil
		})
		f.start(0, steps, make([]*sample.Sampler, 8))
		for step := range steps {
			s := f.at(step)
			<-s.full
			for u := range s.units {
				if d := &s.units[u]; d.step != step || d.unit != u {
					t.Fatalf("%d slots: unit %d of step %d came in place of %d of %d", slots, d.unit, d.step, u, step)
				}
			}
			s.release(nil)
		}
		f.close()
	}
}
