package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gpu"
)

var curved = []gpu.Activation{gpu.LeakyReLU, gpu.ELU, gpu.Tanh}

// curve is an activation in float64, and its derivative.
func curve(f gpu.Activation, y float64) (h, slope float64) {
	switch {
	case f == gpu.Tanh:
		h = math.Tanh(y)
		return h, 1 - h*h
	case y > 0:
		return y, 1
	case f == gpu.ELU:
		return math.Expm1(y), math.Exp(y)
	}
	return y * float64(float32(gpu.LeakySlope)), float64(float32(gpu.LeakySlope))
}

// ulps is how many units in the last place got is off.
func ulps(got float32, want float64) float64 {
	unit := float64(math.Nextafter32(float32(math.Abs(want)), float32(math.Inf(1)))) - float64(float32(math.Abs(want)))
	return math.Abs(float64(got)-want) / unit
}

// TestActivationCurves holds the functions to the errors that they state, over all exponents.
func TestActivationCurves(t *testing.T) {
	r, worst := rand.New(rand.NewPCG(30, 31)), map[gpu.Activation]float64{}
	for range 500_000 {
		y := math.Float32frombits(r.Uint32N(0x7f7fffff-0x30000000) + 0x30000000) // from 2^-31 on
		if r.IntN(2) == 0 {
			y = float32(r.NormFloat64() * 3)
		}
		if y = -y; r.IntN(4) == 0 {
			y = -y
		}
		for _, f := range curved {
			want, _ := curve(f, float64(y))
			if got := activated(f, y); math.Abs(float64(got)) > 1 && f == gpu.Tanh || got < -1 && f == gpu.ELU {
				t.Fatalf("f(%g) = %g leaves its range", y, got)
			} else if off := ulps(got, want); off > worst[f] {
				worst[f] = off
			}
		}
	}
	for f, most := range map[gpu.Activation]float64{gpu.LeakyReLU: 0.5, gpu.ELU: 2, gpu.Tanh: 4} {
		if !(worst[f] <= most) {
			t.Errorf("activation %d is %.2f units in the last place off, at most %g", f, worst[f], most)
		}
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct {
		f       gpu.Activation
		y, want float32
	}{
		{gpu.LeakyReLU, inf, inf}, {gpu.LeakyReLU, -inf, -inf}, {gpu.ELU, inf, inf}, {gpu.ELU, -inf, -1}, {gpu.ELU, 0, 0},
		{gpu.Tanh, inf, 1}, {gpu.Tanh, -inf, -1}, {gpu.Tanh, 0, 0}, {gpu.Tanh, 100, 1}, {gpu.ELU, -40, -1}, {gpu.LeakyReLU, 0, 0},
	} {
		if got := activated(c.f, c.y); got != c.want {
			t.Errorf("activation %d of %g is %g, want %g", c.f, c.y, got, c.want)
		}
	}
	for _, f := range curved {
		if got := activated(f, nan); got == got {
			t.Errorf("activation %d of NaN is %g", f, got)
		}
	}
}

// equalBits demands equal bits, NaN being equal to NaN.
func equalBits(t *testing.T, what string, f gpu.Activation, got, want []float32) {
	t.Helper()
	for j, w := range want {
		if math.Float32bits(got[j]) != math.Float32bits(w) && (w == w || got[j] == got[j]) {
			t.Fatalf("%s, activation %d, %d columns: element %d is %g (%x), want %g (%x)", what, f, len(want), j, got[j], math.Float32bits(got[j]), w, math.Float32bits(w))
		}
	}
}

// TestActivationRow holds every level to the bits of the Go rows, for numbers of all kinds, kept and dropped, in place and apart, and the gradient to the derivative.
func TestActivationRow(t *testing.T) {
	forRows(t, func(t *testing.T, r *rand.Rand, n int) {
		for _, f := range curved {
			for turn := range 8 {
				z, dh := randFloats(t, r, n), randFloats(t, r, n)
				for j := range z {
					if r.IntN(8) == 0 {
						z[j] = math.Float32frombits(r.Uint32()) // anything, NaN and subnormal numbers too
					}
				}
				var keep []uint32
				scale := float32(1)
				if turn%2 == 1 {
					keep, scale = guarded[uint32](t, (n+31)/32), 1/0.7
					for i := range keep {
						keep[i] = r.Uint32()
					}
				}
				h, want := guarded[float32](t, n), make([]float32, n)
				Activate(f, h, z, keep, scale)
				activateGo(f, want, z, keep, scale)
				equalBits(t, "forward", f, h, want)

				dz, wantDZ := guarded[float32](t, n), make([]float32, n)
				ActivateBackward(f, dz, dh, h, keep, scale)
				activateBackwardGo(f, wantDZ, dh, h, keep, scale)
				equalBits(t, "backward", f, dz, wantDZ)
				for j, y := range z {
					_, slope := curve(f, float64(y))
					kept := keep == nil || keep[j/32]>>(j%32)&1 == 1
					g := float64(dh[j]) * float64(scale)
					if !kept {
						g = 0
					}
					if y == y && math.Abs(float64(y)) < 1e30 { // the output of an infinite row is not finite
						within(t, "gradient", n, j, float64(dz[j]), g*slope, 8, math.Abs(g)+flushed)
					}
				}
				switch turn % 4 { // in place
				case 0, 1:
					Activate(f, z, z, keep, scale)
					equalBits(t, "in place", f, z, want)
					ActivateBackward(f, dh, dh, h, keep, scale)
					equalBits(t, "dz is dh", f, dh, wantDZ)
				default:
					ActivateBackward(f, h, dh, h, keep, scale)
					equalBits(t, "dz is h", f, h, wantDZ)
				}
			}
		}
	})
}

// flushed is less than a difference that matters.
const flushed = 1e-30

// TestAffine demands the y of NormForward, bit for bit.
func TestAffine(t *testing.T) {
	forRows(t, func(t *testing.T, r *rand.Rand, n int) {
		z, gamma, beta := randFloats(t, r, n), randFloats(t, r, n), randFloats(t, r, n)
		want, got := make([]float32, n), guarded[float32](t, n)
		NormForward(z, want, gamma, beta, 1e-5, false, nil, 1)
		Affine(got, z, gamma, beta)
		if !slices.Equal(got, want) {
			t.Fatalf("%d columns: %v, want %v", n, got, want)
		}
	})
}
