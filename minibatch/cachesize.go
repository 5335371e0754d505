package minibatch

import (
	"context"
	"fmt"
	"slices"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/minibatch/rowcache"
)

// CacheSize is how many rows a part keeps, of other parts in host memory or of its own on a device.
type CacheSize struct {
	Unit CacheUnit
	N    float64 // of units, ≥ 0
}

// CacheUnit is what a CacheSize counts.
type CacheUnit int

// Units of a CacheSize.
const (
	CacheFree  CacheUnit = iota // what memory leaves, whatever N is
	CacheRows                   // rows
	CacheShare                  // share of the remote rows that an epoch reads, each counted once: 0.15 is 15 %
	CacheBytes                  // bytes
)

// of returns how many of so many rows of some bytes it is; CacheFree: all of them.
func (c CacheSize) of(rows int, row gpu.Bytes) int {
	n := float64(rows)
	switch c.Unit {
	case CacheRows:
		n = c.N
	case CacheShare:
		n *= c.N
	case CacheBytes:
		n = c.N / float64(row)
	}
	return int(min(n, float64(rows)))
}

func (c CacheSize) check() error {
	if c.Unit < CacheFree || c.Unit > CacheBytes {
		return fmt.Errorf("row cache: unit %d is unknown", c.Unit)
	}
	if !(c.N >= 0) || c.N > 1<<62 {
		return fmt.Errorf("row cache of %v: want a number that is not negative", c.N)
	}
	return nil
}

// mostArea is what the rows that a step fetches may take at once, or one row. More come in rounds.
const mostArea = 64 << 20

// sizeCaches decides how many rows each part keeps, and how many come at once.
func (d *design) sizeCaches(ctx context.Context, p *learn.Problem, o *Options, r *roots) error {
	g := d.stageOf(p, o, 0)
	d.row = (g.largestRow() + align - 1) &^ (align - 1)
	d.slots = make([]int, r.parts)
	for part := range r.parts {
		area := max(min(d.away[part]+d.away[part]/slack, mostArea), gpu.Bytes(d.row))
		d.areas = append(d.areas, (area+align-1)&^(align-1))
	}
	if o.Sampling.Fetch.Kind == rowcache.Demand {
		return nil
	}
	size := o.Sampling.RowCache
	var slots []float64
	switch size.Unit {
	case CacheFree:
		slots = slices.Repeat([]float64{float64(d.left(p, o)) / float64(len(o.ownDevices())*d.row)}, r.parts)
	case CacheRows:
		slots = slices.Repeat([]float64{size.N}, r.parts)
	case CacheBytes:
		slots = slices.Repeat([]float64{size.N / float64(d.row)}, r.parts)
	case CacheShare:
		trace := NewTrace(p, *o, r.parts)
		trace.own = o.own()
		read, err := trace.Distinct(ctx)
		if err != nil {
			return err
		}
		for _, n := range read {
			slots = append(slots, size.N*float64(n))
		}
	}
	for part := range d.slots {
		if o.Devices[part] == nil { // it is for its own process to know
			continue
		}
		d.slots[part] = int(min(slots[part], float64(remoteOf(o, part))))
		if o.Sampling.Fetch.Kind == rowcache.Massive { // has a size of its own
			d.slots[part] = len(rowcache.New(o.Sampling.Fetch, d.slots[part], worldOf(p, o, r.steps, part)).Held())
		}
	}
	return nil
}

// left is what of the host's memory caches may take where the user does not say: half of what is free beside the
// steps that are sampled ahead.
func (d *design) left(p *learn.Problem, o *Options) gpu.Bytes {
	free, _, err := hostmem.Free()
	if err != nil {
		return 0
	}
	x := newSizing(p, o, d)
	steps, locked := x.ahead()
	return max(0, gpu.Bytes(free)-steps.Bound-locked.Bound-x.samplers()-mostKept) / 2
}
