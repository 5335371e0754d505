package formats

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"capgnn/graph"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/internal/npy"
)

// Arrays of different types, whose pieces end at different places, are read side by side.
func TestEachPair(t *testing.T) {
	const n = 50000
	narrow, wide := make([]int32, n), make([]int64, n)
	for i := range n {
		narrow[i], wide[i] = int32(i), int64(n-1-i)
	}
	path := datatest.NPZ(t, npy.Entry{Key: "a", Data: narrow}, npy.Entry{Key: "b", Data: wide}, npy.Entry{Key: "c", Data: append(slices.Clone(wide[1:]), -1)})
	z, err := npy.OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	pair := func(x, y string) (int, error) {
		a, err1 := z.Array(x)
		b, err2 := z.Array(y)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		k := 0
		return k, eachPair(a, b, n, func(u, v graph.NodeID) {
			if x+y == "ab" && (int(u) != k || int(v) != n-1-k) || x+y == "ba" && (int(v) != k || int(u) != n-1-k) {
				t.Fatalf("pair %d is %d, %d", k, u, v)
			}
			k++
		})
	}
	for _, names := range []string{"ab", "ba", "aa"} {
		if _, err := pair(names[:1], names[1:]); err != nil {
			t.Error(names, err)
		}
	}
	for _, names := range []string{"ac", "ca"} {
		if _, err := pair(names[:1], names[1:]); err == nil || !strings.Contains(err.Error(), "vertex -1 is outside") {
			t.Errorf("%s: got %v", names, err)
		}
	}
}
