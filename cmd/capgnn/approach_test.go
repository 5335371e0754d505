package main

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
		real     [stages]time.Duration
		expected [stages]time.Duration
	}{
		{"as expected", [stages]time.Duration{2e9, 12e9, 4e9, 1e9, 1e9, 3e9}, [stages]time.Duration{2e9, 12e9, 4e9, 1e9, 1e9, 3e9}},
		{"slower", [stages]time.Duration{9e9, 20e9, 30e9, 5e9, 5e9, 9e9}, [stages]time.Duration{2e9, 12e9, 1e9, 1e9, 1e9, 1e9}},
		{"faster", [stages]time.Duration{1e8, 3e9, 1e8, 1e8, 1e8, 1e8}, [stages]time.Duration{2e9, 12e9, 4e9, 1e9, 1e9, 3e9}},
		{"skipped", [stages]time.Duration{1e9, 0, 0, 0, 0, 2e9}, [stages]time.Duration{2e9, 12e9, 4e9, 1e9, 1e9, 3e9}},
	} {
		var out bytes.Buffer
		k := &console{out: &out, err: &out}
		now := stopped()
		k.beginStages("prepare", c.expected)
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
		for s := reading; s < stages; s++ {
			if c.real[s] == 0 {
				continue
			}
			k.enter(s)
			look()
			rounds := 1
			if s == cutting {
				rounds = 4
				k.expect(s, c.expected[s], 3) // one more than was expected
			}
			for range rounds {
				p := k.begin("phase", 50, "blocks", 0)
				for i := range int64(50) {
					now = now.Add(c.real[s] / time.Duration(50*rounds))
					p.at(i+1, "detail")
					look()
				}
				p.end()
			}
		}
		k.endStages()
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
		p := k.begin("train", 10, "epochs", 0)
		p.at(5, "")
		if !strings.Contains(out.String(), "train 5/10") {
			t.Error("what follows has no bar of its own")
		}
	}
}
