package levels

import (
	"slices"
	"testing"
)

type level uint8

func (l level) String() string { return [...]string{"portable", "wide", "wider"}[l] }

// TestEach: every level has its turn, under its name, and the best one is in use afterwards, also where a test gives up.
func TestEach(t *testing.T) {
	active := level(2)
	var seen []string
	t.Run("levels", func(t *testing.T) {
		Each(t, &active, func(t *testing.T) {
			seen = append(seen, t.Name())
			if active.String() != t.Name()[len("TestEach/levels/"):] {
				t.Errorf("%v is in use in %s", active, t.Name())
			}
			t.Skip("one level that skips: the others run all the same")
		})
		if active != 2 {
			t.Errorf("%v is in use between levels and what follows", active)
		}
	})
	want := []string{"TestEach/levels/portable", "TestEach/levels/wide", "TestEach/levels/wider"}
	if Race {
		want = want[:1]
	}
	if !slices.Equal(seen, want) || active != 2 {
		t.Errorf("ran %q and left %v, want %q and the best level", seen, active, want)
	}
}
