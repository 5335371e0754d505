package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
	"capgnn/gpu/host/workers"
)

// dropout is a resolved gpu.Dropout: which elements of a row stay, and by what they are multiplied.
type dropout struct {
	on           bool
	key          [2]uint32
	threshold    uint32
	layer, epoch uint32
	scale        float32
	ids          []int32
}

// dropoutOf resolves the settings.
func dropoutOf(d gpu.Dropout) dropout {
	if d.P == 0 {
		return dropout{scale: 1}
	}
	return dropout{
		on: true, key: gpu.SeedKey(d.Seed), threshold: gpu.DropoutThreshold(d.P),
		layer: d.Layer, epoch: d.Epoch, scale: float32(1 / (1 - d.P)), ids: values(d.IDs),
	}
}

// maskWords returns the words of a worker's mask of a row, rounded up to a cache line.
func maskWords(cols int) int { return ((cols+31)/32 + 15) &^ 15 }

// masks returns room for every worker's mask, nil if nothing is dropped.
func (d dropout) masks(dev *Device, cols int) []uint32 {
	if !d.on {
		return nil
	}
	return workers.Grown(&dev.work.bits, dev.pool.Threads*maskWords(cols))
}

// mask computes the kept elements of row i into the worker's part of masks; nil if nothing is dropped.
func (d dropout) mask(masks []uint32, worker, i, cols int) []uint32 {
	if !d.on {
		return nil
	}
	m := masks[worker*maskWords(cols):][:(cols+31)/32]
	kernel.DropoutKeep(m, cols, uint32(d.ids[i]), d.layer, d.epoch, d.key, d.threshold)
	return m
}

// epilogue is a resolved gpu.Epilogue.
type epilogue struct {
	z                 kernel.Dense
	h                 kernel.Either
	norm              bool
	act               gpu.Activation
	gamma, beta, rstd []float32
	eps               float32
	drop              dropout
}

// epilogueOf resolves the epilogue of an operation on z, nil if there is none.
func epilogueOf(e *gpu.Epilogue, z gpu.Matrix) *epilogue {
	if e == nil {
		return nil
	}
	r := &epilogue{z: denseOf(z), h: eitherOf(e.H), norm: e.Norm, act: e.Act, eps: e.Eps, drop: dropoutOf(e.Dropout)}
	if e.Norm {
		r.gamma, r.beta, r.rstd = values(e.Gamma), values(e.Beta), values(e.Rstd)
	}
	return r
}

// forward runs the epilogue on row i, which is z; keep is its dropout mask or nil, room holds H's spare floats.
func (e *epilogue) forward(z []float32, i int, keep []uint32, room []float32) {
	h := e.h.DraftRow(i, room)
	y, later := z, keep // what a curved activation reads, and what it drops
	if e.norm {
		if e.act.Curved() {
			y, keep = h, nil
		}
		rstd := kernel.NormForward(z, h, e.gamma, e.beta, e.eps, e.act == gpu.ReLU, keep, e.drop.scale)
		if e.rstd != nil {
			e.rstd[i] = rstd
		}
	}
	switch {
	case e.act.Curved():
		kernel.Activate(e.act, h, y, later, e.drop.scale)
	case !e.norm:
		kernel.PlainForward(h, z, e.act == gpu.ReLU, keep, e.drop.scale)
	}
	e.h.StoreRow(i, h)
}

// Epilogue: H = epilogue(Z).
func (q *Queue) Epilogue(e gpu.Epilogue) {
	q.check("Epilogue").Epilogue(e)
	r := epilogueOf(&e, e.Z)
	if r.z.Empty() {
		return
	}
	if e.Z.Cols == 1 && e.Z.LD == 1 && e.H.LD == 1 && e.H.Type == gpu.FP32 && !e.Norm && e.Act == gpu.NoActivation && r.drop.on {
		q.dropColumn(e, r.drop)
		return
	}
	q.compute("Epilogue", gpu.PhaseOther, func() {
		q.dev.pool.Rows(r.z.Rows, r.z.Cols, q.dev.finish(nil, r).rows(r.z))
	})
}

// dropColumn is Epilogue of a column that is only dropped from: values of sparse features, of which each has an id.
func (q *Queue) dropColumn(e gpu.Epilogue, d dropout) {
	column := func(m gpu.Matrix) []float32 { return values(gpu.Vec{Buf: m.Buf, Off: m.Off, Len: m.Rows}) }
	z, h := column(e.Z), column(e.H)
	q.compute("Epilogue", gpu.PhaseOther, func() {
		q.dev.pool.Rows(len(z), 1, func(_, lo, hi int) {
			kernel.DropColumn(h[lo:hi], z[lo:hi], d.ids[lo:hi], d.layer, d.epoch, d.key, d.threshold, d.scale)
		})
	})
}
