package halo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/cluster/shaped"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/jaca"
	"capgnn/pipeline/link"
)

// wire is a rank in memory. It counts what it sends, and what leads to an area may be cut or vanish.
type wire struct {
	shaped.Transport
	mu    sync.Mutex
	bytes map[[2]int]int // by rank and area
	cut   map[uint32]error
	lost  map[uint32]bool
}

func (w *wire) Send(to int, area, message uint32, off int, b []byte, sent func(error)) {
	w.mu.Lock()
	w.bytes[[2]int{to, int(area)}] += len(b)
	err, lost := w.cut[area], w.lost[area]
	w.mu.Unlock()
	switch {
	case err != nil:
		go sent(err)
	case !lost:
		w.Transport.Send(to, area, message, off, b, sent)
	}
}

// ranks are the parts of a run on several ranks.
type ranks struct {
	teams []*team
	wires []*wire
}

const firstTeamArea = 7

// newRanks returns teams of three or four parts, grouped into ranks; with a seed what they send takes a random time.
func newRanks(t *testing.T, o Options, parts int, peers bool, groups []graph.Range, seed uint64) *ranks {
	t.Helper()
	x := &ranks{}
	locals := shaped.NewLocal(len(groups))
	var configs []Config
	var facts []Facts
	for k, own := range groups {
		w := &wire{Transport: locals[k], bytes: map[[2]int]int{}, cut: map[uint32]error{}, lost: map[uint32]bool{}}
		if seed > 0 {
			s := shaped.Shape(locals[k], shaped.Options{Jitter: 200 * time.Microsecond, Seed: seed})
			t.Cleanup(s.Close)
			w.Transport = s
		}
		team, c := gatherTeam(t, o, parts, peers, own)
		c.Net, c.Area = link.Over(w, team.hub), firstTeamArea
		facts = append(facts, c.OwnFacts()...)
		x.teams, x.wires, configs = append(x.teams, team), append(x.wires, w), append(configs, c)
	}
	for k, team := range x.teams {
		configs[k].Facts = facts
		team.place(t, configs[k])
		if got, want := team.plan.Areas(), x.teams[0].plan.Areas(); !reflect.DeepEqual(got, want) {
			t.Fatalf("rank %d has the areas %v, rank 0 %v", k, got, want)
		}
		team.plan.Join()
		context.AfterFunc(team.hub.Context(), func() { // a rank's end is that of all
			for _, other := range x.teams {
				other.hub.Fail(errors.New("rank lost"))
			}
		})
	}
	t.Cleanup(func() {
		for _, team := range x.teams {
			team.closed()
		}
		locals[0].Close()
	})
	return x
}

// epochs runs epochs on all ranks, and fails the test if they do not end.
func (x *ranks) epochs(t *testing.T, n int) []error {
	t.Helper()
	errs, done := make([]error, len(x.teams)), make(chan int, len(x.teams))
	for k, team := range x.teams {
		go func() {
			errs[k] = team.epochs(n)
			done <- k
		}()
	}
	for range x.teams {
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatal("an epoch hangs")
		}
	}
	return errs
}

// wanted returns the bytes that cross in an epoch, by rank and area: each row that a rank reads of a part of another one, once in each exchange.
func (x *ranks) wanted() map[[2]int]int {
	out := map[[2]int]int{}
	for m, team := range x.teams {
		read := map[string]bool{}
		for i := range team.ends {
			for _, at := range team.train[i].Placements() {
				b := team.block(i, at.Dir)
				for h, row := range team.read(i, at) {
					k := 0
					for h >= b.Owners.At[k+1] {
						k++
					}
					owner, key := int(b.Owners.Parts[k]), fmt.Sprint(at.ID, b.IDs[h])
					if row < 0 || team.plan.own(owner) || read[key] {
						continue
					}
					read[key] = true
					out[[2]int{m, firstTeamArea + owner}] += 4 * teamWidth
				}
			}
		}
	}
	return out
}

// Every halo row of another rank is the row of its vertex, of the epoch under way, and crosses once, however many parts there read it.
func TestRowsOfOtherRanks(t *testing.T) {
	seed := uint64(0)
	for _, groups := range [][]graph.Range{{{Lo: 0, Hi: 2}, {Lo: 2, Hi: 4}}, {{Lo: 0, Hi: 3}, {Lo: 3, Hi: 4}}, {{Lo: 0, Hi: 1}, {Lo: 1, Hi: 2}, {Lo: 2, Hi: 3}, {Lo: 3, Hi: 4}}} {
		for _, o := range []Options{
			{},
			{Piece: 3 * 4 * teamWidth},
			{Policy: jaca.JACA},
			{Policy: jaca.Paper, Local: jaca.Percent(30), Global: jaca.Percent(40)},
			{Policy: jaca.Paper, Local: jaca.Rows(0), Global: jaca.Percent(50), Piece: 4 * teamWidth},
			{Policy: jaca.Paper, Local: jaca.Percent(50), Global: jaca.Rows(0)},
			{Policy: jaca.Paper, Local: jaca.Percent(100), Global: jaca.Rows(0)},
		} {
			o.Host = hostmem.LockOptions{Heap: true}
			seed++
			x := newRanks(t, o, 4, seed%2 == 0, groups, seed/2%2*seed)
			const epochs = 4
			if err := errors.Join(x.epochs(t, epochs)...); err != nil {
				t.Errorf("%v, %+v: %v", groups, o, err)
				continue
			}
			want, got := x.wanted(), map[[2]int]int{}
			for _, w := range x.wires {
				for way, n := range w.bytes {
					got[way] += n / epochs
				}
			}
			if !reflect.DeepEqual(got, want) || len(want) == 0 {
				t.Errorf("%v, %+v: bytes by rank and area %v, want %v", groups, o, got, want)
			}
			if len(groups) < 4 || o.Policy != "" && o.Local != jaca.Percent(100) { // else all rows have a local slot and cross, or none has
				continue
			}
			crossed, renewed, moved := 0, gpu.Bytes(0), gpu.Bytes(0)
			for _, n := range want {
				crossed += n
			}
			for _, team := range x.teams {
				for _, e := range team.ends {
					s, _ := e.TakeStats()
					renewed, moved = renewed+s.Bytes.Refresh, moved+s.Bytes.D2H+s.Bytes.H2D
				}
			}
			if o.Policy == "" {
				crossed = 0
			}
			if renewed != gpu.Bytes(2*crossed*(epochs-1)) || moved < renewed {
				t.Errorf("%v, %+v: %d bytes of %d renew rows with a slot, want twice what crosses behind the first epoch: %d", groups, o, renewed, moved, 2*crossed*(epochs-1))
			}
		}
	}
}

// Whoever waits too long for rows of another rank names the part that makes them, layer and direction.
func TestSilentRank(t *testing.T) {
	x := newRanks(t, Options{}, 4, true, []graph.Range{{Lo: 0, Hi: 2}, {Lo: 2, Hi: 4}}, 0)
	*x.teams[0].hub = *meet.NewHub(t.Context(), 100*time.Millisecond) // of both ranks only this one runs out of patience
	x.wires[1].lost[firstTeamArea+3] = true
	err := x.epochs(t, 2)[0]
	late := new(meet.Late)
	if !errors.As(err, &late) || late.For != 3 || !strings.Contains(err.Error(), "waited 100ms for part 3: halo rows of layer 1 forward") {
		t.Errorf("rank 0 ends with %v", err)
	}
}

// Rows that cannot be sent end the run of their rank with that error, and one that is over ends the others: nothing hangs.
func TestRowsCannotLeave(t *testing.T) {
	broken := errors.New("connection closed")
	x := newRanks(t, Options{}, 4, true, []graph.Range{{Lo: 0, Hi: 2}, {Lo: 2, Hi: 4}}, 0)
	if err := errors.Join(x.epochs(t, 1)...); err != nil {
		t.Fatal(err)
	}
	w := x.wires[1]
	w.mu.Lock()
	w.cut[firstTeamArea+2] = broken
	w.mu.Unlock()
	for _, team := range x.teams {
		team.first = 1
	}
	errs := x.epochs(t, 2)
	if errs[0] == nil || !errors.Is(errs[1], broken) || !strings.Contains(errs[1].Error(), "send halo rows of layer 1 forward from part 2 to rank 0: connection closed") {
		t.Errorf("ranks end with %v", errs)
	}
}

// Rows of another epoch than the one under way are not read.
func TestRankOfAnotherEpoch(t *testing.T) {
	x := newRanks(t, Options{}, 3, true, []graph.Range{{Lo: 0, Hi: 2}, {Lo: 2, Hi: 3}}, 0)
	x.teams[1].first = 3
	errs := x.epochs(t, 2)
	found := false
	for k, want := range []string{"from part 2: they are of epoch 3, exchange 0, here it is epoch 0, exchange 0: start all ranks", "they are of epoch 0, exchange 0, here it is epoch 3"} {
		stale := new(StaleError)
		found = found || errors.As(errs[k], &stale) && strings.Contains(errs[k].Error(), want)
	}
	if !found || errs[0] == nil || errs[1] == nil {
		t.Errorf("ranks end with %v", errs)
	}
}

// A message has the rows of its first reader as that reads them, then those that only others read.
func TestCrossing(t *testing.T) {
	reads := func(owners []int32, ids []graph.NodeID, at ...int) reader {
		r := reader{owners: owners, ids: ids, direct: [][]extent{nil}}
		for k := range owners {
			r.direct[0] = append(r.direct[0], extent{at[2*k], at[2*k+1]})
		}
		return r
	}
	l := &traffic{ID: ID{1, gnn.Forward}, readers: []reader{
		reads(nil, nil),
		reads([]int32{0}, []graph.NodeID{4, 2, 9}, 0, 3),
		reads([]int32{0, 1}, []graph.NodeID{9, 3, 2, 8}, 0, 3, 3, 1),
		reads([]int32{0}, []graph.NodeID{5}, 0, 0), // a row that this exchange leaves alone
	}}
	l.link()
	x := (&Plan{}).crossing(l, 1, 0, l.senders[0])
	if fmt.Sprint(x.direct, x.readers) != "[[4 2 9 3]] [{1 [[]]} {2 [[2 3 1]]} {3 [[]]}]" || x.readers[0].rows[0] != nil || x.rowsOf([]int{0}) != 4 {
		t.Errorf("%+v", x)
	}
}
