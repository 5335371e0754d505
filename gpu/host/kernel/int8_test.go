package kernel

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gpu"
)

// TestPhiloxWords compares the words of several blocks with their definition.
func TestPhiloxWords(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(12, 13))
		for blocks := range 6 {
			id, stream, epoch, key := r.Uint32(), r.Uint32(), r.Uint32(), [2]uint32{r.Uint32(), r.Uint32()}
			got := guarded[uint32](t, blocks*PhiloxBlock)
			faults(t, "philoxWords", func() { PhiloxWords(got, id, stream, epoch, key) })
			for j, w := range got {
				if want := gpu.Philox([4]uint32{uint32(j / 4), id, stream, epoch}, key)[j%4]; w != want {
					t.Fatalf("%d blocks: word %d is %x, want %x", blocks, j, w, want)
				}
			}
		}
	})
}

// TestInt8Rows compares the kernels with the Go loops, bit for bit, and nothing behind a row is read or written.
func TestInt8Rows(t *testing.T) {
	forRows(t, func(t *testing.T, r *rand.Rand, n int) {
		for _, size := range []float64{1, 1e-35, 1e30} {
			x := randFloats(t, r, n)
			for j := range x {
				x[j] *= float32(size)
			}
			if r.IntN(4) == 0 {
				x[r.IntN(n)] = float32(math.Inf(-1))
			}
			if got, want := topBits(x), topBitsGo(x); got != want {
				t.Fatalf("%d columns: top %x, want %x", n, got, want)
			}
			scale := float32(2.5 * size / 127) // some are beyond ±127
			words := guarded[uint32](t, RoundUp(n, PhiloxBlock))
			for j := range words {
				words[j] = r.Uint32()
				if j%5 == 0 {
					words[j] = uint32(-(j % 2))
				}
			}
			got, want := guarded[byte](t, n), make([]byte, n)
			finite := slices.Clone(x)
			for j, v := range finite {
				if math.IsInf(float64(v), 0) {
					x[j], finite[j] = 0, 0
				}
			}
			quantise(got, x, words, scale)
			quantiseGo(want, finite, words, scale)
			if !bytes.Equal(got, want) {
				t.Fatalf("%d columns: packed %v, want %v", n, got, want)
			}
			wide, wideWant := guarded[float32](t, n), make([]float32, n)
			Spread(wide, got, scale)
			spreadGo(wideWant, want, scale)
			if err := sameBits(wide, wideWant); err != nil {
				t.Fatalf("%d columns: %v", n, err)
			}
		}
	})
}

// TestInt8Draws takes every draw that there is: an element is never a whole scale off, right on average, and exact where it is a
// multiple of the scale.
func TestInt8Draws(t *testing.T) {
	words := make([]uint32, 1<<16)
	for k := range words {
		words[k] = uint32(k)<<16 | 0x5A5A
	}
	r := rand.New(rand.NewPCG(30, 31))
	for range 60 {
		scale := float32(math.Exp(20 * r.NormFloat64()))
		s := float64(scale)
		for _, v := range []float64{127 * s, -127 * s, 100 * s, -s, 127 * s * (2*r.Float64() - 1), 0.01 * s * r.NormFloat64(), s * (1 + 1e-6*r.Float64())} {
			checkDraws(t, float32(v), scale, words)
		}
	}
}

// checkDraws quantises one value with every draw.
func checkDraws(t *testing.T, v, scale float32, words []uint32) {
	t.Helper()
	x, q := make([]float32, len(words)), make([]byte, len(words))
	for j := range x {
		x[j] = v
	}
	quantise(q, x, words, scale)
	y, sum := float64(v)/float64(scale), 0.0
	for j, b := range q {
		if d := float64(int8(b)) - y; !(math.Abs(d) < 1) {
			t.Fatalf("%g became %d with draw %x", y, int8(b), words[j])
		}
		sum += float64(int8(b))
	}
	if d := sum/float64(len(q)) - y; !(math.Abs(d) <= 1.0/(1<<16)) {
		t.Fatalf("%.9g is %.3g off on average", y, d)
	}
	if y == math.Round(y) && sum != y*float64(len(q)) {
		t.Fatalf("%g, a multiple of the scale, became others", y)
	}
}

// BenchmarkInt8 is packing and unpacking rows of 256 elements.
func BenchmarkInt8(b *testing.B) {
	defer func(l Level) { Active = l }(Active)
	const n = 256
	r := rand.New(rand.NewPCG(1, 2))
	x, dst, words := make([]float32, n), make([]float32, gpu.Int8Words(n)), make([]uint32, n)
	for j := range x {
		x[j] = float32(r.NormFloat64())
	}
	for l := generic; l <= detect(); l++ {
		Active = l
		rate := func(b *testing.B) { b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melements/s") }
		b.Run("pack/"+l.String(), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				PackRow(dst, x, func() []uint32 {
					PhiloxWords(words, uint32(i), 2, 3, [2]uint32{4, 5})
					return words
				})
			}
			rate(b)
		})
		b.Run("draw/"+l.String(), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				PhiloxWords(words, uint32(i), 2, 3, [2]uint32{4, 5})
			}
			rate(b)
		})
		packed, out := make([]byte, n), make([]float32, n)
		b.Run("unpack/"+l.String(), func(b *testing.B) {
			for b.Loop() {
				Spread(out, packed, 0.5)
			}
			rate(b)
		})
	}
}
