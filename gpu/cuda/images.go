//go:build cuda

package cuda

// image is one family of kernels as the driver loads it: PTX, or a fatbin.
type image struct{ name, text string }

// images returns the families.
func images() []image { return nil }
