package gnn

import (
	"cmp"
	"fmt"
	"slices"

	"capgnn/gpu"
)

// placement gives values slabs by their lifetimes: from the operation that first writes one to the last that reads or
// writes it. Values whose lifetimes do not meet share a slab, which is as large as the largest of them.
type placement struct {
	values      []*value
	first, last map[*value]int
	with        map[*value]*value // a value that this one lies exactly where
	size        map[*value]gpu.Bytes
	slabs       [][]*value
	total       gpu.Bytes
}

// place finds the slabs of all values. Those that show where training diverged live to the end.
func (d *derivation) place() *placement {
	p := &placement{first: map[*value]int{}, last: map[*value]int{}, with: map[*value]*value{},
		size: map[*value]gpu.Bytes{}}
	for i, o := range d.ops {
		for _, list := range [][]*value{o.writes, o.reads} {
			for _, v := range list {
				v = v.whole()
				if _, ok := p.first[v]; !ok {
					p.first[v] = i
				}
				p.last[v] = i
			}
		}
	}
	for _, v := range present(slices.Clone(d.shows)) {
		p.last[v.whole()] = len(d.ops)
	}
	for _, v := range d.values {
		if _, ok := p.first[v]; !ok || v.of != nil {
			continue
		}
		p.size[v] = d.ws.size(v, d.layers)
		at := p.first[v]
		for _, u := range v.over {
			if u.of != nil {
				continue
			}
			if u = p.root(u); p.last[u] == at && p.first[v] == at {
				p.with[v], p.last[u], p.size[u] = u, p.last[v], max(p.size[u], p.size[v])
				break
			}
		}
		if p.with[v] == nil {
			p.values = append(p.values, v)
		}
	}
	p.share(d.ws.shared())
	return p
}

// whole returns the value whose columns v is, or v.
func (v *value) whole() *value {
	if v.of != nil {
		return v.of
	}
	return v
}

func (p *placement) root(v *value) *value {
	for p.with[v] != nil {
		v = p.with[v]
	}
	return v
}

// share divides values among slabs, in the best of three orders: the largest first, the earliest, those that live
// longest.
func (p *placement) share(have []gpu.Bytes) {
	size := func(a, b *value) int { return cmp.Compare(p.size[b], p.size[a]) }
	first := func(a, b *value) int { return cmp.Compare(p.first[a], p.first[b]) }
	last := func(a, b *value) int { return cmp.Compare(p.last[b], p.last[a]) }
	for i, order := range [][2]func(a, b *value) int{{size, first}, {first, size}, {last, size}} {
		values := slices.Clone(p.values)
		slices.SortStableFunc(values, func(a, b *value) int { return cmp.Or(order[0](a, b), order[1](a, b)) })
		slabs, total := p.fit(values, slices.Clone(have))
		if i == 0 || total < p.total {
			p.slabs, p.total = slabs, total
		}
	}
}

// fit puts each value into the slab that is free and grows least by it, of these into the nearest in size. sizes are
// those of slabs that are there.
func (p *placement) fit(values []*value, sizes []gpu.Bytes) (slabs [][]*value, total gpu.Bytes) {
	slabs = make([][]*value, len(sizes))
	for _, v := range values {
		best, n := -1, p.size[v]
		for i, s := range slabs {
			meets := func(u *value) bool { return p.first[u] <= p.last[v] && p.first[v] <= p.last[u] }
			if slices.ContainsFunc(s, meets) {
				continue
			}
			grows := func(i int) gpu.Bytes { return max(0, n-sizes[i]) }
			if best < 0 || cmp.Or(cmp.Compare(grows(i), grows(best)), cmp.Compare(sizes[i], sizes[best])) < 0 {
				best = i
			}
		}
		if best < 0 {
			best, slabs, sizes = len(slabs), append(slabs, nil), append(sizes, 0)
		}
		slabs[best], sizes[best] = append(slabs[best], v), max(sizes[best], n)
	}
	for _, n := range sizes {
		total += n
	}
	return slabs, total
}

// request asks ws for the values, in the order in which they were made.
func (d *derivation) request(p *placement) {
	name := map[*value]string{}
	for i, s := range p.slabs {
		for _, v := range s {
			name[v] = slabName(i)
		}
	}
	for _, v := range d.values {
		at, ok := name[p.root(v.whole())]
		switch {
		case !ok: // nothing reads or writes it
		case v.cols == 0:
			v.v = d.ws.vec(at, v.rows)
		case v.of != nil:
			v.m = d.ws.typed(at, v.rows, v.of.cols, v.t)
			v.m.Off, v.m.Cols = v.lo, v.cols
		default:
			v.m = d.ws.typed(at, v.rows, v.cols, v.t)
		}
	}
}

// shared returns the sizes of the slabs that values of passes lie in.
func (w *Workspace) shared() (sizes []gpu.Bytes) {
	for i := range w.slabs {
		sizes = append(sizes, w.slabs[w.index[slabName(i)]].Size)
	}
	return sizes
}

func slabName(i int) string { return fmt.Sprintf("rows %d", i) }

// size returns what a value takes.
func (w *Workspace) size(v *value, layers []LayerGraph) gpu.Bytes {
	row := gpu.Bytes(4)
	if v.cols > 0 {
		row = gpu.Bytes(v.t.Size()) * gpu.Bytes(w.stride(v.cols, v.t))
	}
	return row * gpu.Bytes(v.rows.in(layers))
}
