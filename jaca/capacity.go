package jaca

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"capgnn/gpu"
)

// generations is how many versions of a row the global cache holds: one being written, one being read (docs/caching.md).
const generations = 2

// Memory is the memory for caches.
type Memory struct {
	Device        []gpu.Bytes // free, by part; nil = more than enough
	DeviceReserve gpu.Bytes   // of that, left alone on every device
	Host          gpu.Bytes   // free; 0 = more than enough
	HostReserve   gpu.Bytes   // of that, left alone
	TopK          int         // halo vertices that count per reader and owner; 0 or less = all
	Local, Global Size        // wanted sizes; zero = auto
}

// Capacities are the sizes of the caches. Each exchange has separate tables, none with more slots than these.
type Capacities struct {
	Local       []int // slots by part
	Global      int   // slots
	LocalUnion  []int // |H_i^k|
	GlobalUnion int   // |∪_i H_i^k|
	// Slot is the size of a row, summed over all exchanges: the memory of a local slot. Wire is the same for encoded
	// rows; a global slot takes twice that.
	Slot, Wire gpu.Bytes
}

// Capacity is Algorithm 1:
//
//	H_i^k = ∪_{j≠i} the k halo vertices of i owned by j with highest R; slot = Σ over exchanges of width × element size
//	local[i] = min(⌊(free_i − reserve)/slot⌋, |H_i^k|);  global = min(⌊(free_host − reserve)/(2·wire)⌋, |∪_i H_i^k|)
//
// where wire is slot for encoded rows, which the global cache also stores.
//
// If exchanges read different rows, each union is that of the exchange in which it is largest. Sizes other than auto
// replace the formula, up to the unions; sizes that do not fit memory are *TooLarge, joined into one error.
//
// Source: Algorithm 1 of the paper, which counts layer 0 and one generation of the global cache.
func Capacity(exchanges []Exchange, m Memory) (*Capacities, error) {
	if err := m.validate(exchanges); err != nil {
		return nil, fmt.Errorf("cache capacities: %w", err)
	}
	c := &Capacities{}
	for e := range exchanges {
		c.Slot += exchanges[e].RowBytes
		c.Wire += exchanges[e].wire()
		locals, global := unions(&exchanges[e], m.TopK)
		if c.LocalUnion == nil {
			c.LocalUnion = locals
		}
		for i, n := range locals {
			c.LocalUnion[i] = max(c.LocalUnion[i], n)
		}
		c.GlobalUnion = max(c.GlobalUnion, global)
	}
	c.Local = make([]int, len(c.LocalUnion))
	var errs []error
	size := func(cache string, want Size, union int, slot gpu.Bytes, fit int) int {
		n, err := want.rows(union, slot, fit)
		if large := (*TooLarge)(nil); errors.As(err, &large) {
			large.Cache = cache
			errs = append(errs, err)
		}
		return n
	}
	for i := range c.Local {
		fit := math.MaxInt
		if m.Device != nil {
			fit = slotsIn(m.Device[i]-m.DeviceReserve, c.Slot)
		}
		c.Local[i] = size(fmt.Sprintf("local cache of part %d", i), m.Local, c.LocalUnion[i], c.Slot, fit)
	}
	fit := math.MaxInt
	if m.Host != 0 {
		fit = slotsIn(m.Host-m.HostReserve, generations*c.Wire)
	}
	c.Global = size("global cache", m.Global, c.GlobalUnion, generations*c.Wire, fit)
	return c, errors.Join(errs...)
}

func slotsIn(free, slot gpu.Bytes) int {
	if slot == 0 {
		return 0
	}
	return int(max(free, 0) / slot)
}

func (m *Memory) validate(exchanges []Exchange) error {
	var errs []error
	for e := range exchanges {
		x := &exchanges[e]
		errs = append(errs, x.validate())
		if len(x.Halos) != len(exchanges[0].Halos) {
			errs = append(errs, fmt.Errorf("%d and %d parts", len(exchanges[0].Halos), len(x.Halos)))
		}
	}
	if m.DeviceReserve < 0 || m.HostReserve < 0 || m.Host < 0 {
		errs = append(errs, fmt.Errorf("negative memory: reserves %d and %d, host %d", m.DeviceReserve, m.HostReserve, m.Host))
	}
	if m.Device != nil && len(exchanges) > 0 && len(m.Device) != len(exchanges[0].Halos) {
		errs = append(errs, fmt.Errorf("memory of %d devices for %d parts", len(m.Device), len(exchanges[0].Halos)))
	}
	return errors.Join(errs...)
}

// unions returns |H_i^k| by part and |∪_i H_i^k|.
func unions(x *Exchange, k int) (locals []int, global int) {
	locals = make([]int, len(x.Halos))
	ix := newIndex(x)
	in := make([]bool, len(ix.ids))
	for i := range x.Halos {
		h := &x.Halos[i]
		for p, n := range h.Count {
			rows := slices.Clone(ix.rowOf[i][h.Owners.At[p]:][:n])
			if k > 0 && k < n {
				halo := func(row int32) int32 { return h.Edges[ix.haloIn(row, i)] }
				slices.SortFunc(rows, func(a, b int32) int {
					return cmp.Or(cmp.Compare(ix.readers(int(b)), ix.readers(int(a))), cmp.Compare(halo(b), halo(a)), cmp.Compare(a, b))
				})
				rows = rows[:k]
			}
			locals[i] += len(rows)
			for _, r := range rows {
				in[r] = true
			}
		}
	}
	for _, b := range in {
		if b {
			global++
		}
	}
	return locals, global
}
