package graph

import "fmt"

// Arrange returns a cut by part without edges and without exchanges: the vertices of each part, first those of the
// loss, then the others, each by rank, as Split has them except for the order within; nil ranks go by id. Rows of
// every level but the last are all rows. loss marks the vertices of the loss; nil: all. It takes 12 bytes for each
// vertex, 4 more if g is not symmetric, and no transpose.
func Arrange(g *CSR, loops Loops, part []int32, parts int, loss []bool, layers int, rank []int32) (*Cut, error) {
	n := g.Rows()
	if g.Cols != n || len(part) != n || loss != nil && len(loss) != n || rank != nil && len(rank) != n {
		return nil, fmt.Errorf("arrange a %d×%d graph: %d part entries, %d marks, %d ranks", n, g.Cols, len(part), len(loss), len(rank))
	}
	members, err := membersOf(part, parts, rank)
	if err != nil {
		return nil, err
	}
	c := &Cut{PartOf: part, LocalOf: make([]int32, n), Layers: layers, Symmetric: g.Symmetric()}
	if c.InDegree, c.OutDegree = loops.Degrees(g); c.Symmetric {
		c.OutDegree = c.InDegree
	}
	for _, inner := range members {
		p := &Part{Inner: inner, Rows: make([]int, layers+1)}
		for k := range p.Rows {
			p.Rows[k] = len(inner)
		}
		if loss != nil {
			p.Rows[layers] = lossFirst(inner, loss)
		}
		for i, v := range inner {
			c.LocalOf[v] = int32(i)
		}
		c.Parts = append(c.Parts, p)
	}
	return c, nil
}

// lossFirst puts marked vertices before the others, both in the order that they have, and returns how many there are.
func lossFirst(ids []NodeID, marked []bool) int {
	var others []NodeID
	n := 0
	for _, v := range ids {
		if marked[v] {
			ids[n] = v
			n++
		} else {
			others = append(others, v)
		}
	}
	copy(ids[n:], others)
	return n
}
