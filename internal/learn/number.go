package learn

import (
	"encoding/json"
	"math"
)

// Number is a float64 of a record. JSON has no word for what is no number, so it is written as its bits.
type Number float64

var _ json.Marshaler = Number(0)

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(math.Float64bits(float64(n))) }

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(b []byte) error {
	var bits uint64
	err := json.Unmarshal(b, &bits)
	*n = Number(math.Float64frombits(bits))
	return err
}
