package minibatch

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/gpu/sim"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/machines"
	"capgnn/internal/named"
	"capgnn/internal/together"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
)

// countingRank counts what others send it, as package tcp does.
type countingRank struct {
	*memoryRank
	mu  *sync.Mutex
	got map[[2]int]int64 // bytes by sender and reader
}

func (r countingRank) Send(to int, area, message uint32, off int, b []byte, sent func(error)) {
	r.mu.Lock()
	r.got[[2]int{r.Rank(), to}] += int64(len(b))
	r.mu.Unlock()
	r.memoryRank.Send(to, area, message, off, b, sent)
}

func (r countingRank) Received(from int) (rows, frames int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[[2]int{from, r.Rank()}], 0
}

// sentOverRanks trains an epoch over ranks, and returns what they have sent each other.
func sentOverRanks(t *testing.T, p *learn.Problem, o Options, groups []graph.Range) (pairs []together.Pair) {
	t.Helper()
	ranks, mu, got := memoryRanks(t, len(groups), 0), new(sync.Mutex), map[[2]int]int64{}
	var all sync.WaitGroup
	for k, own := range groups {
		o := o
		o.Devices, o.Ranks = make([]gpu.Device, len(o.Part)), countingRank{ranks[k], mu, got}
		o.Devices = o.Devices[:groups[len(groups)-1].Hi]
		copy(o.Devices[own.Lo:own.Hi], devices(t, own.Hi-own.Lo, host.Spec{}))
		o.OnEpoch = func(e EpochStats) error {
			if k == 0 {
				pairs = e.Pairs
			}
			return nil
		}
		all.Go(func() {
			if tr, err := New(t.Context(), p, o); err != nil {
				t.Error(err)
			} else if _, err := tr.Run(t.Context()); err != nil {
				t.Error(err)
			} else {
				tr.Close()
			}
		})
	}
	all.Wait()
	return pairs
}

// simulate simulates epochs of a run of which each machine has some parts, connected at a rate in bytes per second.
func simulate(t *testing.T, p *learn.Problem, o Options, groups []graph.Range, rate float64, epochs int) *Simulation {
	t.Helper()
	o.Devices = unlinked(t, groups[len(groups)-1].Hi, 1<<30)
	c := &machines.Cluster{}
	var lines [][]sim.Line
	for _, g := range groups {
		c.Parts, lines = append(c.Parts, g.Hi-g.Lo), append(lines, slices.Repeat([]sim.Line{{BytesPerSec: rate, Latency: 100 * time.Microsecond}}, len(groups)))
	}
	net, err := sim.NewNetwork(o.Devices[0].(gpu.Clocked).Clock().(*sim.Clock), lines)
	if err != nil {
		t.Fatal(err)
	}
	c.Wire = net
	s, err := Simulate(t.Context(), p, o, epochs, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unlinked returns devices that compute nothing on one clock.
func unlinked(t *testing.T, n int, memory gpu.Bytes) (out []gpu.Device) {
	t.Helper()
	clock := sim.NewClock()
	for i := range n {
		d, err := sim.Open(sim.Config{Name: fmt.Sprintf("sim:%d", i), Clock: clock, Threads: 1, Memory: memory,
			Rates: sim.Rates{FlopsPerSec: 2e10, GatherPerSec: 2e9, BytesPerSec: 1e10, H2D: 1e10, D2H: 1e10, Near: 1e10, Launch: 2e-6, Latency: 2e-6}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		out = append(out, d)
	}
	return out
}

// Simulated machines send each other what ranks of a run do, to the byte, wherever roots are computed and however rows are fetched; times are equal in every rerun.
func TestSimulatedMachinesSendAlike(t *testing.T) {
	zero := 0
	for i, place := range []Sampling{{}, {Local: true}, {Place: Home}, {Place: Hop, NoMerge: true}, {Place: Hop, Merged: &zero, NoGather: true}} {
		for k, rules := range policies {
			if (i+k)%2 == 0 && k > 0 {
				continue
			}
			kind := []named.Kind{named.SAGE, named.GIN, named.GCN}[(i+k)%3]
			p, m := task{sparse: i == 1 && k%2 == 1}.make(t, kind)
			o := small(m, nil, homes(p.Vertices(), 3))
			s := &o.Sampling
			s.Local, s.Place, s.NoMerge, s.Merged, s.NoGather = place.Local, place.Place, place.NoMerge, place.Merged, place.NoGather
			s.Fetch, s.RowCache = rules, CacheSize{CacheRows, 40}
			if k%2 == 0 && !p.Features.Sparse() {
				s.Fanout = []int{4, 3, sample.All}
			}
			o.Epochs, o.EvalEvery = 1, 0
			groups := groupings[(i+k)%3]
			name := fmt.Sprintf("%s %+v, %+v over %v", kind, place, rules, groups)
			want := sentOverRanks(t, p, o, groups)
			got := simulate(t, p, o, groups, 1e8, 1)
			var sent []together.Pair
			for _, x := range got.Epochs[0].Pairs {
				sent = append(sent, together.Pair{From: x.From, To: x.To, Rows: x.Bytes()})
			}
			for x := range want {
				want[x].Wait = 0
			}
			slices.SortFunc(want, func(a, b together.Pair) int { return 10*(a.To-b.To) + a.From - b.From })
			if len(want) == 0 || !reflect.DeepEqual(sent, want) {
				t.Errorf("%s: machines send %v, ranks %v", name, sent, want)
			}
			if again := simulate(t, p, o, groups, 1e8, 1); !reflect.DeepEqual(got.Epochs[0].Pairs, again.Epochs[0].Pairs) || got.Epochs[0].Took != again.Epochs[0].Took {
				t.Errorf("%s: %v, then %v", name, got.Epochs[0].Took, again.Epochs[0].Took)
			}
		}
	}
}

// An epoch takes as long as what crosses the busiest interface at least; over a fast network rows are hidden, and one that is fast beyond measure takes what devices take.
func TestSimulatedMachinesTakeTime(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	o := small(m, nil, homes(p.Vertices(), 3))
	o.Epochs = 2
	const slow = 1e6
	s := simulate(t, p, o, groupings[2], slow, 5)
	if len(s.Epochs) != 2 || len(s.Parts) != 3 {
		t.Fatalf("%d epochs of %d parts, want those that the run has: 2 of 3", len(s.Epochs), len(s.Parts))
	}
	out, in := map[int]gpu.Bytes{}, map[int]gpu.Bytes{}
	busiest := gpu.Bytes(0)
	for _, x := range s.Epochs[1].Pairs {
		out[x.From], in[x.To] = out[x.From]+x.Bytes(), in[x.To]+x.Bytes()
		busiest = max(busiest, out[x.From], in[x.To])
	}
	fast := simulate(t, p, o, groupings[2], 1e15, 2)
	least := time.Duration(float64(busiest) / slow * 0.95e9) // the first steps' rows came in the epoch before
	if took, atOnce := s.Epochs[1].Took, fast.Epochs[1].Took; took < least || atOnce*5 > took {
		t.Errorf("an epoch takes %v, over a network without end %v: want %v at least, as %d bytes cross", took, atOnce, least, busiest)
	}
}

// A part that does not fit its device ends the simulation of all machines with what it lacks.
func TestSimulatedMachineIsTooSmall(t *testing.T) {
	p, m := task{}.make(t, named.GCN)
	o := small(m, unlinked(t, 3, 20<<10), homes(p.Vertices(), 3))
	o.Sampling.Fetch = rowcache.Rules{Kind: rowcache.Planned}
	net, err := sim.NewNetwork(o.Devices[0].(gpu.Clocked).Clock().(*sim.Clock), [][]sim.Line{{{}, {BytesPerSec: 1}}, {{BytesPerSec: 1}, {}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Simulate(t.Context(), p, o, 1, &machines.Cluster{Parts: []int{1, 2}, Wire: net}); !errors.As(err, new(*gpu.OutOfMemory)) {
		t.Errorf("error %v, want one of memory", err)
	}
}
