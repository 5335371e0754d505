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
	Ladies   int   // more than 0: layer-wise (LADIES). Fanout says how many vertices a hop draws in all for so many roots, for others in proportion
	AddLoops bool  // as if the topology's Loops were LoopsAdded (GCN, GAT, GATv2)
}

// Sampler draws stacks.
type Sampler struct {
	graph  *graph.CSR
	fanout []int
	key    [2]uint32
	added  bool // every row has its loop, first
	loops  *loops
	index  index

	// Where Within has said so:
	whole  *graph.CSR // of which graph is a piece in the first hops; nil: it is none
	piece  *graph.CSR
	hops   int
	stands bool

	ladies ladies
	choice choice
	ids    []graph.NodeID // of the stack being drawn
	rows   []row          // of a chunk
	words  []uint32       // of its rows, in order
	at     []int64        // of its entries: where they lie in the graph
	list   []graph.NodeID // of its entries: neighbours
	cols   []int32        // of its entries: their columns
}

// row is what a vertex draws from.
type row struct {
	first int64 // where its entries begin in the graph
	n, k  int   // neighbours, and how many of them it keeps
	loop  int   // position of a loop that is left out, -1 without
	ready int   // words drawn ahead
}

// chunk is how many rows go through one loop before the next one: the lists between loops stay in the processor's cache.
const chunk = 256

// New makes a sampler: 4 bytes per vertex and lists of the size of a chunk (Bytes).
func New(t Topology, r Rules) *Sampler {
	for h, k := range r.Fanout {
		if k < 1 {
			panic(fmt.Sprintf("sample: fan-out %d of hop %d", k, h))
		}
	}
	s := &Sampler{graph: t.Graph, fanout: r.Fanout, key: gpu.SeedKey(r.Seed), added: r.AddLoops || t.Loops == graph.LoopsAdded}
	s.ladies.roots = r.Ladies
	n := t.Graph.Rows()
	if s.added || t.Loops == graph.LoopsRemoved {
		s.loops = newLoops(t.Graph)
	}
	if t.hashed() {
		s.index = &table{}
	} else {
		s.index = newSlots(n)
	}
	return s
}

// Within has the first hops draw from a piece of the graph, which has its vertices and some of its edges, loops among them;
// later hops draw from the graph. If stands, what is left of a vertex's neighbours in the piece stands for those in the graph:
// Ratio counts the latter.
func (s *Sampler) Within(piece *graph.CSR, hops int, stands bool) {
	if s.whole == nil {
		s.whole = s.graph
	}
	s.piece, s.hops, s.stands = piece, hops, stands
}

// among has a hop draw from its graph.
func (s *Sampler) among(h int) {
	if s.whole == nil {
		return
	}
	if s.graph = s.whole; h < s.hops {
		s.graph = s.piece
	}
	if s.loops != nil {
		s.loops.graph = s.graph
	}
}

// neighbours returns how many neighbours a row's sum stands for.
func (s *Sampler) neighbours(v graph.NodeID, r *row) int {
	if s.whole == nil || !s.stands || s.graph == s.whole {
		return r.n
	}
	n := len(s.whole.Row(int(v)))
	if r.loop >= 0 {
		n--
	}
	return n
}

// Draw makes st what the roots read in a step. Roots are distinct; there may be none.
func (s *Sampler) Draw(st *Stack, step uint32, roots []graph.NodeID) {
	st.Step, st.Roots, st.Edges, st.Candidates = step, len(roots), 0, 0
	st.Blocks = resized(st.Blocks, len(s.fanout))
	s.cols = resized(s.cols, len(roots))
	s.index.begin()
	s.ids = s.index.number(roots, s.cols, s.ids[:0])
	if len(s.ids) != len(roots) {
		panic(fmt.Sprintf("sample: %d of %d roots are distinct", len(s.ids), len(roots)))
	}
	for h, fanout := range s.fanout {
		if s.ladies.roots > 0 && fanout < All {
			s.layer(st, h, fanout)
		} else {
			s.hop(st, h, fanout)
		}
	}
	st.IDs = resized(st.IDs, len(s.ids))
	copy(st.IDs, s.ids)
}

// hop draws block h: short loops over flat lists for every chunk of rows. The loads of a loop do not depend on each other, so that the
// processor has many of them under way at once.
func (s *Sampler) hop(st *Stack, h, fanout int) {
	b := &st.Blocks[h]
	s.among(h)
	b.reset(len(s.ids))
	for lo := 0; lo < b.Rows; lo += chunk {
		vertices := s.ids[lo:min(lo+chunk, b.Rows)]
		s.bound(vertices)
		s.plan(b, lo, vertices, fanout)
		s.draw(vertices, st.Step, h)
		s.pick(vertices, st.Step, h)
		s.gather()
		s.ids = s.index.number(s.list, s.cols, s.ids)
		s.emit(b, lo)
		st.Edges += int64(len(s.cols))
	}
	b.Cols = len(s.ids)
}

// bound looks up where rows begin and end.
func (s *Sampler) bound(vertices []graph.NodeID) {
	begin := s.graph.Indptr
	s.rows = resized(s.rows, len(vertices))
	for i, v := range vertices {
		r, first := &s.rows[i], begin[v]
		r.first, r.n, r.loop = first, int(begin[v+1]-first), -1
	}
}

// plan decides how many neighbours the rows keep, which are those of b from lo on.
func (s *Sampler) plan(b *Block, lo int, vertices []graph.NodeID, fanout int) {
	entries, words, end := 0, 0, b.Begin[lo]
	for i := range s.rows {
		r := &s.rows[i]
		if s.loops != nil {
			if r.loop = s.loops.at(vertices[i]); r.loop >= 0 {
				r.n--
			}
		}
		r.k, r.ready = r.n, 0
		if r.n > fanout {
			r.k = fanout
			if m := drawn(r.n, r.k); m <= ahead {
				r.ready = (m + 3) / 4 * 4
				words += r.ready
			}
		}
		if n := s.neighbours(vertices[i], r); n > r.k && r.k > 0 {
			b.scale(lo+i, float64(n)/float64(r.k))
		}
		entries += r.k
		end += int64(r.k)
		if s.added {
			end++
		}
		b.Begin = append(b.Begin, end)
	}
	s.at, s.words = resized(s.at, entries), resized(s.words, words)
}

// ahead is how many words of a row are drawn before the row is looked at, at most.
const ahead = 64

// draw draws words for the rows that choose.
func (s *Sampler) draw(vertices []graph.NodeID, step uint32, h int) {
	from := 0
	for i := range s.rows {
		if n := s.rows[i].ready; n > 0 {
			gpu.PhiloxWords(s.words[from:from+n], uint32(vertices[i]), drawStream|uint32(h), step, s.key)
			from += n
		}
	}
}

// pick chooses the entries of the rows.
func (s *Sampler) pick(vertices []graph.NodeID, step uint32, h int) {
	w := words{key: s.key}
	at, ready := s.at, s.words
	for i := range s.rows {
		r := &s.rows[i]
		into := at[:r.k]
		at = at[r.k:]
		if r.k == r.n {
			for p := range into {
				into[p] = r.first + int64(p)
			}
		} else {
			w.counter = [4]uint32{0, uint32(vertices[i]), drawStream | uint32(h), step}
			w.ready, w.used = ready[:r.ready], 0
			ready = ready[r.ready:]
			s.choice.choose(into, r.first, &w, r.n)
		}
		if r.loop >= 0 {
			skip(into, r.first+int64(r.loop))
		}
	}
}

// skip makes room for an entry that no position counts.
func skip(at []int64, loop int64) {
	for i, e := range at {
		if e >= loop {
			at[i]++
		}
	}
}

// gather reads the neighbours that were picked.
func (s *Sampler) gather() {
	s.list, s.cols = resized(s.list, len(s.at)), resized(s.cols, len(s.at))
	neighbours, list := s.graph.Indices, s.list
	for i, e := range s.at {
		list[i] = neighbours[e]
	}
}

// emit appends the columns of the rows to b, whose rows from lo on they are, each row's loop first.
func (s *Sampler) emit(b *Block, lo int) {
	if !s.added {
		b.Indices = append(b.Indices, s.cols...)
		return
	}
	from := 0
	for i := range s.rows {
		k := s.rows[i].k
		b.Indices = append(append(b.Indices, int32(lo+i)), s.cols[from:from+k]...)
		from += k
	}
}
