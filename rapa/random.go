package rapa

import "math/rand/v2"

// Streams of one seed.
const (
	streamRandomSeed uint64 = iota + 1
	streamOrderSeed
)

// placeRandom gives every part, in order, its share of the vertices in random order.
//
// Returns: nothing; l holds the partition. Sizes are those of apportion.
// Method: shuffle, then cut the order by targets.
// Why: the baseline of the paper's Fig. 4–6, and the worst case for halos.
func placeRandom(l *loads, targets []float64, seed uint64) {
	n := len(l.part)
	order := rand.New(rand.NewPCG(seed, streamRandomSeed)).Perm(n)
	size := apportion(n, targets)
	at := 0
	for p, s := range size {
		for _, v := range order[at : at+s] {
			l.place(v, int32(p))
		}
		at += s
	}
}

// apportion splits n into len(targets) sizes near target·n, each at least 1 (n ≥ len(targets)), by largest remainder:
// ⌊target·n⌋ each, the rest to the largest remainders, ties to the lower index. Sizes are at most ⌈target·n⌉, or 1.
func apportion(n int, targets []float64) []int {
	size := make([]int, len(targets))
	left := n
	for p, t := range targets {
		size[p] = max(1, int(t*float64(n)+1e-9))
		left -= size[p]
	}
	for left != 0 {
		best := -1
		for p, t := range targets {
			if left < 0 && size[p] == 1 {
				continue
			}
			if best < 0 || short(t, n, size[p], left) > short(targets[best], n, size[best], left) {
				best = p
			}
		}
		if left > 0 {
			size[best]++
			left--
		} else {
			size[best]--
			left++
		}
	}
	return size
}

// short is how much a part of this size lacks (left > 0) or holds above its target (left < 0), in vertices.
func short(target float64, n, size, left int) float64 {
	d := target*float64(n) - float64(size)
	if left < 0 {
		return -d
	}
	return d
}
