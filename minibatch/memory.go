package minibatch

import "capgnn/gpu"

// Memory is what a run takes, before it begins: bounds, of which slack is for steps that are larger than those that were sampled to see. Where a step exceeds a bound, its
// buffer grows, and the log says so.
type Memory struct {
	Parts []PartMemory // by part
	Host  []Use        // of the process: of its heap, and what is page-locked
	Steps int          // of an epoch
	// Rows, Bytes and Requests are those of an epoch, from the steps that were sampled: all rows that parts read, and what of them is at home elsewhere.
	Rows     Rows
	Bytes    Traffic
	Requests int64
}

// PartMemory is what a part takes of its device.
type PartMemory struct {
	Device string
	Budget gpu.Bytes // of the device, which its parts share
	Uses   []Use
}

// Use is memory for one purpose.
type Use struct {
	Name  string
	Bound gpu.Bytes // slack included
	Slack gpu.Bytes
}

// Bound returns the sum of uses.
func Bound(uses []Use) (n gpu.Bytes) {
	for _, u := range uses {
		n += u.Bound
	}
	return n
}
