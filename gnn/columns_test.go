package gnn

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// offered returns what a part offers of rows of one column, which is far from 0.
func offered(x []float64, gamma, beta float64) []byte {
	b, sum := make([]byte, offerBytes(1)), 0.0
	for _, v := range x {
		sum += v
	}
	centre := -float32(sum / float64(max(1, len(x))))
	rest, squares := 0.0, 0.0
	for _, v := range x {
		z := float64(float32(v) + centre)
		rest, squares = rest+z, squares+z*z
	}
	for k, v := range []float64{rest, squares, float64(centre), gamma, beta, 1000, 8} {
		binary.NativeEndian.PutUint32(b[4*k:], math.Float32bits(float32(v)))
	}
	for k, n := range []int{len(x) / rowUnit, len(x) % rowUnit} {
		binary.NativeEndian.PutUint32(b[len(b)-8+4*k:], math.Float32bits(float32(n)))
	}
	return b
}

// Statistics of columns whose mean is 1000 times their deviation are those of all rows, however they are shared out:
// a part may have none, and all parts together one, or none.
func TestColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, parts := range [][]int{{40}, {13, 0, 26, 1}, {1}, {0, 1}, {0, 0}} {
		var x [][]float64
		var all []float64
		for _, n := range parts {
			x = append(x, nil)
			for range n {
				v := float64(float32(1000 + r.NormFloat64()))
				x[len(x)-1], all = append(x[len(x)-1], v), append(all, v)
			}
		}
		n, mean, squares := float64(len(all)), 0.0, 0.0
		for _, v := range all {
			mean += v / n
		}
		for _, v := range all {
			squares += (v - mean) * (v - mean)
		}
		var offers [][]byte
		for _, p := range x {
			offers = append(offers, offered(p, 2, 3))
		}
		for p := range x {
			c := newColumns(1, 1e-5, 0.25)
			copy(c.own[0], offers[p])
			mine := append([][]byte(nil), offers...)
			mine[p] = c.own[0]
			c.forward(mine)
			got := func(k int) float64 {
				return float64(math.Float32frombits(binary.NativeEndian.Uint32(c.out[0][4*(1+k):])))
			}
			near := func(what string, got, want, tolerance float64) {
				if !(math.Abs(got-want) <= tolerance) {
					t.Errorf("parts %v, part %d: %s is %v, want %v", parts, p, what, got, want)
				}
			}
			wantMean, wantVariance := 1000.0, 8.0
			if n > 1 { // of one row there is no variance
				wantMean, wantVariance = 750+mean/4, 6+squares/(n-1)/4
			}
			near("mean", got(coefMean), wantMean, 1e-4) // half a unit in the last place of 1000
			near("variance", got(coefVariance), wantVariance, 1e-5)
			turned := make([][]byte, len(x))
			for k := range turned {
				turned[k] = make([]byte, len(c.own[1]))
			}
			turned[p] = c.own[1]
			c.backward(turned)
			if v := c.get(c.out[1], coefGamma+2, 0); v != 0 {
				t.Errorf("parts %v, part %d: of gradients that are 0 that of γ is %v", parts, p, v)
			}
			for _, v := range x[p] {
				z := v + c.get(c.own[0], offerCentre, 0)
				want := 2*(v-mean)/math.Sqrt(squares/n+1e-5) + 3
				near("y", got(-1)*z+got(coefC), want, 1e-5)
			}
		}
	}
}
