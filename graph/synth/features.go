package synth

import (
	"context"
	"fmt"
	"math/rand/v2"

	"capgnn/graph/internal/parallel"
)

// noiseDeviation is the standard deviation of the sum of four uniform 16-bit words: 2¹⁶·√(4/12).
const noiseDeviation = 37837

// Prototypes returns a row of +1 and -1 for every class: the directions in which Dense moves the features of its members.
func Prototypes(classes, cols int, seed uint64) []int8 {
	r := stream(seed, streamPrototypes, 0)
	out := make([]int8, classes*cols)
	for i := range out {
		out[i] = int8(r.Uint64()>>63)*2 - 1
	}
	return out
}

// Dense draws features, row by row: noise that is nearly normal, moved by ±signal standard deviations in each column as the
// prototype of the vertex's class says. Where types is not nil, the last typeColumns columns show them instead. Two classes lie signal·√(2·cols) standard deviations apart, so a small signal makes
// single rows ambiguous and averages over neighbours clear. Values are float32, exact, with deviation 1.15 and few
// significant bits; equal arguments give equal bits whatever how says.
func Dense(ctx context.Context, class []int32, types []uint8, classes, cols int, signal float64, seed uint64, how Options) ([]float32, error) {
	if classes < 1 || cols < 1 || !(signal >= 0 && signal <= 8) {
		return nil, fmt.Errorf("dense features: need classes ≥ 1, columns ≥ 1 and a signal in [0, 8], got %d, %d, %g", classes, cols, signal)
	}
	proto := Prototypes(classes, cols, seed)
	shift := int32(signal * noiseDeviation)
	out := make([]float32, len(class)*cols)
	err := parallel.New(ctx, how.Threads, how.Progress).Each("features", parallel.Blocks(len(class), vertexBlock), func(b int) {
		r := stream(seed, streamFeatures, b)
		for v := b * vertexBlock; v < min((b+1)*vertexBlock, len(class)); v++ {
			row, p := out[v*cols:(v+1)*cols], proto[int(class[v])*cols:]
			for j := range row {
				x := r.Uint64()
				sum := int32(x&0xffff) + int32(x>>16&0xffff) + int32(x>>32&0xffff) + int32(x>>48)
				move := int32(p[j]) * shift
				if types != nil && j >= cols-typeColumns {
					move = (2*int32(types[v]) - 1) * typeShift * noiseDeviation
				}
				row[j] = float32(sum-2*0xffff+move) / (1 << 15)
			}
		}
	})
	return out, err
}

// Sets draws for every class the labels, size of them, that its members tend to have; labels with small numbers are taken
// more often. The result has classes × labels entries of 0 or 1.
func Sets(classes, labels, size int, seed uint64) ([]uint8, error) {
	if classes < 1 || labels < 1 || size < 1 || size > labels {
		return nil, fmt.Errorf("label sets: need classes ≥ 1 and size in [1, labels], got %d, %d of %d", classes, size, labels)
	}
	r := rand.New(stream(seed, streamSets, 0))
	out := make([]uint8, classes*labels)
	for c := range classes {
		set := out[c*labels : (c+1)*labels]
		for left := size; left > 0; {
			// the smaller of two uniform numbers: the first label is the most frequent
			if l := min(r.IntN(labels), r.IntN(labels)); set[l] == 0 {
				set[l] = 1
				left--
			}
		}
	}
	return out, nil
}

// Targets draws several labels per vertex: each label in the set of its class with probability keep, each other one with
// probability add. sets is what Sets returns. A model that knows every class exactly reaches the micro-F1 of MicroF1.
func Targets(class []int32, sets []uint8, labels int, keep, add float64, seed uint64) ([]uint8, error) {
	if labels < 1 || len(sets)%labels != 0 || !(keep >= 0 && keep <= 1) || !(add >= 0 && add <= 1) {
		return nil, fmt.Errorf("targets: need probabilities in [0, 1] and sets of %d labels, got %g, %g and %d entries", labels, keep, add, len(sets))
	}
	out := make([]uint8, len(class)*labels)
	bound := [2]uint64{threshold(add), threshold(keep)}
	r := stream(seed, streamTargets, 0)
	for v, c := range class {
		set := sets[int(c)*labels : (int(c)+1)*labels]
		row := out[v*labels : (v+1)*labels]
		for l, in := range set {
			if r.Uint64()>>32 < bound[in] {
				row[l] = 1
			}
		}
	}
	return out, nil
}

// MicroF1 returns the expected micro-F1 of predicting, for every vertex, exactly the set of its class: set labels of which
// each is right with probability keep, and labels-set others that are missed with probability add.
func MicroF1(labels, set int, keep, add float64) float64 {
	hit := float64(set) * keep
	wrong := float64(set) - hit
	missed := float64(labels-set) * add
	return 2 * hit / (2*hit + wrong + missed)
}
