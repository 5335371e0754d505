package reduce

import (
	"cmp"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
)

// Owner is the memory of a part that owns slices, on its device: the update rule's, and where other parts' gradients arrive.
type Owner struct {
	rule       gnn.Optimizer
	m, v, vmax gpu.Vec        // of its slices, one behind the other in the order of elements; empty in all ranks but the last
	in, acc    [lanes]gpu.Vec // of each lane: a piece of another part or rank, and the sum of those before the owner
	steps      int            // taken
	// With clipping: the squares of all blocks, of which the owner fills its own, and for each lane the factor of its gradients.
	squares gpu.Vec
	factor  [lanes]gpu.Vec
}

// NewOwner allocates the memory of an owner, with zeroed optimiser state; nil if the part owns nothing. alloc returns
// nil if there is no memory left, and reports that itself.
func (d *Division) NewOwner(alloc func(size gpu.Bytes, name string) gpu.Buffer, q gpu.Queue, rule gnn.Optimizer, part int) *Owner {
	if d.home[part] != part {
		return nil
	}
	o := &Owner{rule: rule}
	vec := func(name string, n int) gpu.Vec {
		if n == 0 {
			return gpu.Vec{}
		}
		return gpu.Vec{Buf: alloc(4*gpu.Bytes(n), name), Len: n}
	}
	state := func(name string) gpu.Vec {
		v := vec(name, d.Elements(part))
		if v.Buf != nil {
			q.Fill(row(v), 0)
		}
		return v
	}
	if d.at.last() {
		for k, v := range []*gpu.Vec{&o.m, &o.v, &o.vmax}[:Kept(rule)] {
			*v = state([]string{"first moments", "second moments", "largest second moments"}[k])
		}
	}
	if d.at.Clips && d.at.last() {
		o.squares = vec("squares of gradients", len(d.blocks))
		for l := range o.factor {
			o.factor[l] = vec("factor of gradients", 1)
		}
	}
	for l := range min(lanes, len(d.pieces[part])) {
		if d.at.before() > 0 || slices.ContainsFunc(d.home, func(h int) bool { return h != part }) {
			o.in[l] = vec("gradients of another part", d.largest(part))
		}
		if d.at.before()+part > 1 { // two summands or more come before its own, and all of them live elsewhere
			o.acc[l] = vec("sum of gradients", d.largest(part))
		}
	}
	return o
}

// Elements returns how many a part owns.
func (d *Division) Elements(part int) (n int) {
	for i := range d.pieces[part] {
		n += d.pieces[part][i].len()
	}
	return n
}

// largest returns the elements of a part's largest piece.
func (d *Division) largest(part int) (n int) {
	for i := range d.pieces[part] {
		n = max(n, d.pieces[part][i].len())
	}
	return n
}

// step enqueues the optimiser's next step of elements r of the flat vectors, which begin at element at of the owner's slices.
func (o *Owner) step(q gpu.Queue, weights, gradients gpu.Vec, r gnn.Range, at int) {
	k := o.rule
	for x, decay := range k.DecaysOf(r) {
		lo, hi := at+x.Lo-r.Lo, at+x.Hi-r.Lo
		w, g := weights.Slice(x.Lo, x.Hi), gradients.Slice(x.Lo, x.Hi)
		if k.Kind == gnn.SGD {
			q.SGD(w, g, float32(k.LR), float32(decay))
			continue
		}
		a := gpu.AdamArgs{Param: w, Grad: g, M: o.m.Slice(lo, hi), V: o.v.Slice(lo, hi), LR: k.LR, Beta1: 0.9, Beta2: 0.999,
			Eps: 1e-8, WeightDecay: decay, Decoupled: k.Kind == gnn.AdamW, Step: o.steps + 1}
		if !o.vmax.Empty() {
			a.VMax = o.vmax.Slice(lo, hi)
		}
		q.Adam(a)
	}
}

// Kept returns how many of Moments an update rule remembers of each weight: the first ones of M, V and VMax.
func Kept(rule gnn.Optimizer) int {
	switch {
	case rule.Kind == gnn.SGD:
		return 0
	case rule.AMSGrad:
		return 3
	}
	return 2
}

// Moments are the optimiser state of some weights, on the device of a part: what a checkpoint keeps.
type Moments struct {
	Part       int
	M, V, VMax gpu.Vec // empty where the rule has none, and in all ranks but the last, which has those of all weights
}

// Moments returns them in the order of the weights.
func (r *Reduction) Moments() []Moments {
	type placed struct {
		lo int
		Moments
	}
	var all []placed
	for part, own := range r.pieces {
		for _, p := range own {
			o := r.parts[part].Owner
			of := func(v gpu.Vec) gpu.Vec {
				if v.Empty() {
					return v
				}
				return v.Slice(p.at, p.at+p.len())
			}
			all = append(all, placed{p.Lo, Moments{part, of(o.m), of(o.v), of(o.vmax)}})
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return cmp.Compare(a.lo, b.lo) })
	out := make([]Moments, len(all))
	for i := range all {
		out[i] = all[i].Moments
	}
	return out
}

// Steps returns how many steps have been taken.
func (r *Reduction) Steps() int { return r.parts[0].Owner.steps }

// SetRate sets the learning rate of the steps from now on. No step is under way.
func (r *Reduction) SetRate(rate float64) {
	for i := range r.parts {
		if o := r.parts[i].Owner; o != nil {
			o.rule.LR = rate
		}
	}
}

// Resume continues after this many steps, with Moments that have been restored.
func (r *Reduction) Resume(steps int) {
	for i := range r.parts {
		if o := r.parts[i].Owner; o != nil {
			o.steps = steps
		}
	}
}

// row views a vector as a matrix of one row.
func row(v gpu.Vec) gpu.Matrix {
	return gpu.Matrix{Buf: v.Buf, Off: v.Off, Rows: 1, Cols: v.Len, LD: v.Len}
}
