package layered

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/hostmem"
	"capgnn/internal/golden"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/model"
)

// netOf returns a model of settings that are right.
func netOf(m named.Model) gnn.Config { return named.Config(m, gnn.NewModel) }

// cpus opens CPU devices of these numbers of threads, whose fresh memory is NaN.
func cpus(t testing.TB, threads ...int) []gpu.Device {
	t.Helper()
	out := make([]gpu.Device, len(threads))
	for i, n := range threads {
		d, err := host.Open(host.Spec{Name: fmt.Sprintf("cpu:%d", i), Threads: n, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		out[i] = d
	}
	return out
}

// poisoned makes tables that hold NaN, so that a row that is read and was not written shows in every result.
func poisoned(_ string, size int64) (Memory, error) {
	s, err := hostmem.NewScratch("test", "table", "", size)
	if err == nil {
		for i := range s.Bytes() {
			s.Bytes()[i] = 0xff
		}
	}
	return s, err
}

// evaluated returns the logits by vertex id, and checks that every vertex comes once and that the device takes what Bounds says, no more.
func evaluated(t testing.TB, p *learn.Problem, o Options, w *gnn.Weights) []float32 {
	t.Helper()
	o.Tables = poisoned
	bounds, err := Bounds(p, o)
	if err != nil {
		t.Fatal(err)
	}
	sums, before := map[gpu.Device]gpu.Bytes{}, map[gpu.Device]gpu.Bytes{}
	for i, d := range o.Devices {
		sums[d] += bounds.Devices[i]
		before[d] = d.Memory().Used
	}
	e, err := New(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	out := logits(t, e, w)
	if again := logits(t, e, w); !slices.Equal(out, again) {
		t.Error("a second evaluation has other bits")
	}
	for d, bound := range sums {
		if took := d.Memory().Used - before[d]; took > bound || took < bound-gpu.Bytes(40*512*len(o.Devices)) {
			t.Errorf("%s: %d bytes taken, %d announced", d.Info().Name, took, bound)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	for d, was := range before {
		if d.Memory().Used != was {
			t.Errorf("%s: %d bytes left behind", d.Info().Name, d.Memory().Used-was)
		}
	}
	return out
}

func logits(t testing.TB, e *Evaluator, w *gnn.Weights) []float32 {
	t.Helper()
	classes := e.o.Model.Out
	out, seen := make([]float32, e.p.Vertices()*classes), make([]bool, e.p.Vertices())
	err := e.Logits(context.Background(), w, func(ids []graph.NodeID, rows []float32) error {
		for i, v := range ids {
			if seen[v] {
				t.Fatalf("vertex %d came twice", v)
			}
			seen[v] = true
			copy(out[int(v)*classes:], rows[i*classes:][:classes])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for v, came := range seen {
		if came != (e.o.Rows == nil || e.o.Rows[v]) {
			t.Fatalf("vertex %d came: %t", v, came)
		}
	}
	return out
}

// Predicted returns the logits of pipeline.Predict, which imports this package: predict_test.go, outside it, sets it.
var Predicted func(t testing.TB, p *learn.Problem, m gnn.Config, w *gnn.Weights) []float32

// away returns ‖got − want‖ / ‖want‖; NaN counts.
func away(got, want []float32) float64 {
	var diff, norm float64
	for i := range want {
		d := float64(got[i]) - float64(want[i])
		diff += d * d
		norm += float64(want[i]) * float64(want[i])
	}
	return math.Sqrt(diff) / math.Sqrt(norm)
}

// drawn is an evaluation that nobody thought of.
type drawn struct {
	p     *learn.Problem
	m     named.Model
	o     Options
	w     *gnn.Weights
	names string
}

// drawn draws run number k: graphs with hubs, stored loops, isolated vertices; parts without vertices; tiny chunks and whole parts.
func draw(t testing.TB, k int) drawn {
	t.Helper()
	r := rand.New(rand.NewPCG(77, uint64(k)))
	n := 1 + r.IntN(300)
	edges := synthEdges(r, n)
	g, err := graph.FromEdges(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	m := named.Model{Kind: named.Kinds[k%len(named.Kinds)], Layers: 1 + r.IntN(4), Hidden: 4 * (1 + r.IntN(6)), In: 1 + r.IntN(30), Out: 1 + r.IntN(9), Heads: 1 + 3*r.IntN(2), Alpha: float64(r.IntN(5)) / 4, Theta: r.Float64(), Seed: uint64(k)}
	m.NoNorm, m.Activation = m.Kind.Norms() && k/len(named.Kinds)%2 == 1, model.Activations[k/len(named.Kinds)/2%len(model.Activations)]
	m.Residual = m.Kind.Norms() && m.Layers > 2 && k/len(named.Kinds)%3 > 0
	m.Jumping = m.Kind.Norms() && k/len(named.Kinds)/3%2 == 1
	p := &learn.Problem{Graph: g, Loops: []graph.Loops{graph.LoopsKept, graph.LoopsAdded, graph.LoopsRemoved}[r.IntN(3)], Classes: m.Out}
	p.Features = learn.Features{Cols: m.In, Dense: make([]float32, n*m.In)}
	sparse := r.IntN(3) == 0
	for i := range p.Features.Dense {
		if !sparse || r.IntN(4) == 0 {
			p.Features.Dense[i] = float32(r.NormFloat64())
		}
	}
	if sparse {
		p.Features = sparsified(p.Features)
	}
	o := Options{Model: netOf(m), Dense: sparse && r.IntN(4) == 0, ChunkBytes: gpu.Bytes(1) << r.IntN(24)}
	o.Precomputed = m.Kind.Precomputes() && (!sparse || o.Dense) && r.IntN(2) == 0
	o.AggregateFirst = r.IntN(4) == 0
	parts := []int{1, 2, 3, 7}[r.IntN(4)]
	o.Devices, o.Part = cpus(t, slices.Repeat([]int{1}, parts)...), make([]int32, n)
	if parts > 1 && r.IntN(3) == 0 {
		o.Devices[1] = o.Devices[0]
	}
	for v := range o.Part {
		o.Part[v] = int32(r.IntN(parts))
		if parts == 7 {
			o.Part[v] = int32(r.IntN(3) * 2) // four parts without vertices
		}
	}
	w := gnn.NewWeights(netOf(m))
	w.Init(m.Seed)
	return drawn{p, m, o, w, fmt.Sprintf("run %d: %s, %d layers, %d vertices, %d edges, loops %v, sparse %t, precomputed %t, %d parts, chunks of %d bytes",
		k, m.Kind, m.Layers, n, g.Edges(), p.Loops, sparse, o.Precomputed, parts, o.ChunkBytes)}
}

// synthEdges returns edges with loops, in some graphs with a hub that reads all, and many vertices without any.
func synthEdges(r *rand.Rand, n int) (edges []graph.Edge) {
	among := 1 + r.IntN(n)
	for range r.IntN(6) * n {
		edges = append(edges, graph.Edge{From: graph.NodeID(r.IntN(n)), To: graph.NodeID(r.IntN(among))})
	}
	if r.IntN(2) == 0 {
		hub := graph.NodeID(r.IntN(n))
		for u := range n {
			edges = append(edges, graph.Edge{From: graph.NodeID(u), To: hub})
		}
	}
	return edges
}

func sparsified(f learn.Features) learn.Features {
	s := learn.Features{Cols: f.Cols, Indptr: []int64{0}}
	for v := range len(f.Dense) / f.Cols {
		for j, x := range f.Dense[v*f.Cols:][:f.Cols] {
			if x != 0 {
				s.Indices, s.Data = append(s.Indices, int32(j)), append(s.Data, x)
			}
		}
		s.Indptr = append(s.Indptr, int64(len(s.Indices)))
	}
	return s
}

// Logits are those of pipeline.Predict, to rounding.
func TestLogitsEqualPredict(t *testing.T) {
	for k := range 200 {
		d := draw(t, k)
		want := Predicted(t, d.p, d.o.Model, d.w)
		if far := away(evaluated(t, d.p, d.o, d.w), want); !(far <= 1e-5) && !slices.Equal(want, make([]float32, len(want))) {
			t.Errorf("%s: %.2g of the logits away", d.names, far)
		}
		for _, dev := range d.o.Devices {
			dev.Close()
		}
	}
}

// Logits that are wanted have the bits that they have among all, where the order of operations is the same; no row that they do not need is computed.
func TestWantedRows(t *testing.T) {
	fewer := 0
	for k := range 200 {
		d := draw(t, k)
		d.o.AggregateFirst = true
		want := evaluated(t, d.p, d.o, d.w)
		d.o.Rows = make([]bool, d.p.Vertices())
		for v := k % 9; v < len(d.o.Rows); v += 9 {
			d.o.Rows[v] = true
		}
		got, classes := evaluated(t, d.p, d.o, d.w), d.o.Model.Out
		for v, wanted := range d.o.Rows {
			if wanted && !slices.Equal(got[v*classes:][:classes], want[v*classes:][:classes]) {
				t.Fatalf("%s: other bits of vertex %d", d.names, v)
			}
		}
		need := neededOf(d.p, &d.o)
		for l := range d.o.Model.Layers {
			if rows, _ := need.of(l); int(rows) < d.p.Vertices() {
				fewer++
			}
		}
		for _, dev := range d.o.Devices {
			dev.Close()
		}
	}
	if fewer < 200 {
		t.Errorf("%d layers compute fewer rows", fewer)
	}
}

// PyTorch's logits, whole and in tiny chunks.
func TestGoldenLogits(t *testing.T) {
	goldenCases(t, func(name string, p *learn.Problem, m named.Model, w *gnn.Weights, want []float32) {
		for _, chunk := range []gpu.Bytes{1, 0} {
			o := Options{Model: netOf(m), Devices: cpus(t, 1, 2, 1), Part: spread(p.Vertices(), 3), ChunkBytes: chunk, Precomputed: m.Kind.Precomputes() && chunk == 0}
			if far := away(evaluated(t, p, o, w), want); !(far <= 1e-5) {
				t.Errorf("%s, chunks of %d bytes: %.2g of the logits away", name, chunk, far)
			}
		}
	})
}

// goldenCases calls f with every golden case and its logits.
func goldenCases(t *testing.T, f func(name string, p *learn.Problem, m named.Model, w *gnn.Weights, want []float32)) {
	t.Helper()
	cases, err := golden.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		d := c.Dims()
		g, err := graph.Normalise(&graph.CSR{Indptr: c.Indptr, Indices: c.Indices, Cols: c.Vertices, Weights: c.Float32Weights()})
		if err != nil {
			t.Fatal(err)
		}
		p := &learn.Problem{Graph: g, Features: learn.Features{Cols: d.In, Dense: float32s(c.X.Data)}, Classes: d.Out}
		if c.SelfLoops {
			p.Loops = graph.LoopsAdded
		}
		m := named.Model{Kind: named.Kind(c.Kind), Layers: d.Layers, Hidden: d.Hidden, In: d.In, Out: d.Out, Heads: d.Heads, Alpha: c.Alpha, Theta: c.Theta, Residual: c.Residual, Activation: model.Op(c.Activation), Multi: c.Multi(), JK: c.JK(), Norm: c.Norm()}
		init := gnn.StateDict{}
		for _, w := range c.Params {
			init[w.Name] = &gnn.Tensor{Shape: w.Shape, Data: float32s(w.Data)}
		}
		w := gnn.NewWeights(netOf(m))
		if err := w.LoadStateDict(init); err != nil {
			t.Fatal(err)
		}
		f(c.Name, p, m, w, float32s(c.Logits.Data))
	}
}

func float32s(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// Bits depend neither on threads nor on the size of chunks, nor on parts.
func TestBitsOfChunks(t *testing.T) {
	g, err := synth.Random(500, 3000, true, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range named.Kinds {
		m := named.Model{Kind: kind, Layers: 3, Hidden: 16, In: 10, Out: 5, Heads: 4, Alpha: 0.3, Theta: 0.7, Seed: 3}
		p := &learn.Problem{Graph: g, Loops: graph.LoopsAdded, Classes: 5, Features: learn.Features{Cols: 10, Dense: make([]float32, 5000)}}
		r := rand.New(rand.NewPCG(1, 2))
		for i := range p.Features.Dense {
			p.Features.Dense[i] = float32(r.NormFloat64())
		}
		w := gnn.NewWeights(netOf(m))
		w.Init(3)
		var want []float32
		for _, c := range []struct {
			threads []int
			chunk   gpu.Bytes
		}{{[]int{1}, 0}, {[]int{2}, 0}, {[]int{3}, 100_000}, {[]int{1, 1}, 100_000}, {[]int{1, 2, 1}, 60_000}} {
			part := make([]int32, 500)
			for v := range part {
				part[v] = int32(v*7/3) % int32(len(c.threads))
			}
			o := Options{Model: netOf(m), Devices: cpus(t, c.threads...), Part: part, ChunkBytes: c.chunk}
			o.AggregateFirst = true // else the order is the cheaper one, by the number of chunks
			got := evaluated(t, p, o, w)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, threads %v, chunks of %d bytes: other bits, %.2g away", kind, c.threads, c.chunk, away(got, want))
			}
		}
	}
}

// Rows stored in BF16 are rounded as they are when a whole graph is evaluated, and tables of them are half as large.
func TestBF16(t *testing.T) {
	for k := range 24 {
		d := draw(t, k)
		want := evaluated(t, d.p, d.o, d.w)
		d.o.Storage = gpu.BF16
		got := evaluated(t, d.p, d.o, d.w)
		if far := away(got, want); !(far <= 0.02) && !slices.Equal(want, make([]float32, len(want))) {
			t.Errorf("%s: BF16 is %.2g away", d.names, far)
		}
	}
}
