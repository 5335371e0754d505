package pipeline

import (
	"fmt"
	"math"
	"slices"

	"capgnn/graph"
	"capgnn/hostmem"
)

// A kept cut has these pieces, in this machine's byte order, which is little-endian:
//
//	shape       int64: vertices, parts, layers, 1 if it is symmetric
//	in, out     int32 per vertex: degrees; out only if the cut is not symmetric
//
// and for part p, with the prefix "p/", or "p/in/" and "p/out/" for the two directions:
//
//	inner       int32: original ids
//	rows        int64: rows per level
//	central     int64: ranges, two numbers each
//	indptr, indices            int64, int32: the inner rows; none for the second direction of a symmetric cut
//	list, halo-indptr, halo    int32, int64, int32: the halo rows
//	edges, left                int32: in place of inner rows and halo rows, and of central, for a part of another process
//	ids, owners, owner, levels int32, int32, int64, int8: the halo vertices, who owns them, and from which one on
//
// PartOf is part of the key, LocalOf follows from inner.

func cutPieces(c *graph.Cut) []Piece {
	symmetric := int64(0)
	if c.Symmetric {
		symmetric = 1
	}
	out := []Piece{
		pieceOf("shape", []int64{int64(len(c.PartOf)), int64(len(c.Parts)), int64(c.Layers), symmetric}),
		pieceOf("in", c.InDegree),
	}
	if !c.Symmetric {
		out = append(out, pieceOf("out", c.OutDegree))
	}
	for i, p := range c.Parts {
		central := make([]int64, 0, 2*len(p.Central))
		for _, r := range p.Central {
			central = append(central, int64(r.Lo), int64(r.Hi))
		}
		name := func(s string) string { return fmt.Sprintf("%d/%s", i, s) }
		own := c.Own.Has(i)
		out = append(out, pieceOf(name("inner"), p.Inner), pieceOf(name("rows"), wide(p.Rows)), pieceOf(name("central"), central))
		out = append(out, blockPieces(name("in"), &p.In, own, own)...)
		out = append(out, blockPieces(name("out"), &p.Out, own, own && !c.Symmetric)...)
	}
	return out
}

// blockPieces returns one direction of a part: with its halo rows if the cut owns it, and its inner rows if no other direction has them.
func blockPieces(prefix string, b *graph.Block, own, inner bool) []Piece {
	out := []Piece{
		pieceOf(prefix+"/list", b.Halo.List), pieceOf(prefix+"/halo-indptr", b.Halo.Indptr), pieceOf(prefix+"/halo", b.Halo.Indices),
		pieceOf(prefix+"/ids", b.IDs), pieceOf(prefix+"/owners", b.Owners.Parts), pieceOf(prefix+"/owner", wide(b.Owners.At)), pieceOf(prefix+"/levels", b.Levels),
	}
	if !own {
		out = append(out[3:], pieceOf(prefix+"/edges", b.Edges), pieceOf(prefix+"/left", b.Left))
	}
	if inner {
		out = append(out, pieceOf(prefix+"/indptr", b.Inner.Indptr), pieceOf(prefix+"/indices", b.Inner.Indices))
	}
	return out
}

func wide(s []int) []int64 {
	out := make([]int64, len(s))
	for i, x := range s {
		out[i] = int64(x)
	}
	return out
}

// cutReader reads pieces and keeps the first error.
type cutReader struct {
	kept Kept
	err  error
}

// view returns a piece as numbers, in the entry's own memory.
func view[T hostmem.Numeric](r *cutReader, size int, name string) []T {
	raw := r.kept.Piece(name)
	if len(raw)%size != 0 {
		r.err = fmt.Errorf("piece %s: %d bytes are no whole number of elements", name, len(raw))
		return nil
	}
	return hostmem.Of[T](raw)
}

func (r *cutReader) ints(name string) []int {
	wide := view[int64](r, 8, name)
	out := make([]int, len(wide))
	for i, x := range wide {
		if x < 0 || x > math.MaxInt {
			r.err = fmt.Errorf("piece %s: %d is out of range", name, x)
			return nil
		}
		out[i] = int(x)
	}
	return out
}

// cutOf returns a kept cut by part into this many parts for this many layers, with the edges of own ones; pruned says that it is to be pruned.
// Edges and degrees lie in the entry's memory.
func cutOf(kept Kept, part []int32, parts int, own graph.Range, layers int, pruned bool) (*graph.Cut, error) {
	r := &cutReader{kept: kept}
	shape := r.ints("shape")
	if r.err != nil || len(shape) != 4 || shape[0] != len(part) || shape[1] != parts || shape[2] != layers {
		return nil, fmt.Errorf("shape %v, want %d vertices, %d parts, %d layers", shape, len(part), parts, layers)
	}
	c := &graph.Cut{Own: own, PartOf: part, Layers: layers, Symmetric: shape[3] == 1, InDegree: view[int32](r, 4, "in")}
	c.OutDegree = c.InDegree
	if !c.Symmetric {
		c.OutDegree = view[int32](r, 4, "out")
	}
	for i := range parts {
		name := func(s string) string { return fmt.Sprintf("%d/%s", i, s) }
		p := &graph.Part{Inner: slices.Clone(view[graph.NodeID](r, 4, name("inner"))), Rows: r.ints(name("rows"))}
		central := r.ints(name("central"))
		for k := 0; k+1 < len(central); k += 2 {
			p.Central = append(p.Central, graph.Range{Lo: central[k], Hi: central[k+1]})
		}
		p.In, p.Out = r.haloVertices(name("in")), r.haloVertices(name("out"))
		if own.Has(i) {
			r.edges(&p.In, name("in"), len(p.Inner))
			r.edges(&p.Out, name("out"), len(p.Inner))
		} else {
			r.counts(&p.In, name("in"), pruned)
			r.counts(&p.Out, name("out"), pruned)
		}
		if c.Symmetric {
			p.Out.Inner = p.In.Inner
		}
		c.Parts = append(c.Parts, p)
	}
	if r.err != nil {
		return nil, r.err
	}
	return c, c.Validate()
}

func (r *cutReader) haloVertices(prefix string) graph.Block {
	return graph.Block{
		IDs:    slices.Clone(view[graph.NodeID](r, 4, prefix+"/ids")),
		Owners: graph.Owners{Parts: slices.Clone(view[int32](r, 4, prefix+"/owners")), At: r.ints(prefix + "/owner")},
		Levels: slices.Clone(view[graph.Level](r, 1, prefix+"/levels")),
	}
}

// edges reads those of one direction of a part.
func (r *cutReader) edges(b *graph.Block, prefix string, rows int) {
	b.Inner = &graph.CSR{Indptr: view[int64](r, 8, prefix+"/indptr"), Indices: view[graph.NodeID](r, 4, prefix+"/indices"), Cols: rows}
	b.Halo = graph.HaloRows{List: view[int32](r, 4, prefix+"/list"), Indptr: view[int64](r, 8, prefix+"/halo-indptr"),
		Indices: view[int32](r, 4, prefix+"/halo")}
}

// counts reads what stands in place of edges.
func (r *cutReader) counts(b *graph.Block, prefix string, pruned bool) {
	if b.Edges = slices.Clone(view[int32](r, 4, prefix+"/edges")); pruned {
		b.Left = append([]int32{}, view[int32](r, 4, prefix+"/left")...)
	}
}
