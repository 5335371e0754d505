package kernel

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gpu"
)

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
			d := randDraw(r)
			got, want := guarded[byte](t, n), make([]byte, n)
			finite := slices.Clone(x)
			for j, v := range finite {
				if math.IsInf(float64(v), 0) {
					x[j], finite[j] = 0, 0
				}
			}
			scale := int8Scale(topBits(x))
			if scale == 0 {
				continue
			}
			quantise(got, x, scale, 0, d)
			quantiseGo(want, finite, scale, 0, d)
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

func randDraw(r *rand.Rand) Draw {
	return Draw{ID: r.Uint32(), Stream: r.Uint32(), Epoch: r.Uint32(), Key: [2]uint32{r.Uint32(), r.Uint32()}}
}

// TestInt8Words compares a row with what its definition says of every element's draw.
func TestInt8Words(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(12, 13))
		for n := 1; n < 300; n++ {
			x, got, d := randFloats(t, r, n), make([]byte, n), randDraw(r)
			scale := int8Scale(topBits(x))
			quantise(got, x, scale, 0, d)
			for j, v := range x {
				words := gpu.Philox([4]uint32{uint32(4*(j/32) + j/4%4), d.ID, d.Stream, d.Epoch}, d.Key)
				if want := roundedGo(v, scale, words[j%4]>>(16*(j/16%2))&0xFFFF); got[j] != want {
					t.Fatalf("%d columns: element %d is %d, want %d", n, j, int8(got[j]), int8(want))
				}
			}
		}
	})
}

// TestInt8Draws takes every draw that there is: an element is never a whole scale off, right on average to 2⁻¹⁶ of the scale, and exact
// where it is a multiple of the scale.
func TestInt8Draws(t *testing.T) {
	r := rand.New(rand.NewPCG(30, 31))
	for range 60 {
		scale := float32(math.Exp(20 * r.NormFloat64()))
		s := float64(scale)
		for _, v := range []float64{127 * s, -127 * s, 100 * s, -s, 127 * s * (2*r.Float64() - 1), 0.01 * s * r.NormFloat64(), s * (1 + 1e-6*r.Float64())} {
			checkDraws(t, float32(v), scale)
		}
	}
}

// checkDraws rounds one value with every draw.
func checkDraws(t *testing.T, v, scale float32) {
	t.Helper()
	y, sum := float64(v)/float64(scale), 0.0
	for draw := range uint32(1 << 16) {
		q := int8(roundedGo(v, scale, draw))
		if d := float64(q) - y; !(math.Abs(d) < 1) {
			t.Fatalf("%g became %d with draw %x", y, q, draw)
		}
		sum += float64(q)
	}
	if d := sum/(1<<16) - y; !(math.Abs(d) <= 1.0/(1<<16)) {
		t.Fatalf("%.9g is %.3g off on average", y, d)
	}
	if y == math.Round(y) && sum != y*(1<<16) {
		t.Fatalf("%g, a multiple of the scale, became others", y)
	}
}

// BenchmarkInt8 is packing and unpacking rows of 256 elements; rates are of their float32s.
func BenchmarkInt8(b *testing.B) {
	defer func(l Level) { Active = l }(Active)
	const n = 256
	r := rand.New(rand.NewPCG(1, 2))
	x, dst := make([]float32, n), make([]float32, gpu.PackedWords(n, 8))
	for j := range x {
		x[j] = float32(r.NormFloat64())
	}
	for l := generic; l <= detect(); l++ {
		Active = l
		rate := func(b *testing.B) { b.ReportMetric(4*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s") }
		for _, bits := range []int{8, 2} {
			row, out := dst[:gpu.PackedWords(n, bits)], make([]float32, n)
			b.Run(fmt.Sprintf("pack%d/%v", bits, l), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					PackRow(row, x, bits, Draw{uint32(i), 2, 3, [2]uint32{4, 5}})
				}
				rate(b)
			})
			b.Run(fmt.Sprintf("unpack%d/%v", bits, l), func(b *testing.B) {
				for b.Loop() {
					UnpackRow(out, row, bits)
				}
				rate(b)
			})
		}
	}
}
