package minibatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/internal/memory"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
)

// A plan's bounds hold for a run whose steps are no larger than those that were sampled plus slack, and leave little: what devices take is 80 to 100 % of them.
func TestPlanIsWhatARunTakes(t *testing.T) {
	for _, kind := range kinds(t) {
		for _, k := range []task{{vertices: 2000}, {vertices: 2000, sparse: true}, {vertices: 2000, multi: true}} {
			p, m := k.make(t, kind)
			o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
			o.Sampling.BatchSize = 200
			if !kind.Attends() && !k.sparse {
				o.Sampling.Fanout[2] = sample.All
			}
			plan, err := Plan(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			r := trained(t, p, o)
			for i, part := range plan.Parts {
				bound := part.Bound
				if peak := r.PeakDevice[i]; peak > bound || float64(peak) < 0.8*float64(bound) {
					t.Errorf("%s %+v: part %d took %d bytes, planned %d: %+v", kind, k, i, peak, bound, part.Uses)
				}
			}
			if plan.Steps*o.Epochs != r.Steps || !plan.Fits() {
				t.Errorf("%s: %d steps, want %d; fits %t", kind, plan.Steps*o.Epochs, r.Steps, plan.Fits())
			}
			about := func(what string, got, want int64) {
				if got < want*9/10 || got > want*11/10 {
					t.Errorf("%s: %d %s planned, %d counted", kind, got, what, want)
				}
			}
			about("rows", plan.Rows.Read, r.Rows.Read/int64(o.Epochs))
			about("fetched rows", plan.Rows.Fetched, r.Rows.Fetched/int64(o.Epochs))
			about("edges", plan.Edges, r.Edges/int64(o.Epochs))
			if r.Bytes.Rows < 8*gpu.Bytes(r.Rows.Fetched) {
				t.Errorf("%s %+v: %d rows are fetched by %d bytes", kind, k, r.Rows.Fetched, r.Bytes.Rows)
			}
			about("bytes", int64(plan.Bytes.Rows), int64(r.Bytes.Rows)/int64(o.Epochs))
		}
	}
}

// A batch that does not fit names one that does.
func TestBatchThatFits(t *testing.T) {
	p, m := task{vertices: 2000}.make(t, named.SAGE)
	o := small(m, nil, nil)
	o.Sampling.BatchSize = 1000
	d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Memory: 300 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	o.Devices = []gpu.Device{d}
	_, err = New(t.Context(), p, o)
	large := new(TooLarge)
	if !errors.As(err, &large) || large.Fits < 1 || !strings.Contains(err.Error(), fmt.Sprintf("--batch-size %d fits", large.Fits)) || d.Memory().Used != 0 {
		t.Fatalf("%v, %d bytes used", err, d.Memory().Used)
	}
	o.Sampling.BatchSize = large.Fits
	trained(t, p, o)
}

// What fits is asked of every device by itself, whatever it is called, and of the parts of one device together.
func TestFitsByDevice(t *testing.T) {
	p, m := task{vertices: 2000}.make(t, named.SAGE)
	for _, one := range []bool{false, true} {
		both := make([]gpu.Device, 2)
		for i := range both {
			d, err := host.Open(host.Spec{Name: "cpu:threads=1", Threads: 1, Memory: 1 << 30})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			both[i] = d
		}
		if one {
			both[1] = both[0]
		}
		plan, err := Plan(t.Context(), p, small(m, both, homes(p.Vertices(), 2)))
		if err != nil {
			t.Fatal(err)
		}
		for i := range plan.Parts {
			plan.Parts[i].Budget = max(plan.Parts[0].Bound, plan.Parts[1].Bound) * 3 / 2
		}
		if plan.Fits() == one {
			t.Errorf("one device: %t, fits %t: %+v", one, plan.Fits(), plan.Parts)
		}
	}
}

// A step that is larger than everything that was seen before makes its buffers larger, and changes no bit.
func TestBuffersGrow(t *testing.T) {
	for _, kind := range kinds(t) {
		p, m := task{sparse: kind == named.GIN}.make(t, kind)
		o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
		want := trained(t, p, o).WeightsSHA
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		grown := map[string]bool{}
		for _, w := range tr.workers {
			tiny := extent{roots: 1, ids: 1, features: 1, hops: []hopExtent{{rows: 1, cols: 1, entries: 1}, {rows: 1, cols: 1, entries: 1}, {rows: 1, cols: 1, entries: 1}}}
			w.Workspace.Free()
			w.Workspace = gnn.NewWorkspace(gpu.Info{})
			var l layout
			w.stage.lay(&l, &tiny, nil)
			w.Pass = gnn.NewPass(netOf(m), tr.design.plan, l.layers, l.in, w.Params, w.Grads, w.Workspace)
			if err := w.Workspace.Alloc(w.Device); err != nil {
				t.Fatal(err)
			}
			for i := range w.inputs {
				w.inputs[i].buf.Free()
				if w.inputs[i].buf, err = w.Device.Alloc(64, "input"); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range w.feed.slots {
				s.units[0].close()
				s.units[0].mem = nil
			}
			if w.Index == 0 {
				w.stage.grown = func(what string, was, is gpu.Bytes) { grown[what] = is > was }
			}
		}
		r, err := tr.Run(t.Context())
		tr.Close()
		if err != nil || r.WeightsSHA != want || !grown["input"] {
			t.Errorf("%s: %v, grown %v", kind, err, grown)
		}
	}
}

// A vertex whose in-neighbours alone are more than a device's chunks may take is named where memory is planned.
func TestPlanNamesHubs(t *testing.T) {
	p, m := task{vertices: 3000}.make(t, named.GAT)
	p.Graph = star(p.Vertices())
	d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Memory: 400 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	plan, err := Plan(t.Context(), p, small(m, []gpu.Device{d}, nil))
	if err != nil {
		t.Fatal(err)
	}
	uses := plan.Parts[0].Uses
	if last := uses[len(uses)-1]; plan.Fits() || last.Name != "evaluation of vertex 0 from 2999 in-neighbours" {
		t.Errorf("it fits: %t, %+v", plan.Fits(), uses)
	}
}

// kindOf is a device that says it is of another kind.
type kindOf struct {
	gpu.Device
	kind gpu.Kind
}

func (d kindOf) Info() gpu.Info {
	i := d.Device.Info()
	i.Kind = d.kind
	return i
}

// Evaluation takes no more of the host's memory for a part than training lets it, however much a CPU device may have, and half of what is left of a GPU's.
func TestEvaluationOnTheHost(t *testing.T) {
	p, m := task{vertices: 2000}.make(t, named.SAGE)
	d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1, Memory: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for kind, most := range map[gpu.Kind][2]gpu.Bytes{gpu.CPU: {leastOfHost, leastOfHost}, gpu.CUDA: {500 << 20, 512 << 20}} {
		o := small(m, []gpu.Device{kindOf{d, kind}}, nil)
		o.setDefaults()
		r := newRoots(p, &o)
		design, err := newDesign(t.Context(), p, &o, r)
		if err != nil {
			t.Fatal(err)
		}
		if n := newSizing(p, &o, &design).chunk(r.steps); n < most[0] || n > most[1] {
			t.Errorf("%v: %d bytes, want %d to %d", kind, n, most[0], most[1])
		}
	}
}

// A CPU device that reads most of the graph in a step has no copy of it beside the input.
func TestLargeStepsAreNotStaged(t *testing.T) {
	for fanout, want := range map[int]bool{1: true, sample.All: false} {
		p, m := task{vertices: 2000, sparse: true}.make(t, named.GCN)
		o := small(m, devices(t, 1, host.Spec{}), nil)
		o.Sampling.Fanout = []int{fanout, fanout, fanout}
		plan, err := Plan(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(plan.Host.Uses, func(u memory.Use) bool { return u.Name == "staged steps" }); got != want {
			t.Errorf("fan-out %d: staged %t, want %t: %+v", fanout, got, want, plan.Host)
		}
	}
}
