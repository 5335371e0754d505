package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// rowWidths are widths around those of vectors, with and without whole vectors before the rest.
var rowWidths = []int{1, 2, 3, 5, 7, 8, 9, 12, 15, 16, 17, 23, 31, 32, 33, 41, 47, 48, 63, 64, 65, 100, 121, 256, 257, 602}

// forRows runs f for every level and width. Operands end where readable memory does.
func forRows(t *testing.T, f func(t *testing.T, r *rand.Rand, n int)) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(20, 21))
		for _, n := range rowWidths {
			faults(t, fmt.Sprintf("%d columns", n), func() { f(t, r, n) })
		}
	})
}

// within fails if got is farther from want than so many roundings of size.
func within(t *testing.T, what string, n, j int, got, want, roundings, size float64) {
	t.Helper()
	if !(math.Abs(got-want) <= roundings*unit*size) {
		t.Fatalf("%s, %d columns: element %d is %.9g, want %.9g", what, n, j, got, want)
	}
}

func TestAxpbyRow(t *testing.T) {
	forRows(t, func(t *testing.T, r *rand.Rand, n int) {
		for _, b := range []float32{0, 1, -0.75} {
			dst, src := randFloats(t, r, n), randFloats(t, r, n)
			old := slices.Clone(dst)
			if b == 0 {
				for j := range dst {
					dst[j] = float32(math.NaN())
					old[j] = 0
				}
			}
			Axpby(dst, 1.3, src, b)
			for j := range dst {
				s, d := float64(float32(1.3))*float64(src[j]), float64(b)*float64(old[j])
				within(t, "axpby", n, j, float64(dst[j]), s+d, 2, math.Abs(s)+math.Abs(d))
			}
		}
	})
}

func TestDotWide(t *testing.T) {
	forRows(t, func(t *testing.T, r *rand.Rand, n int) {
		a, b := randFloats(t, r, n), randFloats(t, r, n)
		want, size := 0.0, 0.0
		for j := range a {
			want += float64(a[j]) * float64(b[j])
			size += math.Abs(float64(a[j]) * float64(b[j]))
		}
		if got := DotWide(a, b); math.Abs(got-want) > 1e-13*size {
			t.Fatalf("%d columns: %v, want %v", n, got, want)
		}
	})
}

func TestAdamRow(t *testing.T) {
	forRows(t, func(t *testing.T, r *rand.Rand, n int) {
		for _, amsgrad := range []bool{false, true} {
			s := Adam{
				Param: randFloats(t, r, n), Grad: randFloats(t, r, n), M: randFloats(t, r, n), V: randFloats(t, r, n),
				B1: 0.9, B2: 0.99, C1: 0.1, C2: 0.01, Step: 0.1, Root: 1.5, Eps: 1e-8, Decay: 0.01, Shrink: 0.02,
			}
			for j := range s.V {
				s.V[j] = s.V[j]*s.V[j] + 0.01
			}
			if amsgrad {
				s.VMax = randFloats(t, r, n)
				for j := range s.VMax {
					s.VMax[j] *= s.VMax[j]
				}
			}
			twin := s
			twin.Param, twin.M = slices.Clone(s.Param), slices.Clone(s.M)
			twin.V, twin.VMax = slices.Clone(s.V), slices.Clone(s.VMax)
			s.Run(0, n)
			twin.runGo(0, n)
			for j := range n {
				within(t, "param", n, j, float64(s.Param[j]), float64(twin.Param[j]), 8, 1+math.Abs(float64(twin.Param[j])))
				within(t, "m", n, j, float64(s.M[j]), float64(twin.M[j]), 4, 1+math.Abs(float64(twin.M[j])))
				within(t, "v", n, j, float64(s.V[j]), float64(twin.V[j]), 4, 1+float64(twin.V[j]))
				if amsgrad {
					within(t, "vmax", n, j, float64(s.VMax[j]), float64(twin.VMax[j]), 4, 1+float64(twin.VMax[j]))
				}
			}
		}
	})
}

// TestBF16Row holds the conversions to the bits of their Go twins, over all kinds of numbers.
func TestBF16Row(t *testing.T) {
	forRows(t, func(t *testing.T, r *rand.Rand, n int) {
		src, half, back := guarded[float32](t, n), guarded[uint16](t, n), guarded[float32](t, n)
		want := make([]uint16, n)
		for range 20 {
			for j := range src {
				switch r.IntN(4) {
				case 0:
					src[j] = math.Float32frombits(r.Uint32()) // anything, NaN and subnormal numbers too
				case 1:
					src[j] = math.Float32frombits(r.Uint32()<<15 | 0x4000) // near ties
				case 2:
					src[j] = math.Float32frombits(r.Uint32()&^0x7fff | 0x8000) // ties
				default:
					src[j] = float32(r.NormFloat64())
				}
			}
			toBF16(half, src)
			toBF16Go(want, src)
			if !slices.Equal(half, want) {
				t.Fatalf("%d columns: %x rounds to %x, want %x", n, src, half, want)
			}
			fromBF16(back, half)
			for j, v := range back {
				if math.Float32bits(v) != uint32(half[j])<<16 {
					t.Fatalf("%d columns: %x widens to %x", n, half[j], math.Float32bits(v))
				}
			}
		}
	})
}

func TestPlainRow(t *testing.T) {
	forRows(t, func(t *testing.T, r *rand.Rand, n int) {
		for options := range 4 {
			relu, z, dh := options&1 != 0, randFloats(t, r, n), randFloats(t, r, n)
			z[r.IntN(n)], z[r.IntN(n)] = float32(math.NaN()), 0
			var keep []uint32
			if options&2 != 0 {
				keep = guarded[uint32](t, (n+31)/32)
				for i := range keep {
					keep[i] = r.Uint32()
				}
			}
			var x []float32
			if relu {
				x = z
			}
			h, dz := guarded[float32](t, n), guarded[float32](t, n)
			PlainForward(h, z, relu, keep, 1.25)
			PlainBackward(dz, dh, x, keep, 1.25)
			wantH, wantZ := make([]float32, n), make([]float32, n)
			plainForwardGo(wantH, z, relu, keep, 1.25)
			plainBackwardGo(wantZ, dh, x, keep, 1.25)
			for j := range n {
				if h[j] != wantH[j] && (h[j] == h[j] || wantH[j] == wantH[j]) || dz[j] != wantZ[j] {
					t.Fatalf("%d columns, relu %v, dropout %v: element %d is %v, gradient %v, want %v and %v",
						n, relu, keep != nil, j, h[j], dz[j], wantH[j], wantZ[j])
				}
			}
		}
	})
}

// TestSoftmaxRow holds every exponential to its relative error and the sum to what was stored.
func TestSoftmaxRow(t *testing.T) {
	forRows(t, func(t *testing.T, r *rand.Rand, n int) {
		x, e := guarded[float32](t, n), guarded[float32](t, n)
		for range 300 {
			for j := range x {
				x[j] = float32(90 * (r.Float64() - 1))
			}
			x[r.IntN(n)] = float32(math.Inf(-1))
			x[r.IntN(n)] = 0
			top, sum := SoftmaxRow(e, x)
			want := 0.0
			for j, v := range x {
				want += float64(e[j])
				exact := math.Exp(float64(v))
				switch {
				case exact < 0x1p-125:
					if e[j] < 0 || float64(e[j]) > exact*(1+0x1p-22)+0x1p-149 {
						t.Fatalf("%d columns: exp(%v) = %v", n, v, e[j])
					}
				case math.Abs(float64(e[j])-exact) > exact*0x1p-22:
					t.Fatalf("%d columns: exp(%v) = %v, want %v: %.2g roundings", n, v, e[j], exact,
						math.Abs(float64(e[j])/exact-1)/unit)
				}
			}
			if top != 0 || math.Abs(sum-want) > 1e-13*want {
				t.Fatalf("%d columns: top %v, sum %v, want 0 and %v", n, top, sum, want)
			}
		}
	})
}

func TestBCERow(t *testing.T) {
	forRows(t, func(t *testing.T, r *rand.Rand, n int) {
		x, grad, targets := guarded[float32](t, n), guarded[float32](t, n), guarded[uint8](t, n)
		for spread := range 4 {
			for j := range x {
				x[j] = float32(r.NormFloat64() * math.Pow(6, float64(spread)))
				targets[j] = uint8(r.IntN(2))
			}
			sum, product := BCERow(grad, x, targets, 0.125)
			loss, size := 0.0, 0.0
			for j, v := range x {
				y := float64(v)
				if targets[j] == 1 {
					y = -y
				}
				term := max(y, 0) + math.Log1p(math.Exp(-math.Abs(y)))
				loss += term
				size += term
				want := 0.125 * math.Exp(min(y, 0)) / (1 + math.Exp(-math.Abs(y)))
				if targets[j] == 1 {
					want = -want
				}
				within(t, "gradient", n, j, float64(grad[j]), want, 8, math.Abs(want)+0x1p-100)
			}
			got := sum + math.Log(product)
			// log(1+e) has the error of e, and what is lost in the product.
			within(t, "loss", n, 0, got, loss, 4, size+1e-6)
		}
	})
}

func TestTranspose(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(22, 23))
		for _, shape := range [][2]int{{1, 1}, {7, 9}, {8, 8}, {9, 17}, {16, 24}, {32, 256}, {33, 257}, {31, 7}, {5, 300}} {
			rows, cols := shape[0], shape[1]
			s, d := randDense(t, r, rows, cols, cols+3), randDense(t, r, cols, rows, rows+1)
			faults(t, fmt.Sprint(shape), func() { TransposeTile(d, s, 0, rows, 0, cols) })
			for i := range rows {
				for j := range cols {
					if d.Row(j)[i] != s.Row(i)[j] {
						t.Fatalf("%d×%d: element (%d, %d) is %v, want %v", rows, cols, j, i, d.Row(j)[i], s.Row(i)[j])
					}
				}
			}
			if err := gaps(d); err != nil {
				t.Fatalf("%d×%d: %v", rows, cols, err)
			}
		}
	})
}

// BenchmarkRows is each row kernel on 256 columns in cache.
func BenchmarkRows(b *testing.B) {
	defer func(l Level) { Active = l }(Active)
	const n = 256
	v := func() []float32 { return make([]float32, n) }
	x, y, z, keep := v(), v(), v(), make([]uint32, n/32)
	half, targets := make([]uint16, n), make([]uint8, n)
	s := Adam{Param: v(), Grad: v(), M: v(), V: v(), B1: 0.9, B2: 0.99, C1: 0.1, C2: 0.01, Step: 0.1, Root: 1.5, Eps: 1e-8}
	square, turned := Dense{make([]float32, n*n), n, n, n}, Dense{make([]float32, n*n), n, n, n}
	kernels := []struct {
		name string
		run  func()
	}{
		{"axpby", func() { Axpby(y, 0.5, x, 1) }},
		{"dotWide", func() { DotWide(x, y) }},
		{"adam", func() { s.Run(0, n) }},
		{"toBF16", func() { toBF16(half, x) }},
		{"fromBF16", func() { fromBF16(y, half) }},
		{"plainForward", func() { PlainForward(y, x, true, keep, 2) }},
		{"plainBackward", func() { PlainBackward(y, z, x, keep, 2) }},
		{"softmax", func() { SoftmaxRow(y, x) }},
		{"bce", func() { BCERow(y, x, targets, 1) }},
		{"transpose256x256", func() { TransposeTile(turned, square, 0, n, 0, n) }},
	}
	for _, k := range kernels {
		for l := generic; l <= detect(); l++ {
			b.Run(fmt.Sprintf("%s/%v", k.name, l), func(b *testing.B) {
				Active = l
				for b.Loop() {
					k.run()
				}
			})
		}
	}
}
