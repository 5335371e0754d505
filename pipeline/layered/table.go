package layered

import (
	"slices"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
)

// places says in which row of this process's tables a vertex lies that a layer computes: those of its parts come
// first, part by part and ascending in each, and then those of other processes that these read.
type places struct {
	row  []int32 // by vertex; -1: it has none. nil: all have the row of their number
	rows int
	// others are, by part, its vertices that are read here, ascending; their rows follow those of the parts before.
	others [][]graph.NodeID
}

// placesOf returns the places of the vertices of parts that a layer computes, of all if it is -1 (ÂX). inner are
// those of every part, nil for parts of other processes.
func placesOf(p *learn.Problem, layer int, inner [][]graph.NodeID, need *needed) *places {
	n, own := p.Vertices(), 0
	for _, list := range inner {
		own += len(list)
	}
	if own == n && (layer < 0 || need.count[layer] == n) {
		return &places{rows: n}
	}
	x := &places{row: slices.Repeat([]int32{-1}, n)}
	for _, list := range inner {
		for _, v := range list {
			if need.has(layer, v) {
				x.row[v] = int32(x.rows)
				x.rows++
			}
		}
	}
	return x
}

// withOthers adds places of the vertices of other processes' parts that the next layer reads.
func (x *places) withOthers(p *learn.Problem, layer int, part []int32, inner [][]graph.NodeID, need *needed) {
	x.others = make([][]graph.NodeID, len(inner))
	if x.row == nil { // all are of this process's parts
		return
	}
	for _, list := range inner {
		for _, v := range list {
			if !need.has(layer+1, v) {
				continue
			}
			for _, u := range p.Graph.Row(int(v)) {
				if x.row[u] == -1 && need.has(layer, u) {
					x.row[u] = 0 // until its turn comes
					x.others[part[u]] = append(x.others[part[u]], u)
				}
			}
		}
	}
	for _, list := range x.others {
		slices.Sort(list)
		for _, v := range list {
			x.row[v] = int32(x.rows)
			x.rows++
		}
	}
}

// of returns the rows of vertices: room, which it makes larger, or the ids where they are rows.
func (x *places) of(ids []graph.NodeID, room *[]int32) []int32 {
	if x.row == nil {
		return ids
	}
	*room = resized(*room, len(ids))
	for i, v := range ids {
		(*room)[i] = x.row[v]
	}
	return *room
}

// joined reports whether the rows of ids, which ascend and are of one part, lie one behind the other. There is one.
func (x *places) joined(ids []graph.NodeID) bool {
	return x.at(ids[len(ids)-1])-x.at(ids[0])+1 == len(ids)
}

// at returns the row of a vertex that has one.
func (x *places) at(v graph.NodeID) int {
	if x.row == nil {
		return int(v)
	}
	return int(x.row[v])
}

// bytes is what places take of the heap.
func (x *places) bytes() gpu.Bytes {
	n := 4 * gpu.Bytes(len(x.row))
	for _, list := range x.others {
		n += grown(4 * gpu.Bytes(len(list)))
	}
	return n
}

// Table is the rows of a layer that this process has: of the vertices of its parts, and room for those of others
// that they read.
type Table struct {
	Row int // bytes of a row
	mem []byte
	*places
}

// Of returns the row of a vertex that has one.
func (t *Table) Of(v graph.NodeID) []byte {
	return t.mem[t.at(v)*t.Row:][:t.Row]
}

// Others returns the vertices of a part of another process whose rows are read here, and the memory of these rows.
func (t *Table) Others(part int) ([]graph.NodeID, []byte) {
	list := t.others[part]
	if len(list) == 0 {
		return nil, nil
	}
	return list, t.mem[int(t.row[list[0]])*t.Row:][:len(list)*t.Row]
}

// Places returns the row of each vertex of this process's parts in what Aggregated returns; nil: its number.
func (e *Evaluator) Places() []int32 { return e.sums.row }
