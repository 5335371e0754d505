package hostmem

import (
	"fmt"
	"os"
)

// Slots is a block of a region whose rows are replaced one by one: the global cache of a dynamic policy, which may give the slot
// of a row to any other row.
//
// Method: two rows per slot, 2·slot and 2·slot+1, each with a stamp of its own, while a Versioned has one stamp for all its rows.
// Put writes the one of the two that nobody reads in the epoch; the caller knows which one that is, and the stamps detect it if
// it is wrong. No reader and no writer ever waits.
type Slots struct {
	owner, name string
	size        int // bytes of a row
	rows        []byte
	stamps      []stamp
}

// SlotsCost is what n slots for rows of size bytes take of a region's capacity.
func SlotsCost(n int, size int64) int64 {
	return (2*int64(n)*size + Alignment - 1) / Alignment * Alignment
}

// Slots cuts n slots for rows of size bytes off the region. name appears in faults. Fails with *OutOfMemory.
func (r *Region) Slots(name string, n int, size int64) (*Slots, error) {
	if n < 0 || size < 0 {
		panic(fmt.Sprintf("hostmem: slots %q: %d of %d bytes", name, n, size))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mem.closed.Load() {
		return nil, r.mem.isClosed()
	}
	need, left := SlotsCost(n, size), int64(len(r.mem.bytes))-r.used
	if need > left {
		return nil, &OutOfMemory{Owner: r.mem.owner, Name: name, Need: need, Left: left, Capacity: int64(len(r.mem.bytes))}
	}
	bytes := 2 * int64(n) * size
	s := &Slots{owner: r.mem.owner, name: name, size: int(size), rows: r.mem.bytes[r.used : r.used+bytes : r.used+bytes], stamps: make([]stamp, 2*n)}
	r.used += need
	r.slots = append(r.slots, s)
	return s, nil
}

// Rows returns all rows, one after the other. A reader may use only those that Check has confirmed.
func (s *Slots) Rows() []byte { return s.rows }

// Put writes a row and stamps it with its epoch. A row has one writer at a time.
func (s *Slots) Put(row int32, epoch int, from []byte) error {
	at := &s.stamps[row]
	if at.Swap(written(epoch)|1) == stampClosed {
		at.Store(stampClosed)
		return fmt.Errorf("%s: %q: %w", s.owner, s.name, os.ErrClosed)
	}
	copy(s.rows[int(row)*s.size:][:s.size], from)
	at.Store(written(epoch))
	return nil
}

// Check returns a *VersionFault unless each rows[i] is of epochs[i]. It is called before the first row is read and after the last.
func (s *Slots) Check(rows []int32, epochs []int) error {
	for k, row := range rows {
		if s.stamps[row].Load() == written(epochs[k]) {
			continue
		}
		f := &VersionFault{Owner: s.owner, Block: fmt.Sprintf("%s, slot %d", s.name, row/2), Want: epochs[k]}
		for g := range f.Found {
			at := &s.stamps[int(row)&^1+g]
			if at.Load() == stampClosed {
				return fmt.Errorf("%s: %q: %w", s.owner, s.name, os.ErrClosed)
			}
			f.Found[g], f.Writing[g] = at.epoch()
		}
		return f
	}
	return nil
}

// close makes every check and every Put fail.
func (s *Slots) close() {
	for i := range s.stamps {
		s.stamps[i].Store(stampClosed)
	}
	s.rows = nil
}
