package direction

// Direction is the pass that an exchange belongs to.
type Direction uint8

// The two passes.
const (
	Forward  Direction = iota // rows of H, or what the layer made of it, flow from u to v: aggregation reads them
	Backward                  // gradients flow from v back to u: the transpose reads them
)

func (d Direction) String() string {
	if d == Backward {
		return "backward"
	}
	return "forward"
}
