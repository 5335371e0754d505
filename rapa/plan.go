package rapa

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"slices"
	"sync/atomic"

	"capgnn/graph"
)

// Plan is a partition, its pruning, its devices, and their costs.
type Plan struct {
	// Key identifies graph, training vertices and options: see Key. Hex SHA-256.
	Key     string
	Graph   string // Options.Graph of the graph
	Method  Method
	Seed    uint64
	Targets []float64 // share wanted per part
	Part    []int32   // part of every vertex
	Parts   []Stats   // by part, before pruning; its length is the number of parts

	// EdgeCut is the number of unordered pairs {u, v} of neighbours in different parts.
	EdgeCut int64
	// Volume is Σ_v (number of other parts in which v has a neighbour in either direction); for symmetric graphs this is
	// the sum of all halo rows.
	Volume int64
	// Balance is the largest load over target of any part, for vertices, edges and training vertices; 1 = as wanted,
	// 0 where there is nothing to balance.
	Balance Balance
	// Devices names the devices that the plan was made for and DeviceOf gives that of every part; nil = made for none.
	Devices  []string
	DeviceOf []int
	// Costs is the table by which parts were balanced, by part; nil = they were not.
	Costs []PartCost
	Moved int64 // vertices that Rebalance moved
	// Dropped lists, per part, the halo vertices whose edges into the part are left out, ascending; nil = lossless.
	Dropped [][]graph.NodeID
	Score   PruneScore  // by which they were chosen; "" = none were
	Trace   []Iteration // balancing and pruning, from the state before to the one of this plan; nil = neither was tried
	Stop    Stop        // why it ended there; "" where Trace is nil
	Lost    Lost        // what pruning cost; zero if nothing was tried
	// Seconds is the time that Partition took. Not stored in plan files.
	Seconds float64
}

// Stats describes one part.
type Stats struct {
	Inner int64 // vertices of the part
	Halo  int64 // remote vertices that aggregation into the part reads (in-neighbours), each counted once
	Edges int64 // in-edges of the inner vertices, without loops
	Cut   int64 // those of Edges that begin in another part
	Train int64 // training vertices among the inner ones
}

// Balance is the largest load of any part over its target, per quantity.
type Balance struct {
	Vertices, Edges, Train float64
}

// measure computes the plan of the partition in l. u is g symmetrised, without loops.
func measure(g, u *graph.CSR, l *loads, o Options) *Plan {
	p := &Plan{Method: o.Method, Seed: o.Seed, Targets: o.Targets, Part: l.part, Parts: halos(g, l.part, o.Parts)}
	for i := range p.Parts {
		p.Parts[i].Inner, p.Parts[i].Edges, p.Parts[i].Train = l.sum[i][cVertices], l.sum[i][cEdges], l.sum[i][cTrain]
	}
	p.EdgeCut, p.Volume = borders(u, l.part, o.Parts)
	worst := func(c int) float64 {
		total, b := int64(0), 0.0
		for i := range l.sum {
			total += l.sum[i][c]
		}
		for i, t := range o.Targets {
			if total > 0 {
				b = max(b, float64(l.sum[i][c])/(t*float64(total)))
			}
		}
		return b
	}
	p.Balance = Balance{Vertices: worst(cVertices), Edges: worst(cEdges), Train: worst(cTrain)}
	return p
}

// halos counts cut edges and halo rows per part: for each part, a walk over the rows of its vertices that marks what it has seen.
func halos(g *graph.CSR, part []int32, parts int) []Stats {
	start := make([]int, parts+1)
	for _, p := range part {
		start[p+1]++
	}
	for p := range parts {
		start[p+1] += start[p]
	}
	inner, next := make([]graph.NodeID, len(part)), slices.Clone(start[:parts])
	for v, p := range part {
		inner[next[p]] = graph.NodeID(v)
		next[p]++
	}
	stats := make([]Stats, parts)
	graph.EachBlock(parts, 1, func(p, _ int) {
		seen := make([]uint64, (len(part)+63)/64)
		s := Stats{}
		for _, v := range inner[start[p]:start[p+1]] {
			for _, u := range g.Row(int(v)) {
				if part[u] == int32(p) {
					continue
				}
				s.Cut++
				if bit := uint64(1) << (u & 63); seen[u>>6]&bit == 0 {
					seen[u>>6] |= bit
					s.Halo++
				}
			}
		}
		stats[p] = s
	})
	return stats
}

// borders returns the number of pairs of u, which is symmetric, whose ends lie in different parts, and Σ_v (number of other parts
// in which v has a neighbour).
func borders(u *graph.CSR, part []int32, parts int) (cut, volume int64) {
	var cuts, volumes atomic.Int64
	graph.EachBlock(u.Rows(), 4096, func(lo, hi int) {
		cut, volume := int64(0), int64(0)
		seen := make([]int, parts) // by part: the last vertex that has a neighbour there, plus one
		for v := lo; v < hi; v++ {
			for _, w := range u.Row(v) {
				q := part[w]
				if q == part[v] {
					continue
				}
				cut++
				if seen[q] != v+1 {
					seen[q] = v + 1
					volume++
				}
			}
		}
		cuts.Add(cut)
		volumes.Add(volume)
	})
	return cuts.Load() / 2, volumes.Load()
}

// edgeCut returns the number of pairs of u, which is symmetric, whose ends lie in different parts.
func edgeCut(u *graph.CSR, part []int32) int64 {
	parts := int32(0)
	for _, p := range part {
		parts = max(parts, p+1)
	}
	cut, _ := borders(u, part, int(parts))
	return cut
}

// keyVersion changes when a partitioner begins to give other partitions for the same options.
const keyVersion = 7

// Key returns the hex SHA-256 of everything that Partition's result depends on: the graph, the training vertices and the
// options with defaults filled in. Options that Partition would refuse hash as they are.
func Key(g *graph.CSR, train []bool, opt Options) string {
	o, err := opt.resolve(g.Rows(), g.Edges())
	if err != nil {
		o = opt
	}
	h := sha256.New()
	hashInts(h, "capgnn plan", keyVersion, uint64(planVersion), uint64(o.Parts), o.Seed, math.Float64bits(o.Balance),
		math.Float64bits(o.SoftBalance), uint64(o.Passes), uint64(o.Trials), uint64(len(o.Targets)))
	for _, t := range o.Targets {
		hashInts(h, "", math.Float64bits(t))
	}
	for _, q := range o.BalanceBy {
		hashInts(h, string(q))
	}
	f := o.Memory.Footprint
	hashInts(h, string(o.Objective), uint64(o.Effort), uint64(f.Fixed), uint64(f.PerInner), uint64(f.PerHalo), uint64(f.PerEdge),
		uint64(len(o.Memory.Have)))
	for _, b := range o.Memory.Have {
		hashInts(h, "", uint64(b))
	}
	if o.MaxEffort > 0 {
		hashInts(h, "effort at most", uint64(o.MaxEffort))
	}
	if len(o.Machines) > 1 {
		hashInts(h, "machines", uint64(len(o.Machines)))
		for _, n := range o.Machines {
			hashInts(h, "", uint64(n))
		}
	}
	hashInts(h, "work", math.Float64bits(o.Work.PerInner), math.Float64bits(o.Work.PerEdge), math.Float64bits(o.WorkBalance))
	hashInts(h, string(o.Method), uint64(g.Rows()), uint64(g.Cols), uint64(len(train)))
	if o.Graph != "" {
		hashInts(h, "graph "+o.Graph)
	} else {
		hashSlice(h, g.Indptr, func(b []byte, x int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(x)) })
		hashSlice(h, g.Indices, func(b []byte, x graph.NodeID) []byte { return binary.LittleEndian.AppendUint32(b, uint32(x)) })
	}
	hashSlice(h, train, func(b []byte, x bool) []byte {
		if x {
			return append(b, 1)
		}
		return append(b, 0)
	})
	return hex.EncodeToString(h.Sum(nil))
}

func hashInts(h hash.Hash, label string, xs ...uint64) {
	b := append([]byte(label), 0)
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	h.Write(b)
}

// hashSlice feeds xs to h in pieces of 64 Ki elements.
func hashSlice[T any](h hash.Hash, xs []T, put func([]byte, T) []byte) {
	var b []byte
	for i, x := range xs {
		if b = put(b, x); i&0xFFFF == 0xFFFF {
			h.Write(b)
			b = b[:0]
		}
	}
	h.Write(b)
}
