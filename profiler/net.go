package profiler

import (
	"fmt"
	"math"
	"strconv"
)

// NetPair is the line from one rank to another, rounded to 5 %.
type NetPair struct {
	From        int     `json:"from"` // ranks
	To          int     `json:"to"`
	BytesPerSec float64 `json:"bytes_per_s"` // of rows, as a run sends them
	RoundTrip   float64 `json:"round_trip_s"`
}

// NewNetPair returns the measurement of a connection, rounded so that repeated measurements lead to the same
// decisions.
func NewNetPair(from, to int, bytesPerSec, roundTrip float64) NetPair {
	return NetPair{from, to, rounded(bytesPerSec), rounded(roundTrip)}
}

// rounded returns a positive number on a grid of powers of 1.05, in four digits.
func rounded(x float64) float64 {
	const step = 1.05
	x = math.Pow(step, math.Round(math.Log(x)/math.Log(step)))
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64) // reads what it wrote
	return x
}

// maxRanks bounds what a profile holds of a network.
const maxRanks = 256

// checkNet says what is wrong with the lines between ranks: all of them are there, or none.
func checkNet(net []NetPair) error {
	n := 1
	for n*(n-1) < len(net) {
		n++
	}
	if n*(n-1) != len(net) || n > maxRanks {
		return fmt.Errorf("net: %d pairs are not those of 2 to %d ranks", len(net), maxRanks)
	}
	k := 0
	for from := range n {
		for to := range n {
			if from == to {
				continue
			}
			x := net[k]
			if x.From != from || x.To != to {
				return fmt.Errorf("net: pair %d is from rank %d to %d, want %d to %d", k, x.From, x.To, from, to)
			}
			if !(x.BytesPerSec > 0 && x.BytesPerSec <= 1e15) || !(x.RoundTrip > 0 && x.RoundTrip <= maxSeconds) {
				return fmt.Errorf("net: from rank %d to %d: %g bytes/s or %g s are impossible", from, to, x.BytesPerSec, x.RoundTrip)
			}
			k++
		}
	}
	return nil
}
