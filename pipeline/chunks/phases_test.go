package chunks

import (
	"math"
	"slices"
	"testing"
)

// Every part has one phase and one worker, phases follow each other in part order, and shares add up to 1: those of Base are of training vertices.
func TestPhases(t *testing.T) {
	t.Parallel()
	for c := 2; c <= 9; c++ {
		training, all := make([]int, c), 0
		for k := range training {
			training[k] = k * k % 5 // chunk 0 has none
			all += training[k]
		}
		for workers := 1; workers <= c; workers++ {
			p := Phases{Rotation{c}, workers}
			var parts []int
			for phase := range p.Count() {
				for w := range workers {
					if part := p.Part(phase, w); part >= 0 {
						if parts = append(parts, part); p.PartsOf(w)[phase] != part {
							t.Errorf("%+v: part %d is not the one of worker %d in phase %d", p, part, w, phase)
						}
					} else if phase != p.Count()-1 || len(p.PartsOf(w)) != phase {
						t.Errorf("%+v: worker %d has no part in phase %d", p, w, phase)
					}
				}
			}
			for k := range parts {
				if parts[k] != k {
					t.Fatalf("%+v: parts %v", p, parts)
				}
			}
			if len(parts) != c {
				t.Fatalf("%+v: parts %v", p, parts)
			}
			for shift := 1; shift < c; shift++ {
				checkShares(t, p, shift, training, all)
			}
		}
		if CheckPhases(0, c) == nil || CheckPhases(c+1, c) == nil || CheckPhases(c, c) != nil || CheckPhases(1, c) != nil {
			t.Errorf("%d chunks: phases are checked wrongly", c)
		}
	}
}

// checkShares compares shares with sums over parts.
func checkShares(t *testing.T, p Phases, shift int, training []int, all int) {
	t.Helper()
	for _, targets := range AllTargets {
		sum := 0.0
		for phase := range p.Count() {
			n := 0
			for part := phase * p.Workers; part < min(p.Chunks, (phase+1)*p.Workers); part++ {
				if n += 2 * training[part]; targets == Both {
					n += training[(part+shift)%p.Chunks] - training[part]
				}
			}
			got := p.Share(phase, shift, targets, training)
			if want := float64(n) / float64(2*all); math.Abs(got-want) > 1e-15 {
				t.Errorf("%+v, shift %d, %s, phase %d: share %g, want %g", p, shift, targets, phase, got, want)
			}
			sum += got
		}
		if math.Abs(sum-1) > 1e-12 || p.Workers == p.Chunks && sum != 1 {
			t.Errorf("%+v, shift %d, %s: shares add up to %g", p, shift, targets, sum)
		}
	}
	if bare := slices.Max(training); bare == 0 {
		t.Fatal("no training vertex")
	}
}
