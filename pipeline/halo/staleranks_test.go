package halo

import (
	"errors"
	"fmt"
	"testing"

	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/jaca"
)

// leave waits until what parts send for the next epoch has left them.
func (x *ranks) leave(t *testing.T) {
	t.Helper()
	for _, team := range x.teams {
		for _, e := range team.ends {
			if err := e.Waits.Settle(e.Out); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Every halo row of another rank is of the epoch that its schedule names, inside ranks and between them; one with a slot crosses once a period, and one without once an
// epoch.
func TestStaleRowsOfOtherRanks(t *testing.T) {
	seed := uint64(0)
	for _, groups := range [][]graph.Range{{{Lo: 0, Hi: 2}, {Lo: 2, Hi: 4}}, {{Lo: 0, Hi: 3}, {Lo: 3, Hi: 4}}, {{Lo: 0, Hi: 1}, {Lo: 1, Hi: 2}, {Lo: 2, Hi: 3}, {Lo: 3, Hi: 4}}} {
		for _, pipeline := range []bool{false, true} {
			for _, ages := range []int{1, 3} {
				for _, o := range []Options{
					{Policy: jaca.JACA},
					{Policy: jaca.JACA, Local: jaca.Percent(30), Global: jaca.Percent(40)},
					{Policy: jaca.JACA, Local: jaca.Rows(0)},
					{Policy: jaca.Paper, Local: jaca.Percent(50), Global: jaca.Rows(0), Piece: 3 * 4 * teamWidth},
				} {
					seed++
					o.Host, o.Pipeline = hostmem.LockOptions{Heap: true}, pipeline
					o.Staleness = ages
					if seed%3 == 0 {
						o.ExactEpochs = 2
					}
					name := fmt.Sprintf("%v/pipeline=%t/%v/%s,%v,%v/exact=%d", groups, pipeline, ages, o.Policy, o.Local, o.Global, o.ExactEpochs)
					x := newRanks(t, o, 4, seed%2 == 0, groups, seed/2%2*seed)
					run := func(epochs int) bool {
						err := errors.Join(x.epochs(t, epochs)...)
						for _, team := range x.teams {
							team.first += epochs
						}
						if err != nil {
							t.Errorf("%s: %v", name, err)
						}
						return err == nil
					}
					if !run(9) {
						continue
					}
					x.leave(t)
					for _, w := range x.wires {
						clear(w.bytes)
					}
					period := ages + 1
					if pipeline {
						period = ages
					}
					if !run(2 * period) {
						continue
					}
					x.leave(t)
					want, got := 0, 0
					for _, n := range x.wanted() {
						want += n
					}
					for _, w := range x.wires {
						for _, n := range w.bytes {
							got += n
						}
					}
					said := 0
					for _, team := range x.teams {
						for from := range x.teams {
							for epoch := team.first - 2*period; epoch < team.first; epoch++ {
								said += team.plan.Crosses(from, epoch)
							}
						}
					}
					if said != got {
						t.Errorf("%s: %d bytes cross, by the plan %d", name, got, said)
					}
					if all := o.Local == (jaca.Size{}) || o.Local == jaca.Rows(0); all && got != 2*want || !all && (got < 2*want || got > 2*period*want) {
						t.Errorf("%s: %d bytes cross in two periods of %d, all rows have %d", name, got, period, want)
					}
				}
			}
		}
	}
}
