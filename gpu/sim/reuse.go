package sim

import (
	"encoding/binary"

	"capgnn/gpu"
)

// window is the number of indices of an array that are looked at: more rows of 256 columns than a cache of 64 MiB holds, if
// every second one is new.
const window = 128 << 10

// sample is a window of an uploaded array, around its middle.
type sample struct {
	lo    gpu.Bytes // of the window, from the start of the block
	bytes []byte
	reuse *reuse // of the window as indices; nil: not counted yet
}

// look keeps a window of what is uploaded, which may come in pieces.
func (d *Device) look(dst gpu.Buffer, off gpu.Bytes, src []byte) {
	if d.samples == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.samples[dst]
	if s == nil {
		n := min(4*window, dst.Size()&^3)
		s = &sample{lo: (dst.Size() - n) / 2 &^ 3, bytes: make([]byte, n)}
		d.samples[dst] = s
	}
	if from := max(off, s.lo); from < min(off+gpu.Bytes(len(src)), s.lo+gpu.Bytes(len(s.bytes))) {
		copy(s.bytes[from-s.lo:], src[from-off:])
		s.reuse = nil
	}
}

// reuseOf returns how soon the indices in a block come again, nil if nothing was uploaded there.
func (d *Device) reuseOf(b gpu.Buffer) *reuse {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.samples[b]
	if s == nil {
		return nil
	}
	if s.reuse == nil {
		s.reuse = newReuse(s.bytes)
	}
	return s.reuse
}

// reuse is how many different rows lie between two uses of a row.
//
// Method: footprints. rows[k] is the mean number of different rows in 2^k consecutive uses. A use whose row is gone from a
// cache of r rows makes the footprint of the uses since r was reached grow: a share of (rows[k+1]-rows[k])/2^k, for r midway.
// Source: Xiang, Ding, Luo, Bao: HOTL, ASPLOS 2013 (footprint and miss ratio).
type reuse struct{ rows []float64 }

// most returns the different rows of the whole window.
func (u *reuse) most() float64 {
	if len(u.rows) == 0 {
		return 0
	}
	return u.rows[len(u.rows)-1]
}

// newReuse counts footprints of int32 indices.
func newReuse(raw []byte) *reuse {
	rank := map[uint32]int32{}
	ids := make([]int32, len(raw)/4)
	for i := range ids {
		v := binary.NativeEndian.Uint32(raw[4*i:])
		r, ok := rank[v]
		if !ok {
			r = int32(len(rank))
			rank[v] = r
		}
		ids[i] = r
	}
	u := &reuse{}
	seen := make([]int32, len(rank)) // the last window, over all sizes, in which a row was seen
	serial := int32(0)
	for size := 1; size <= len(ids); size *= 2 {
		distinct, windows := 0, len(ids)/size
		for w := range windows {
			serial++
			for _, id := range ids[w*size:][:size] {
				if seen[id] != serial {
					seen[id] = serial
					distinct++
				}
			}
		}
		u.rows = append(u.rows, float64(distinct)/float64(windows))
	}
	return u
}

// farther returns the share of uses of a row with more than rows different ones since the last, of a matrix of so many rows
// in all: between the footprints on straight lines, and behind them to 0 at the whole matrix.
func (u *reuse) farther(rows, all float64) float64 {
	if rows >= all {
		return 0
	}
	at, share := 0.0, 1.0
	for k := 0; k+1 < len(u.rows); k++ {
		d, s := (u.rows[k]+u.rows[k+1])/2, min(share, (u.rows[k+1]-u.rows[k])/float64(int(1)<<k))
		if d >= all {
			break
		}
		if rows < d {
			return share + (s-share)*(rows-at)/(d-at)
		}
		at, share = d, s
	}
	return share * (all - rows) / (all - at)
}
