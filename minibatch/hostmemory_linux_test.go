package minibatch

import (
	"bytes"
	"os"
	"os/exec"
	"runtime/debug"
	"testing"

	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/memory"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
	"capgnn/pipeline/chunks"
)

const alone = "CAPGNN_TEST_ALONE" // in a process that measures its memory

// What a run takes of the machine, its CPU devices with it, is within what the plan says, and where it is some megabytes no less than 80 % of that.
func TestPlanIsWhatTheProcessTakes(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector has memory of its own")
	}
	for name, c := range map[string]struct {
		kind                   named.Kind
		vertices, cols, hidden int
		parts                  int
		fanout                 []int
		least                  float64 // of the bound
		chunks                 int     // of isolated parts; 0: they are not
	}{
		"wide features": {named.SAGE, 40000, 128, 32, 1, []int{10, 5, sample.All}, 0.8, 0},
		"wide layers":   {named.GCN, 40000, 16, 128, 1, []int{5, 5, 5}, 0.8, 0},
		"first layers":  {named.APPNP, 10000, 250, 512, 1, []int{8, 8}, 0.8, 0},
		"small":         {named.GIN, 500, 8, 8, 3, []int{5, sample.All}, 0, 0},
		"isolated":      {named.SAGE, 20000, 64, 32, 1, []int{10, 5, sample.All}, 0.7, 6},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Getenv(alone) == "" { // what other tests have left on the heap would be collected later
				cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
				cmd.Env = append(os.Environ(), alone+"=1")
				switch out, err := cmd.CombinedOutput(); {
				case bytes.Contains(out, []byte("--- SKIP")):
					t.Skipf("%s", out)
				case err != nil || !bytes.Contains(out, []byte("of what was planned")):
					t.Errorf("%v: %s", err, out)
				}
				return
			}
			p := large(t, c.vertices, c.cols, c.kind)
			o := small(named.Model{Kind: c.kind, Layers: len(c.fanout), Hidden: c.hidden, In: c.cols, Out: p.Classes, Dropout: 0.5, Seed: 5}, nil, homes(c.vertices, c.parts))
			for range c.parts {
				d, err := host.Open(host.Spec{Threads: 1, Memory: 1 << 30})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				o.Devices = append(o.Devices, d)
			}
			if c.chunks > 0 {
				o.Isolated = &Isolated{chunks.Isolated{Chunks: c.chunks}, homes(c.vertices, c.chunks)}
			}
			o.Sampling, o.EvalEvery = Sampling{BatchSize: 256, Fanout: c.fanout}, 1
			plan, err := Plan(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			bound := plan.Host.Bound
			for _, part := range plan.Parts {
				bound += part.Bound
			}
			warm := o
			warm.Part, warm.Isolated = homes(500, c.parts), nil
			trained(t, large(t, 500, c.cols, c.kind), warm) // so that what runs is in memory
			debug.FreeOSMemory()
			if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak is that from now on
				t.Skip("the system does not forget the peak of the process: ", err)
			}
			before, _ := hostmem.PeakRSS()
			memory.Collect(plan.Host.Bound-plan.Host.Mapped-plan.Host.Garbage, plan.Host.Garbage)
			trained(t, p, o)
			peak, _ := hostmem.PeakRSS()
			peak -= before
			if ratio := float64(peak) / float64(bound); ratio > 1 || ratio < c.least {
				t.Errorf("%d KiB are %.3f of the %d planned: %+v, %+v", peak>>10, ratio, bound>>10, plan.Host, plan.Parts)
			} else {
				t.Logf("%d KiB are %.3f of what was planned", peak>>10, ratio)
			}
		})
	}
}

// large is a problem whose features lie outside the heap, as those of a mapped store do.
func large(t *testing.T, n, cols int, kind named.Kind) *learn.Problem {
	t.Helper()
	g, err := synth.Random(n, 10*n, false, 11)
	if err != nil {
		t.Fatal(err)
	}
	p := &learn.Problem{Graph: g.WithoutLoops(), Loops: graph.LoopsRemoved, Classes: 8, Train: make([]bool, n), Val: make([]bool, n), Test: make([]bool, n), Labels: make([]int32, n)}
	if kind.AddsLoops() {
		p.Loops = graph.LoopsAdded
	}
	mem, err := hostmem.NewScratch("test", "features", "", int64(4*n*cols))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	p.Features = learn.Features{Cols: cols, Dense: hostmem.Of[float32](mem.Bytes())}
	for i := range p.Features.Dense {
		p.Features.Dense[i] = float32(i*2654435761>>16&0xff) / 256
	}
	for v := range n {
		p.Labels[v] = int32(v % 8)
		p.Train[v], p.Val[v], p.Test[v] = v%10 == 0, v%10 == 1, v%10 > 1
	}
	return p
}
