package chunks

import (
	"slices"
	"testing"
)

// What was made beside training is taken once, and only for the moment it was made for. Who makes it may be replaced
// meanwhile.
func TestAhead(t *testing.T) {
	var made []Moment
	maker := func(at Moment) []int {
		made = append(made, at)
		return []int{at.Shift, at.Phase}
	}
	var a Ahead[int]
	if a.Make = maker; a.Wait() != nil {
		t.Error("something was made")
	}
	one, two := Moment{1, 1}, Moment{2, 0}
	goOn := make(chan bool)
	a.Make = func(at Moment) []int {
		<-goOn
		return maker(at)
	}
	a.Prepare(one)
	a.Make = maker
	a.Prepare(two) // something is being made
	close(goOn)
	if got := a.Take(one); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("took %v", got)
	}
	if got := a.Take(one); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("took %v", got)
	}
	a.Prepare(one)
	if got := a.Take(two); !slices.Equal(got, []int{2, 0}) {
		t.Errorf("took %v", got)
	}
	if want := []Moment{one, one, one, two}; !slices.Equal(made, want) {
		t.Errorf("made %v, want %v", made, want)
	}
}
