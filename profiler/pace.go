package profiler

import "capgnn/gpu"

// pace is how fast a device seems to be before it has been measured: what the time of measurements is reckoned by.
type pace struct {
	flops float64 // of a dense product, per second
	bytes float64 // through its memory, per second
	link  float64 // to and from the host, per second
}

const (
	// intensity is the flops of a dense product in the time of a byte through memory: 10 to 20 on processors and cards of the
	// last ten years.
	intensity = 15
	// setUp is how often the operands of a case are written before it is timed, and costs more than passes do: pages are new.
	setUp = 4
	// sparseFlops is how much longer a flop of a sparse product takes than one of a dense one.
	sparseFlops = 20
)

// newPace makes a pace of the seconds of a product of n×n matrices and of the copy of one.
func newPace(n int, product, upload float64) pace {
	dim := float64(n)
	p := pace{flops: 2 * dim * dim * dim / product, link: 4 * dim * dim / upload}
	p.bytes = p.flops / intensity
	return p
}

// once returns the seconds of one run of an operation.
func (p pace) once(k OpTime) float64 {
	out := float64(k.Out)
	switch {
	case k.In > 0:
		return 2 * float64(k.Rows) * float64(k.In) * out / p.flops
	case k.Entries > 0:
		return 2 * 4 * float64(k.Entries) * out / p.bytes
	case k.Bytes > 0:
		return float64(k.Bytes) / p.link
	}
	return 4 * 4 * float64(k.Rows) * out / p.bytes
}

// ready returns the seconds of making an operation's operands.
func (p pace) ready(bytes gpu.Bytes) float64 { return setUp * float64(bytes) / p.bytes }
