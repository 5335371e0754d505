package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
)

var _ gpu.Scratcher = (*Device)(nil)

// Scratch implements gpu.Scratcher: packed weights, and partial sums of gradients.
func (d *Device) Scratch(rows, in, out int) gpu.Bytes {
	const packed = 3 // of both products of a layer, and of one in its backward pass
	return 4 * (packed*gpu.Bytes(kernel.PackedLen(in, out)) + gpu.Bytes(kernel.PartialLen(rows, in, out, d.spec.Threads)))
}
