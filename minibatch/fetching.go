package minibatch

import (
	"slices"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/minibatch/rowcache"
)

// fetching is what the units of a slot that fetch together have of other parts.
type fetching struct {
	step     int
	units    []sampledUnit
	ids      []graph.NodeID // rows of other parts that they read, each once
	first    []int32        // by row: the first of places that it has
	places   []place
	decision rowcache.Decision
	order    []int32 // of decision.Fetch, by home
	ends     []int   // by part: where its rows end among those
	done, to int     // of order: rows that have been brought, and those that are asked for
	requests []request
	list     []graph.NodeID // of the requests
	events   []gpu.Event
	area     *hostmem.Block
	at       []int // where the rows of a round begin in the area
}

// place is where a unit reads a row.
type place struct {
	unit, at int32 // the at-th vertex of a unit
	next     int32 // the next place of the row; -1: there is none
}

// numbers are those of some vertices in a list.
type numbers struct {
	number []int32 // by vertex: its number, if ids says so, too
}

// add appends a vertex to ids, if it is not in it, and returns its number.
func (n *numbers) add(ids []graph.NodeID, v graph.NodeID) ([]graph.NodeID, int32) {
	if int(v) >= len(n.number) {
		n.number = append(n.number, make([]int32, int(v)+1-len(n.number))...)
	}
	if k := n.number[v]; int(k) < len(ids) && ids[k] == v {
		return ids, k
	}
	n.number[v] = int32(len(ids))
	return append(ids, v), int32(len(ids))
}

// remote lists the rows of other parts that the units read, in the order in which they read them, and where.
func (x *fetching) remote(g *stage, known *numbers) {
	x.ids, x.first, x.places = x.ids[:0], x.first[:0], x.places[:0]
	for u := range x.units {
		for i, v := range x.units[u].ids() {
			if !g.away(v) {
				continue
			}
			row := int32(len(x.ids))
			if len(x.units) == 1 {
				x.ids = append(x.ids, v)
			} else {
				x.ids, row = known.add(x.ids, v)
			}
			at := place{int32(u), int32(i), -1}
			if int(row) < len(x.first) {
				at.next = x.first[row]
				x.first[row] = int32(len(x.places))
			} else {
				x.first = append(x.first, int32(len(x.places)))
			}
			x.places = append(x.places, at)
		}
	}
}

// sort lists what is fetched by home.
func (x *fetching) sort(g *stage) {
	fetch := x.decision.Fetch
	x.ends = slices.Grow(x.ends[:0], g.parts)[:g.parts]
	clear(x.ends)
	for k := range fetch {
		x.ends[g.home[fetch[k].ID]]++
	}
	sum := 0
	for part, n := range x.ends { // to where parts begin; they end where their last row is put
		x.ends[part] = sum
		sum += n
	}
	x.order = slices.Grow(x.order[:0], len(fetch))[:len(fetch)]
	for k := range fetch {
		end := &x.ends[g.home[fetch[k].ID]]
		x.order[*end] = int32(k)
		*end++
	}
}

// fetched returns the k-th row that is fetched, by home.
func (x *fetching) fetched(k int) *rowcache.Fetched { return &x.decision.Fetch[x.order[k]] }
