package pipeline

import (
	"fmt"
	"log/slog"
	"reflect"
	"testing"

	"capgnn/gnn"
	"capgnn/graph"
)

// What a process with some of the parts plans by is what one with all of them does: sizes, edge weights, its own parts. What is kept of its
// cut is found again, and not taken for that of other parts.
func TestLayoutRange(t *testing.T) {
	const parts = 4
	for _, kind := range []gnn.Kind{gnn.GCN, gnn.SAGE} {
		for k, c := range []task{{share: 0.3}, {share: 0.3, directed: true}, {share: 1, sparse: true}} {
			for _, drop := range []float64{0, 0.5} {
				t.Run(fmt.Sprintf("%s/%+v/dropped=%g", kind, c, drop), func(t *testing.T) {
					p, m := c.make(t, kind)
					p.GraphKey, p.Loops = "graph", graph.Loops((k+1)%3)
					s := newShelf()
					o := &Options{Model: m, Part: scatterParts(p.Vertices(), parts), Prepared: s, Log: slog.New(slog.DiscardHandler)}
					if drop > 0 {
						o.Dropped = dropReplicas(p.Graph, o.Part, parts, drop)
					}
					whole := layoutOf(t, p, o, parts, graph.Range{Lo: 0, Hi: parts})
					for _, own := range []graph.Range{{Lo: 0, Hi: 1}, {Lo: 1, Hi: 3}, {Lo: 2, Hi: 4}} {
						for _, entries := range []int{s.puts + 1, s.puts + 1} { // made, then found
							some := layoutOf(t, p, o, parts, own)
							if s.puts != entries {
								t.Fatalf("parts %v: %d cuts are kept, want %d", own, s.puts, entries)
							}
							if got, want := some.shape(&p.Features, false, m), whole.shape(&p.Features, false, m); !reflect.DeepEqual(got, want) {
								t.Errorf("parts %v: shape %+v, of all %+v", own, got, want)
							}
							if got, want := weightingOf(kind, some, true), weightingOf(kind, whole, true); !reflect.DeepEqual(got, want) {
								t.Errorf("parts %v: other edge weights", own)
							}
							for i := own.Lo; i < own.Hi; i++ {
								if !samePart(some.cut.Parts[i], whole.cut.Parts[i]) || !samePart(some.kept.Parts[i], whole.kept.Parts[i]) {
									t.Errorf("parts %v: part %d differs", own, i)
								}
							}
							some.Release()
						}
					}
				})
			}
		}
	}
}

func layoutOf(t *testing.T, p *Problem, o *Options, parts int, own graph.Range) *Layout {
	t.Helper()
	l, err := newLayout(p, o, parts, own)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// samePart compares what two parts are printed as: nil or empty is one.
func samePart(p, q *graph.Part) bool {
	print := func(p *graph.Part) string {
		s := fmt.Sprint(p.Inner, p.Rows, p.Central)
		for _, b := range []*graph.Block{&p.In, &p.Out} {
			s += fmt.Sprint(*b.Inner, b.Halo, b.IDs, b.Owners, b.Levels, b.Edges, b.Left)
		}
		return s
	}
	return print(p) == print(q)
}
