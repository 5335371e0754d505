package halo

import (
	"fmt"
	"io"

	"capgnn/internal/checkpoint"
)

// A checkpoint of a run with a dynamic policy has besides:
//
//	halo/K/0/slots      rows of the global cache of exchange K, by slot
//
// What lies in which slot follows from a replay of the epochs that are done.

// save adds the newest rows of the global cache of an exchange to a checkpoint.
func (d *dynamicExchange) save(into map[string]checkpoint.Section, name string, row int) {
	if used := d.used(); d.slots != nil && used > 0 {
		into[name] = &slotRows{d: d, row: row, size: int64(used * row)}
	}
}

// used returns how many slots of the global cache hold a row.
func (d *dynamicExchange) used() int {
	n := 0
	for _, h := range d.global {
		if h.made >= 0 {
			n++
		}
	}
	return n
}

// slotRows is the rows of a global cache as a section of a checkpoint, by slot.
type slotRows struct {
	d    *dynamicExchange
	row  int // bytes
	size int64
	slot int    // the next one
	rest []byte // of the row before it
}

// Size implements Section.
func (s *slotRows) Size() int64 { return s.size }

// Read implements io.Reader.
func (s *slotRows) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(s.rest) == 0 && !s.next() {
			return n, io.EOF
		}
		k := copy(p[n:], s.rest)
		s.rest, n = s.rest[k:], n+k
	}
	return n, nil
}

// next goes to the next slot that holds a row.
func (s *slotRows) next() bool {
	for ; s.slot < len(s.d.global); s.slot++ {
		if s.d.global[s.slot].made >= 0 {
			s.rest = s.d.slots.Rows()[(2*s.slot+int(s.d.last[s.slot]))*s.row:][:s.row]
			s.slot++
			return true
		}
	}
	return false
}

// load puts them back, into caches that have been replayed, by way of piece.
func (d *dynamicExchange) load(rows checkpoint.Section, row int, piece []byte) error {
	if used := d.used(); checkpoint.Size(rows) != int64(used*row) {
		return fmt.Errorf("%w: %d bytes in %d slots", errOtherHalo, checkpoint.Size(rows), used)
	}
	if row > len(piece) {
		piece = make([]byte, row)
	}
	left, part := checkpoint.Size(rows), []byte(nil)
	for s, h := range d.global {
		if h.made < 0 {
			continue
		}
		if len(part) == 0 {
			part = piece[:min(left, int64(len(piece)/row*row))]
			if _, err := io.ReadFull(rows, part); err != nil {
				return err
			}
			left -= int64(len(part))
		}
		if err := d.slots.Put(2*int32(s)+d.last[s], h.made, part[:row]); err != nil {
			return err
		}
		part = part[row:]
	}
	return nil
}

// resume puts the caches of all exchanges into the state behind the epochs that a checkpoint has seen.
func (f *dynamicCaches) resume(c *checkpoint.File, piece []byte) error {
	if err := f.reach(c.Epoch); err != nil {
		return err
	}
	for _, l := range f.traffic {
		if err := l.dynamic.load(c.Sections[l.section(0, "slots")], int(l.wireRow()), piece); err != nil {
			return err
		}
	}
	return nil
}

// restart empties the caches: they begin with the schedules' Start.
func (f *dynamicCaches) restart() { f.replay = nil }
