package together

import (
	"time"

	"capgnn/gpu"
)

// Pair is what one rank has sent another.
type Pair struct {
	From, To int
	Rows     gpu.Bytes     // rows, requests of them, gradients and new weights
	Frames   gpu.Bytes     // all that travelled on the data connection: Rows, with headers and the words of the transport
	Wait     time.Duration // how long devices of To had nothing to compute and waited for From, mean over To's parts
}

// Counter counts what other ranks send this one.
type Counter struct {
	ranks        Ranks
	rows, frames []int64 // by rank: that have been counted
}

// NewCounter counts what comes from now on.
func NewCounter(ranks Ranks) *Counter {
	c := &Counter{ranks: ranks, rows: make([]int64, ranks.Ranks()), frames: make([]int64, ranks.Ranks())}
	c.Take()
	return c
}

// Take returns what has come since the last call, by sender.
func (c *Counter) Take() (all []Pair) {
	for from := range c.rows {
		if from == c.ranks.Rank() {
			continue
		}
		rows, frames := c.ranks.Received(from)
		x := Pair{From: from, To: c.ranks.Rank(), Rows: gpu.Bytes(rows - c.rows[from]), Frames: gpu.Bytes(frames - c.frames[from])}
		if c.rows[from], c.frames[from] = rows, frames; x.Rows > 0 {
			all = append(all, x)
		}
	}
	return all
}
