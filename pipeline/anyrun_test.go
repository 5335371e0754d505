package pipeline

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/model"
	"capgnn/pipeline/halo"
)

// anyRun is a random run: a small graph of any shape, and options that may be combined.
type anyRun struct {
	*rand.Rand
	shape    string
	p        *learn.Problem
	m        named.Model
	o        Options
	parts    int
	devices  int
	staged   bool // devices do not reach each other
	features string
}

func (d *anyRun) String() string {
	c := &d.o.Cache
	return fmt.Sprintf("%s of %d vertices, %d edges, loops %v, features %s, %d classes (multi %t), %d train; %s, %d layers (residual %t), hidden %d, heads %d, jumping %t; "+
		"%d parts on %d devices (staged %t), %d dropped; storage %v; cache %q local %v global %v s=%v exact %d pipeline %t no-peer %t %v top %d piece %d",
		d.shape, d.p.Vertices(), d.p.Graph.Edges(), d.p.Loops, d.features, d.p.Classes, d.m.Multi, d.p.TrainingVertices(), d.m.Kind, d.m.Layers, d.m.Residual,
		d.m.Hidden, d.m.Heads, d.m.Jumping, d.parts, d.devices, d.staged, len(slices.Concat(d.o.Dropped...)), d.o.Storage, c.Policy, c.Local, c.Global,
		c.Staleness, c.ExactEpochs, c.Pipeline, c.NoPeer, c.HaloType, c.TopK, c.Piece)
}

func one[T any](d *anyRun, of ...T) T { return of[d.IntN(len(of))] }

// anyShapes are graphs that have gone wrong somewhere, in this program or in another.
var anyShapes = []string{"no edge", "path", "star out", "star in", "star", "ring", "complete", "random", "directed", "islands", "one edge", "only loops"}

// edges draws a graph of n vertices.
func (d *anyRun) edges(n int) *graph.CSR {
	var edges []graph.Edge
	arc := func(u, v int) { edges = append(edges, graph.Edge{From: graph.NodeID(u), To: graph.NodeID(v)}) }
	both := func(u, v int) { arc(u, v); arc(v, u) }
	switch d.shape {
	case "path", "ring":
		for v := 1; v < n; v++ {
			both(v-1, v)
		}
		if d.shape == "ring" {
			both(n-1, 0)
		}
	case "star out", "star in", "star":
		for v := 1; v < n; v++ {
			if d.shape != "star in" {
				arc(0, v)
			}
			if d.shape != "star out" {
				arc(v, 0)
			}
		}
	case "complete":
		for v := range min(n, 14) {
			for u := range v {
				both(u, v)
			}
		}
	case "random", "directed":
		for range d.IntN(4 * n) {
			u, v := d.IntN(n), d.IntN(n)
			if arc(u, v); d.shape == "random" {
				arc(v, u)
			}
		}
	case "islands": // and vertices on their own
		for v := 0; v+2 < n; v += 4 {
			both(v, v+1)
			both(v+1, v+2)
		}
	case "one edge":
		arc(0, n-1)
	case "only loops":
		for v := range n {
			arc(v, v)
		}
	}
	if d.IntN(3) == 0 {
		v := d.IntN(n)
		arc(v, v)
	}
	g, err := graph.FromEdges(n, edges)
	if err != nil {
		panic(err)
	}
	return g
}

// anyRunOf draws run number k.
func anyRunOf(k int) *anyRun {
	d := &anyRun{Rand: rand.New(rand.NewPCG(uint64(k), 15))}
	d.shape = anyShapes[d.IntN(len(anyShapes))]
	n := one(d, 1, 2, 3, 5, 8, 13, 24, 40)
	d.p = &learn.Problem{Graph: d.edges(n), Loops: one(d, graph.LoopsKept, graph.LoopsAdded, graph.LoopsRemoved), Classes: 1 + d.IntN(4)}
	d.drawFeatures(n)
	d.drawAnswers(n)
	d.m = named.Model{Kind: named.Kinds[d.IntN(len(named.Kinds))], Layers: 1 + d.IntN(4), Heads: 1 + d.IntN(3), In: d.p.Features.Cols, Out: d.p.Classes,
		Dropout: one(d, 0, 0, 0.5), Multi: d.p.Targets != nil, Seed: uint64(k)}
	d.m.Hidden = d.m.Heads * (1 + d.IntN(5))
	if d.m.Kind.KeepsOrigin() {
		d.m.Alpha, d.m.Theta = one(d, 0, 0.1, 0.5, 1), one(d, 0, 0.5, 2)
	}
	d.m.NoNorm, d.m.Activation = d.m.Kind.Norms() && k%3 == 1, model.Activations[k/3%len(model.Activations)]
	d.m.DropFeatures = d.m.Kind != named.SGC && k%7 < 3
	if k%4 > 0 {
		d.m.AttentionDropout = attentionDropout(d.m.Kind)
	}
	d.m.Residual = d.m.Kind.Norms() && d.m.Layers > 2 && k%2 == 1
	d.m.Jumping = d.m.Kind.Norms() && k/5%2 == 1
	d.parts, d.devices, d.staged = 1+d.IntN(n+3), 1+d.IntN(3), d.IntN(2) == 0
	d.o = Options{
		Training: Training{Model: netOf(d.m),
			Optimizer: gnn.Optimizer{Kind: one(d, gnn.Adam, gnn.AdamW, gnn.SGD), LR: 0.01},
			Epochs:    d.IntN(6), EvalEvery: d.IntN(3), WaitDeadline: time.Minute},
		Part: d.drawParts(n),
	}
	if d.IntN(4) == 0 {
		d.o.Dropped = dropReplicas(d.p.Graph, d.o.Part, d.parts, one(d, 0.3, 1))
	}
	if d.m.Kind.StoresBF16() && d.IntN(4) == 0 {
		d.o.Storage = gpu.BF16
	}
	d.drawCache()
	return d
}

func (d *anyRun) drawFeatures(n int) {
	f := learn.Features{Cols: 1 + d.IntN(9), Dense: nil}
	f.Dense = make([]float32, n*f.Cols)
	d.features = one(d, "dense", "sparse", "sparse", "zero", "sparse zero")
	for i := range f.Dense {
		if d.features == "dense" || d.features == "sparse" && d.IntN(4) == 0 {
			f.Dense[i] = float32(d.NormFloat64())
		}
	}
	if d.p.Features = f; strings.HasPrefix(d.features, "sparse") {
		d.p.Features = sparsified(f)
	}
}

// drawAnswers draws labels and splits; one vertex trains at least.
func (d *anyRun) drawAnswers(n int) {
	p, multi, share := d.p, d.IntN(3) == 0, one(d, 0, 0.1, 0.6, 1.0)
	for range n {
		p.Train, p.Val, p.Test = append(p.Train, d.Float64() < share), append(p.Val, d.IntN(3) == 0), append(p.Test, d.IntN(3) == 0)
		if !multi {
			p.Labels = append(p.Labels, int32(d.IntN(p.Classes+1))-1)
			continue
		}
		for range p.Classes {
			p.Targets = append(p.Targets, uint8(d.IntN(2)))
		}
	}
	v := d.IntN(n)
	if p.Train[v] = true; !multi {
		p.Labels[v] = int32(d.IntN(p.Classes))
	}
	if d.IntN(4) == 0 {
		p.Val, p.Test = nil, nil
	}
}

func (d *anyRun) drawParts(n int) []int32 {
	part := make([]int32, n)
	how := d.IntN(4)
	for v := range part {
		switch how {
		case 0:
			part[v] = int32(d.IntN(d.parts))
		case 1:
			part[v] = int32(v * d.parts / n)
		case 2:
			part[v] = int32(v % d.parts)
		case 3: // nearly all in the last
			part[v] = int32(d.parts - 1)
			if d.IntN(8) == 0 {
				part[v] = int32(d.IntN(d.parts))
			}
		}
	}
	return part
}

func (d *anyRun) drawCache() {
	size := func() jaca.Size {
		s, err := jaca.ParseSize(one(d, "auto", "auto", "0", "1", "30%", "100%", "3"))
		if err != nil {
			panic(err)
		}
		return s
	}
	c := halo.Options{Policy: jaca.Policies[d.IntN(len(jaca.Policies))], Local: size(), Global: size(), TopK: one(d, 0, 0, 1, 2), NoPeer: d.IntN(2) == 0,
		HaloType: halo.Encoding(d.IntN(3)), Host: hostmem.LockOptions{Heap: true}, Piece: one[gpu.Bytes](d, 0, 0, 20)}
	c.Staleness = one(d, 0, 0, 1, 2, 4, 16)
	c.ExactEpochs, c.Pipeline = one(d, 0, 0, 1, 3), d.IntN(2) == 0
	if d.m.Kind.Attends() || d.parts == 1 && d.IntN(2) == 0 {
		c.Staleness, c.ExactEpochs = 0, 0
	}
	d.o.Cache = c
}

// open opens devices; memory that nothing was written to is NaN.
func (d *anyRun) open(t *testing.T) []gpu.Device {
	var out []gpu.Device
	for i := range d.devices {
		dev, err := host.Open(host.Spec{Name: fmt.Sprintf("cpu:%d", i), Threads: 1, Memory: 64 << 20, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, dev)
		if d.staged {
			out = append(out, island{dev})
		} else {
			out = append(out, dev)
		}
	}
	return out
}

// trainer returns the run's trainer with edited options, its parts placed on these devices in turn.
func (d *anyRun) trainer(t *testing.T, devices []gpu.Device, edit func(*Options)) *Trainer {
	o := d.o
	for i := range d.parts {
		o.Devices = append(o.Devices, devices[i%len(devices)])
	}
	if edit != nil {
		edit(&o)
	}
	tr, err := New(context.Background(), d.p, o)
	if err != nil {
		t.Fatalf("%v\n%v", err, d)
	}
	closeAfter(t, tr)
	return tr
}

// Any options on any graph, in as many parts as there are vertices and more: a run ends without an error, and what must not
// depend on caches or on parts does not.
func TestAnyRun(t *testing.T) {
	t.Parallel()
	first, draws := 0, 0
	if testing.Short() || !long.Wanted() {
		draws = 50
	} else { // 2000 by turns
		draws = 400
		first = draws * turn(t, 5)
	}
	for k := first; k < first+draws; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			d := anyRunOf(k)
			devices := d.open(t)
			t.Log(d)
			got := run(t, d.trainer(t, devices, nil))
			if d.o.Cache.Staleness == 0 {
				d.checkCaches(t, devices, got.WeightsSHA)
			}
			d.checkParts(t, devices)
		})
	}
}

// checkCaches compares the run, in which no row is stale, with one without caches.
func (d *anyRun) checkCaches(t *testing.T, devices []gpu.Device, got string) {
	if d.o.Cache.Policy == jaca.None {
		return
	}
	want := run(t, d.trainer(t, devices, func(o *Options) { o.Cache.Policy = jaca.None })).WeightsSHA
	if got != want {
		t.Errorf("weights differ from those without caches\n%v", d)
	}
}

// checkParts compares the gradients of the first epoch with those of one part: within the tolerance of docs/determinism.md, or twice what
// renumberings of one part make of them (units of ReLU that are nearly zero).
func (d *anyRun) checkParts(t *testing.T, devices []gpu.Device) {
	if d.o.Dropped != nil || d.o.Storage != gpu.FP32 || d.o.Cache.HaloType != halo.FP32 {
		return
	}
	alone := func(o *Options) {
		o.Part, o.Devices, o.Cache = make([]int32, len(o.Part)), o.Devices[:1], halo.Options{}
	}
	want, wantLoss := gradients(t, d.trainer(t, devices, alone))
	got, gotLoss := gradients(t, d.trainer(t, devices, func(*Options) {}))
	diff, norm := distance(got.Flat, want.Flat)
	tolerance, slack := 2e-5*norm, 1e-4*max(1, math.Abs(wantLoss))
	for i := 0; i < 40 && (diff > tolerance || math.Abs(gotLoss-wantLoss) > slack); i++ {
		rank := make([]int32, len(d.o.Part))
		for v, r := range d.Perm(len(rank)) {
			rank[v] = int32(r)
		}
		other, loss := gradients(t, d.trainer(t, devices, func(o *Options) { alone(o); o.Rank = rank }))
		wide, _ := distance(other.Flat, want.Flat)
		tolerance, slack = max(tolerance, 2*wide), max(slack, 2*math.Abs(loss-wantLoss))
	}
	if !(diff <= tolerance) || !(math.Abs(gotLoss-wantLoss) <= slack) {
		t.Errorf("gradients differ from one part's by %.3g (norm %.3g, tolerance %.3g), losses %v and %v\n%v", diff, norm, tolerance, gotLoss, wantLoss, d)
	}
}

// A part without a vertex that trains, of sparse features.
func TestNothingToCompute(t *testing.T) {
	for _, kind := range kinds(t) {
		p, m := task{share: 0.05, sparse: true, vertices: 60}.make(t, kind)
		run(t, newTrainer(t, p, m, slices.Repeat(cpus(t, 1), 60), scatterParts(60, 60), func(o *Options) { o.Epochs = 2 }))
	}
}
