package reduce

import (
	"capgnn/gnn"
	"capgnn/gpu"
)

// Owner is the update rule's memory, on the device of the part that takes the steps.
type Owner struct {
	rule       gnn.Optimizer
	m, v, vmax gpu.Vec
	stage      gpu.Vec // gradients of one layer of another part
	steps      int     // taken
}

// NewOwner takes the memory of a rule for n weights, zeroed, and with several parts the room for the largest range of layers from
// another part. alloc returns nil when there is no memory left, and reports that itself.
func NewOwner(alloc func(size gpu.Bytes, name string) gpu.Buffer, q gpu.Queue, rule gnn.Optimizer, n, parts int, layers [][]gnn.Range) *Owner {
	o := &Owner{rule: rule}
	vec := func(name string, n int) gpu.Vec {
		v := gpu.Vec{Buf: alloc(4*gpu.Bytes(n), name), Len: n}
		if v.Buf != nil {
			q.Fill(row(v), 0)
		}
		return v
	}
	if rule.Kind != gnn.SGD {
		o.m, o.v = vec("first moments", n), vec("second moments", n)
		if rule.AMSGrad {
			o.vmax = vec("largest second moments", n)
		}
	}
	if parts > 1 {
		o.stage = vec("gradients of another part", largest(layers))
	}
	return o
}

// largest returns the elements of the largest range, which is added at a time.
func largest(layers [][]gnn.Range) int {
	n := 0
	for _, ranges := range layers {
		for _, g := range ranges {
			n = max(n, g.Hi-g.Lo)
		}
	}
	return n
}

// Step enqueues one step of the optimiser.
func (o *Owner) Step(q gpu.Queue, weights, gradients gpu.Vec) {
	o.steps++
	k := o.rule
	if k.Kind == gnn.SGD {
		q.SGD(weights, gradients, float32(k.LR), float32(k.WeightDecay))
		return
	}
	q.Adam(gpu.AdamArgs{Param: weights, Grad: gradients, M: o.m, V: o.v, VMax: o.vmax, LR: k.LR, Beta1: 0.9, Beta2: 0.999,
		Eps: 1e-8, WeightDecay: k.WeightDecay, Decoupled: k.Kind == gnn.AdamW, Step: o.steps})
}

// Moments are what the update rule remembers of some weights, on the device of a part: what a checkpoint keeps.
type Moments struct {
	Part       int
	M, V, VMax gpu.Vec // empty where the rule has none
}

// Moments returns them in the order of the weights.
func (r *Reduction) Moments() []Moments {
	o := r.owner
	return []Moments{{M: o.m, V: o.v, VMax: o.vmax}}
}

// Steps returns how many steps have been taken.
func (r *Reduction) Steps() int { return r.owner.steps }

// Resume goes on behind so many steps, with Moments that have been put back.
func (r *Reduction) Resume(steps int) { r.owner.steps = steps }

// row views a vector as a matrix of one row.
func row(v gpu.Vec) gpu.Matrix {
	return gpu.Matrix{Buf: v.Buf, Off: v.Off, Rows: 1, Cols: v.Len, LD: v.Len}
}
