package graph

import (
	"errors"
	"fmt"
	"slices"
)

// Validate checks a cut that comes from a file: every vertex is inner once, all indices are in range, ordered lists
// are in order. PartOf must be correct, LocalOf is filled in. It does not check that the two directions agree.
func (c *Cut) Validate() error {
	n := len(c.PartOf)
	if len(c.InDegree) != n || len(c.OutDegree) != n {
		return fmt.Errorf("%d and %d degrees for %d vertices", len(c.InDegree), len(c.OutDegree), n)
	}
	if c.Own.Lo < 0 || c.Own.Hi < c.Own.Lo || c.Own.Hi > len(c.Parts) {
		return fmt.Errorf("edges of parts %d to %d of %d", c.Own.Lo, c.Own.Hi, len(c.Parts))
	}
	if err := c.number(); err != nil {
		return err
	}
	for i, p := range c.Parts {
		if err := p.validate(c.Layers); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		for _, b := range []*Block{&p.In, &p.Out} {
			if err := c.validateBlock(b, i); err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
		}
	}
	return nil
}

// number fills LocalOf and checks that every vertex is inner once.
func (c *Cut) number() error {
	n := len(c.PartOf)
	c.LocalOf = make([]int32, n)
	left := n
	for i, p := range c.Parts {
		left -= len(p.Inner)
		for l, v := range p.Inner {
			if v < 0 || int(v) >= n || int(c.PartOf[v]) != i {
				return fmt.Errorf("part %d holds vertex %d of %d, which is not its own", i, v, n)
			}
			c.LocalOf[v] = int32(l)
		}
		for l, v := range p.Inner {
			if c.LocalOf[v] != int32(l) {
				return fmt.Errorf("part %d holds vertex %d twice", i, v)
			}
		}
	}
	if left != 0 {
		return fmt.Errorf("%d vertices too few", left)
	}
	return nil
}

func (p *Part) validate(layers int) error {
	if len(p.Rows) != layers+1 {
		return fmt.Errorf("%d levels for %d layers", len(p.Rows), layers)
	}
	most := len(p.Inner)
	for _, r := range p.Rows {
		if r < 0 || r > most {
			return errors.New("rows per level do not descend")
		}
		most = r
	}
	at := 0
	for _, r := range p.Central {
		if r.Lo < at || r.Hi < r.Lo || r.Hi > len(p.Inner) {
			return errors.New("central ranges do not ascend")
		}
		at = r.Hi
	}
	return nil
}

func (c *Cut) validateBlock(b *Block, i int) error {
	if err := c.validateHaloVertices(b, i); err != nil {
		return err
	}
	if !c.Own.Has(i) {
		return b.validateCounts()
	}
	rows := len(c.Parts[i].Inner)
	if b.Inner == nil || len(b.Inner.Indptr) != rows+1 || b.Inner.Cols != rows {
		return errors.New("the inner rows are not those of the part")
	}
	// One CSR may serve both directions and is checked once.
	if p := c.Parts[i]; b == &p.In || b.Inner != p.In.Inner {
		if err := b.Inner.Validate(); err != nil {
			return err
		}
	}
	return b.Halo.validate(rows, len(b.IDs))
}

// validateCounts checks the numbers that stand in place of edges.
func (b *Block) validateCounts() error {
	if len(b.Edges) != len(b.IDs) || b.Left != nil && len(b.Left) != len(b.IDs) {
		return fmt.Errorf("edges of %d and %d halo vertices for %d", len(b.Edges), len(b.Left), len(b.IDs))
	}
	for h, n := range b.Edges {
		if n < 1 || b.Left != nil && (b.Left[h] < 0 || b.Left[h] > n) {
			return fmt.Errorf("halo vertex %d has %d edges", h, n)
		}
	}
	return nil
}

func (c *Cut) validateHaloVertices(b *Block, i int) error {
	if !b.Owners.Valid(len(b.IDs), len(c.Parts)) {
		return errors.New("owners of halo vertices do not ascend")
	}
	if len(b.Levels) != len(b.IDs) {
		return fmt.Errorf("%d levels for %d halo vertices", len(b.Levels), len(b.IDs))
	}
	for at, q := range b.Owners.Parts {
		for k := b.Owners.At[at]; k < b.Owners.At[at+1]; k++ {
			u := b.IDs[k]
			if u < 0 || int(u) >= len(c.PartOf) || c.PartOf[u] != q || int(q) == i {
				return fmt.Errorf("halo vertex %d is not part %d's", u, q)
			}
			if k > b.Owners.At[at] && b.Levels[k] > b.Levels[k-1] {
				return errors.New("levels of halo vertices do not descend")
			}
		}
	}
	return nil
}

func (h *HaloRows) validate(rows, halo int) error {
	if len(h.Indptr) != len(h.List)+1 || h.Indptr[0] != 0 || h.Indptr[len(h.List)] != int64(len(h.Indices)) || !slices.IsSorted(h.Indptr) {
		return errors.New("pointers of halo rows do not ascend")
	}
	for k, r := range h.List {
		if r < 0 || int(r) >= rows || k > 0 && r <= h.List[k-1] {
			return errors.New("halo rows do not ascend")
		}
	}
	if k := FirstIndex(len(h.Indices), 1<<16, func(lo, hi int) int {
		for k := lo; k < hi; k++ {
			if uint32(h.Indices[k]) >= uint32(halo) {
				return k
			}
		}
		return -1
	}); k >= 0 {
		return fmt.Errorf("entry %d: %d is outside [0, %d)", k, h.Indices[k], halo)
	}
	return nil
}
