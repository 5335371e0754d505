package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"capgnn/cluster/shaped"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/jaca"
)

// onPairs trains four parts on ranks and returns rank 0's epochs.
func (c *farRun) onPairs(t *testing.T, group string, ranks []Ranks) (all []EpochStats) {
	t.Helper()
	edit := c.edit
	c.edit = func(p *learn.Problem, o *Options) {
		if edit != nil {
			edit(p, o)
		}
		o.OnEpoch = func(e EpochStats) error {
			all = append(all, e)
			return nil
		}
	}
	defer func() { c.edit = edit }()
	if _, err := c.train(t, groupings[group], ranks); err != nil {
		t.Fatal(err)
	}
	return all
}

// What ranks send each other in an epoch is counted by pair, by the transport: gradients to the next rank and weights back where no row crosses,
// rows besides where some do, the same in every epoch, evaluations left out. Headers are little beside it, and one process has no pairs.
func TestPairsOfRanks(t *testing.T) {
	c := farRun{}
	c.p, c.m = task{share: 0.4, vertices: 400}.make(t, named.GCN)
	c.m.Hidden = 64
	g := 4 * gpu.Bytes(gnn.FlatLen(netOf(c.m)))
	if all := c.onPairs(t, "1x4", nil); all[0].Pairs != nil {
		t.Errorf("one process has %v", all[0].Pairs)
	}
	apart := c
	apart.edit = func(p *learn.Problem, o *Options) { clear(o.Part) } // all on part 0
	for name, run := range map[string]farRun{"rows": c, "no rows": apart} {
		for _, group := range []string{"3+1", "4x1"} {
			start := time.Now()
			ranks := connected(t, len(groupings[group]))
			all := run.onPairs(t, group, ranks)
			for e, s := range all {
				rows, neighbours := gpu.Bytes(0), 0
				for k, x := range s.Pairs {
					rows += x.Rows
					least := gpu.Bytes(0)
					if x.From == x.To+1 || x.To == x.From+1 {
						neighbours++
						least = g
					}
					if x.Rows < least || name == "no rows" && x.Rows != least || x.Rows != all[0].Pairs[k].Rows {
						t.Errorf("%s, %s: epoch %d: %+v, gradients are %d, in epoch 0 %+v", name, group, e, x, g, all[0].Pairs[k])
					}
					if x.Frames < x.Rows || x.Frames > x.Rows+x.Rows/50+2048 || x.Wait < 0 || x.Wait > time.Since(start) {
						t.Errorf("%s, %s: epoch %d: %+v", name, group, e, x)
					}
				}
				if n := len(groupings[group]); neighbours != 2*(n-1) || name == "rows" && (len(s.Pairs) != n*(n-1) || rows <= gpu.Bytes(2*(n-1))*g) {
					t.Errorf("%s, %s: epoch %d: %+v", name, group, e, s.Pairs)
				}
			}
		}
	}
}

// Where rows are under way for an epoch, those count that an epoch has sent, so they do not depend on delays; without the pipeline they are what has come. Behind the
// exact epochs whole periods have equal bytes.
func TestPairsOfStaleRanks(t *testing.T) {
	for turn, name := range []string{"all", "slots"} {
		for pipeline := range 2 {
			c := staleRun(t, named.GCN, name, 6*turn+pipeline)
			var runs []string
			for seed := range uint64(3) {
				var rows []gpu.Bytes
				for _, e := range c.onPairs(t, "3+1", memoryRanks(t, 2, seed)) {
					for _, x := range e.Pairs {
						rows = append(rows, x.Rows)
					}
				}
				if runs = append(runs, fmt.Sprint(rows)); runs[seed] != runs[0] || len(rows) != 2*9 || rows[16] >= rows[0] {
					t.Errorf("%s, pipeline %d: bytes %v, without delays %s", name, pipeline, rows, runs[0])
				}
			}
		}
	}
}

// A rank says what it waits for, and which rank has it: rows, then the numbers of the epoch.
func TestRankSaysWhatItWaitsFor(t *testing.T) {
	c := farRun{}
	c.p, c.m = task{share: 0.4, vertices: 200}.make(t, named.SAGE)
	ranks := memoryRanks(t, 2, 0)
	trainers, ended := make([]*Trainer, 2), make(chan error)
	hold, epochs := make(chan bool), 0
	for k, own := range groupings["2x2"] {
		o := Options{
			Training: Training{Model: netOf(c.m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01},
				Epochs: 2, Ranks: ranks[k]},
			First: own.Lo, Parts: 4, Devices: c.devices(t, own), Part: scatterParts(c.p.Vertices(), 4),
		}
		o.Cache.Policy = jaca.JACA
		if k == 0 {
			o.OnEpoch = func(EpochStats) error {
				if epochs++; epochs == 1 {
					<-hold
				}
				return nil
			}
		}
		go func() {
			var err error
			trainers[k], err = New(t.Context(), c.p, o)
			ended <- err
		}()
	}
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Fatal(err)
	}
	for _, tr := range trainers {
		defer tr.Close()
	}
	if w := trainers[1].Waits(); w != "" {
		t.Errorf("before the run: %q", w)
	}
	for _, tr := range trainers {
		go func() {
			_, err := tr.Run(context.Background())
			ended <- err
		}()
	}
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		w := trainers[1].Waits()
		if w == "halo rows of layer 1 forward of rank 0" && ranks[1].(*memoryRank).epoch.Load() == 1 {
			break
		}
		if time.Since(start) > 20*time.Second {
			t.Fatalf("rank 1 waits for %q", w)
		}
	}
	time.Sleep(100 * time.Millisecond)
	hold <- true
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Fatal(err)
	}
	if w := trainers[1].Waits(); strings.Contains(w, "rank") {
		t.Errorf("behind the run: %q", w)
	}
	if d := trainers[1].Watch.Take(); len(d) != 0 {
		t.Errorf("waits behind the run: %v", d)
	}
}

// What gradients and weights take on their way to another rank and back is part of the update, though a rank waits for it on the host.
func TestUpdateOverRanksTakesItsTime(t *testing.T) {
	c := farRun{edit: func(_ *learn.Problem, o *Options) { clear(o.Part) }} // no rows cross
	c.p, c.m = task{share: 0.4, vertices: 60}.make(t, named.GCN)
	const rate = 50e3 // so that what a busy machine adds is little beside it
	way := time.Duration(4 * float64(gnn.FlatLen(netOf(c.m))) / rate * float64(time.Second))
	locals := shaped.NewLocal(2)
	defer locals[0].Close()
	var slow []Ranks
	for _, l := range locals {
		s := shaped.Shape(l, shaped.Options{Rate: rate})
		defer s.Close()
		slow = append(slow, newMemoryRank(s))
	}
	for _, e := range c.onPairs(t, "2x2", slow) { // the last layer leaves before the update begins
		if e.Reduce < way*3/2 || e.Reduce > e.Train {
			t.Errorf("epoch %d: update of %v, gradients and weights are %v under way each, in an epoch of %v", e.Epoch, e.Reduce, way, e.Train)
		}
	}
}

// Behind every epoch each process reads its meters once, and rank 0 has those of all, by rank.
func TestMetersOfRanks(t *testing.T) {
	var c farRun
	c.p, c.m = task{share: 0.4, vertices: 400}.make(t, named.GCN)
	c.edit = func(_ *learn.Problem, o *Options) {
		first := o.First
		o.Meter = func(epoch int) []gpu.Metered {
			return []gpu.Metered{{Rank: first, Device: "package-0", Seconds: float64(epoch)}, {Rank: first, Device: "cuda:0"}}
		}
	}
	for group, want := range map[string][]int{"1x4": {0}, "3+1": {0, 3}, "4x1": {0, 1, 2, 3}} {
		var ranks []Ranks
		if group != "1x4" {
			ranks = connected(t, len(groupings[group]))
		}
		for e, s := range c.onPairs(t, group, ranks) {
			for k, first := range want {
				if len(s.Meters) != 2*len(want) || s.Meters[2*k] != (gpu.Metered{Rank: first, Device: "package-0", Seconds: float64(e)}) || s.Meters[2*k+1].Device != "cuda:0" {
					t.Errorf("%s, epoch %d: %+v", group, e, s.Meters)
				}
			}
		}
	}
}
