package graph

import (
	"slices"
	"testing"
)

// Whatever Split makes is valid, and one number out of place is noticed.
func TestCutValidate(t *testing.T) {
	splitCases(t, func(t *testing.T, c *Cut, g *CSR, level []Level) {
		local := c.LocalOf
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(c.LocalOf, local) {
			t.Fatal("local ids have changed")
		}
	})
	g, err := Random(150, 400, true, 7)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(c *Cut){
		"vertex":         func(c *Cut) { c.Parts[0].Inner[3] = 150 },
		"negative":       func(c *Cut) { c.Parts[0].Inner[3] = -1 },
		"foreign vertex": func(c *Cut) { c.Parts[0].Inner[3] = c.Parts[1].Inner[0] },
		"vertex twice":   func(c *Cut) { c.Parts[0].Inner[3] = c.Parts[0].Inner[4] },
		"vertex less":    func(c *Cut) { c.Parts[1].Inner = c.Parts[1].Inner[1:] },
		"degrees":        func(c *Cut) { c.OutDegree = c.OutDegree[1:] },
		"rows":           func(c *Cut) { c.Parts[1].Rows[0] = 151 },
		"rows ascend":    func(c *Cut) { c.Parts[1].Rows[0] = 1; c.Parts[1].Rows[3] = 2 },
		"levels":         func(c *Cut) { c.Parts[1].Rows = c.Parts[1].Rows[1:] },
		"central":        func(c *Cut) { c.Parts[0].Central = []Range{{0, 151}} },
		"no inner":       func(c *Cut) { c.Parts[0].Out.Inner = nil },
		"inner rows":     func(c *Cut) { p := c.Parts[0].In.Inner; p.Indptr = p.Indptr[1:] },
		"inner columns":  func(c *Cut) { c.Parts[0].In.Inner.Cols++ },
		"inner entry":    func(c *Cut) { c.Parts[1].Out.Inner.Indices[9] = 150 },
		"owner":          func(c *Cut) { c.Parts[1].In.Owners.At[1]-- },
		"owners":         func(c *Cut) { o := &c.Parts[1].In.Owners; o.At = o.At[:2] },
		"owner range":    func(c *Cut) { c.Parts[2].In.Owners.At[1] = 1 << 40 },
		"halo vertex":    func(c *Cut) { c.Parts[0].In.IDs[0] = c.Parts[0].Inner[0] },
		"halo range":     func(c *Cut) { c.Parts[0].Out.IDs[0] = -7 },
		"halo level":     func(c *Cut) { b := &c.Parts[0].In; b.Levels[b.Owners.At[1]-1] = 100 },
		"halo levels":    func(c *Cut) { c.Parts[0].In.Levels = nil },
		"halo row":       func(c *Cut) { c.Parts[0].In.Halo.List[2] = 150 },
		"halo rows":      func(c *Cut) { c.Parts[0].In.Halo.List[2] = 0 },
		"halo pointer":   func(c *Cut) { c.Parts[0].Out.Halo.Indptr[2] = 1 << 40 },
		"halo entry":     func(c *Cut) { c.Parts[0].Out.Halo.Indices[2] = 1 << 30 },
	} {
		part, seeds := make([]int32, 150), make([]bool, 150)
		for v := range part {
			part[v], seeds[v] = int32(v%3), v%2 == 0
		}
		c, err := Split(g, LoopsKept, part, 3, Needed(g, seeds, 3, nil), 3, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		spoil(c)
		if c.Validate() == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
