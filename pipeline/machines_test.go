package pipeline

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/sim"
	"capgnn/internal/learn"
	"capgnn/internal/machines"
	"capgnn/internal/named"
)

// overMachines simulates a run of four parts on machines with so many of them, connected at a rate, in bytes per second.
func overMachines(t *testing.T, kind named.Kind, parts []int, rate float64, latency time.Duration, edit func(i int, c *sim.Config), change func(o *Options)) (*Simulation, error) {
	t.Helper()
	p, m := task{share: 0.3}.make(t, kind)
	devices := simulated(t, 4, edit)
	tr := newTrainer(t, p, m, cpus(t, 4), scatterParts(p.Vertices(), 4), func(o *Options) { o.Epochs = 3 })
	o := tr.o
	o.Devices, o.Layout = devices, nil
	if change != nil {
		change(&o)
	}
	var lines [][]sim.Line
	for range parts {
		lines = append(lines, slices.Repeat([]sim.Line{{BytesPerSec: rate, Latency: latency}}, len(parts)))
	}
	net, err := sim.NewNetwork(devices[0].(gpu.Clocked).Clock().(*sim.Clock), lines)
	if err != nil {
		t.Fatal(err)
	}
	return Simulate(context.Background(), p, o, &machines.Cluster{Parts: parts, Wire: net})
}

// Of machines the simulation has the bytes that ranks send each other, is equal in every rerun, and takes as long as their busiest direction at least.
func TestSimulateMachines(t *testing.T) {
	if testing.Short() {
		t.Skip("counts bytes and virtual time, which says nothing of races")
	}
	const rate, latency = 1e6, 100 * time.Microsecond // so slow that the network decides
	for _, kind := range []named.Kind{named.GCN, named.SAGE, named.GAT} {
		for name, parts := range map[string][]int{"2x2": {2, 2}, "3+1": {3, 1}, "4x1": {1, 1, 1, 1}} {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				var all []*Simulation
				for range 2 {
					s, err := overMachines(t, kind, parts, rate, latency, nil, nil)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, s)
				}
				if !reflect.DeepEqual(all[0], all[1]) {
					t.Errorf("predictions differ: %+v and %+v", all[0], all[1])
				}
				s := all[0]
				out, in := map[int]gpu.Bytes{}, map[int]gpu.Bytes{}
				var total, busiest gpu.Bytes
				for _, x := range s.Pairs {
					out[x.From], in[x.To] = out[x.From]+x.Rows, in[x.To]+x.Rows
					total, busiest = total+x.Rows, max(busiest, out[x.From], in[x.To])
				}
				fast, err := overMachines(t, kind, parts, 1e15, 0, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(fast.Pairs, s.Pairs) {
					t.Errorf("pairs are %v over fast lines, %v over slow ones", fast.Pairs, s.Pairs)
				}
				least, most := time.Duration(float64(busiest)/rate*1e9), fast.Epoch+time.Duration(float64(total)/rate*1e9)+time.Second/10
				if s.Epoch < least || s.Epoch > most {
					t.Errorf("epoch %v, want %v for the busiest interface at least and %v if nothing overlaps at most", s.Epoch, least, most)
				}
			})
		}
	}
}

// Machines of a simulation send each other what ranks of a run do, however rows move.
func TestSimulatedPairs(t *testing.T) {
	if testing.Short() {
		t.Skip("counts bytes, which says nothing of races")
	}
	p, m := task{share: 0.3}.make(t, named.SAGE)
	for _, name := range []string{"none", "slots", "int8", "pruned", "pieces"} {
		for _, group := range []string{"2x2", "3+1", "4x1"} {
			t.Run(name+" "+group, func(t *testing.T) {
				var want []RankPair
				c := farRun{p: p, m: m, edit: func(p *learn.Problem, o *Options) {
					farEdits[name](p, o)
					o.Epochs, o.EvalEvery = 3, 0
				}, at: func(rank int, o *Options) {
					o.OnEpoch = func(e EpochStats) error {
						if rank == 0 && e.Epoch == 1 {
							want = e.Pairs
						}
						return nil
					}
				}}
				groups := groupings[group]
				if _, err := c.train(t, groups, memoryRanks(t, len(groups), 0)); err != nil {
					t.Fatal(err)
				}
				for k := range want {
					want[k].Frames, want[k].Wait = 0, 0
				}
				var parts []int
				for _, g := range groups {
					parts = append(parts, g.Hi-g.Lo)
				}
				s, err := overMachines(t, named.SAGE, parts, 1e9, 0, nil, func(o *Options) { farEdits[name](p, o) })
				if err != nil {
					t.Fatal(err)
				}
				if len(want) == 0 || !reflect.DeepEqual(s.Pairs, want) {
					t.Errorf("simulated machines send %v, ranks %v", s.Pairs, want)
				}
			})
		}
	}
}

// A machine whose device is too small ends the simulation with what it lacks.
func TestSimulateMachinesOutOfMemory(t *testing.T) {
	_, err := overMachines(t, named.GCN, []int{2, 2}, 1e6, 0, func(i int, c *sim.Config) {
		if i == 3 {
			c.Memory = 4 << 10
		}
	}, nil)
	if oom := (*gpu.OutOfMemory)(nil); !errors.As(err, &oom) {
		t.Errorf("error %v, want one of memory", err)
	}
}
