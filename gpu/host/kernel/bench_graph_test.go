package kernel

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"

	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/hostmem"
)

// The graphs of benchmarks, made once each: shuffled has the size and shape of the preset reddit-like with a quarter of its
// edges, 28.7 million entries, and ids at random; clustered is the same one in order of class, hubs first; rmat has 2^18
// vertices and 3.9 million entries. features has the shape of Coauthor Physics' bags of words.
var (
	rmatGraph      = sync.OnceValue(func() *graph.CSR { return must(synth.RMAT(18, 16, 1)) })
	shuffledGraph  = sync.OnceValue(func() *graph.CSR { g, _ := communities(); return g })
	clusteredGraph = sync.OnceValue(func() *graph.CSR {
		g, class := communities()
		order := make([]int32, g.Rows())
		for v := range order {
			order[v] = int32(v)
		}
		slices.SortFunc(order, func(u, v int32) int {
			return cmp.Or(cmp.Compare(class[u], class[v]), cmp.Compare(len(g.Row(int(v))), len(g.Row(int(u)))), cmp.Compare(u, v))
		})
		return renumbered(g, order)
	})
	features = sync.OnceValue(func() *graph.CSR {
		const rows, cols, words = 34_493, 8_415, 33
		r := rand.New(rand.NewPCG(4, 5))
		g := &graph.CSR{Indptr: []int64{0}, Cols: cols}
		for range rows {
			row := make([]int32, words)
			for i := range row {
				u := r.Float64()
				row[i] = int32(u * u * cols)
			}
			slices.Sort(row)
			g.Indices = append(g.Indices, slices.Compact(row)...)
			g.Indptr = append(g.Indptr, int64(len(g.Indices)))
		}
		return g
	})
	featuresTransposed = sync.OnceValue(func() *graph.CSR { return features().Transpose() })
	communities        = sync.OnceValues(func() (*graph.CSR, []int32) {
		p := must(synth.FindPreset("reddit-like"))
		p.Pairs /= 4
		g, class, err := synth.Communities(context.Background(), p.Nested, synth.Options{})
		if err != nil {
			panic(err)
		}
		return g, class
	})
)

// benchGraph returns a graph by name.
func benchGraph(name string) *graph.CSR {
	switch name {
	case "rmat":
		return rmatGraph()
	case "clustered":
		return clusteredGraph()
	case "features":
		return features()
	case "features-transposed":
		return featuresTransposed()
	}
	return shuffledGraph()
}

// renumbered returns g with vertex order[i] as vertex i.
func renumbered(g *graph.CSR, order []int32) *graph.CSR {
	id := make([]int32, len(order))
	for i, v := range order {
		id[v] = int32(i)
	}
	h := &graph.CSR{Indptr: make([]int64, 1, len(g.Indptr)), Indices: make([]int32, 0, len(g.Indices)), Cols: g.Cols}
	for _, v := range order {
		for _, u := range g.Row(int(v)) {
			h.Indices = append(h.Indices, id[u])
		}
		slices.Sort(h.Indices[h.Indptr[len(h.Indptr)-1]:])
		h.Indptr = append(h.Indptr, int64(len(h.Indices)))
	}
	return h
}

// placed copies a graph's adjacency to the memory of operands.
func placed(o *operands, g *graph.CSR) Sparse {
	ptr := hostmem.Of[int64](o.bytes(8 * len(g.Indptr)))
	copy(ptr, g.Indptr)
	idx := hostmem.Of[int32](o.bytes(4 * len(g.Indices)))
	copy(idx, g.Indices)
	n := g.Rows()
	return Sparse{Begin: ptr[:n], End: ptr[1 : n+1], Idx: idx[:len(g.Indices)], Rows: n, Cols: g.Cols, Entries: g.Edges()}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
