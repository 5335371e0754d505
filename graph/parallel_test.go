package graph

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// threads runs f with several processors, whatever the machine has.
func threads(t *testing.T, f func(t *testing.T)) {
	for _, n := range []int{1, 3, 8} {
		t.Run(fmt.Sprintf("threads=%d", n), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
			f(t)
		})
	}
}

func TestEachBlock(t *testing.T) {
	threads(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 9, 10, 11, 105} {
			seen := make([]atomic.Int32, n)
			EachBlock(n, 10, func(lo, hi int) {
				if lo%10 != 0 || hi > n || hi-lo > 10 && n > 10 {
					t.Errorf("block [%d, %d) of %d", lo, hi, n)
				}
				for i := lo; i < hi; i++ {
					seen[i].Add(1)
				}
			})
			for i := range seen {
				if k := seen[i].Load(); k != 1 {
					t.Errorf("%d of %d was done %d times", i, n, k)
				}
			}
		}
	})
}

func TestFirst(t *testing.T) {
	threads(t, func(t *testing.T) {
		for _, bad := range [][]int{nil, {0}, {99}, {57, 31, 90}, {40, 39}} {
			want := -1
			if bad != nil {
				want = slices.Min(bad)
			}
			find := func(lo, hi int) int {
				for i := lo; i < hi; i++ {
					if slices.Contains(bad, i) {
						return i
					}
				}
				return -1
			}
			if got := FirstIndex(100, 10, find); got != want {
				t.Errorf("bad %v: index %d, want %d", bad, got, want)
			}
			err := firstError(100, 10, func(lo, hi int) error {
				if i := find(lo, hi); i >= 0 {
					return fmt.Errorf("at %d", i)
				}
				return nil
			})
			if got := fmt.Sprint(err); want >= 0 && got != fmt.Sprintf("at %d", want) || want < 0 && err != nil {
				t.Errorf("bad %v: error %v, want that at %d", bad, err, want)
			}
		}
	})
}

// Transposes, degrees, unions and loops over several blocks and ranges equal what follows from their definitions edge by edge.
func TestManyBlocks(t *testing.T) {
	const n = 2*rowBlock + 301
	g, err := Random(n, 3*n, true, 9)
	if err != nil {
		t.Fatal(err)
	}
	var all, reversed, both, unlooped, looped []Edge
	in, out := make([]int32, n), make([]int32, n)
	for v := range n {
		g := append(slices.Clone(g.Row(v)), NodeID(v))[:len(g.Row(v))+1-min(1, v%3)] // every third vertex has a loop
		for _, u := range g {
			e, r := Edge{u, NodeID(v)}, Edge{NodeID(v), u}
			all, reversed, both = append(all, e), append(reversed, r), append(both, e, r)
			if u != NodeID(v) {
				unlooped = append(unlooped, e)
			}
		}
		looped = append(looped, Edge{NodeID(v), NodeID(v)})
	}
	looped = append(looped, all...)
	g = mustEdges(t, n, all...)
	for v := range n {
		in[v] = int32(len(g.Row(v)))
		for _, u := range g.Row(v) {
			out[u]++
		}
	}
	threads(t, func(t *testing.T) {
		for _, c := range []struct {
			name  string
			got   *CSR
			edges []Edge
		}{
			{"transpose", g.Transpose(), reversed}, {"symmetrised", g.Symmetrise(), both},
			{"without loops", g.WithoutLoops(), unlooped}, {"with loops", g.WithLoops(), looped},
		} {
			if !c.got.Equal(mustEdges(t, n, c.edges...)) {
				t.Errorf("%s: other edges than edge by edge", c.name)
			}
		}
		if !slices.Equal(g.InDegree(), in) || !slices.Equal(g.OutDegree(), out) {
			t.Error("degrees differ from those counted edge by edge")
		}
		for _, l := range []*CSR{g.WithoutLoops(), g.WithLoops()} {
			if again := l.WithoutLoops().WithLoops().WithLoops(); !again.Equal(g.WithLoops()) {
				t.Error("taking loops away and adding them is not adding them")
			}
		}
	})
}

// One edge without its reverse makes a graph asymmetric, wherever it is.
func TestSymmetricNotices(t *testing.T) {
	const n = 200
	g, err := Random(n, 900, false, 4)
	if err != nil {
		t.Fatal(err)
	}
	g = g.Symmetrise()
	threads(t, func(t *testing.T) {
		if !g.Symmetric() || !g.WithLoops().Symmetric() {
			t.Fatal("a symmetric graph is not")
		}
		for gone := range g.Indices {
			h := &CSR{Indptr: slices.Clone(g.Indptr), Indices: slices.Delete(slices.Clone(g.Indices), gone, gone+1), Cols: n}
			v, _ := slices.BinarySearch(g.Indptr, int64(gone)+1)
			for i := v; i <= n; i++ {
				h.Indptr[i]--
			}
			if loop := int(g.Indices[gone]) == v-1; h.Symmetric() != loop {
				t.Fatalf("without %d → %d: symmetric is %t", g.Indices[gone], v-1, !loop)
			}
		}
	})
}

// The first fault by position is reported, however many blocks have one.
func TestNormaliseFirstFault(t *testing.T) {
	const n = 5 * rowBlock
	good := func() *CSR {
		g := &CSR{Indptr: make([]int64, n+1), Indices: make([]NodeID, n), Cols: n}
		for v := range n {
			g.Indices[v], g.Indptr[v+1] = NodeID(v), int64(v+1)
		}
		return g
	}
	threads(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			spoil func(g *CSR)
			want  string
		}{
			"ids":      {func(g *CSR) { g.Indices[n-1], g.Indices[rowBlock+7] = -1, n }, fmt.Sprintf("row %d: neighbour %d is outside [0, %d)", rowBlock+7, n, n)},
			"pointers": {func(g *CSR) { g.Indptr[rowBlock], g.Indices[0] = -5, -1 }, fmt.Sprintf("row 0: neighbour -1 is outside [0, %d)", n)},
			"border":   {func(g *CSR) { g.Indptr[2*rowBlock], g.Indices[n-1] = n+9, -1 }, fmt.Sprintf("row pointer %d is %d, out of order", 2*rowBlock, n+9)},
		} {
			g := good()
			c.spoil(g)
			if _, err := Normalise(g); fmt.Sprint(err) != c.want {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		}
		g := good()
		if same, err := Normalise(g); err != nil || same != g {
			t.Errorf("a normal graph is copied (%v)", err)
		}
		g.Indptr[n-1], g.Indptr[n-2] = n-2, n-2 // the last row has two entries
		g.Indices[n-2], g.Indices[n-1] = n-1, n-1
		got, err := Normalise(g)
		if err != nil || got.Edges() != n-1 || !slices.Equal(got.Row(n-1), []NodeID{n - 1}) || !slices.Equal(got.Row(3), []NodeID{3}) {
			t.Errorf("repeats are not merged: %v", err)
		}
	})
}
