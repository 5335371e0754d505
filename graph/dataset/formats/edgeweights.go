package formats

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/room"
)

// noteUnequal says which edges of a graph with both directions weigh differently in them.
func noteUnequal(d *dataset.Dataset) {
	g, n, first := d.Graph, 0, ""
	for v := range graph.NodeID(g.Rows()) {
		for _, u := range g.Row(int(v)) {
			there, back := g.Weight(u, v), g.Weight(v, u)
			if u >= v || there == back {
				continue
			}
			if n++; n == 1 {
				first = fmt.Sprintf("%d → %d: %g, %d → %d: %g", u, v, there, v, u, back)
			}
		}
	}
	if n > 0 {
		d.Note("edges that weigh differently in their two directions keep both weights: %d (%s)", n, first)
	}
}

// weight reads the weight of an edge, as a number or in networkx's dict of attributes; there is false for a dict without one.
func (l *edgeText) weight() (w float32, there bool, err error) {
	t := l.t
	v, word, err := t.Cell(32)
	if err == nil && len(word) > 0 && word[0] == '{' {
		return l.attribute(string(word))
	}
	switch {
	case err != nil:
		return 0, false, err
	case word != nil && len(word) == 0 && l.columns == nil: // 0,1, has an empty column at its end
		return 1, false, nil
	case word != nil && strings.EqualFold(string(word), "nan"):
		v = math.NaN()
	case word != nil && fields.Unknown(string(word)) && l.ignore:
		v = 1
	case word != nil && fields.Unknown(string(word)):
		return 0, false, t.Fault("the edge has no weight: found %q", word)
	case word != nil:
		return 0, false, t.NoNumber(word)
	}
	if l.ignore {
		v = 1
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false, t.Fault("the edge has the weight %g; weights must be finite", v)
	}
	l.sawWeight(t.Exact)
	return float32(v), true, nil
}

// sawWeight remembers a weight before it was rounded.
func (l *edgeText) sawWeight(x float64) {
	l.exact = x
	if x != 0 && float32(x) == 0 {
		l.vanished++
	}
	l.rounded = l.rounded || x == math.Trunc(x) && float64(float32(x)) != x
}

// attribute reads the weight in a dict that begins so.
func (l *edgeText) attribute(begin string) (w float32, there bool, err error) {
	rest, err := l.t.Rest(1 << 16)
	if err != nil {
		return 0, false, err
	}
	weight, others, err := attributes(begin + string(rest))
	if err != nil {
		return 0, false, l.t.Fault("%w", err)
	}
	if len(l.others) == 0 {
		l.others = others
	}
	if weight == "" {
		return 1, false, nil
	}
	v, ok := fields.Number(weight)
	if !ok || math.Abs(v) > math.MaxFloat32 {
		return 0, false, l.t.Fault("the edge has the weight %.40q; weights must be finite numbers", weight)
	}
	l.sawWeight(v)
	if l.weightAs = "attribute weight"; l.ignore {
		v = 1
	}
	return float32(v), true, nil
}

// takeWeights gives the edges of d's graph their weights, which are listed once more. Those of an edge that is listed again are added up; an edge that is there only
// because its reverse is listed weighs as much as that.
func takeWeights(d *dataset.Dataset, list func(edge func(from, to graph.NodeID, weight float32)) error, kind string, fault func(error) error) error {
	g := d.Graph
	if err := room.For(4 * g.Edges()); err != nil {
		return fault(err)
	}
	weights := make([]float32, g.Edges())
	var wrong error
	for e := range weights {
		weights[e] = float32(math.NaN()) // not listed
	}
	added := 0
	err := list(func(from, to graph.NodeID, weight float32) {
		if kind == dataset.Reversed {
			from, to = to, from
		}
		k, there := 0, false
		if int(to) < g.Rows() {
			k, there = slices.BinarySearch(g.Row(int(to)), from)
		}
		if !there {
			wrong = errors.New("the edges changed while they were read")
			return
		}
		if w := &weights[g.Indptr[to]+int64(k)]; *w == *w {
			added++
			if *w += weight; math.IsInf(float64(*w), 0) {
				wrong = fmt.Errorf("the weights of the edge %d → %d, which is there more than once, add up to %g", from, to, *w)
			}
		} else {
			*w = weight
		}
	})
	if err == nil && wrong != nil {
		err = fault(wrong)
	}
	if err != nil {
		return err
	}
	if added > 0 {
		d.Note("weights of repeated edges are added up (%d)", added)
	}
	g.Weights = weights
	for v := range graph.NodeID(g.Rows()) {
		for k, u := range g.Row(int(v)) {
			if w := &weights[g.Indptr[v]+int64(k)]; *w != *w {
				*w = g.Weight(v, u)
			}
		}
	}
	if kind == dataset.Symmetric {
		noteUnequal(d)
	}
	return nil
}
