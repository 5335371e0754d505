package dataset

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
)

// DefaultFractions are the shares of training, validation and test vertices.
var DefaultFractions = [3]float64{0.7, 0.2, 0.1}

// Split draws random splits of n vertices. Vertices with label -1 are in no split; labels nil means that all count.
// Of m labelled vertices, round(f₀·m) train (at least one if f₀ > 0), round(f₁·m) validate, and round(f₂·m) test, or all
// the rest if the fractions sum to 1. Each fraction must lie in [0, 1] and their sum must not exceed 1.
//
// Method: the labelled vertices in ascending order are shuffled (Fisher and Yates, from the last place down) with draws
// from PCG-DXSM, state words (seed, 0), mapped to a range by Lemire's unbiased multiplication; the splits are then
// consecutive stretches. So a split depends on n, labels, seed and fractions alone.
func Split(n int, labels []int32, seed uint64, fractions [3]float64) (train, val, test []bool, err error) {
	sum := 0.0
	for _, f := range fractions {
		if !(f >= 0 && f <= 1) {
			return nil, nil, nil, fmt.Errorf("split %v: a fraction is outside [0, 1]", fractions)
		}
		sum += f
	}
	if sum > 1+1e-9 {
		return nil, nil, nil, fmt.Errorf("split %v: the fractions sum to %g, more than 1", fractions, sum)
	}
	if labels != nil && len(labels) != n {
		return nil, nil, nil, fmt.Errorf("split: %d labels for %d vertices", len(labels), n)
	}
	order := shuffled(n, labels, seed)
	size := sizes(len(order), fractions)
	a, b := size[0], size[0]+size[1]
	c := b + size[2]
	return maskOf(n, order[:a]), maskOf(n, order[a:b]), maskOf(n, order[b:c]), nil
}

// sizes returns how many of m vertices train, validate and test.
func sizes(m int, fractions [3]float64) (size [3]int) {
	left := m
	for i, f := range fractions {
		size[i] = min(int(math.Round(f*float64(m))), left)
		switch {
		case i == 0 && f > 0 && m > 0:
			size[i] = max(size[i], 1)
		case i == 2 && fractions[0]+fractions[1]+f > 1-1e-9:
			size[i] = left
		}
		left -= size[i]
	}
	return size
}

// shuffled returns the labelled vertices in the order in which Split takes them.
func shuffled(n int, labels []int32, seed uint64) []int32 {
	order := make([]int32, 0, n)
	for v := range n {
		if labels == nil || labels[v] >= 0 {
			order = append(order, int32(v))
		}
	}
	rng := rand.NewPCG(seed, 0)
	for i := len(order) - 1; i > 0; i-- {
		j := below(rng, uint64(i)+1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

func maskOf(n int, vertices []int32) []bool {
	mask := make([]bool, n)
	for _, v := range vertices {
		mask[v] = true
	}
	return mask
}

// below draws a number from 0 to n-1 without bias.
// Source: Lemire, Fast Random Integer Generation in an Interval, 2019.
func below(rng *rand.PCG, n uint64) uint64 {
	for {
		hi, lo := bits.Mul64(rng.Uint64(), n)
		if lo >= -n%n {
			return hi
		}
	}
}
