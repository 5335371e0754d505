package host

import (
	"capgnn/gpu"
	"capgnn/gpu/host/kernel"
	"capgnn/gpu/host/workers"
)

var _ gpu.Scratcher = (*Device)(nil)

// Scratch implements gpu.Scratcher: packed weights, partial sums of gradients and of epilogues, panels, and what workers have for themselves.
func (d *Device) Scratch(rows int, entries int64, in, out int) gpu.Bytes {
	const packed = 2 // of a layer with two products
	n, wide := packed*kernel.PackedLen(in, out)+kernel.PartialLen(rows, in, out, d.spec.Threads), max(in, out)
	n += 3*workers.BlockCount(rows)*wide + kernel.PanelLen(rows, entries, wide)
	n += d.spec.Threads * kernel.OwnLen(in, out)
	return 4 * gpu.Bytes(n)
}
