package halo

import (
	"slices"

	"capgnn/cluster"
	"capgnn/graph"
	"capgnn/jaca"
)

// crossing is the rows of one part that the parts of another rank read in one exchange. A message is those of the blocks that are due: of each block the
// direct rows, then the shared ones. A row is in one block, once, however many parts there read it.
type crossing struct {
	rank    int              // that reads
	direct  [][]graph.NodeID // by block: rows that readers take from the message
	shared  [][]graph.NodeID // the same: rows that go to the rank's global cache, in the order of its block
	readers []messageReader
}

// messageReader is a reader of messages.
type messageReader struct {
	part int
	// rows are, by block, where the rows that it reads lie among the direct rows of block 0, then those of the block. nil: they are the first direct rows of
	// the block, in their order.
	rows [][]int32
}

// rowsOf returns how many rows are in the message of some blocks.
func (x *crossing) rowsOf(blocks []int) int {
	n := 0
	for _, b := range blocks {
		n += len(x.direct[b]) + len(x.shared[b])
	}
	return n
}

// most returns the most rows of a message, and of one behind the first.
func (x *crossing) most() (all, usual int) {
	for b := range x.direct {
		n := len(x.direct[b]) + len(x.shared[b])
		if all += n; b > 0 {
			usual = max(usual, n)
		}
	}
	return all, usual + len(x.direct[0])
}

func (p *Plan) cross() {
	kinds := len(p.beyond[0]) + len(p.beyond[1])
	for k, t := range slices.Concat(p.beyond[0], p.beyond[1]) {
		t.kind, t.kinds = k, kinds
		t.crossings = make([][]crossing, len(t.senders))
		for o, readers := range t.senders {
			for len(readers) > 0 {
				rank := t.ranks[readers[0].reader]
				n := slices.IndexFunc(readers, func(s target) bool { return t.ranks[s.reader] != rank })
				if n < 0 {
					n = len(readers)
				}
				if x := p.crossing(t, rank, o, readers[:n]); x.rowsOf(t.every()) > 0 {
					t.crossings[o] = append(t.crossings[o], x)
				}
				readers = readers[n:]
			}
		}
		t.senders = make([][]target, len(t.senders)) // nobody reads them on lanes
	}
}

func (c *Config) rank(part int) int { return c.Facts[part].Rank }

// crossing returns what an owner sends to a rank for these readers there.
func (p *Plan) crossing(t *traffic, rank, owner int, readers []target) crossing {
	x := crossing{rank: rank, direct: make([][]graph.NodeID, 1+t.classes), shared: make([][]graph.NodeID, 1+t.classes)}
	at := make([]map[graph.NodeID]int32, 1+t.classes) // place of each direct row in its block
	for b := range x.direct {
		at[b] = map[graph.NodeID]int32{}
		if b > 0 {
			x.shared[b] = p.sharedIn(t, rank, b-1, owner)
		}
	}
	for _, s := range readers { // block 0 first: what it has is in no other block
		x.take(at, 0, t.readers[s.reader].vertices(0, s.at))
	}
	for _, s := range readers {
		y := messageReader{part: s.reader, rows: make([][]int32, 1+t.classes)}
		for b := range x.direct {
			y.rows[b] = x.take(at, b, t.readers[s.reader].vertices(b, s.at))
		}
		x.readers = append(x.readers, y)
	}
	return x
}

// take puts rows that a part reads into a block, but for those that are in it or in block 0, and returns messageReader.rows of them.
func (x *crossing) take(at []map[graph.NodeID]int32, b int, ids []graph.NodeID) []int32 {
	rows, first := make([]int32, len(ids)), int32(0)
	if b > 0 {
		first = int32(len(x.direct[0]))
	}
	plain := true
	for k, v := range ids {
		row, there := at[0][v]
		if b > 0 && !there {
			if row, there = at[b][v]; !there {
				row = int32(len(x.direct[b]))
				at[b][v], x.direct[b] = row, append(x.direct[b], v)
			}
			row += first
		} else if !there {
			row = int32(len(x.direct[0]))
			at[0][v], x.direct[0] = row, append(x.direct[0], v)
		}
		rows[k] = row
		plain = plain && row == first+int32(k)
	}
	if plain {
		return nil
	}
	return rows
}

// sharedIn returns the rows of an owner that a rank keeps in its global cache, of a class of an exchange that is across.
func (p *Plan) sharedIn(t *traffic, rank, class, owner int) []graph.NodeID {
	k := slices.IndexFunc(p.tables[rank], func(table *jaca.Table) bool { return table.Layer == t.Layer && table.Dir == t.Dir })
	table := p.tables[rank][k]
	group := (table.Period+class)*p.parts() + owner
	return table.Global[table.GlobalAt[group]:table.GlobalAt[group+1]]
}

// crossingsOf returns what other ranks read of a part.
func (t *traffic) crossingsOf(part int) []crossing {
	if t.crossings == nil {
		return nil
	}
	return t.crossings[part]
}

// crossingTo returns what a rank reads of a part; nil: nothing.
func (t *traffic) crossingTo(rank, owner int) *crossing {
	all := t.crossingsOf(owner)
	if k := slices.IndexFunc(all, func(x crossing) bool { return x.rank == rank }); k >= 0 {
		return &all[k]
	}
	return nil
}

// message is the number of what an exchange sends in an epoch, an evaluation behind the training of its epoch. Numbers ascend in the order of a run.
func (t *traffic) message(epoch int) uint32 { return uint32(epoch*t.kinds + t.kind) }

// Crosses returns the bytes of rows that a rank sends this one in an epoch of training, by the schedules in force.
func (p *Plan) Crosses(from, epoch int) (bytes int) {
	for _, t := range p.beyond[0] {
		for o := range t.crossings {
			x := t.crossingTo(p.Net.Rank(), o)
			if x == nil || p.rank(o) != from {
				continue
			}
			rows := x.rowsOf(t.due(epoch))
			if t.atOnce(epoch) {
				rows += x.rowsOf(t.later(epoch))
			}
			bytes += rows * int(t.wireRow())
		}
	}
	return bytes
}

// Lags reports whether rows that cross may be used in the epoch behind the one that made them.
func (p *Plan) Lags() bool {
	return slices.ContainsFunc(p.beyond[0], func(t *traffic) bool { return t.pipelined })
}

// area is the number of the area for an owner's rows that are used at once, or later: Config.Area and the number of the part, plus the number of
// parts for each exchange before one that has areas of its own.
func (c *Config) area(t *traffic, owner int, later bool) uint32 {
	n := c.Area + uint32(owner)
	if later {
		n += uint32(c.parts() * (1 + t.kind))
	}
	return n
}

// Areas lists the areas of all ranks, alike at each of them: for each part and other rank that reads it one for rows
// that are used at once, as large as the
// largest message, and one for each exchange whose rows are used in the next epoch.
func (p *Plan) Areas() []cluster.Area {
	type way struct {
		owner, rank int
		number      uint32
	}
	largest := map[way]int{}
	var order []way
	add := func(t *traffic, o, rank int, later bool, rows int) {
		w, n := way{o, rank, p.area(t, o, later)}, rows*int(t.wireRow())
		if largest[w] == 0 && n > 0 {
			order = append(order, w)
		}
		largest[w] = max(largest[w], n)
	}
	for _, t := range slices.Concat(p.beyond[0], p.beyond[1]) {
		for o := range t.crossings {
			for k := range t.crossings[o] {
				x := &t.crossings[o][k]
				all, usual := x.most()
				if add(t, o, x.rank, false, all); t.pipelined {
					add(t, o, x.rank, true, usual)
				}
			}
		}
	}
	var out []cluster.Area
	for _, w := range order {
		out = append(out, cluster.Area{From: p.rank(w.owner), To: w.rank, Number: w.number, Bytes: largest[w]})
	}
	return out
}
