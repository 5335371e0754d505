package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
)

// predictOn predicts on ranks and returns what rank 0 has by vertex id, and in which order vertices came there.
func predictOn(t *testing.T, p *learn.Problem, o PredictOptions, groups []graph.Range, ranks []Ranks) (rows []float32, order []graph.NodeID, err error) {
	t.Helper()
	rows = make([]float32, p.Vertices()*o.width())
	errs, done := make([]error, len(groups)), make(chan bool)
	for k, own := range groups {
		mine := o
		mine.First, mine.Parts, mine.Devices = own.Lo, 4, cpus(t, own.Hi-own.Lo)
		if ranks != nil {
			mine.Ranks = ranks[k]
		}
		go func() {
			errs[k] = PredictRows(context.Background(), p, mine, func(ids []graph.NodeID, chunk []float32) error {
				if k > 0 {
					return errors.New("rank 1 emits")
				}
				for i, v := range ids {
					copy(rows[int(v)*o.width():], chunk[i*o.width():][:o.width()])
				}
				order = append(order, ids...)
				return nil
			})
			done <- true
		}()
	}
	for range groups {
		<-done
	}
	return rows, order, errors.Join(errs...)
}

// However parts are grouped into ranks, rank 0 has the rows of one process, bit for bit and in its order; chunks, hidden layers and empty parts among them.
func TestRanksPredictAlike(t *testing.T) {
	for turn, kind := range kinds(t) {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			p, m := task{share: 0.4, vertices: 200, directed: turn%2 == 1, sparse: turn%2 == 0}.make(t, kind)
			o := PredictOptions{Model: netOf(m), Weights: weightsOf(t, m, nil), Part: scatterParts(p.Vertices(), 4)}
			switch turn {
			case 2:
				o.Layers = 1
			case 1: // parts 1 and 2 have no vertex
				for v := range o.Part {
					o.Part[v] = o.Part[v] / 2 * 3
				}
			case 0: // several chunks of a part
				p, m = task{share: 0.4, vertices: 320}.make(t, kind)
				m.Hidden = 4096
				o = PredictOptions{Model: netOf(m), Weights: weightsOf(t, m, nil), Part: scatterParts(p.Vertices(), 4), Layers: 1}
				for v := range 280 {
					o.Part[v] = 3
				}
			}
			want, order, err := predictOn(t, unlabelled(p), o, groupings["1x4"], nil)
			if err != nil {
				t.Fatal(err)
			}
			for k, group := range []string{"2x2", "3+1", "4x1", "1x4"} {
				groups := groupings[group]
				ranks := memoryRanks(t, len(groups), uint64(turn+k)%3)
				if k == 0 {
					ranks = connected(t, len(groups))
				}
				got, came, err := predictOn(t, unlabelled(p), o, groups, ranks)
				if err != nil {
					t.Fatalf("%s: %v", group, err)
				}
				if !slices.Equal(hostmem.Bytes(got), hostmem.Bytes(want)) || !slices.Equal(came, order) {
					t.Errorf("%s: other rows than one process, or in another order", group)
				}
			}
		})
	}
}
