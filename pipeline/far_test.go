package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/cluster/shaped"
	"capgnn/cluster/tcp"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// memoryRank is a rank joined to others by memory.
type memoryRank struct {
	shaped.Transport
	received []atomic.Int64 // by rank: bytes
	epoch    atomic.Uint32
}

func newMemoryRank(t shaped.Transport) *memoryRank {
	return &memoryRank{Transport: t, received: make([]atomic.Int64, t.Ranks())}
}

// Expect counts what arrives.
func (r *memoryRank) Expect(from int, area uint32, into []byte, arrived func(epoch uint32, hi int)) {
	last, there := int64(-1), 0
	r.Transport.Expect(from, area, into, func(epoch uint32, hi int) {
		if int64(epoch) != last {
			last, there = int64(epoch), 0
		}
		r.received[from].Add(int64(hi - there))
		there = hi
		arrived(epoch, hi)
	})
}

func (r *memoryRank) Received(from int) (rows, frames int64) {
	n := r.received[from].Load()
	return n, n
}

// Gather and Broadcast give every rank memory of its own, as connections do.
func (r *memoryRank) Gather(ctx context.Context, tag uint32, b []byte) ([][]byte, error) {
	return r.Transport.Gather(ctx, tag, bytes.Clone(b))
}

func (r *memoryRank) Broadcast(ctx context.Context, tag uint32, b []byte) ([]byte, error) {
	b, err := r.Transport.Broadcast(ctx, tag, bytes.Clone(b))
	return bytes.Clone(b), err
}

func (r *memoryRank) SetEpoch(epoch uint32) { r.epoch.Store(epoch) }

// Announce compares tables.
func (r *memoryRank) Announce(ctx context.Context, areas []cluster.Area) error {
	mine, err := json.Marshal(areas)
	if err != nil {
		return err
	}
	first, err := r.Broadcast(ctx, 1<<20, mine)
	if err == nil && string(first) != string(mine) {
		return fmt.Errorf("areas %s, at rank 0 %s", mine, first)
	}
	return err
}

func (*memoryRank) Done() <-chan struct{} { return nil }
func (*memoryRank) Err() error            { return nil }

// memoryRanks returns n ranks; with a seed what they send takes a random time.
func memoryRanks(t *testing.T, n int, seed uint64) (all []Ranks) {
	t.Helper()
	locals := shaped.NewLocal(n)
	t.Cleanup(locals[0].Close)
	for _, l := range locals {
		if seed == 0 {
			all = append(all, newMemoryRank(l))
			continue
		}
		s := shaped.Shape(l, shaped.Options{Jitter: 300 * time.Microsecond, Seed: seed})
		t.Cleanup(s.Close)
		all = append(all, newMemoryRank(s))
	}
	return all
}

// groupings are ways to give four parts to ranks.
var groupings = map[string][]graph.Range{
	"1x4": {{Lo: 0, Hi: 4}},
	"2x2": {{Lo: 0, Hi: 2}, {Lo: 2, Hi: 4}},
	"3+1": {{Lo: 0, Hi: 3}, {Lo: 3, Hi: 4}},
	"4x1": {{Lo: 0, Hi: 1}, {Lo: 1, Hi: 2}, {Lo: 2, Hi: 3}, {Lo: 3, Hi: 4}},
}

// farRun is a way to train on four parts.
type farRun struct {
	p       *learn.Problem
	m       named.Model
	edit    func(p *learn.Problem, o *Options)
	sharing bool                       // two parts on each device
	at      func(rank int, o *Options) // nil: nothing differs between ranks
	ends    func(rank int, err error)  // is called when a rank ends with an error; nil: nobody is
	on      []gpu.Device               // by part; nil: CPU devices of its own
	asked   context.Context            // rank 0 is asked to end when it does; nil: never
}

// devices are those of some parts.
func (c *farRun) devices(t *testing.T, own graph.Range) (all []gpu.Device) {
	if c.on != nil {
		return c.on[own.Lo:own.Hi]
	}
	open := cpus(t, own.Hi-own.Lo)
	for k := range open {
		if c.sharing {
			k -= k % 2
		}
		all = append(all, open[k])
	}
	return all
}

// told is what a run says of itself, whatever its ranks.
func told(r *Result) string {
	m := func(x *float64) any {
		if x == nil {
			return nil
		}
		return *x
	}
	return fmt.Sprint(r.WeightsSHA, r.Epochs, r.FinalLoss, r.BestEpoch, m(r.Best.Val), m(r.Last.Train), m(r.Last.Test))
}

// train trains on ranks and returns what each of them tells.
func (c *farRun) train(t *testing.T, groups []graph.Range, ranks []Ranks) ([]string, error) {
	t.Helper()
	out, errs, done := make([]string, len(groups)), make([]error, len(groups)), make(chan bool)
	for k, own := range groups {
		o := Options{
			Training: Training{Model: netOf(c.m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01},
				Epochs: 4, EvalEvery: 2, WaitDeadline: 30 * time.Second},
			First: own.Lo, Parts: 4, Devices: c.devices(t, own), Part: scatterParts(c.p.Vertices(), 4),
		}
		o.Cache.Host = hostmem.LockOptions{Heap: true}
		if ranks != nil {
			o.Ranks = ranks[k]
		}
		if c.edit != nil {
			c.edit(c.p, &o)
		}
		if c.at != nil {
			c.at(k, &o)
		}
		go func() {
			defer func() { done <- true }()
			defer func() {
				if errs[k] != nil && c.ends != nil {
					c.ends(k, errs[k])
				}
			}()
			tr, err := New(context.Background(), c.p, o)
			if err != nil {
				errs[k] = err
				return
			}
			defer tr.Close()
			ctx := context.Background()
			if k == 0 && c.asked != nil {
				ctx = c.asked
			}
			r, err := tr.Run(ctx)
			if errs[k] = err; err == nil {
				out[k] = told(r)
			}
		}()
	}
	for range groups {
		<-done
	}
	return out, errors.Join(errs...)
}

// farEdits are ways to move rows.
var farEdits = map[string]func(p *learn.Problem, o *Options){
	"none": func(*learn.Problem, *Options) {},
	"jaca": func(_ *learn.Problem, o *Options) { o.Cache.Policy = jaca.JACA },
	"slots": func(_ *learn.Problem, o *Options) {
		o.Cache.Policy, o.Cache.Local, o.Cache.Global = jaca.JACA, jaca.Percent(30), jaca.Percent(40)
	},
	"bf16":   func(_ *learn.Problem, o *Options) { o.Cache.HaloType = halo.BF16 },
	"int8":   func(_ *learn.Problem, o *Options) { o.Cache.HaloType, o.Cache.Policy = halo.Int8, jaca.JACA },
	"int2":   func(_ *learn.Problem, o *Options) { o.Cache.HaloType, o.Cache.Policy = halo.Int2, jaca.JACA },
	"pruned": func(p *learn.Problem, o *Options) { o.Dropped = dropReplicas(p.Graph, o.Part, 4, 0.5) },
	"pieces": func(_ *learn.Problem, o *Options) {
		o.Cache.Piece, o.Cache.Policy, o.Cache.Global = 300, jaca.JACA, jaca.Percent(50)
	},
	"layer 0": func(_ *learn.Problem, o *Options) {
		change(o, func(m *named.Model) { m.DropFeatures = m.Kind.Norms() })
	},
}

// However four parts are grouped into ranks, and however long what they send is under way, they have the weights and scores of one process.
func TestRanksTrainAlike(t *testing.T) {
	turn := 0
	for _, kind := range kinds(t) {
		for _, name := range []string{"none", "jaca", "slots", "bf16", "int8", "int2", "pruned", "pieces", "layer 0"} {
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				turn++
				c := farRun{edit: farEdits[name], sharing: turn%3 == 0}
				c.p, c.m = task{share: 0.4, vertices: 200, multi: turn%4 == 1, sparse: turn%5 == 2, directed: turn%2 == 1}.make(t, kind)
				want, err := c.train(t, groupings["1x4"], nil)
				if err != nil {
					t.Fatal(err)
				}
				for k, group := range []string{"2x2", "3+1", "4x1", "1x4"} {
					if (turn/2+k)%2 > 0 && !long.Wanted() || testing.Short() && k/2 != turn/4%2 {
						continue // two of four, in short one of four, each with every kind of rows
					}
					seed := uint64(0)
					if (turn+k)%2 == 0 {
						seed = uint64(1 + turn)
					}
					groups := groupings[group]
					got, err := c.train(t, groups, memoryRanks(t, len(groups), seed))
					if err != nil {
						t.Fatalf("%s: %v", group, err)
					}
					if !slices.Equal(got, slices.Repeat(want, len(groups))) {
						t.Errorf("%s, seed %d: %v\nin one process %v", group, seed, got, want)
					}
				}
			})
		}
	}
}

// The same over connections.
func TestRanksTrainOverTCP(t *testing.T) {
	c := farRun{edit: farEdits["jaca"]}
	c.p, c.m = task{share: 0.4, vertices: 200}.make(t, named.SAGE)
	want, err := c.train(t, groupings["1x4"], nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.train(t, groupings["3+1"], connected(t, 2))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, slices.Repeat(want, 2)) {
		t.Errorf("%v\nin one process %v", got, want)
	}
}

// connected returns n ranks of this process that have joined over loopback.
func connected(t *testing.T, n int) (all []Ranks) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("no loopback address: %v", err)
	}
	master := free.Addr().String()
	free.Close()
	groups, errs, done := make([]*tcp.Group, n), make([]error, n), make(chan bool)
	for r := range n {
		go func() {
			groups[r], errs[r] = tcp.Join(t.Context(), tcp.Options{Rank: r, Ranks: n, Master: master, Host: fmt.Sprintf("host%d", r),
				Secret: []byte("0123456789abcdef0123456789abcdef"), JoinTimeout: 20 * time.Second})
			done <- true
		}()
	}
	for range n {
		<-done
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, g := range groups {
			go func() { g.Close(); done <- true }()
		}
		for range groups {
			<-done
		}
	})
	for _, g := range groups {
		all = append(all, g)
	}
	return all
}

// Parts without vertices, without neighbours elsewhere, one layer, one column: ranks train as one process does.
func TestOddRanksTrainAlike(t *testing.T) {
	for k, kind := range kinds(t) {
		for name, odd := range map[string]struct {
			vertices, layers, hidden int
			part                     func(v int) int32
		}{
			"empty part":    {60, 2, 8, func(v int) int32 { return []int32{0, 2, 2, 3}[v%4] }},
			"one layer":     {60, 1, 8, func(v int) int32 { return int32(v % 4) }},
			"narrow":        {40, 3, 4, func(v int) int32 { return int32(v % 4) }},
			"few vertices":  {12, 2, 4, func(v int) int32 { return int32(v % 4) }},
			"all elsewhere": {60, 4, 8, func(int) int32 { return 2 }},
		} {
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				c := farRun{edit: func(p *learn.Problem, o *Options) {
					for v := range o.Part {
						o.Part[v] = odd.part(v)
					}
					if o.Epochs = 2; k%2 == 0 {
						o.Cache.Policy = jaca.JACA
						change(o, func(m *named.Model) { m.DropFeatures = m.Kind.Norms() })
					}
				}}
				c.p, c.m = task{share: 0.5, vertices: odd.vertices}.make(t, kind)
				c.p.Train[0] = true
				c.m.Layers, c.m.Hidden = odd.layers, odd.hidden
				want, err := c.train(t, groupings["1x4"], nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, group := range []string{"2x2", "3+1"} {
					if got, err := c.train(t, groupings[group], memoryRanks(t, 2, 0)); err != nil || !slices.Equal(got, slices.Repeat(want, 2)) {
						t.Errorf("%s: %v, %v\nin one process %v", group, got, err, want)
					}
				}
			})
		}
	}
}

// lostRank is a rank that loses the others in the epoch that it waits for.
type lostRank struct {
	*memoryRank
	done chan struct{}
}

var errLost = errors.New("rank 1 (host b) lost in epoch 0: connection closed")

func (r lostRank) Done() <-chan struct{} { return r.done }
func (lostRank) Err() error              { return errLost }

// A rank that waits for one that is lost ends with what the connections say, long before the deadline.
func TestRankIsLost(t *testing.T) {
	c := farRun{}
	c.p, c.m = task{share: 0.4, vertices: 200}.make(t, named.GCN)
	all, done := memoryRanks(t, 2, 0), make(chan struct{})
	trainers, ended := make([]*Trainer, 2), make(chan error)
	for k, own := range groupings["2x2"] {
		o := Options{
			Training: Training{Model: netOf(c.m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01},
				Epochs: 2, Ranks: lostRank{all[k].(*memoryRank), done}},
			First: own.Lo, Parts: 4, Devices: c.devices(t, own), Part: scatterParts(c.p.Vertices(), 4),
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
	go func() {
		_, err := trainers[0].Run(t.Context())
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond)
	close(done)
	select {
	case err := <-ended:
		if !errors.Is(err, errLost) {
			t.Errorf("rank 0 ends with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("rank 0 hangs")
	}
}
