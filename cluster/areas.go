package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Area is memory of rank To that rank From fills: bytes [0, Bytes). Numbers are per pair of ranks and direction.
type Area struct {
	From, To int
	Number   uint32
	Bytes    int
}

// Areas is the table of all areas of a run. Every rank derives the same one from the plan.
type Areas struct {
	ranks int
	list  []Area // by From, To, Number
}

func (a Area) key() Area { a.Bytes = 0; return a }

func compare(a, b Area) int {
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Number, b.Number))
}

// NewAreas makes the table of a run of this many ranks. The order of the list does not matter. Errors are ranks that
// do not exist, a rank that sends to itself, a repeated number, and a size above MaxArea.
func NewAreas(ranks int, list []Area) (*Areas, error) {
	t := &Areas{ranks: ranks, list: slices.Clone(list)}
	slices.SortFunc(t.list, compare)
	for i, a := range t.list {
		switch {
		case a.From < 0 || a.To < 0 || a.From >= ranks || a.To >= ranks || a.From == a.To:
			return nil, fmt.Errorf("area %d leads from rank %d to rank %d of %d", a.Number, a.From, a.To, ranks)
		case a.Bytes < 0 || int64(a.Bytes) > MaxArea:
			return nil, fmt.Errorf("area %d from rank %d to rank %d has %d bytes", a.Number, a.From, a.To, a.Bytes)
		case i > 0 && t.list[i-1].key() == a.key():
			return nil, fmt.Errorf("area %d from rank %d to rank %d is there twice", a.Number, a.From, a.To)
		}
	}
	return t, nil
}

// Find returns an area by its key.
func (t *Areas) Find(from, to int, number uint32) (Area, bool) {
	i, ok := slices.BinarySearchFunc(t.list, Area{From: from, To: to, Number: number}, compare)
	if !ok {
		return Area{}, false
	}
	return t.list[i], true
}

// Between returns the areas that one rank fills at another, by number.
func (t *Areas) Between(from, to int) []Area {
	var out []Area
	for _, a := range t.list {
		if a.From == from && a.To == to {
			out = append(out, a)
		}
	}
	return out
}

// Bytes returns the memory in which a rank receives from others.
func (t *Areas) Bytes(rank int) int {
	sum := 0
	for _, a := range t.list {
		if a.To == rank {
			sum += a.Bytes
		}
	}
	return sum
}

// Digest is equal at two ranks if their tables are: SHA-256 of the number of ranks and of all areas in order.
func (t *Areas) Digest() [sha256.Size]byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(t.ranks))
	for _, a := range t.list {
		for _, v := range []int{a.From, a.To, int(a.Number), a.Bytes} {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
	}
	return sha256.Sum256(b)
}
