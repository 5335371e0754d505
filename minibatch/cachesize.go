package minibatch

import "fmt"

// CacheSize is how many rows of other parts a part keeps in host memory.
type CacheSize struct {
	Unit CacheUnit
	N    float64 // of units, ≥ 0
}

// CacheUnit is what a CacheSize counts.
type CacheUnit int

// Units of a CacheSize.
const (
	CacheFree  CacheUnit = iota // what memory leaves, whatever N is
	CacheRows                   // rows
	CacheShare                  // share of the remote rows that an epoch reads, each counted once: 0.15 is 15 %
	CacheBytes                  // bytes
)

// check reports a size that is none.
func (c CacheSize) check() error {
	if c.Unit < CacheFree || c.Unit > CacheBytes {
		return fmt.Errorf("row cache: unit %d is unknown", c.Unit)
	}
	if !(c.N >= 0) || c.N > 1<<62 {
		return fmt.Errorf("row cache of %v: want a number that is not negative", c.N)
	}
	return nil
}
