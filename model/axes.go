package model

// Broadcast returns where an element of a node's row, by column, lies in a value that is broadcast to it.
func Broadcast(to, from []int) []int {
	cols := 1
	for _, d := range to {
		cols *= d
	}
	at := make([]int, cols)
	for c := range at {
		rest, stride := c, 1
		for k := 1; k <= len(to); k++ {
			i := rest % to[len(to)-k]
			rest /= to[len(to)-k]
			if k > len(from) {
				break
			}
			if d := from[len(from)-k]; d > 1 {
				at[c] += i * stride
			}
			stride *= from[len(from)-k]
		}
	}
	return at
}

// Split returns the elements before, along and behind an axis.
func Split(shape []int, axis int) (outer, n, inner int) {
	outer, inner = 1, 1
	for k, d := range shape {
		switch {
		case k < axis:
			outer *= d
		case k > axis:
			inner *= d
		}
	}
	return outer, shape[axis], inner
}
