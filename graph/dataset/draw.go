package dataset

import (
	"cmp"
	"fmt"
	"slices"
)

// Draw says how the vertices of a data set without a split of its own are drawn. The same labels and Draw give the same
// split on every machine.
type Draw struct {
	By     DrawBy
	Shares [3]float64 // of training, validation and test vertices; see Split
	Counts [3]int     // of PerClass: training vertices of each class, then validation and test vertices of all classes
	Seed   uint64
	Asked  bool   // the user asked for it: data with a split of its own are refused
	Text   string // what the user wrote, for errors
}

// DrawBy is how a Draw treats classes.
type DrawBy int

const (
	// ByShares is Split: classes do not matter.
	ByShares DrawBy = iota
	// Stratified has as many vertices in each set as Split, and of each class about these shares: each set takes of a
	// class the class's share of the vertices that the sets before it left, rounded down; what then lacks is taken from
	// the classes with the largest remainders, of equal ones the first. A class whose share is below one training vertex
	// has one all the same.
	Stratified
	// PerClass is the way of Planetoid: Counts[0] vertices of each class train, and of the rest, whatever their class,
	// Counts[1] validate and Counts[2] test. A class with Counts[0] vertices or fewer trains half of them, rounded up, so
	// that some are left.
	PerClass
)

// split draws from vertices with these labels; nil: all count. few are the classes that have fewer training vertices
// than PerClass asks for.
func (w *Draw) split(n int, labels []int32, classes int) (masks [3][]bool, few []int, err error) {
	if w.By == ByShares {
		masks[0], masks[1], masks[2], err = Split(n, labels, w.Seed, w.Shares)
		return masks, nil, err
	}
	order, have := shuffled(n, labels, w.Seed), make([]int, classes)
	for _, v := range order {
		have[labels[v]]++
	}
	for i := range masks {
		masks[i] = make([]bool, n)
	}
	if w.By == Stratified {
		want := sharesOf(have, w.Shares)
		for _, v := range order {
			for i := range masks {
				if left := &want[i][labels[v]]; *left > 0 {
					*left--
					masks[i][v] = true
					break
				}
			}
		}
		return masks, nil, nil
	}
	rest := len(order)
	want := slices.Clone(have)
	for c, m := range have {
		if want[c] = min(m, w.Counts[0]); m <= w.Counts[0] {
			want[c] = (m + 1) / 2
		}
		if rest -= want[c]; want[c] < w.Counts[0] {
			few = append(few, c)
		}
	}
	if w.Counts[1]+w.Counts[2] > rest {
		return masks, nil, fmt.Errorf("--split %s: %d vertices are left for validation and test, %d are asked for: ask for fewer", w.Text, rest, w.Counts[1]+w.Counts[2])
	}
	left := w.Counts
	for _, v := range order {
		switch c := labels[v]; {
		case want[c] > 0:
			want[c]--
			masks[0][v] = true
		case left[1] > 0:
			left[1]--
			masks[1][v] = true
		case left[2] > 0:
			left[2]--
			masks[2][v] = true
		}
	}
	return masks, few, nil
}

// sharesOf returns how many vertices of each class the three sets of Stratified have, of classes with so many vertices.
func sharesOf(have []int, fractions [3]float64) (want [3][]int) {
	m := total(have)
	size, left := sizes(m, fractions), slices.Clone(have)
	for i := range want {
		want[i] = proportional(left, min(size[i], total(left)))
		for c := range left {
			if i == 0 && have[c] > 0 {
				want[i][c] = max(want[i][c], 1)
			}
			left[c] -= want[i][c]
		}
	}
	return want
}

// proportional takes so many of classes in proportion to what they have.
func proportional(have []int, take int) []int {
	out, sum, lacking := make([]int, len(have)), int64(total(have)), take
	if take == 0 {
		return out
	}
	byRemainder := make([]int, len(have))
	remainder := make([]int64, len(have))
	for c, m := range have {
		product := int64(m) * int64(take) // both are below 2³¹
		out[c], remainder[c], byRemainder[c] = int(product/sum), product%sum, c
		lacking -= out[c]
	}
	slices.SortStableFunc(byRemainder, func(a, b int) int { return cmp.Compare(remainder[b], remainder[a]) })
	for _, c := range byRemainder[:lacking] {
		out[c]++
	}
	return out
}

func total(counts []int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}
