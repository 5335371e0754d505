package halo

import (
	"slices"

	"capgnn/graph"
)

// Area is memory of rank To that one part of rank From fills, with the rows of one exchange after the other.
type Area struct {
	From, To int
	Number   uint32 // Config.Area and the number of the part
	Bytes    int
}

// crossing is the rows of one part that the parts of another rank read in one exchange: a message. A row is in it once, however many of them read it.
type crossing struct {
	rank     int // that reads
	rows     int
	renewed  int            // of rows: those that have a slot at some reader, in its cache or the global one
	vertices []graph.NodeID // of the rows, in their order
	readers  []passenger
}

// passenger is a reader of a message.
type passenger struct {
	part int
	rows []int32 // which rows of the message its rows are, in the order of reader.wants; nil: its first ones, in their order
}

// cross decides what travels between ranks, and leaves to lanes and the global cache what stays in one. With rows that may be of an earlier epoch, and where
// caches decide while rows are read, nothing is decided: such runs can be planned, and do not run.
func (p *Plan) cross() {
	if p.Net == nil || p.ages() || !p.policy().Static() {
		return
	}
	kinds := len(p.training) + len(p.evaluation)
	for k, t := range slices.Concat(p.training, p.evaluation) {
		t.kind, t.kinds = k, kinds
		p.crossWith(t)
		p.keepNear(t)
	}
}

// rank returns that of a part.
func (c *Config) rank(part int) int { return c.Facts[part].Rank }

// crossWith takes the readers of other ranks than their owner's from the senders of an exchange.
func (c *Config) crossWith(t *traffic) {
	t.crossings = make([][]crossing, len(t.senders))
	near := make([][]target, len(t.senders))
	for o, readers := range t.senders {
		for len(readers) > 0 {
			rank := c.rank(readers[0].reader)
			n := slices.IndexFunc(readers, func(s target) bool { return c.rank(s.reader) != rank })
			if n < 0 {
				n = len(readers)
			}
			if rank == c.rank(o) {
				near[o] = readers[:n]
			} else if x := t.crossing(rank, readers[:n]); x.rows > 0 {
				t.crossings[o] = append(t.crossings[o], x)
			}
			readers = readers[n:]
		}
	}
	t.senders = near
}

// crossing returns what an owner sends to a rank for these readers there: the rows of the first one as it reads them, then those of the others that are not
// among them.
func (t *traffic) crossing(rank int, readers []target) crossing {
	x := crossing{rank: rank}
	slotted := map[graph.NodeID]bool{}
	var at map[graph.NodeID]int32 // row of each vertex, once there are several readers
	for _, s := range readers {
		wants := t.readers[s.reader].wants(s.at)
		if len(wants) == 0 {
			continue
		}
		for _, v := range wants[t.readers[s.reader].direct[0][s.at].n:] {
			slotted[v] = true
		}
		y := passenger{part: s.reader}
		if x.vertices == nil {
			x.vertices = wants
		} else {
			if at == nil {
				at = make(map[graph.NodeID]int32, len(x.vertices))
				for k, v := range x.vertices {
					at[v] = int32(k)
				}
			}
			y.rows = make([]int32, len(wants))
			for k, v := range wants {
				row, there := at[v]
				if !there {
					row = int32(len(x.vertices))
					at[v], x.vertices = row, append(x.vertices, v)
				}
				y.rows[k] = row
			}
		}
		x.readers = append(x.readers, y)
	}
	x.rows, x.renewed = len(x.vertices), len(slotted)
	return x
}

// wants returns the vertices of an owner whose rows a part reads: those of each block, then of each class those with a global slot, local and passing.
func (r *reader) wants(owner int) []graph.NodeID {
	var out []graph.NodeID
	for b := range r.direct {
		out = append(out, r.vertices(b, owner)...)
	}
	for c := range r.shared {
		for _, from := range []struct {
			selection
			list []int32
		}{{r.shared[c][owner], r.local}, {r.passing[c][owner], r.transient}} {
			for k := range from.rows {
				out = append(out, r.ids[from.list[from.first+k]])
			}
		}
	}
	return out
}

// keepNear leaves of the global cache what parts of this process both make and read.
func (c *Config) keepNear(t *traffic) {
	for class := range t.global {
		for o, ids := range t.global[class] {
			if !c.own(o) {
				t.global[class][o] = nil
				continue
			}
			var picked [][]int32
			for _, s := range t.senders[o] {
				r := &t.readers[s.reader]
				picked = append(picked, r.shared[class][s.at].rows, r.passing[class][s.at].rows)
			}
			t.global[class][o] = compact(ids, picked)
		}
	}
}

// compact returns those of the vertices that some list of places among them picks, and makes the lists places among these.
func compact(ids []graph.NodeID, picked [][]int32) []graph.NodeID {
	read := make([]bool, len(ids))
	for _, rows := range picked {
		for _, k := range rows {
			read[k] = true
		}
	}
	var kept []graph.NodeID
	at := make([]int32, len(ids))
	for k, v := range ids {
		if at[k] = int32(len(kept)); read[k] {
			kept = append(kept, v)
		}
	}
	for _, rows := range picked {
		for i, k := range rows {
			rows[i] = at[k]
		}
	}
	return kept
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

// Areas lists the areas of all ranks, alike at each of them: one for each part and other rank that reads it, as large as the largest message.
func (p *Plan) Areas() []Area {
	type way struct{ owner, rank int }
	largest := map[way]int{}
	var order []way
	for _, t := range slices.Concat(p.training, p.evaluation) {
		for o := range t.crossings {
			for _, x := range t.crossings[o] {
				w, n := way{o, x.rank}, x.rows*int(t.wireRow())
				if largest[w] == 0 {
					order = append(order, w)
				}
				largest[w] = max(largest[w], n)
			}
		}
	}
	var out []Area
	for _, w := range order {
		out = append(out, Area{From: p.rank(w.owner), To: w.rank, Number: p.Area + uint32(w.owner), Bytes: largest[w]})
	}
	return out
}
