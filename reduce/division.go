package reduce

import (
	"cmp"
	"slices"

	"capgnn/cluster"
	"capgnn/gnn"
)

const (
	// align is the elements of a cache line, at whose borders slices begin, so that kernels read whole vectors.
	align = 16
	// grain is the elements of a slice below which starting a copy takes longer than its bytes: 10 µs at 4 GB/s carry 40 KB.
	grain = 1 << 12
	// most is the elements of a piece, 256 KiB: its start costs little beside its bytes, and a slice of several pieces is under way on
	// several links at a time.
	most = 1 << 16
	// wireGrain is grain for a network: 0.5 ms at 1 Gbit/s carry 64 KB. It knows no devices, of which every rank may have other ones.
	wireGrain = 1 << 14
)

// Rank is the process of a run that divides. The zero Rank is the only process.
type Rank struct {
	Index, Count int // of the run's processes; Count 0: 1
	First        int // the number of the first part here, among the parts of all ranks
	// Clips has slices consist of whole blocks, over whose squares the norm of the gradient is summed up (clip.go).
	Clips bool
}

func (k Rank) alone() bool { return k.Count <= 1 }

// last reports whether the owners here take the steps.
func (k Rank) last() bool { return k.Index >= k.Count-1 }

// before returns how many sums come before the gradients of the first part here: that of the parts of all ranks before, or none.
func (k Rank) before() int { return min(k.Index, 1) }

// Division says which part owns which elements of the flat vectors: it sums them, keeps their optimiser state and
// takes their step. The first part of each device owns a slice of every layer. A Division is of the parts of one
// rank.
type Division struct {
	at     Rank
	home   []int       // by part: the first part of its device
	pieces [][]piece   // by part, in the order in which they are summed up: layers from the last to the first
	line   []delivery  // all pieces, in the order in which ranks send them
	blocks []gnn.Range // of the norm, ascending; nil: nothing is clipped
}

// delivery names a piece.
type delivery struct{ owner, index int }

// piece is what an owner sums up and hands out at a time.
type piece struct {
	gnn.Range     // elements of the flat vectors
	layer     int // which completes it: the first of its layers
	at        int // element of the owner's slices at which it begins
	turn      int // its place among those that ranks send
	wire      int // element of all that a rank sends at which it begins
}

func (p *piece) len() int { return p.Hi - p.Lo }

// DivideRank cuts the elements of layers into slices, for the parts of one rank of several, or of the only one. homes
// gives for every part the first part on its device. Each rank has owners of all elements; those of the last rank
// have the optimiser's state. All ranks join the same ranges of layers, so elements travel in the same order.
//
// Method: adjacent layers that are too small for separate copies are joined, or added to a large one that is complete
// no earlier. Of each such range, the smallest first, every owner gets as many elements as it needs to have as many
// as the others, in the order of owners. So with P devices an owner has 1/P of all elements, up to a cache line or a
// block of the norm, and all devices sum up in every layer.
func DivideRank(layers [][]gnn.Range, homes []int, at Rank) *Division {
	d := &Division{at: at, home: homes, pieces: make([][]piece, len(homes))}
	if at.Clips {
		d.blocks = blocksOf(layers)
	}
	var owners []int
	for i, h := range homes {
		if h == i {
			owners = append(owners, i)
		}
	}
	load := make([]int, len(owners))
	total, small := 0, len(owners)*grain
	if !at.alone() {
		small = wireGrain
	}
	for _, s := range spans(layers, small) {
		total += s.len()
		lo := s.Lo
		wish := s.Lo // where the owners' shares end if no line is kept whole
		for k, o := range owners {
			wish += max(0, total/len(owners)-load[k])
			hi := min(s.Hi, max(lo, d.nearest(wish)))
			if k == len(owners)-1 {
				hi = s.Hi
			}
			load[k] += hi - lo
			d.pieces[o] = append(d.pieces[o], d.cut(gnn.Range{Lo: lo, Hi: hi}, s.layer, len(owners) > 1 || !at.alone())...)
			lo = hi
		}
	}
	for _, own := range d.pieces {
		d.place(own)
	}
	d.lineUp()
	return d
}

// lineUp puts the pieces of all owners into the order in which ranks send their elements: layers from the last to the first, and each from its
// first element on.
func (d *Division) lineUp() {
	for o, own := range d.pieces {
		for i := range own {
			d.line = append(d.line, delivery{o, i})
		}
	}
	slices.SortFunc(d.line, func(a, b delivery) int {
		x, y := d.piece(a), d.piece(b)
		return cmp.Or(cmp.Compare(y.layer, x.layer), cmp.Compare(x.Lo, y.Lo))
	})
	at := 0
	for k, x := range d.line {
		p := d.piece(x)
		p.turn, p.wire = k, at
		at += p.len()
	}
}

func (d *Division) piece(x delivery) *piece { return &d.pieces[x.owner][x.index] }

// Bytes returns the size of all gradients: what a rank sends to the next one in an epoch, and gets back as weights.
func (d *Division) Bytes() (n int) {
	for part := range d.pieces {
		n += 4 * d.Elements(part)
	}
	return n
}

// Areas are those by which all ranks join: of sums, as large as all gradients, at the rank behind each, and of new
// weights, of the same size, at the one before.
func (d *Division) Areas(gradients, weights uint32) (all []cluster.Area) {
	for behind := 1; behind < d.at.Count && d.Bytes() > 0; behind++ {
		all = append(all, d.area(behind-1, behind, gradients), d.area(behind, behind-1, weights))
	}
	return all
}

func (d *Division) area(from, to int, number uint32) cluster.Area {
	return cluster.Area{From: from, To: to, Number: number, Bytes: d.Bytes()}
}

// place says where the pieces of an owner lie in its slices, and puts them into the order in which they are summed up.
func (d *Division) place(own []piece) {
	slices.SortFunc(own, func(a, b piece) int { return cmp.Compare(a.Lo, b.Lo) })
	at := 0
	for i := range own {
		own[i].at = at
		at += own[i].len()
	}
	slices.SortStableFunc(own, func(a, b piece) int { return cmp.Compare(b.layer, a.layer) })
}

// cut returns a slice as pieces of nearly equal length.
func (d *Division) cut(s gnn.Range, layer int, travels bool) (out []piece) {
	n := (s.Hi - s.Lo + most - 1) / most
	if !travels {
		n = min(n, 1)
	}
	for k := range n {
		lo := s.Lo
		if k > 0 {
			lo = out[k-1].Hi
		}
		hi := s.Hi
		if k < n-1 {
			hi = d.floor(s.Lo + (s.Hi-s.Lo)*(k+1)/n)
		}
		out = append(out, piece{Range: gnn.Range{Lo: lo, Hi: hi}, layer: layer})
	}
	return out
}

// spans returns the ranges of layers, small ones merged with neighbours, by ascending size.
func spans(layers [][]gnn.Range, small int) []piece {
	var all []piece
	for l, ranges := range layers {
		for _, g := range ranges {
			if g.Hi > g.Lo {
				all = append(all, piece{Range: g, layer: l})
			}
		}
	}
	slices.SortFunc(all, func(a, b piece) int { return cmp.Compare(a.Lo, b.Lo) })
	for i := 0; i+1 < len(all); {
		a, b := &all[i], &all[i+1]
		if a.Hi != b.Lo || !mergeable(a, b, small) {
			i++
			continue
		}
		a.Hi, a.layer = b.Hi, min(a.layer, b.layer)
		all = slices.Delete(all, i+1, i+2)
		i = max(0, i-1)
	}
	slices.SortStableFunc(all, func(a, b piece) int { return cmp.Compare(a.len(), b.len()) })
	return all
}

// mergeable reports whether two neighbours are small, or one of them is and does not keep the other waiting.
func mergeable(a, b *piece, small int) bool {
	if a.len() > b.len() {
		a, b = b, a
	}
	return a.len() <= small && (a.layer >= b.layer || a.len()+b.len() <= small)
}
