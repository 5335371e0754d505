package jaca

import (
	"maps"
	"math/bits"
	"slices"
)

// maxKinds bounds the kinds of rows that classBalancer considers, because it tries all pairs of kinds.
const maxKinds = 256

// classBalancer swaps the classes of rows with a global slot until, in every part, the numbers of local slots per class differ by
// at most 1, or until no swap of two rows brings them closer. Rows of one kind have local slots in the same parts, so it does not
// matter which of them is swapped.
type classBalancer struct {
	fill  [][]int     // by part and class: local slots
	kinds []uint64    // sets of parts, ascending
	rows  [][][]int32 // by kind and class
	class []int32     // by row
}

// balanceClasses balances the classes of the rows with a global slot, in class and fill. It does nothing for more than 64 parts.
func balanceClasses(class []int32, fill [][]int, ix *index, s *placement) {
	if len(fill) > 64 {
		return
	}
	kindOf := map[uint64][]int32{}
	for r, c := range class {
		if c < 0 {
			continue
		}
		set := uint64(0)
		s.copies(ix, int32(r), func(i int32) { set |= 1 << i })
		kindOf[set] = append(kindOf[set], int32(r))
	}
	e := &classBalancer{fill: fill, class: class, kinds: slices.Sorted(maps.Keys(kindOf))}
	e.kinds = e.kinds[:min(maxKinds, len(e.kinds))]
	for _, set := range e.kinds {
		rows := make([][]int32, len(fill[0]))
		for _, r := range kindOf[set] {
			rows[class[r]] = append(rows[class[r]], r)
		}
		e.rows = append(e.rows, rows)
	}
	for e.step() {
	}
}

// step makes one swap, in the first part whose classes differ by more than 1 and where a swap helps, and reports whether it found
// one. Each swap lowers the sum of squared class sizes, so steps end.
func (e *classBalancer) step() bool {
	for i, sizes := range e.fill {
		for a := range sizes {
			for b := range sizes {
				if sizes[a] > sizes[b]+1 && e.swap(i, a, b) {
					return true
				}
			}
		}
	}
	return false
}

// swap exchanges the classes of a row of class a that has a local slot in part i and of a row of class b that has none there, if
// that lowers the sum of squares over all parts.
func (e *classBalancer) swap(i, a, b int) bool {
	for x, out := range e.kinds {
		if out>>i&1 == 0 || len(e.rows[x][a]) == 0 {
			continue
		}
		for y, in := range e.kinds {
			if in>>i&1 == 1 || len(e.rows[y][b]) == 0 || e.change(out, in, a, b) >= 0 {
				continue
			}
			e.move(x, a, b)
			e.move(y, b, a)
			return true
		}
	}
	return false
}

// change is half of what moving a row of set out from class a to b and one of set in from b to a adds to the sum of squares.
func (e *classBalancer) change(out, in uint64, a, b int) int {
	sum := 0
	for set := out ^ in; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		d := e.fill[i][a] - e.fill[i][b]
		if out>>i&1 == 1 {
			d = -d
		}
		sum += 2 * (d + 1)
	}
	return sum
}

// move gives the last row of a kind in one class another class.
func (e *classBalancer) move(kind, from, to int) {
	rows := e.rows[kind]
	last := len(rows[from]) - 1
	r := rows[from][last]
	rows[from], rows[to] = rows[from][:last], append(rows[to], r)
	e.class[r] = int32(to)
	for set := e.kinds[kind]; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		e.fill[i][from]--
		e.fill[i][to]++
	}
}
