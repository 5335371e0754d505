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
	momentum float64
	own, out [2][]byte   // forward and backward: what the part offers, and what its device gets
	count    float64     // rows of all parts
	factor   []float64   // γ/√(variance + ε)
	rstd     []float64   // 1/√(variance + ε)
	shift    [][]float64 // by part: its centre less the mean of all
}

// What a part offers, of rows that it has centred about m: Σz, Σz², −m, γ, β and the running mean and variance; where
// statistics are running ones the
// second is the variance. Backward Σdy and Σdy⊙z.
const (
	offerSum = iota
	offerSquares
	offerCentre
	offerGamma
	offerBeta
	offerMean
	offerVariance
	offers
)

// What its device gets: forward a and c of y = a⊙z + c, and the running mean and variance that follow; backward a, b
// and c of
// dx = a⊙dy + b⊙z + c, and its share of the gradient of γ. a and b are the diagonals of matrices, of which the device
// gets the blocks that are not 0, one below the other; they come first.
const (
	coefC = iota
	coefMean
	coefVariance
	coefs

	coefGamma = coefMean

	factorA = 0
	factorB = 1
)

// blockColumns is how many columns a block of these matrices has: one product takes so many times the operations of a
// scaling, and fewer calls the more columns. GCN of 3×256 with two norms on cora, one thread of a Xeon, least of 80
// epochs: 16 columns 27 ms, 32 27 ms, 64 29 ms, 256 54 ms.
const blockColumns = 32

// coefBytes is what the device gets: so many matrices and the vectors.
func coefBytes(cols, factors int) int { return 4 * cols * (factors*min(cols, blockColumns) + coefs) }

// offerBytes is what a part offers at most: behind the vectors is the number of its rows, in two float32, which hold it
// exactly: multiples of 2²⁰ and the rest.
func offerBytes(cols int) int { return 4 * (offers*cols + rowWords) }

const rowWords, rowUnit = 2, 1 << 20

func newColumns(cols int, eps, momentum float64) *columns {
	c := &columns{eps: eps, momentum: momentum, factor: make([]float64, cols), rstd: make([]float64, cols)}
	for k, vectors := range []int{offers, 2} {
		c.own[k], c.out[k] = make([]byte, 4*(vectors*cols+rowWords)), make([]byte, coefBytes(cols, 1+k))
	}
	return c
}

func rowsIn(b []byte) float64 {
	b = b[len(b)-4*rowWords:]
	return rowUnit*float64(floatIn(b)) + float64(floatIn(b[4:]))
}

func floatIn(b []byte) float32 { return math.Float32frombits(binary.NativeEndian.Uint32(b)) }

// get returns element j of vector k.
func (c *columns) get(b []byte, k, j int) float64 {
	return float64(floatIn(b[4*(k*len(c.rstd)+j):]))
}

// put sets element j of vector k of what a pass gets, which has one matrix more than its number.
func (c *columns) put(pass, k, j int, x float64) {
	n := len(c.rstd)
	c.set(pass, (1+pass)*n*min(n, blockColumns)+k*n+j, x)
}

// putFactor sets element j of the diagonal of a matrix.
func (c *columns) putFactor(pass, factor, j int, x float64) {
	n := len(c.rstd)
	width := min(n, blockColumns)
	c.set(pass, factor*n*width+j*width+j%width, x)
}

func (c *columns) set(pass, at int, x float64) {
	binary.NativeEndian.PutUint32(c.out[pass][4*at:], math.Float32bits(float32(x)))
}

// running takes the running mean for the mean, about which rows are centred.
func (c *columns) running(parts [][]byte) {
	b := parts[0]
	for j := range c.rstd {
		c.putFactor(0, factorA, j, c.get(b, offerGamma, j)/math.Sqrt(c.get(b, offerSquares, j)+c.eps))
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
	n := max(1, c.count) // of no rows at all sums are 0
	for j := range c.rstd {
		mean, squares := 0.0, 0.0
		for _, b := range parts {
			mean += (c.get(b, offerSum, j) - rowsIn(b)*c.get(b, offerCentre, j)) / n
		}
		for p, b := range parts {
			s := -c.get(b, offerCentre, j) - mean
			c.shift[p][j] = s
			squares += c.get(b, offerSquares, j) + s*(2*c.get(b, offerSum, j)+s*rowsIn(b))
		}
		squares = max(0, squares)
		own := c.own[0]
		c.rstd[j] = 1 / math.Sqrt(squares/n+c.eps)
		c.factor[j] = c.get(own, offerGamma, j) * c.rstd[j]
		c.putFactor(0, factorA, j, c.factor[j])
		c.put(0, coefC, j, c.get(own, offerBeta, j)+c.factor[j]*c.shift[c.at(parts, 0)][j])
		c.put(0, coefMean, j, c.follows(offerMean, j, mean))
		c.put(0, coefVariance, j, c.follows(offerVariance, j, squares/(c.count-1)))
	}
}

// follows returns the running statistic that follows one that was offered. One row has no variance: it changes
// none.
func (c *columns) follows(k, j int, now float64) float64 {
	was := c.get(c.own[0], k, j)
	if c.count < 2 {
		return was
	}
	return (1-c.momentum)*was + c.momentum*now
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
	at, n := c.at(parts, 1), max(1, c.count)
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
		b := -a * r * dot / n
		c.putFactor(1, factorA, j, a)
		c.putFactor(1, factorB, j, b)
		c.put(1, coefC, j, b*c.shift[at][j]-a*sum/n)
	}
}
