package pipeline

import (
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
)

// routePlan is the host side of a route.
type routePlan struct {
	leg
	width          int
	dtype          gpu.DType
	send           []int32
	sendTo, recvOf []int
	recvAt         []int
	rows           int
}

// planRoutes returns the exchanges of part i, in the order of an epoch: of training, which needs some levels in a layer and
// does without dropped replicas, or of evaluation, which needs all rows.
func planRoutes(lay *Layout, i int, model gnn.Config, plan gnn.Plan, training bool) []routePlan {
	var out []routePlan
	dirs := []gnn.Direction{gnn.Forward}
	if training {
		dirs = append(dirs, gnn.Backward)
	}
	for _, dir := range dirs {
		for l := range model.Layers {
			if w := model.ExchangeWidth(plan, l, dir); w > 0 {
				c := lay.cut
				if training {
					c = lay.at(l)
				}
				r := planRoute(c, i, leg{l, dir}, w, training)
				r.dtype = model.GatherType(plan, l, dir)
				out = append(out, r)
			}
		}
	}
	return out
}

// planRoute is one of them. count gives the rows that an owner sends for a block of a reader.
func planRoute(c *graph.Cut, i int, l leg, width int, training bool) routePlan {
	block := func(p int) *graph.Block {
		if l.dir == gnn.Backward {
			return &c.Parts[p].Out
		}
		return &c.Parts[p].In
	}
	count := func(b *graph.Block, owner int) int {
		if training {
			return b.Count(owner, l.layer)
		}
		return b.Owner[owner+1] - b.Owner[owner]
	}
	parts := len(c.Parts)
	mine := block(i)
	r := routePlan{leg: l, width: width, sendTo: make([]int, parts), recvOf: make([]int, parts), rows: len(mine.IDs),
		recvAt: slices.Clone(mine.Owner[:parts])}
	for p := range parts {
		if p == i {
			continue
		}
		r.recvOf[p] = count(mine, p)
		theirs := block(p)
		n := count(theirs, i)
		r.sendTo[p] = n
		for _, v := range theirs.IDs[theirs.Owner[i]:][:n] {
			r.send = append(r.send, c.LocalOf[v])
		}
	}
	return r
}

// buildExchange puts all routes of a worker on its device: one send buffer and one transient halo region as large as the
// largest exchange, and halo regions of their own for rows that the backward pass reads again.
func (w *worker) buildExchange(h *hub, model gnn.Config, training, evaluation []routePlan) {
	x := &exchange{w: w, hub: h}
	var sendMax, haloMax gpu.Bytes
	size := func(r *routePlan, rows int) gpu.Bytes { return gpu.Bytes(r.dtype.Size()) * gpu.Bytes(rows*r.width) }
	kept := func(r *routePlan, train bool) bool { return train && model.KeepsHalo() && r.dir == gnn.Forward }
	for k, set := range [][]routePlan{training, evaluation} {
		for i := range set {
			r := &set[i]
			sendMax = max(sendMax, size(r, len(r.send)))
			if !kept(r, k == 0) {
				haloMax = max(haloMax, size(r, r.rows))
			}
		}
	}
	x.send = w.ld.alloc(sendMax, "halo send buffer")
	transient := w.ld.alloc(haloMax, "halo rows")
	place := func(set []routePlan, train bool) routed {
		routes := map[leg]*route{}
		for i := range set {
			r := &set[i]
			m := gpu.Matrix{Buf: transient, Rows: r.rows, Cols: r.width, LD: r.width, Type: r.dtype}
			if kept(r, train) {
				m.Buf = w.ld.alloc(size(r, r.rows), "kept halo rows")
			}
			routes[r.leg] = &route{width: r.width, dtype: r.dtype, send: upload(w.ld, "halo send list", r.send), sendTo: r.sendTo,
				recvOf: r.recvOf, recvAt: r.recvAt, halo: m}
		}
		return routed{x, routes}
	}
	w.trainHalo, w.evalHalo = place(training, true), place(evaluation, false)
}
