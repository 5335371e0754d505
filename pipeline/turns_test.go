package pipeline

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"capgnn/internal/long"
	"capgnn/internal/named"
)

// turn returns which of n slices of a matrix this run takes, with CAPGNN_LONG=1: that of the number CAPGNN_TURN, which CI makes of
// the commit, so that commits take turns, and a commit that is tested again takes the same.
func turn(t testing.TB, n int) int {
	t.Helper()
	number, err := strconv.ParseUint(os.Getenv("CAPGNN_TURN"), 10, 64)
	if os.Getenv("CAPGNN_TURN") != "" && err != nil {
		t.Fatalf("CAPGNN_TURN: %v", err)
	}
	k := int(number % uint64(n))
	t.Logf("slice %d of %d", k, n)
	return k
}

// takes says of every case whether this run takes it. The values of a case are those of its dimensions: every value of a dimension
// comes in some case. With CAPGNN_LONG=1 and not in short, every two values that come together in any case do so in one that is taken,
// and a slice of all cases is added.
func takes(t testing.TB, slices int, values [][]any) []bool {
	t.Helper()
	whole := long.Wanted() && !testing.Short()
	taken := covering(values, whole)
	if whole {
		order := rand.New(rand.NewPCG(uint64(len(values)), 1)).Perm(len(values))
		for i := turn(t, slices); i < len(order); i += slices {
			taken[order[i]] = true
		}
	}
	return taken
}

// covering chooses few cases, greedily: with pairs, each two values that come together in any case come together in one of these;
// without, each value comes.
func covering(values [][]any, pairs bool) []bool {
	open := map[string]bool{}
	parts := make([][]string, len(values)) // what each case covers
	for i, v := range values {
		for a := range v {
			if !pairs {
				parts[i] = append(parts[i], fmt.Sprintf("%d %v", a, v[a]))
				continue
			}
			for b := range a {
				parts[i] = append(parts[i], fmt.Sprintf("%d %d %v %v", a, b, v[a], v[b]))
			}
		}
		for _, p := range parts[i] {
			open[p] = true
		}
	}
	taken := make([]bool, len(values))
	for len(open) > 0 {
		best, most := 0, 0
		for i := range parts {
			n := 0
			for _, p := range parts[i] {
				if open[p] {
					n++
				}
			}
			if n > most {
				best, most = i, n
			}
		}
		taken[best] = true
		for _, p := range parts[best] {
			delete(open, p)
		}
	}
	return taken
}

// Cases that cover all pairs leave none out, and are few.
func TestCoveringCases(t *testing.T) {
	var values [][]any
	for i := range 3 * 4 * 2 * 5 {
		if x := []any{i % 3, i / 3 % 4, i / 12 % 2, i / 24}; x[0] != x[2] {
			values = append(values, x)
		}
	}
	for _, c := range []struct {
		pairs bool
		most  int
	}{{true, 25}, {false, 5}} {
		n := 0
		seen := map[[4]any]bool{}
		note := func(v []any, into func([4]any)) {
			for a := range v {
				for b := range v {
					if c.pairs || a == b {
						into([4]any{a, b, v[a], v[b]})
					}
				}
			}
		}
		taken := covering(values, c.pairs)
		for i, v := range values {
			if taken[i] {
				n++
				note(v, func(k [4]any) { seen[k] = true })
			}
		}
		for _, v := range values {
			note(v, func(k [4]any) {
				if !seen[k] {
					t.Errorf("pairs %t: nothing covers %v", c.pairs, k)
				}
			})
		}
		if n > c.most {
			t.Errorf("pairs %t: %d of %d cases", c.pairs, n, len(values))
		}
	}
}

// kinds returns the models that a test goes through: GCN, GAT, and two of the others; in short, one.
func kinds(t testing.TB) []named.Kind {
	others := 2
	if testing.Short() {
		others = 1
	}
	return long.Few(t, named.Kinds, others, named.GCN, named.GAT)
}
