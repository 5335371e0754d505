package multilevel

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"capgnn/graph"
)

// TestDefaultEffort holds the attempts to sizes of graphs and parts.
func TestDefaultEffort(t *testing.T) {
	for _, tc := range []struct {
		n           int
		edges       int64
		parts       int
		cut, volume int
	}{
		{2_708, 10_556, 2, 8, 8},
		{890, 17_708, 16, 8, 8}, // 55 vertices per part
		{2_708, 10_556, 32, 5, 5},
		{2_708, 10_556, 64, 2, 2},
		{2_708, 10_556, 256, 1, 2},
		{2_708, 10_556, 1354, 1, 2},
		{16, 40, 16, 8, 8},
		{17, 40, 17, 1, 2},
		{14_755, 450_270, 16, 4, 4},
		{14_755, 450_270, 32, 4, 4},
		{14_755, 450_270, 64, 2, 2},
		{14_755, 450_270, 128, 1, 2},
		{11_758, 1_038_000, 16, 2, 3},
		{325_729, 2_180_216, 8, 1, 3},
		{325_729, 2_180_216, 1024, 1, 2},
		{1 << 20, 31_000_000, 4096, 1, 1},
		{5, 0, 5, 8, 8},
	} {
		if e := defaultEffort(tc.n, tc.edges, tc.parts, Cut); e != tc.cut {
			t.Errorf("%d parts of %d vertices, %d edges: effort %d for cuts, want %d", tc.parts, tc.n, tc.edges, e, tc.cut)
		}
		if e := defaultEffort(tc.n, tc.edges, tc.parts, Volume); e != tc.volume {
			t.Errorf("%d parts of %d vertices, %d edges: effort %d for volumes, want %d", tc.parts, tc.n, tc.edges, e, tc.volume)
		}
	}
}

// TestMaxEffort: the bound lowers what goes by size, raises nothing, and leaves an effort alone that is given.
func TestMaxEffort(t *testing.T) {
	u := loose(t, 10, 480) // of less than 80,000 edges: 8 attempts
	for _, tc := range []struct{ effort, most, want int }{{0, 0, 8}, {0, 2, 2}, {0, 50, 8}, {5, 2, 5}} {
		o, err := Options{Parts: 2, Effort: tc.effort, MaxEffort: tc.most}.resolve(u)
		if err != nil || o.Effort != tc.want {
			t.Errorf("effort %d, at most %d: %d, %v, want %d", tc.effort, tc.most, o.Effort, err, tc.want)
		}
	}
}

// lookedAt counts how often a context is looked at: once for so and so many searches, blocks and rounds.
type lookedAt struct {
	context.Context
	times *atomic.Int64
}

func (c lookedAt) Err() error {
	c.times.Add(1)
	return c.Context.Err()
}

// work returns how often Partition looks at its context, a measure of what it does that is the same on every machine.
func work(t *testing.T, u *graph.CSR, parts int) int64 {
	ctx := lookedAt{t.Context(), new(atomic.Int64)}
	part, err := Partition(ctx, u, Options{Parts: parts, Seed: 1, Threads: 1})
	if err == nil {
		err = check(part, u.Rows(), parts, []Constraint{{Bound: vertexBounds(even(parts), u.Rows()), Hard: true}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return ctx.times.Load()
}

// TestManyParts wants as many parts as vertices for nothing, and half as many for less than twice the work of 16.
func TestManyParts(t *testing.T) {
	u := loose(t, 10, 480)
	n := u.Rows()
	few, many, most := work(t, u, 16), work(t, u, n/2), work(t, u, n)
	t.Logf("%d vertices: context looked at %d times for 16 parts, %d for %d, %d for %d", n, few, many, n/2, most, n)
	if many > 2*few {
		t.Errorf("%d parts look at the context %d times, 16 parts %d times", n/2, many, few)
	}
	if most > 1 {
		t.Errorf("%d parts of as many vertices look at the context %d times", n, most)
	}
}

// TestSingles divides vertices of unequal weights into as many parts of unequal bounds.
func TestSingles(t *testing.T) {
	u := must(t)(graph.FromEdges(4, []graph.Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 3}}))
	o := Options{Parts: 4, Targets: []float64{0.1, 0.4, 0.2, 0.3}, Constraints: []Constraint{
		{Weight: []int32{3, 2, 4, 1}, Bound: []int64{1, 4, 2, 3}, Hard: true}}}
	part, err := Partition(t.Context(), u, o)
	if want := []int32{3, 2, 1, 0}; err != nil || !slices.Equal(part, want) {
		t.Errorf("parts %d, %v, want %d", part, err, want)
	}
}
