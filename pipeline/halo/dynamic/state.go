package dynamic

import (
	"io"

	"capgnn/internal/checkpoint"
)

// Section returns the newest rows of the global cache, by slot, as a section of a checkpoint; nil: there are none. What lies in which slot
// follows from a replay of the epochs that are done.
func (x *Exchange) Section() checkpoint.Section {
	used, row := x.Used(), int(x.Row)
	if x.Slots == nil || used == 0 {
		return nil
	}
	return &slotRows{x: x, row: row, size: int64(used * row)}
}

// Used returns how many slots of the global cache hold a row.
func (x *Exchange) Used() int {
	n := 0
	for _, h := range x.global {
		if h.made >= 0 {
			n++
		}
	}
	return n
}

// slotRows is the rows of a global cache as a section of a checkpoint, by slot.
type slotRows struct {
	x    *Exchange
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
	for ; s.slot < len(s.x.global); s.slot++ {
		if s.x.global[s.slot].made >= 0 {
			s.rest = s.x.Slots.Rows()[(2*s.slot+int(s.x.last[s.slot]))*s.row:][:s.row]
			s.slot++
			return true
		}
	}
	return false
}

// Load puts such a section back, into caches that have been replayed, by way of piece. It has Used rows.
func (x *Exchange) Load(rows checkpoint.Section, piece []byte) error {
	row := int(x.Row)
	if row > len(piece) {
		piece = make([]byte, row)
	}
	left, part := checkpoint.Size(rows), []byte(nil)
	for s, h := range x.global {
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
		if err := x.Slots.Put(2*int32(s)+x.last[s], h.made, part[:row]); err != nil {
			return err
		}
		part = part[row:]
	}
	return nil
}
