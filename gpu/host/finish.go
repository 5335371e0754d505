package host

import (
	"capgnn/gpu/host/kernel"
	"capgnn/gpu/host/workers"
)

// finish is what follows the rows of a product, or stands on its own: bias and epilogue, either of which may be nil. It
// runs on blocks of rows while they are in cache. nil: nothing follows.
type finish struct {
	bias  []float32
	then  *epilogue
	masks []uint32
	room  workers.Own // a row of H before it is rounded to bf16
}

func (d *Device) finish(bias []float32, then *epilogue) *finish {
	if bias == nil && then == nil {
		return nil
	}
	f := &finish{bias: bias, then: then}
	if then != nil {
		_, cols := then.h.Size()
		f.masks = then.drop.masks(d, cols)
		f.room = d.pool.Own(&d.work.row, then.h.Spare())
	}
	return f
}

// rows returns what is to be called when rows lo to hi of z are there; nil if nothing follows.
func (f *finish) rows(z kernel.Dense) func(worker, lo, hi int) {
	if f == nil {
		return nil
	}
	return func(worker, lo, hi int) { f.block(worker, z.RowRange(lo, hi), lo) }
}

// block finishes the rows of z, which are those from lo on of the whole.
func (f *finish) block(worker int, z kernel.Dense, lo int) {
	if f == nil {
		return
	}
	for i := range z.Rows {
		row := z.Row(i)
		if f.bias != nil {
			kernel.Axpby(row, 1, f.bias, 1)
		}
		if f.then != nil {
			f.then.forward(row, lo+i, f.then.drop.mask(f.masks, worker, lo+i, z.Cols), f.room.Of(worker))
		}
	}
}
