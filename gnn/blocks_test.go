package gnn

import (
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/gpu"
	"capgnn/internal/named"
	"capgnn/model"
)

// blockPlans are the orders of operations that a pass over blocks may have. Models that can have LayerNorm do without in half of them, others for odd and even numbers of layers; so it is with jumping knowledge. Those that can have residuals come with and without.
func blockPlans(c named.Model, f func(named.Model, Plan)) {
	orders := []LayerPlan{{}, {AggregateFirst: true}, {AggregateFirst: true, KeepAggregate: true}, aggregateIn}
	for _, input := range []InputMode{Precomputed, Exchanged} {
		for i, order := range orders {
			if c.Kind == named.GIN && order.AggregateFirst && !order.BackwardIn || input == Precomputed && !c.Kind.Precomputes() || i > 1 && !netOf(c).Chooses(0) {
				continue
			}
			p := Plan{Input: input}
			for l := range c.Layers {
				if !netOf(c).Chooses(l) {
					order = LayerPlan{}
				}
				p.Layers = append(p.Layers, order)
			}
			if input == Precomputed {
				p.Layers[0] = aggregateIn
			}
			c.NoNorm = c.Kind.Norms() && (i/2+int(input)+c.Layers)%2 == 1
			c.Jumping = c.Kind.Norms() && (i+int(input)/2+c.Layers/2)%2 == 1
			c.DropFeatures = c.Kind.Norms() && input == Exchanged && (i+c.Layers)%2 == 0
			c.Activation = model.Activations[(i+int(input)+c.Layers)%len(model.Activations)]
			f(c, p)
			if c.Residual = c.Kind.Norms() && c.Layers > 2; c.Residual {
				f(c, p)
			}
			c.Residual = false
		}
	}
}

// differences returns ‖a − b‖ ÷ ‖a‖ of every tensor of two gradients.
func differences(w *Weights, a, b []float32) []float64 {
	var out []float64
	for _, x := range w.Tensors {
		var d, n float64
		for i := x.Off; i < x.Off+len(x.Data); i++ {
			d += (float64(a[i]) - float64(b[i])) * (float64(a[i]) - float64(b[i]))
			n += float64(a[i]) * float64(a[i])
		}
		if d == 0 {
			n = 1
		}
		out = append(out, math.Sqrt(d/n))
	}
	return out
}

// The gradient over blocks with all neighbours of the roots is that of the whole graph: within 2e-5 of each tensor's norm, or
// within twice the largest difference of five random renumberings of the whole graph, as docs/determinism.md has it.
func TestBlocksGiveTheWholeGradient(t *testing.T) {
	for _, kind := range named.Kinds {
		for layers := 1; layers <= 4; layers++ {
			c := named.Model{Kind: kind, Layers: layers, Hidden: 16, In: 12, Out: 5, Heads: 4, Dropout: 0.5, Seed: 7, Multi: layers%2 == 0, Alpha: 0.3, Theta: 0.7}
			if kind.Attends() {
				c.AttentionDropout = 0.4
			}
			u := newTask(netOf(c), 160, uint64(layers))
			blockPlans(c, func(c named.Model, p Plan) {
				w := NewWeights(netOf(c))
				w.Init(3)
				for _, storage := range []gpu.DType{gpu.FP32, gpu.BF16} {
					p.Storage = storage
					checkWhole(t, c, p, w, u)
				}
			})
		}
	}
}

// The same with sparse features, which a layer transforms before it aggregates.
func TestBlocksOfSparseFeatures(t *testing.T) {
	for _, kind := range named.Kinds {
		for layers := 1; layers <= 3; layers++ {
			c := named.Model{Kind: kind, Layers: layers, Hidden: 16, In: 12, Out: 5, Heads: 4, Dropout: 0.5, Seed: 7, Alpha: 0.3, Theta: 0.7, DropFeatures: kind != named.SGC && layers != 2}
			u := newTask(netOf(c), 160, uint64(layers))
			u.sparse = true
			for i := range u.x {
				u.x[i] *= float32(i * 7 % 3 / 2)
			}
			w := NewWeights(netOf(c))
			w.Init(3)
			p := Plan{Input: Exchanged, Layers: make([]LayerPlan, layers)}
			checkWhole(t, c, p, w, u)
			checkRebind(t, c, p, w, u)
		}
	}
}

func checkWhole(t *testing.T, c named.Model, p Plan, w *Weights, u *task) {
	t.Helper()
	const epoch = 5
	d := newDesk(t)
	n := u.g.Rows()
	ids := make([]int32, n)
	for v := range ids {
		ids[v] = int32(v)
	}
	want := d.whole(c, p, w, u, ids, epoch)
	limit := make([]float64, len(w.Tensors))
	for i := range limit {
		limit[i] = 2e-5
	}
	r := rand.New(rand.NewPCG(9, 9))
	for range 5 {
		perm := r.Perm(n)
		for v, x := range perm {
			ids[x] = int32(v)
		}
		for i, x := range differences(w, want.grad, d.whole(c, p, w, u.renumbered(perm), ids, epoch).grad) {
			limit[i] = max(limit[i], 2*x)
		}
	}
	hops := c.Layers
	if p.Input == Precomputed {
		hops--
	}
	s := d.step(netOf(c), p, u, u.stack(u.roots, hops, everyone))
	got := d.train(c, p, w, s).run(u, s, nil, epoch)
	for i, x := range differences(w, want.grad, got.grad) {
		if !(x <= limit[i]) {
			t.Errorf("%s: gradient of %s differs by %.2g, limit %.2g", name(c, p), w.Tensors[i].Name, x, limit[i])
		}
	}
	if math.Abs(got.loss-want.loss) > 1e-6*want.loss && p.Storage == gpu.FP32 {
		t.Errorf("%s: loss %g, want %g", name(c, p), got.loss, want.loss)
	}
	apart := d.passes(c, p, w, s)
	for i, slabs := 0, apart.ws.slabs; i < len(apart.ws.views); i++ { // every view has a slab of its own
		if i == 0 {
			apart.ws.slabs = nil
		}
		apart.ws.slabs = append(apart.ws.slabs, slabs[apart.ws.views[i].slab])
		apart.ws.views[i].slab = i
	}
	if !apart.alloc().run(u, s, nil, epoch).equal(got) {
		t.Errorf("%s: buffers of their own give other bits", name(c, p))
	}
}

// Steps of different sizes on one pass, in buffers that are NaN before each of them, give the bits of a pass made for the step:
// many roots, few, roots without neighbours, none, many again.
func TestRebind(t *testing.T) {
	for _, kind := range named.Kinds {
		for layers := 1; layers <= 3; layers++ {
			c := named.Model{Kind: kind, Layers: layers, Hidden: 16, In: 12, Out: 5, Heads: 4, Dropout: 0.5, Seed: 7, Multi: layers == 3, Alpha: 0.3, Theta: 0.7}
			u := newTask(netOf(c), 160, uint64(layers))
			blockPlans(c, func(c named.Model, p Plan) {
				w := NewWeights(netOf(c))
				w.Init(3)
				for _, storage := range []gpu.DType{gpu.FP32, gpu.BF16} {
					p.Storage = storage
					checkRebind(t, c, p, w, u)
				}
			})
		}
	}
}

func checkRebind(t *testing.T, c named.Model, p Plan, w *Weights, u *task) {
	t.Helper()
	d := newDesk(t)
	r := rand.New(rand.NewPCG(5, 5))
	hops := c.Layers
	if p.Input == Precomputed {
		hops--
	}
	n := int32(u.g.Rows())
	largest := d.step(netOf(c), p, u, u.stack(u.roots, hops, everyone))
	one := d.train(c, p, w, largest)
	for i, roots := range [][]int32{u.roots, u.roots[:2], {n - 1, n - 3}, nil, u.roots[3:9], u.roots} {
		for _, keep := range []draw{everyone, u.some(2, r)} {
			s := d.step(netOf(c), p, u, u.stack(roots, hops, keep))
			one.poison()
			if err := one.pass.Bind(s.layers, s.in); err != nil {
				t.Fatal(err)
			}
			got, want := one.run(u, s, nil, i), d.train(c, p, w, s).run(u, s, nil, i)
			if !got.equal(want) {
				t.Errorf("%s: step %d, %d roots: other bits than those of a pass made for it", name(c, p), i, len(roots))
			}
		}
	}
}

// A pass that was planned for a few roots and has grown gives the bits of one that was planned for many.
func TestGrownBits(t *testing.T) {
	for _, kind := range named.Kinds {
		c := named.Model{Kind: kind, Layers: 3, Hidden: 16, In: 12, Out: 5, Heads: 4, Dropout: 0.5, Seed: 7, Alpha: 0.3, Theta: 0.7}
		u := newTask(netOf(c), 160, 1)
		w := NewWeights(netOf(c))
		w.Init(3)
		p := Plan{Input: Exchanged, Layers: make([]LayerPlan, 3)}
		d := newDesk(t)
		few, many := d.step(netOf(c), p, u, u.stack(u.roots[:1], 3, everyone)), d.step(netOf(c), p, u, u.stack(u.roots, 3, everyone))
		one := d.train(c, p, w, few)
		one.run(u, few, nil, 0)
		if err := one.pass.Bind(many.layers, many.in); err == nil {
			t.Fatalf("%s: blocks beyond what was planned are taken", kind)
		}
		if err := one.pass.Grow(d.dev, many.layers); err != nil {
			t.Fatal(err)
		}
		if err := one.pass.Bind(many.layers, many.in); err != nil {
			t.Fatal(err)
		}
		if got, want := one.run(u, many, nil, 4), d.train(c, p, w, many).run(u, many, nil, 4); !got.equal(want) {
			t.Errorf("%s: other bits than those of a pass that did not grow", kind)
		}
	}
}
