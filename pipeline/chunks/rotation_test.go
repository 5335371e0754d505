package chunks

import (
	"fmt"
	"testing"
)

// Every chunk is added to every other part once in c-1 super-epochs, and to one part in each.
func TestRotation(t *testing.T) {
	for c := 2; c <= 33; c++ {
		r := Rotation{Chunks: c}
		added := map[Pair]int{}
		for shift := 1; shift <= r.Shifts(); shift++ {
			here := map[int]int{}
			for part := range c {
				p := r.Pair(part, shift)
				if p.Base != part || p.Added == part || p.Added < 0 || p.Added >= c {
					t.Fatalf("%d chunks, shift %d: part %d holds %+v", c, shift, part, p)
				}
				added[p]++
				here[p.Added]++
			}
			if len(here) != c {
				t.Errorf("%d chunks, shift %d: %d of them are added somewhere", c, shift, len(here))
			}
		}
		for base := range c {
			for other := range c {
				if n := added[Pair{base, other}]; base != other && n != 1 {
					t.Errorf("%d chunks: chunk %d is added to part %d %d times in a sweep", c, other, base, n)
				}
			}
		}
	}
}

// Positions are those of a run that counts epochs one by one.
func TestSchedule(t *testing.T) {
	for _, c := range []int{2, 3, 4, 7, 16, 33} {
		for _, epochs := range []int{1, 2, 3, 6, 7, 31, 32, 33, 200} {
			t.Run(fmt.Sprintf("%d chunks, %d epochs", c, epochs), func(t *testing.T) {
				s := Schedule{Rotation{c}, epochs}
				at, seen := Position{Shift: 1}, map[int]int{}
				for epoch := range epochs {
					got := s.At(epoch)
					if epoch > 0 && at.Epoch == at.Length {
						at = Position{Shift: at.Shift + 1}
					}
					at.Length = got.Length
					if got != at || got.Shift > c-1 {
						t.Fatalf("epoch %d is at %+v, want %+v", epoch, got, at)
					}
					at.Epoch++
					seen[got.Shift]++
				}
				if at.Epoch != at.Length {
					t.Errorf("the run ends at %+v, within a super-epoch", at)
				}
				if want := min(epochs, c-1); len(seen) != want {
					t.Errorf("%d super-epochs, want %d", len(seen), want)
				}
				for shift, n := range seen {
					if n < epochs/(c-1) || n > epochs/(c-1)+1 {
						t.Errorf("super-epoch %d has %d epochs of %d", shift, n, epochs)
					}
				}
			})
		}
	}
	for _, epoch := range []int{-1, 5} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("epoch %d of 5 has a position", epoch)
				}
			}()
			Schedule{Rotation{3}, 5}.At(epoch)
		}()
	}
}
