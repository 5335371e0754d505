package halo

import (
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/jaca"
)

// traffic is what one exchange moves between all parts: which rows lie where, and which move together.
//
// Rows travel in blocks: those of block 0 have no slot and move in every epoch; block 1+c holds the rows of refresh class c
// that go straight from their owner to a local slot. The rows of class c with a global slot go through the global cache.
type traffic struct {
	ID
	rowFormat
	index       int  // place among the exchanges of an epoch
	keeps       bool // the backward pass reads the rows once more
	ages        bool // rows may have a slot, and be of an earlier epoch
	still       bool // its rows are features, the same in all epochs
	returned    bool // its rows are gradients of halo rows, which their readers made: see returns
	until       int  // index of the exchange that begins when they have been read for the last time
	classes     int
	piece       gpu.Bytes // that a copy moves at most; 0 = pieceBytes
	pipelined   bool      // its schedule may get a lag
	readers     []reader
	global      [][][]graph.NodeID     // [class][owner]: rows that the owner puts into the global cache
	blocks      [][]*hostmem.Versioned // the same: where they lie; nil: nothing there
	periods     *periods               // of the exchanges of an epoch; nil: all rows are of the epoch that reads them
	senders     [][]target             // by owner: who reads its rows in its rank
	ranks       []int                  // by part; nil: there is one
	across      bool                   // its rows cross between ranks; else they stay in one
	crossings   [][]crossing           // by owner, of one that is across: what other ranks read of it
	kind, kinds int                    // of its messages, among those of all exchanges
}

// target is a reader of an owner's rows, and the owner's place among the reader's owners.
type target struct{ reader, at int }

// reader is one part's side of an exchange. Its halo matrix has the rows of the local slots first, then the transient ones. What is
// by owner is by the place in owners: of many parts a reader touches few.
type reader struct {
	owners           []int32        // parts that own its halo vertices, ascending
	lanes            []lane         // by owner; nil on a device that keeps accounts only
	ids              []graph.NodeID // by halo index
	place            []int32        // by halo index: row of the halo matrix; nil: the halo index
	local, transient []int32        // by row: halo index; nil: row k is halo index k
	rows             [2]int         // number of local and transient rows
	direct           [][]extent     // [block][owner]: rows that come straight from the owner; of block 0 transient ones
	shared           [][]selection  // [class][owner]: local rows that come from the global cache when the class is due
	passing          [][]selection  // the same: transient rows, which come in every epoch
	slots            []slotted      // by class
	lookups          int
}

// extent is n rows from the first one on.
type extent struct{ first, n int }

// selection is rows of a block of the global cache, in the order of the halo rows that they become, from the first one on.
type selection struct {
	first int
	rows  []int32
}

// slotted counts the rows with a slot of one class: with a local one, and with a global one only.
type slotted struct{ local, passing int }

// exact returns the traffic of an exchange without caches. count gives the rows that the k-th owner sends for a block of a reader.
func exact(t traffic, c *graph.Cut, count func(b *graph.Block, k int) int) *traffic {
	for i, b := range t.readBlocks(c) {
		r := reader{owners: b.Owners.Parts, ids: b.IDs, rows: [2]int{0, len(b.IDs)}, direct: [][]extent{make([]extent, len(b.Owners.Parts))}}
		for k := range r.owners {
			if n := count(b, k); n > 0 && t.has(i, int(r.owners[k])) {
				r.direct[0][k] = extent{b.Owners.At[k], n}
				r.lookups += n
			}
		}
		t.readers = append(t.readers, r)
	}
	t.link()
	return &t
}

// has reports whether the exchange moves rows from an owner to a reader.
func (t *traffic) has(reader, owner int) bool {
	return t.ranks == nil || (t.ranks[reader] != t.ranks[owner]) == t.across
}

func (t *traffic) link() {
	t.senders = make([][]target, len(t.readers))
	for j := range t.readers {
		for k, o := range t.readers[j].owners {
			if !t.has(j, int(o)) {
				continue
			}
			t.senders[o] = append(t.senders[o], target{j, k})
		}
	}
}

// readBlocks returns, by part, the block that the exchange is for.
func (t *traffic) readBlocks(c *graph.Cut) []*graph.Block {
	if t.returned {
		return returns(c)
	}
	blocks := make([]*graph.Block, len(c.Parts))
	for i, p := range c.Parts {
		if blocks[i] = &p.In; t.Dir == gnn.Backward {
			blocks[i] = &p.Out
		}
	}
	return blocks
}

// cached returns the traffic of an exchange by the tables of package jaca, by rank; own is that of this process.
func cached(t traffic, c *graph.Cut, tables []*jaca.Table, own int) *traffic {
	parts, first := len(c.Parts), 0
	if t.classes = tables[own].Period; t.across {
		first, t.classes = t.classes, tables[own].Across
	}
	for class := range t.classes {
		t.global = append(t.global, make([][]graph.NodeID, parts))
		for o := range parts {
			k := (first+class)*parts + o
			t.global[class][o] = tables[own].Global[tables[own].GlobalAt[k]:tables[own].GlobalAt[k+1]]
		}
	}
	for i, b := range t.readBlocks(c) {
		table := tables[t.rank(i)]
		t.readers = append(t.readers, t.reader(i, b, first, table))
	}
	t.link()
	return &t
}

func (t *traffic) rank(part int) int {
	if t.ranks == nil {
		return 0
	}
	return t.ranks[part]
}

// reader returns one part's side; first is the class of the table that is class 0.
func (t *traffic) reader(part int, b *graph.Block, first int, table *jaca.Table) reader {
	tr := &table.Readers[part]
	n := len(b.Owners.Parts)
	r := reader{owners: b.Owners.Parts, ids: b.IDs, place: tr.Place, local: tr.Local, transient: tr.Transient, rows: [2]int{len(tr.Local), len(tr.Transient)},
		slots: make([]slotted, t.classes)}
	spans := func(at []int) []extent {
		out := make([]extent, n)
		for k := range out {
			if out[k].first = at[k]; t.has(part, int(r.owners[k])) {
				out[k].n = at[k+1] - at[k]
				r.lookups += out[k].n
			}
		}
		return out
	}
	r.direct = append(r.direct, spans(tr.TransientAt))
	for class := range t.classes {
		at := tr.LocalAt[(first+class)*(n+1):]
		r.direct = append(r.direct, spans(at))
		r.shared = append(r.shared, picks(r.owners, first+class, table, tr.Global, tr.Local[:at[n+1]], at[n]))
		r.passing = append(r.passing, picks(r.owners, first+class, table, tr.Global, tr.Transient, tr.TransientAt[n]))
		r.slots[class] = slotted{at[n+1] - at[0], rowsOf(r.passing[class])}
		r.lookups += rowsOf(r.shared[class]) + rowsOf(r.passing[class])
	}
	return r
}

// picks returns, by owner, the rows of one class among the halo rows of a list from lo on, which ascend in global slot, and so in
// class and owner.
func picks(owners []int32, class int, table *jaca.Table, slot, list []int32, lo int) []selection {
	first := table.GlobalAt[class*len(table.Halos):] // of the class, by part
	out := make([]selection, len(owners))
	for k := range out {
		out[k].first = -1
	}
	k := 0
	for row := lo; row < len(list); row++ {
		s := int(slot[list[row]])
		if s < first[0] {
			continue
		}
		for k < len(owners) && s >= first[owners[k]+1] {
			k++
		}
		if k == len(owners) {
			break
		}
		if out[k].first < 0 {
			out[k].first = row
		}
		out[k].rows = append(out[k].rows, int32(s-first[owners[k]]))
	}
	return out
}

func rowsOf(picks []selection) int {
	n := 0
	for _, p := range picks {
		n += len(p.rows)
	}
	return n
}

// total returns the rows of the halo matrix that some exchange fills.
func (r *reader) total() int { return r.rows[0] + r.rows[1] }

// vertices returns which rows an owner sends in a block.
func (r *reader) vertices(block, owner int) []graph.NodeID {
	s, list := r.direct[block][owner], r.local
	if block == 0 {
		list = r.transient
	}
	if list == nil {
		return r.ids[s.first:][:s.n]
	}
	out := make([]graph.NodeID, s.n)
	for k := range out {
		out[k] = r.ids[list[s.first+k]]
	}
	return out
}

// reads reports whether some blocks of an owner have rows for the part, straight or through the global cache.
func (r *reader) reads(owner int, blocks []int) bool {
	return slices.ContainsFunc(blocks, func(b int) bool {
		return r.direct[b][owner].n > 0 || b > 0 && len(r.shared[b-1][owner].rows)+len(r.passing[b-1][owner].rows) > 0
	})
}

// takes returns how many rows of some blocks come to the part straight from an owner.
func (r *reader) takes(owner int, blocks []int) int {
	n := 0
	for _, b := range blocks {
		n += r.direct[b][owner].n
	}
	return n
}

// schedule is the one in force.
func (t *traffic) schedule() jaca.Schedule { return t.periods.at(t.index) }

// due returns the blocks that move in an epoch.
func (t *traffic) due(epoch int) []int {
	blocks := []int{0}
	for c := range t.classes {
		if t.schedule().Due(c, epoch) {
			blocks = append(blocks, 1+c)
		}
	}
	return blocks
}

// atOnce reports whether the rows of an epoch are used in that epoch.
func (t *traffic) atOnce(epoch int) bool { return t.schedule().Lag == 0 || epoch == t.schedule().Start }

// later returns the blocks of an epoch that are sent for the next one: those that are due; where these are used at once, the
// rows without a slot, which are used again, unless they stay where they are.
func (t *traffic) later(epoch int) []int {
	switch {
	case t.schedule().Lag == 0:
		return nil
	case epoch != t.schedule().Start:
		return t.due(epoch)
	case t.keeps:
		return nil
	}
	return []int{0}
}
