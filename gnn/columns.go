package gnn

import (
	"encoding/binary"
	"math"
)

// columns is what the host makes of the sums of all parts over rows, for the norm of columns. The parts' vectors are
// float32, in the order of the constants, and behind them is the number of their rows. All else is float64, in part
// order (Chan, Golub, LeVeque, The American Statistician 37, 1983).
type columns struct {
	eps      float64
	own, out [2][]byte   // forward and backward: what the part offers, and what its device gets
	count    float64     // rows of all parts
	factor   []float64   // γ/√(variance + ε)
	rstd     []float64   // 1/√(variance + ε)
	shift    [][]float64 // by part: its centre less the mean of all
}

// What a part offers, of rows that it has centred about m: Σz, Σz², −m, γ and β; where statistics are running ones the
// second is the variance. Backward Σdy and Σdy⊙z.
const (
	offerSum = iota
	offerSquares
	offerCentre
	offerGamma
	offerBeta
	offers
)

// What its device gets: forward a and c of y = a⊙z + c, mean and unbiased variance; backward a, b and c of
// dx = a⊙dy + b⊙z + c, and its share of the gradient of γ.
const (
	coefA = iota
	coefC
	coefMean
	coefVariance
	coefs

	coefB     = coefMean
	coefGamma = coefVariance
)

// offerBytes is what a part offers at most.
func offerBytes(cols int) int { return 4*offers*cols + 8 }

func newColumns(cols int, eps float64) *columns {
	c := &columns{eps: eps, factor: make([]float64, cols), rstd: make([]float64, cols)}
	for k, vectors := range []int{offers, 2} {
		c.own[k], c.out[k] = make([]byte, 4*vectors*cols+8), make([]byte, 4*coefs*cols)
	}
	return c
}

func putRows(b []byte, rows int) { binary.NativeEndian.PutUint64(b[len(b)-8:], uint64(rows)) }

func rowsIn(b []byte) float64 { return float64(binary.NativeEndian.Uint64(b[len(b)-8:])) }

// get returns element j of vector k.
func (c *columns) get(b []byte, k, j int) float64 {
	return float64(math.Float32frombits(binary.NativeEndian.Uint32(b[4*(k*len(c.rstd)+j):])))
}

func (c *columns) put(pass, k, j int, x float64) {
	binary.NativeEndian.PutUint32(c.out[pass][4*(k*len(c.rstd)+j):], math.Float32bits(float32(x)))
}

// running takes the running mean for the mean, about which rows are centred.
func (c *columns) running(parts [][]byte) {
	b := parts[0]
	for j := range c.rstd {
		c.put(0, coefA, j, c.get(b, offerGamma, j)/math.Sqrt(c.get(b, offerSquares, j)+c.eps))
		c.put(0, coefC, j, c.get(b, offerBeta, j))
	}
}

// forward makes mean and variance of all rows, and what y is made with.
func (c *columns) forward(parts [][]byte) {
	for len(c.shift) < len(parts) {
		c.shift = append(c.shift, make([]float64, len(c.rstd)))
	}
	c.count = 0
	for _, b := range parts {
		c.count += rowsIn(b)
	}
	for j := range c.rstd {
		mean, squares := 0.0, 0.0
		for _, b := range parts {
			mean += (c.get(b, offerSum, j) - rowsIn(b)*c.get(b, offerCentre, j)) / c.count
		}
		for p, b := range parts {
			s := -c.get(b, offerCentre, j) - mean
			c.shift[p][j] = s
			squares += c.get(b, offerSquares, j) + s*(2*c.get(b, offerSum, j)+s*rowsIn(b))
		}
		squares = max(0, squares)
		own := c.own[0]
		c.rstd[j] = 1 / math.Sqrt(squares/c.count+c.eps)
		c.factor[j] = c.get(own, offerGamma, j) * c.rstd[j]
		c.put(0, coefA, j, c.factor[j])
		c.put(0, coefC, j, c.get(own, offerBeta, j)+c.factor[j]*c.shift[c.at(parts, 0)][j])
		c.put(0, coefMean, j, mean)
		c.put(0, coefVariance, j, squares/max(1, c.count-1))
	}
}

// at returns which of the parts this one is.
func (c *columns) at(parts [][]byte, pass int) int {
	for p := range parts {
		if &parts[p][0] == &c.own[pass][0] {
			return p
		}
	}
	panic("gnn: a part does not meet the others")
}

// backward makes what the gradient of the rows is made with: dx = γr·(dy − mean dy − x̂·mean(dy⊙x̂)), where
// x̂ = r·(z + shift).
func (c *columns) backward(parts [][]byte) {
	at := c.at(parts, 1)
	for j, r := range c.rstd {
		sum, dot := 0.0, 0.0
		for p, b := range parts {
			s := c.get(b, offerSum, j)
			d := r * (c.get(b, offerSquares, j) + c.shift[p][j]*s)
			if sum, dot = sum+s, dot+d; p == at {
				c.put(1, coefGamma, j, d)
			}
		}
		a := c.factor[j]
		b := -a * r * dot / c.count
		c.put(1, coefA, j, a)
		c.put(1, coefB, j, b)
		c.put(1, coefC, j, b*c.shift[at][j]-a*sum/c.count)
	}
}
