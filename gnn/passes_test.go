package gnn

import (
	"capgnn/internal/named"
	"fmt"
	"math"
	"slices"

	"capgnn/gpu"
	"capgnn/hostmem"
)

// trainer is a pass with its weights.
type trainer struct {
	*desk
	c             Config
	w             *Weights
	pass          *Pass
	ws            *Workspace
	params, grads *Params
	loss          gpu.Buffer
}

// train plans passes over blocks of the sizes of largest.
func (d *desk) train(c named.Model, p Plan, w *Weights, largest *step) *trainer {
	return d.passes(c, p, w, largest).alloc()
}

// passes is train without the memory.
func (d *desk) passes(c named.Model, p Plan, w *Weights, largest *step) *trainer {
	t := &trainer{desk: d, c: netOf(c), w: w, ws: NewWorkspace(gpu.Info{})}
	t.params, t.grads = Bind(w, d.vec(w.Flat)), Bind(w, d.vec(make([]float32, len(w.Flat))))
	t.pass = NewPass(netOf(c), p, largest.layers, largest.in, t.params, t.grads, t.ws)
	return t
}

// alloc gives the passes their memory.
func (t *trainer) alloc() *trainer {
	if err := t.ws.Alloc(t.dev); err != nil {
		panic(err)
	}
	t.loss = put(t.desk, []float64{0})
	return t
}

// result is what one step made.
type result struct {
	logits, grad []float32
	loss         float64
}

// equal reports whether two steps have the same bits and none that is NaN.
func (r result) equal(s result) bool {
	return r.loss == s.loss && slices.Equal(r.grad, s.grad) && slices.Equal(r.logits, s.logits)
}

// poison makes everything in the workspace NaN.
func (t *trainer) poison() {
	for _, s := range t.ws.slabs {
		n := int(s.Size / 4)
		t.q.Fill(gpu.Matrix{Buf: s.buf, Rows: 1, Cols: n, LD: n}, float32(math.NaN()))
	}
}

// run goes forward and backward through what the pass is bound to. The mean loss is over the roots, which are the first
// rows, or those of whole where the pass goes through whole.
func (t *trainer) run(u *task, s *step, whole []int32, epoch int) result {
	return t.runWith(u, s, whole, epoch, nil)
}

func (t *trainer) runWith(u *task, s *step, whole []int32, epoch int, halo Halo) result {
	t.q.Fill(gpu.Matrix{Buf: t.grads.Flat.Buf, Rows: 1, Cols: len(t.w.Flat), LD: len(t.w.Flat)}, 0)
	logits := t.pass.Forward(t.q, halo, epoch)
	r := result{logits: make([]float32, logits.Rows*t.c.Out), grad: make([]float32, len(t.w.Flat))}
	t.q.Download(hostmem.Bytes(r.logits), logits.Buf, 4*gpu.Bytes(logits.Off))
	a := gpu.LossArgs{Logits: logits, Grad: t.pass.LossGrad(), Loss: gpu.Array[float64]{Buf: t.loss, Len: 1}}
	ids, counts := s.roots, map[int32]bool{}
	if whole != nil {
		ids = whole
	}
	for _, v := range u.roots {
		counts[v] = true
	}
	if whole == nil {
		for _, v := range s.roots {
			counts[v] = true
		}
	}
	if t.c.Multi {
		var targets, mask []uint8
		for _, v := range ids {
			targets, mask = append(targets, u.targets[int(v)*t.c.Out:][:t.c.Out]...),
				append(mask, map[bool]uint8{true: 1}[counts[v]])
		}
		a.Targets, a.Mask = gpu.Array[uint8]{Buf: put(t.desk, targets), Len: len(targets)},
			gpu.Array[uint8]{Buf: put(t.desk, mask), Len: len(mask)}
		a.Scale = 1 / float64(len(u.roots)*t.c.Out)
		t.q.BCELoss(a)
	} else {
		var labels []int32
		for _, v := range ids {
			y := int32(-1)
			if counts[v] {
				y = u.labels[v]
			}
			labels = append(labels, y)
		}
		a.Labels, a.Scale = t.ints(labels), 1/float64(len(u.roots))
		t.q.SoftmaxLoss(a)
	}
	t.pass.Backward(t.q, halo, epoch, nil)
	loss := []float64{0}
	t.q.Download(hostmem.Bytes(loss), t.loss, 0)
	t.q.Download(hostmem.Bytes(r.grad), t.grads.Flat.Buf, 0)
	if err := t.q.Sync(); err != nil {
		panic(err)
	}
	r.loss = loss[0]
	return r
}

// whole goes through the whole graph: every layer computes every row.
func (d *desk) whole(c named.Model, p Plan, w *Weights, u *task, ids []int32, epoch int) result {
	all := make([]int32, u.g.Rows())
	for v := range all {
		all[v] = int32(v)
	}
	hops := c.Layers
	if p.Input == Precomputed {
		hops--
	}
	s := d.step(netOf(c), p, u, u.stack(all, hops, everyone))
	s.in.IDs = d.ints(ids)
	if u.sparse {
		d.number(s, u.x, ids, c.In)
	}
	return d.train(c, p, w, s).run(u, s, all, epoch)
}

func name(c named.Model, p Plan) string {
	return fmt.Sprintf("%s, %d layers, norm %t, residual %t, jumping %t, %s, %v, multi %t, %v, %+v", c.Kind, c.Layers,
		!c.NoNorm, c.Residual, c.Jumping, c.Activation, p.Input, c.Multi, p.Storage, p.Layers)
}
