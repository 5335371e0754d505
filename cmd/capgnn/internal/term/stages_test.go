package term

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Over all stages there is one bar: it does not go back, and the time left does not grow, whatever was expected of a stage.
func TestApproach(t *testing.T) {
	for _, c := range []struct {
		name     string
		real     [Stages]time.Duration
		expected [Stages]time.Duration
	}{
		{"as expected", [Stages]time.Duration{2e9, 12e9, 4e9, 1e9, 1e9, 3e9}, [Stages]time.Duration{2e9, 12e9, 4e9, 1e9, 1e9, 3e9}},
		{"slower", [Stages]time.Duration{9e9, 20e9, 30e9, 5e9, 5e9, 9e9}, [Stages]time.Duration{2e9, 12e9, 1e9, 1e9, 1e9, 1e9}},
		{"faster", [Stages]time.Duration{1e8, 3e9, 1e8, 1e8, 1e8, 1e8}, [Stages]time.Duration{2e9, 12e9, 4e9, 1e9, 1e9, 3e9}},
		{"skipped", [Stages]time.Duration{1e9, 0, 0, 0, 0, 2e9}, [Stages]time.Duration{2e9, 12e9, 4e9, 1e9, 1e9, 3e9}},
	} {
		var out bytes.Buffer
		k := &Console{Out: &out, Err: &out}
		now := stopped()
		k.BeginStages("prepare", c.expected)
		a := k.approach
		a.bar.now, a.bar.pause, a.bar.since, a.begun, a.since = func() time.Time { return now }, 0, now, now, now
		share, left, seen := -1.0, time.Duration(1<<62), 0
		look := func() {
			if a.done < share || a.left > left || a.done > 1 {
				t.Errorf("%s: %.3f and %v left after %.3f and %v", c.name, a.done, a.left, share, left)
			}
			share, left = a.done, a.left
			seen++
		}
		for s := Reading; s < Stages; s++ {
			if c.real[s] == 0 {
				continue
			}
			k.Enter(s)
			look()
			rounds := 1
			if s == Cutting {
				rounds = 4
				k.Expect(s, c.expected[s], 3) // one more than was expected
			}
			for range rounds {
				p := k.Begin("phase", 50, "blocks", 0)
				for i := range int64(50) {
					now = now.Add(c.real[s] / time.Duration(50*rounds))
					p.At(i+1, "detail")
					look()
				}
				p.End()
			}
		}
		k.EndStages()
		if k.approach != nil || share < 0.85 {
			t.Errorf("%s: arrived at %.2f", c.name, share)
		}
		text := out.String()
		if n := strings.Count(text, "\n"); n > lines || n < 5 || strings.Count(text, "prepare ") != n {
			t.Errorf("%s: %d lines:\n%s", c.name, n, text)
		}
		if c.name == "as expected" && !strings.Contains(text, "prepare 50.4 %, 11 s left  phase detail\n") {
			t.Errorf("half of 23 seconds:\n%s", text)
		}
		p := k.Begin("train", 10, "epochs", 0)
		p.At(5, "")
		if !strings.Contains(out.String(), "train 5/10") {
			t.Error("what follows has no bar of its own")
		}
	}
}
