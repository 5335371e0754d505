package sample

import (
	"fmt"
	"slices"
	"sort"
	"testing"

	"capgnn/gpu"
	"capgnn/graph"
)

// twin draws what a Sampler draws, by the definition in doc.go: maps, one word at a time, sorted at the end.
type twin struct {
	t Topology
	r Rules

	piece  *graph.CSR // of the first hops, if there are some; what is left stands for all neighbours or not
	hops   int
	stands bool
}

// at is the twin of a hop.
func (w twin) at(hop int) twin {
	if hop < w.hops {
		w.t.Graph = w.piece
	}
	return w
}

func (w twin) addsLoops() bool { return w.r.AddLoops || w.t.Loops == graph.LoopsAdded }

// neighbours returns the in-neighbours of v that a draw chooses from.
func (w twin) neighbours(v graph.NodeID) []graph.NodeID {
	var out []graph.NodeID
	for _, u := range w.t.Graph.Row(int(v)) {
		if u != v || w.t.Loops == graph.LoopsKept && !w.r.AddLoops {
			out = append(out, u)
		}
	}
	return out
}

// sample returns the neighbours that v keeps.
func (w twin) sample(step uint32, hop int, v graph.NodeID) []graph.NodeID {
	all, k := w.neighbours(v), w.r.Fanout[hop]
	n := len(all)
	if n <= k {
		return all
	}
	used := uint32(0)
	word := func() uint32 {
		p := gpu.Philox([4]uint32{used / 4, uint32(v), 0x5A000000 | uint32(hop), step}, gpu.SeedKey(w.r.Seed))
		used++
		return p[(used-1)%4]
	}
	below := func(bound uint64) int {
		for {
			product := uint64(word()) * bound
			if product%(1<<32) >= (1<<32)%bound {
				return int(product / (1 << 32))
			}
		}
	}
	drawn := map[int]bool{}
	m := min(k, n-k)
	for j := n - m; j < n; j++ {
		if x := below(uint64(j) + 1); !drawn[x] {
			drawn[x] = true
		} else {
			drawn[j] = true
		}
	}
	var positions []int
	for p := range n {
		if drawn[p] == (2*k <= n) {
			positions = append(positions, p)
		}
	}
	sort.Ints(positions)
	out := make([]graph.NodeID, len(positions))
	for i, p := range positions {
		out[i] = all[p]
	}
	return out
}

// draw returns a stack.
func (w twin) draw(step uint32, roots []graph.NodeID) *Stack {
	st := &Stack{Step: step, Roots: len(roots), IDs: slices.Clone(roots)}
	number := map[graph.NodeID]int32{}
	for i, v := range roots {
		number[v] = int32(i)
	}
	for hop := range w.r.Fanout {
		b := Block{Rows: len(st.IDs), Begin: []int64{0}}
		for r, v := range st.IDs[:b.Rows] {
			if w.addsLoops() {
				b.Indices = append(b.Indices, int32(r))
			}
			kept := w.at(hop).sample(step, hop, v)
			for _, u := range kept {
				if _, known := number[u]; !known {
					number[u] = int32(len(st.IDs))
					st.IDs = append(st.IDs, u)
				}
				b.Indices = append(b.Indices, number[u])
				st.Edges++
			}
			b.Begin = append(b.Begin, int64(len(b.Indices)))
			ratio := float32(1)
			n := len(w.neighbours(v))
			if !w.stands {
				n = len(w.at(hop).neighbours(v))
			}
			if len(kept) > 0 {
				ratio = float32(float64(n) / float64(len(kept)))
			}
			b.Ratio = append(b.Ratio, ratio)
		}
		b.Cols = len(st.IDs)
		st.Blocks = append(st.Blocks, b)
	}
	return st
}

// transpose returns b with its edges reversed.
func transpose(b *Block) *Block {
	rows := make([][]int32, b.Cols)
	for r := range b.Rows {
		for _, c := range b.Indices[b.Begin[r]:b.Begin[r+1]] {
			rows[c] = append(rows[c], int32(r))
		}
	}
	t := &Block{Rows: b.Cols, Cols: b.Rows, Begin: []int64{0}}
	for _, row := range rows {
		t.Indices = append(t.Indices, row...)
		t.Begin = append(t.Begin, int64(len(t.Indices)))
	}
	return t
}

// difference says where two stacks differ first.
func difference(got, want *Stack) error {
	if got.Step != want.Step || got.Roots != want.Roots || got.Edges != want.Edges || len(got.Blocks) != len(want.Blocks) {
		return fmt.Errorf("step %d, %d roots, %d edges, %d blocks; want %d, %d, %d, %d",
			got.Step, got.Roots, got.Edges, len(got.Blocks), want.Step, want.Roots, want.Edges, len(want.Blocks))
	}
	for h := range want.Blocks {
		if err := blockDifference(&got.Blocks[h], &want.Blocks[h]); err != nil {
			return fmt.Errorf("hop %d: %w", h, err)
		}
	}
	if !slices.Equal(got.IDs, want.IDs) {
		return fmt.Errorf("ids %d, want %d", got.IDs, want.IDs)
	}
	return nil
}

func blockDifference(got, want *Block) error {
	if got.Rows != want.Rows || got.Cols != want.Cols {
		return fmt.Errorf("%d × %d, want %d × %d", got.Rows, got.Cols, want.Rows, want.Cols)
	}
	if !slices.Equal(got.Begin, want.Begin) {
		return fmt.Errorf("rows begin at %d, want %d", got.Begin, want.Begin)
	}
	for r := range want.Rows {
		lo, hi := want.Begin[r], want.Begin[r+1]
		if !slices.Equal(got.Indices[lo:hi], want.Indices[lo:hi]) {
			return fmt.Errorf("row %d holds %d, want %d", r, got.Indices[lo:hi], want.Indices[lo:hi])
		}
		if g, w := ratio(got, r), ratio(want, r); g != w {
			return fmt.Errorf("row %d has ratio %v, want %v", r, g, w)
		}
	}
	if len(got.Indices) != len(want.Indices) {
		return fmt.Errorf("%d entries, want %d", len(got.Indices), len(want.Indices))
	}
	return nil
}

func ratio(b *Block, r int) float32 {
	if b.Ratio == nil {
		return 1
	}
	return b.Ratio[r]
}

func TestTwin(t *testing.T) {
	for name, g := range graphs(t) {
		n := g.Rows()
		for _, loops := range []graph.Loops{graph.LoopsKept, graph.LoopsAdded, graph.LoopsRemoved} {
			for _, add := range []bool{false, true} {
				for _, fanout := range fanouts {
					for _, memory := range []int64{0, 32*int64(n) - 1} { // slots, and the hash table
						topology, rules := Topology{Graph: g, Loops: loops, Memory: memory}, Rules{Seed: 1<<40 + 7, Fanout: fanout, AddLoops: add}
						s, w := New(topology, rules), twin{t: topology, r: rules}
						var st Stack
						for step, roots := range rootsOf(n) {
							s.Draw(&st, uint32(step), roots)
							if err := difference(&st, w.draw(uint32(step), roots)); err != nil {
								t.Fatalf("%s, loops %v, added %v, fan-out %d, memory %d, step %d: %v", name, loops, add, fanout, memory, step, err)
							}
						}
					}
				}
			}
		}
	}
}

// Hops within a piece of the graph draw from that, as if it were the graph, and their sums stand for the neighbours there or for all.
func TestWithin(t *testing.T) {
	for name, g := range graphs(t) {
		pieces := make([]*graph.CSR, 2) // without the edges of a third of the vertices, but for loops
		for k := range pieces {
			pieces[k] = &graph.CSR{Indptr: []int64{0}, Cols: g.Cols}
			for v := range g.Rows() {
				for _, u := range g.Row(v) {
					if int(u) == v || (v+k)%3 > 0 && (int(u)+k)%3 > 0 {
						pieces[k].Indices = append(pieces[k].Indices, u)
					}
				}
				pieces[k].Indptr = append(pieces[k].Indptr, int64(len(pieces[k].Indices)))
			}
		}
		for _, loops := range []graph.Loops{graph.LoopsKept, graph.LoopsAdded, graph.LoopsRemoved} {
			for _, fanout := range fanouts {
				topology, rules := Topology{Graph: g, Loops: loops}, Rules{Seed: 9, Fanout: fanout}
				s := New(topology, rules)
				var st Stack
				for k := range 2 * len(pieces) {
					w := twin{t: topology, r: rules, piece: pieces[k/2], hops: max(0, len(fanout)-k%2), stands: k == 1 || k == 2}
					s.Within(w.piece, w.hops, w.stands)
					for step, roots := range rootsOf(g.Rows()) {
						s.Draw(&st, uint32(step), roots)
						if err := difference(&st, w.draw(uint32(step), roots)); err != nil {
							t.Fatalf("%s, loops %v, fan-out %d, piece %d, step %d: %v", name, loops, fanout, k, step, err)
						}
					}
				}
			}
		}
	}
}

func TestTranspose(t *testing.T) {
	for name, g := range graphs(t) {
		var into Block
		for _, fanout := range fanouts {
			s := New(Topology{Graph: g, Loops: graph.LoopsAdded}, Rules{Seed: 3, Fanout: fanout})
			var st Stack
			for step, roots := range rootsOf(g.Rows()) {
				s.Draw(&st, uint32(step), roots)
				for h := range st.Blocks {
					st.Blocks[h].Transpose(&into)
					if err := blockDifference(&into, transpose(&st.Blocks[h])); err != nil {
						t.Fatalf("%s, fan-out %d, step %d, hop %d: %v", name, fanout, step, h, err)
					}
				}
			}
		}
	}
}
