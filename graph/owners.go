package graph

import "slices"

// Owners lists the owners of entries that are grouped by part: Parts[k] owns those from At[k] to At[k+1]. Parts that
// own no entries are not listed.
type Owners struct {
	Parts []int32 // ascending
	At    []int   // len(Parts)+1, from 0 on; nil: nobody owns anything
}

// Of returns the entries of a part, an empty range if it owns none.
func (o *Owners) Of(part int) (lo, hi int) {
	k, ok := slices.BinarySearch(o.Parts, int32(part))
	if !ok {
		return 0, 0
	}
	return o.At[k], o.At[k+1]
}

// Append adds a part as the owner of the entries up to end, unless there are none.
func (o *Owners) Append(part, end int) {
	if o.At == nil {
		o.At = []int{0}
	}
	if end > o.At[len(o.Parts)] {
		o.Parts, o.At = append(o.Parts, int32(part)), append(o.At, end)
	}
}

// Valid reports whether they own exactly n entries, as parts of so many.
func (o *Owners) Valid(n, parts int) bool {
	if o.At == nil {
		return n == 0 && len(o.Parts) == 0
	}
	if len(o.At) != len(o.Parts)+1 || o.At[0] != 0 || o.At[len(o.Parts)] != n {
		return false
	}
	for k, p := range o.Parts {
		if p < 0 || int(p) >= parts || k > 0 && p <= o.Parts[k-1] || o.At[k+1] <= o.At[k] {
			return false
		}
	}
	return true
}
