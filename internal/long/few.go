package long

import (
	"hash/fnv"
	"os"
	"slices"
	"strconv"
	"testing"
)

// Few returns some elements of a list: these, and n of the others, from a place that depends on the name of the test and on
// CAPGNN_TURN. So tests differ in what they take, and so do commits.
func Few[T comparable](t testing.TB, list []T, n int, these ...T) []T {
	others := slices.DeleteFunc(slices.Clone(list), func(x T) bool { return slices.Contains(these, x) })
	size := uint64(len(others))
	at := place(t)%size + Turn()%size
	for i := range min(uint64(n), size) {
		these = append(these, others[(at+i)%size])
	}
	return these
}

// Some returns the list if all is Wanted, else Few of it in its order.
func Some[T comparable](t testing.TB, list []T, n int, these ...T) []T {
	if Wanted() {
		return list
	}
	few := Few(t, list, n, these...)
	return slices.DeleteFunc(slices.Clone(list), func(x T) bool { return !slices.Contains(few, x) })
}

// Nth reports whether a test takes its case i: all if they are Wanted, else every nth, from a place as that of Few.
func Nth(t testing.TB, n, i int) bool { return Wanted() || (place(t)+Turn()+uint64(i))%uint64(n) == 0 }

// place is a number that differs between tests.
func place(t testing.TB) uint64 {
	h := fnv.New64a()
	h.Write([]byte(t.Name()))
	return h.Sum64() >> 8
}

// Turn returns CAPGNN_TURN, which CI makes of the commit, so that commits draw other cases and a commit that is tested
// again draws the same; 0: there is none, or it is no number, as others say.
func Turn() uint64 {
	turn, _ := strconv.ParseUint(os.Getenv("CAPGNN_TURN"), 10, 64)
	return turn
}
