package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var normWidths = []int{1, 2, 3, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 40, 41, 47, 48, 63, 64, 65, 100, 127, 128, 255, 256, 257, 602}

// normCase is a row with parameters and mask, and the settings.
type normCase struct {
	z, dh, gamma, beta []float32
	relu               bool
	keep               []uint32
	scale              float32
	eps                float32
}

func newNormCase(t *testing.T, r *rand.Rand, n, options int) *normCase {
	c := &normCase{
		z: randFloats(t, r, n), dh: randFloats(t, r, n), gamma: randFloats(t, r, n), beta: randFloats(t, r, n),
		relu: options&1 != 0, scale: 1, eps: 1e-5,
	}
	if options&2 != 0 {
		c.scale = 1 / 0.7
		c.keep = guarded[uint32](t, (n+31)/32)
		for i := range c.keep {
			c.keep[i] = r.Uint32()
		}
	}
	return c
}

func (c *normCase) String() string {
	return fmt.Sprintf("%d columns, relu %v, dropout %v", len(c.z), c.relu, c.keep != nil)
}

func (c *normCase) kept(j int) bool { return c.keep == nil || c.keep[j/32]>>(j%32)&1 == 1 }

// forward is NormForward in float64.
func (c *normCase) forward() (x, h []float64, rstd float64) {
	n := float64(len(c.z))
	var mu, variance float64
	for _, v := range c.z {
		mu += float64(v) / n
	}
	for _, v := range c.z {
		variance += (float64(v) - mu) * (float64(v) - mu) / n
	}
	rstd = 1 / math.Sqrt(variance+float64(c.eps))
	for j, v := range c.z {
		x = append(x, (float64(v)-mu)*rstd)
		y := float64(c.gamma[j])*x[j] + float64(c.beta[j])
		if c.relu {
			y = max(y, 0)
		}
		if !c.kept(j) {
			y = 0
		}
		h = append(h, y*float64(c.scale))
	}
	return x, h, rstd
}

// backward is NormBackward in float64, for x and rstd as they are: the sums that it adds, and dz.
func (c *normCase) backward(x []float32, rstd float64) (dgamma, dbeta, dz []float64) {
	n := float64(len(x))
	var mean, meanX float64
	for j, xv := range x {
		g := float64(c.dh[j]) * float64(c.scale)
		if !c.kept(j) || c.relu && !(float64(c.gamma[j])*float64(xv)+float64(c.beta[j]) > 0) {
			g = 0
		}
		dgamma, dbeta = append(dgamma, g*float64(xv)), append(dbeta, g)
		mean += g * float64(c.gamma[j]) / n
		meanX += g * float64(c.gamma[j]) * float64(xv) / n
	}
	for j, g := range dbeta {
		dz = append(dz, rstd*(g*float64(c.gamma[j])-mean-float64(x[j])*meanX))
	}
	return dgamma, dbeta, dz
}

// near fails if got differs from want by more than 16 units of roundoff times √n, relative to the vector's largest
// element: sums of n random terms grow so, and the factor covers the few operations on either side of them.
func near(t *testing.T, what string, c *normCase, got []float32, want []float64) {
	t.Helper()
	size := 1.0
	for _, w := range want {
		size = max(size, math.Abs(w))
	}
	tol := 16 * unit * math.Sqrt(float64(len(want))+4) * size
	for j, w := range want {
		if !(math.Abs(float64(got[j])-w) <= tol) {
			t.Fatalf("%v: %s[%d] = %v, want %v ± %v", c, what, j, got[j], w, tol)
		}
	}
}

// TestNorm holds forward and backward rows to the loops, with operands at the end of memory; forward rows to the Go twin.
func TestNorm(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(12, 13))
		for _, n := range normWidths {
			for options := range 16 {
				c := newNormCase(t, r, n, options)
				x, h, rstd := c.forward()
				if n == 1 {
					x[0], h[0] = 0, float64(c.scale)*float64(c.beta[0])
					if !c.kept(0) || c.relu && h[0] < 0 {
						h[0] = 0
					}
				}
				testForward(t, c, x, h, rstd)
				if n > 2 {
					testBackward(t, c, r, options&4 != 0, options&8 != 0)
				}
			}
		}
	})
}

func testForward(t *testing.T, c *normCase, x, h []float64, wantRstd float64) {
	got, z := guarded[float32](t, len(c.z)), slices.Clone(c.z)
	var rstd float32
	faults(t, c.String(), func() {
		rstd = NormForward(c.z, got, c.gamma, c.beta, c.eps, c.relu, c.keep, c.scale)
	})
	near(t, "x", c, c.z, x)
	near(t, "h", c, got, h)
	if math.Abs(float64(rstd)/wantRstd-1) > 16*unit*math.Sqrt(float64(len(x))+4) {
		t.Fatalf("%v: rstd %v, want %v", c, rstd, wantRstd)
	}
	row := newNormRow(z, make([]float32, len(z)), c.gamma, c.beta, c.relu, c.keep, c.scale)
	row.forwardGo(c.eps)
	twin := make([]float64, len(z))
	for j, v := range row.h {
		twin[j] = float64(v)
	}
	near(t, "h against the Go row", c, got, twin)

	again, inPlace := guarded[float32](t, len(c.z)), slices.Clone(c.z)
	faults(t, c.String(), func() {
		dz, sums := guarded[float32](t, len(c.z)), guarded[float32](t, len(c.z))
		NormBackward(dz, c.dh, c.z, c.gamma, c.beta, rstd, c.relu, c.keep, c.scale, sums, sums, nil, again)
		NormBackward(dz, c.dh, inPlace, c.gamma, c.beta, rstd, c.relu, c.keep, c.scale, sums, sums, nil, inPlace)
	})
	if !slices.Equal(again, got) || !slices.Equal(inPlace, got) {
		t.Fatalf("%v: the output made again differs from the first", c)
	}
}

// testBackward takes the normalised row that testForward left in z. dz is a row of its own, dh or x.
func testBackward(t *testing.T, c *normCase, r *rand.Rand, bias, alias bool) {
	n := len(c.z)
	for j, x := range c.z {
		for math.Abs(float64(c.gamma[j])*float64(x)+float64(c.beta[j])) < 1e-4 {
			c.beta[j] += 0.1 // the sign of y must not hang on rounding
		}
	}
	const rstd = 1.7
	dgamma, dbeta, dz := c.backward(c.z, float64(float32(rstd)))
	gotGamma, gotBeta := randFloats(t, r, n), randFloats(t, r, n)
	var gotBias []float32
	dbias := slices.Clone(dz)
	for j := range n {
		dgamma[j] += float64(gotGamma[j])
		dbeta[j] += float64(gotBeta[j])
	}
	if bias {
		gotBias = randFloats(t, r, n)
		for j := range n {
			dbias[j] += float64(gotBias[j])
		}
	}
	got := guarded[float32](t, n)
	if alias {
		got = [][]float32{c.dh, c.z}[r.IntN(2)]
	}
	faults(t, c.String(), func() {
		NormBackward(got, c.dh, c.z, c.gamma, c.beta, rstd, c.relu, c.keep, c.scale, gotGamma, gotBeta, gotBias, nil)
	})
	near(t, "dz", c, got, dz)
	near(t, "dgamma", c, gotGamma, dgamma)
	near(t, "dbeta", c, gotBeta, dbeta)
	if bias {
		near(t, "dbias", c, gotBias, dbias)
	}
}

// TestNormNaN checks that a number that is none is not hidden by ReLU.
func TestNormNaN(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		ones, h := []float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, make([]float32, 10)
		z := []float32{1, 2, 3, float32(math.NaN()), 5, 6, 7, 8, 9, 10}
		NormForward(z, h, ones, ones, 1e-5, true, nil, 1)
		if v := h[0]; v == v {
			t.Errorf("row with NaN gives %v", h)
		}
	})
}

func BenchmarkNorm(b *testing.B) {
	defer func(l Level) { Active = l }(Active)
	v := func() []float32 { return make([]float32, 256) }
	z, h, gamma, beta, dz, dg, db, keep := v(), v(), v(), v(), v(), v(), v(), make([]uint32, 8)
	for l := generic; l <= detect(); l++ {
		Active = l
		b.Run(l.String()+"/forward", func(b *testing.B) {
			for b.Loop() {
				NormForward(z, h, gamma, beta, 1e-5, true, keep, 2)
			}
		})
		b.Run(l.String()+"/backward", func(b *testing.B) {
			for b.Loop() {
				NormBackward(dz, h, z, gamma, beta, 1, true, keep, 2, dg, db, nil, nil)
			}
		})
	}
}
