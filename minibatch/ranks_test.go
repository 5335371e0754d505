package minibatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/cluster/shaped"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
)

// memoryRank is a rank joined to others by memory.
type memoryRank struct {
	shaped.Transport
	done chan struct{} // closed when another one has ended with an error
}

// Announce compares tables.
func (r *memoryRank) Announce(ctx context.Context, areas []cluster.Area) error {
	mine, err := json.Marshal(areas)
	if err != nil {
		return err
	}
	first, err := r.Broadcast(ctx, 1<<20, mine)
	if err == nil && !bytes.Equal(first, mine) {
		return fmt.Errorf("areas %s, at rank 0 %s", mine, first)
	}
	return err
}

// Gather and Broadcast give every rank memory of its own, as connections do.
func (r *memoryRank) Gather(ctx context.Context, tag uint32, b []byte) ([][]byte, error) {
	return r.Transport.Gather(ctx, tag, bytes.Clone(b))
}

func (r *memoryRank) Broadcast(ctx context.Context, tag uint32, b []byte) ([]byte, error) {
	b, err := r.Transport.Broadcast(ctx, tag, bytes.Clone(b))
	return bytes.Clone(b), err
}

func (*memoryRank) SetEpoch(uint32)             {}
func (*memoryRank) Received(int) (int64, int64) { return 0, 0 }
func (r *memoryRank) Done() <-chan struct{}     { return r.done }
func (*memoryRank) Err() error                  { return errRankLost }

var errRankLost = errors.New("rank lost")

// memoryRanks returns n ranks; with a seed what they send takes a random time.
func memoryRanks(t *testing.T, n int, seed uint64) (all []*memoryRank) {
	t.Helper()
	locals := shaped.NewLocal(n)
	t.Cleanup(locals[0].Close)
	for _, l := range locals {
		r := &memoryRank{Transport: l, done: make(chan struct{})}
		if seed > 0 {
			s := shaped.Shape(l, shaped.Options{Jitter: 300 * time.Microsecond, Seed: seed})
			t.Cleanup(s.Close)
			r.Transport = s
		}
		all = append(all, r)
	}
	return all
}

// groupings are ways to give three parts to ranks.
var groupings = [][]graph.Range{
	{{Lo: 0, Hi: 2}, {Lo: 2, Hi: 3}},
	{{Lo: 0, Hi: 1}, {Lo: 1, Hi: 3}},
	{{Lo: 0, Hi: 1}, {Lo: 1, Hi: 2}, {Lo: 2, Hi: 3}},
}

// rankRun is a run of three parts over ranks.
type rankRun struct {
	p    *learn.Problem
	o    func(rank int) Options // of all parts, with their devices
	seed uint64
	on   func(rank int, tr *Trainer) // is called when a trainer is there; nil: nobody is
	ctx  func(rank int) context.Context
	lose uint32 // an area of which nothing comes; 0: none
}

// run trains over ranks and returns what comes out at each.
func (x rankRun) run(t *testing.T, groups []graph.Range) ([]*Result, []error) {
	t.Helper()
	ranks := memoryRanks(t, len(groups), x.seed)
	results, errs, ended := make([]*Result, len(groups)), make([]error, len(groups)), make(chan int, len(groups))
	for k, own := range groups {
		o := x.o(k)
		o.Devices = slices.Clone(o.Devices)
		for part := range o.Devices {
			if !own.Has(part) {
				o.Devices[part] = nil
			}
		}
		if o.Ranks = ranks[k]; x.lose > 0 {
			o.Ranks = lossy{ranks[k], x.lose}
		}
		go func() {
			results[k], errs[k] = x.one(t, k, o)
			ended <- k
		}()
	}
	lost := false
	for range groups {
		select {
		case k := <-ended:
			if errs[k] != nil && !lost {
				lost = true
				for _, r := range ranks {
					close(r.done)
				}
			}
		case <-time.After(time.Minute):
			t.Fatal("a run over ranks hangs")
		}
	}
	return results, errs
}

func (x rankRun) one(t *testing.T, rank int, o Options) (*Result, error) {
	ctx := t.Context()
	if x.ctx != nil {
		ctx = x.ctx(rank)
	}
	tr, err := New(t.Context(), x.p, o)
	if err != nil {
		return nil, err
	}
	defer tr.Close()
	if x.on != nil {
		x.on(rank, tr)
	}
	return tr.Run(ctx)
}

// However parts are grouped into ranks, whatever edges weigh, by whatever way rows are fetched and wherever roots are computed, weights, losses, scores and counts are those of one process.
func TestRanksTrainAlike(t *testing.T) {
	cases := 0
	for k, kind := range kinds(t) {
		for i, place := range []kindOfRoots{{}, {local: true}, {place: Home}, {place: Hop}} {
			p, m := task{sparse: k%2 == 1 && i == 0, multi: i == 1}.make(t, kind)
			if i == 2 && !kind.Attends() {
				for e := range p.Graph.Indices {
					p.Graph.Weights = append(p.Graph.Weights, 0.5+float32(e%7)/4)
				}
			}
			o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
			o.Epochs, o.EvalEvery = 2, 1
			if place.set(&o.Sampling); !kind.Attends() && i < 2 {
				o.Sampling.Fanout = []int{4, 3, sample.All}
			}
			if i%2 == 0 && !kind.Attends() {
				o.Sampling.Ladies, o.Sampling.Fanout[0], o.Sampling.Fanout[1] = true, 40, 30
			}
			if k == 0 {
				o.Optimizer.Clip = 0.1
			}
			if i%2 == 1 {
				o.EvalFanout = []int{3, 2, sample.All}
			}
			want := map[int]*Result{}
			for f, rules := range policies {
				if cases++; !long.Wanted() && (f+i+k)%3 > 0 {
					continue
				}
				o := o
				o.Sampling.Fetch, o.Sampling.RowCache = rules, CacheSize{CacheRows, 40}
				want[f] = trained(t, p, o)
				groups := groupings[cases%len(groupings)]
				x := rankRun{p: p, o: func(int) Options { return o }, seed: uint64(cases % 2 * cases)}
				got, errs := x.run(t, groups)
				if err := errors.Join(errs...); err != nil {
					t.Fatalf("%s %+v %+v over %v: %v", kind, place, rules, groups, err)
				}
				for rank, r := range got {
					w := want[f]
					if r.WeightsSHA != w.WeightsSHA || r.FinalLoss != w.FinalLoss || *r.Last.Val != *w.Last.Val || *r.Last.Test != *w.Last.Test || r.BestEpoch != w.BestEpoch {
						t.Errorf("%s %+v %+v over %v: rank %d ends with %s, loss %v, %v; one process %s, %v, %v", kind, place, rules, groups, rank, r.WeightsSHA, r.FinalLoss, *r.Last.Val,
							w.WeightsSHA, w.FinalLoss, *w.Last.Val)
					}
					if r.Rows != w.Rows || r.Bytes.Rows != w.Bytes.Rows || r.Edges != w.Edges || r.Steps != w.Steps || r.Requests != w.Requests {
						t.Errorf("%s %+v %+v over %v: rank %d counts %+v, one process %+v", kind, place, rules, groups, rank, r.Counts, w.Counts)
					}
				}
			}
		}
	}
}

// A run over ranks that any of them interrupts, at any step, goes on over other ranks, or in one process, and ends in the bits and counts of one that nobody disturbed.
func TestRanksResumeAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for k, c := range []struct {
		place kindOfRoots
		rule  gnn.Optimizer
		fetch rowcache.Rules
		every int
	}{
		{kindOfRoots{place: Home}, gnn.Optimizer{Kind: gnn.Adam, LR: 0.01, AMSGrad: true}, rowcache.Rules{Kind: rowcache.Planned, Lookahead: 5}, 0},
		{kindOfRoots{}, gnn.Optimizer{Kind: gnn.AdamW, LR: 0.01, WeightDecay: 0.01}, rowcache.Rules{Kind: rowcache.Massive}, 2},
		{kindOfRoots{local: true}, gnn.Optimizer{Kind: gnn.SGD, LR: 0.1}, rowcache.Rules{Kind: rowcache.Rapid}, 3},
		{kindOfRoots{place: Hop}, gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, rowcache.Rules{}, 0},
	} {
		p, m := task{}.make(t, named.SAGE)
		o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
		o.Optimizer, o.Sampling.BatchSize, o.EvalEvery = c.rule, 16, 1
		o.Sampling.Fetch, o.Sampling.RowCache = c.fetch, CacheSize{CacheRows, 40}
		c.place.set(&o.Sampling)
		checkRanksResume(t, fmt.Sprintf("%+v", c), p, o, c.every, k, r)
	}
}

// checkRanksResume has a run of three parts interrupted, and goes on over other ranks.
func checkRanksResume(t *testing.T, name string, p *learn.Problem, o Options, every, k int, r *rand.Rand) {
	t.Helper()
	want := trained(t, p, o)
	o.CheckpointDir, o.CheckpointSteps, o.Resume, o.Identity = t.TempDir(), every, true, "id"
	stops := 0
	for at := 0; ; stops++ {
		at += 2 + r.IntN(want.Steps/5)
		groups := append([][]graph.Range{{{Lo: 0, Hi: 3}}}, groupings...)[(stops+k)%4]
		ctx, cancel := context.WithCancel(t.Context())
		who := r.IntN(len(groups))
		x := rankRun{p: p, o: func(rank int) Options {
			o := o
			if rank == 0 {
				o.OnStep = func(s Progress) {
					if s.Epoch*s.Steps+s.Step >= at {
						cancel()
					}
				}
			}
			return o
		}, ctx: func(rank int) context.Context {
			if rank == who {
				return ctx
			}
			return t.Context()
		}}
		got, errs := x.run(t, groups)
		cancel()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("%s over %v: %v", name, groups, err)
		}
		for _, other := range got[1:] {
			if other.Stopped != got[0].Stopped || other.WeightsSHA != got[0].WeightsSHA || other.Steps != got[0].Steps {
				t.Errorf("%s over %v: ranks end apart: %+v, %+v", name, groups, other.Totals, got[0].Totals)
			}
		}
		at = max(at, got[0].Steps)
		if got[0].Stopped == fit.Interrupted {
			continue
		}
		if g := got[0]; stops < 3 || g.WeightsSHA != want.WeightsSHA || g.Steps != want.Steps || g.Rows != want.Rows || g.Bytes.Rows != want.Bytes.Rows || g.FinalLoss != want.FinalLoss || g.BestEpoch != want.BestEpoch {
			t.Errorf("%s: stopped %d times: %s %+v, want %s %+v", name, stops, g.WeightsSHA, g.Totals, want.WeightsSHA, want.Totals)
		}
		break
	}
}

// Behind every epoch each process reads its meters once, however many stretches of steps the epoch has, and rank 0 has those of all, by rank.
func TestMetersOfRanks(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for _, groups := range groupings {
		epochs := 0
		o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
		o.Epochs, o.CheckpointDir, o.CheckpointSteps = 2, t.TempDir(), 1
		x := rankRun{p: p, o: func(rank int) Options {
			o := o
			o.Meter = func(epoch int) []gpu.Metered {
				return []gpu.Metered{{Rank: rank, Device: "package-0", Seconds: float64(epoch)}}
			}
			o.OnEpoch = func(s EpochStats) error {
				epochs++
				for k := range groups {
					if len(s.Meters) != len(groups) || s.Meters[k] != (gpu.Metered{Rank: k, Device: "package-0", Seconds: float64(s.Epoch)}) {
						t.Errorf("epoch %d: %+v", s.Epoch, s.Meters)
					}
				}
				return nil
			}
			return o
		}}
		if _, errs := x.run(t, groups); errors.Join(errs...) != nil || epochs != 2 {
			t.Errorf("%d epochs, %v", epochs, errs)
		}
	}
}
