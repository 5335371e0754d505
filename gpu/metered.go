package gpu

import "cmp"

// Metered is the energy and load of a device, or of a package of processors, between two readings of its meter,
// including those of other programs.
type Metered struct {
	Rank    int     `json:"rank"` // 0 where there is one process
	Device  string  `json:"device"`
	Seconds float64 `json:"s"` // between the readings
	// Joules is nil where they cannot be read.
	Joules *float64 `json:"j"`
	// Busy and MemoryBusy are shares of time in which a GPU computed, and its memory was read or written, as its driver has them for its last
	// period, of a sixth of a second to a second; nil: not a GPU, or not known.
	Busy       *float64 `json:"busy,omitempty"`
	MemoryBusy *float64 `json:"memory_busy,omitempty"`
}

// Add returns the sum of two periods: a sum is known if both terms are, a share if one is.
func (m Metered) Add(o Metered) Metered {
	m.Busy, m.MemoryBusy = meanOf(m.Busy, o.Busy, m.Seconds, o.Seconds), meanOf(m.MemoryBusy, o.MemoryBusy, m.Seconds, o.Seconds)
	m.Seconds += o.Seconds
	if m.Joules != nil && o.Joules != nil {
		sum := *m.Joules + *o.Joules
		m.Joules = &sum
	} else {
		m.Joules = nil
	}
	return m
}

// meanOf returns the mean of a and b, which last so long.
func meanOf(a, b *float64, lasts, last float64) *float64 {
	if a == nil || b == nil || lasts+last <= 0 {
		return cmp.Or(a, b)
	}
	mean := (*a*lasts + *b*last) / (lasts + last)
	return &mean
}
