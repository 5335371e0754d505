package sample

import (
	"fmt"
	"math"

	"capgnn/gpu"
	"capgnn/graph"
)

// All is the fan-out that keeps every in-neighbour.
const All = math.MaxInt32

// Topology is the graph that is sampled.
type Topology struct {
	Graph *graph.CSR
	// Loops says what becomes of stored loops: with LoopsKept they are neighbours as others; with LoopsRemoved they are left out; with
	// LoopsAdded they are left out of the draw, and every row has its loop as one entry more.
	Loops graph.Loops
	// Memory is the share of the machine's memory that falls to one sampler, in bytes. Where 4 bytes per vertex are more than an
	// eighth of it, the sampler finds vertices by a hash table of the size of a stack: slower, with equal samples. 0: no limit.
	Memory int64
}

// Rules say what is drawn.
type Rules struct {
	Seed     uint64
	Fanout   []int // how many neighbours a vertex keeps at most, at the hop nearest the roots first; at least 1 each
	AddLoops bool  // as if the topology's Loops were LoopsAdded (GCN, GAT)
}

// Sampler draws stacks.
type Sampler struct {
	graph  *graph.CSR
	fanout []int
	key    [2]uint32
	added  bool // every row has its loop, first
	loops  *loops
	index  index

	choice choice
	bounds []int64 // of the rows of a chunk: where each begins and ends
	at     []int64 // of the entries of a chunk: where they lie in the graph
	ids    []int32 // of the entries of a chunk: neighbours, then their columns
}

// chunk is how many rows go through one loop before the next one: the lists between loops stay in the processor's cache.
const chunk = 512

// New makes a sampler: 4 bytes per vertex and lists of the size of a chunk.
func New(t Topology, r Rules) *Sampler {
	for h, k := range r.Fanout {
		if k < 1 {
			panic(fmt.Sprintf("sample: fan-out %d of hop %d", k, h))
		}
	}
	s := &Sampler{graph: t.Graph, fanout: r.Fanout, key: gpu.SeedKey(r.Seed), added: r.AddLoops || t.Loops == graph.LoopsAdded}
	n := t.Graph.Rows()
	if s.added || t.Loops == graph.LoopsRemoved {
		s.loops = newLoops(t.Graph)
	}
	if t.Memory > 0 && 4*int64(n) > t.Memory/8 {
		s.index = &table{}
	} else {
		s.index = slots(make([]int32, n))
	}
	return s
}

// Draw makes st what the roots read in a step. Roots are distinct; there may be none.
func (s *Sampler) Draw(st *Stack, step uint32, roots []graph.NodeID) {
	st.Step, st.Roots, st.Edges = step, len(roots), 0
	st.Blocks = resized(st.Blocks, len(s.fanout))
	s.ids = resized(s.ids, len(roots))
	copy(s.ids, roots)
	s.index.begin()
	st.IDs = s.index.number(s.ids, resized(st.IDs, len(roots))[:0])
	if len(st.IDs) != len(roots) {
		panic(fmt.Sprintf("sample: %d of %d roots are distinct", len(st.IDs), len(roots)))
	}
	for h := range s.fanout {
		s.hop(st, h)
	}
}

// hop draws block h: four loops over flat lists for every chunk of rows. Each loop's loads are independent of each other, so that
// the processor has many of them under way at once.
func (s *Sampler) hop(st *Stack, h int) {
	b := &st.Blocks[h]
	b.reset(len(st.IDs))
	for lo := 0; lo < b.Rows; lo += chunk {
		rows := st.IDs[lo:min(lo+chunk, b.Rows)]
		s.bound(rows)
		s.pick(b, lo, rows, h, st.Step)
		s.gather()
		st.Edges += int64(len(s.ids))
		st.IDs = s.index.number(s.ids, st.IDs)
		s.emit(b, lo, len(rows))
	}
	b.Cols = len(st.IDs)
}

// bound looks up where rows begin and end.
func (s *Sampler) bound(rows []graph.NodeID) {
	begin := s.graph.Indptr
	s.bounds = resized(s.bounds, 2*len(rows))
	for i, v := range rows {
		s.bounds[2*i], s.bounds[2*i+1] = begin[v], begin[v+1]
	}
}

// pick chooses the entries of rows, which are those of b from lo on, and notes how many each keeps.
func (s *Sampler) pick(b *Block, lo int, rows []graph.NodeID, h int, step uint32) {
	s.at = s.at[:0]
	fanout, end := s.fanout[h], b.Begin[lo]
	for i, v := range rows {
		first, past := s.bounds[2*i], s.bounds[2*i+1]
		n, loop := int(past-first), -1
		if s.loops != nil {
			if loop = s.loops.at(v); loop >= 0 {
				n--
			}
		}
		before := len(s.at)
		if n <= fanout {
			s.all(first, past, loop)
		} else {
			w := wordsOf(s.key, step, h, v)
			s.some(first, loop, s.choice.choose(&w, n, fanout))
			b.scale(lo+i, n, fanout)
		}
		end += int64(len(s.at) - before)
		if s.added {
			end++
		}
		b.Begin = append(b.Begin, end)
	}
}

// all picks the entries first to past-1 but the loop, the loop-th one, where there is one.
func (s *Sampler) all(first, past int64, loop int) {
	for e := first; e < past; e++ {
		if e-first != int64(loop) {
			s.at = append(s.at, e)
		}
	}
}

// some picks the entries at these positions after first. Positions do not count the loop.
func (s *Sampler) some(first int64, loop int, positions []uint32) {
	for _, p := range positions {
		e := first + int64(p)
		if loop >= 0 && int(p) >= loop {
			e++
		}
		s.at = append(s.at, e)
	}
}

// gather reads the neighbours that were picked.
func (s *Sampler) gather() {
	s.ids = resized(s.ids, len(s.at))
	neighbours := s.graph.Indices
	for i, e := range s.at {
		s.ids[i] = neighbours[e]
	}
}

// emit appends the columns of count rows from lo on to b, each row's loop first.
func (s *Sampler) emit(b *Block, lo, count int) {
	if !s.added {
		b.Indices = append(b.Indices, s.ids...)
		return
	}
	from := 0
	for r := lo; r < lo+count; r++ {
		k := int(b.Begin[r+1]-b.Begin[r]) - 1
		b.Indices = append(append(b.Indices, int32(r)), s.ids[from:from+k]...)
		from += k
	}
}
