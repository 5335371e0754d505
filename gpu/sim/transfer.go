package sim

import (
	"fmt"

	"capgnn/gpu"
)

// route is a way that a copy takes.
type route uint8

const (
	toDevice route = iota
	fromDevice
	betweenDevices
)

// waited returns what the queue's goroutine has taken to wait for events since the last call; nothing where no processors are shared.
func (q *Queue) waited() (seconds float64) {
	if q.dev.host != nil {
		waits, _ := q.dev.costs.goroutine()
		seconds = waits * float64(q.waits)
	}
	q.waits = 0
	return seconds
}

// copies notes a copy of n bytes over the links of one device, or of two.
func (q *Queue) copies(op string, way route, n gpu.Bytes, other *Device) {
	if n == 0 {
		return
	}
	d := q.dev
	c := &node{q: q, op: op, phase: gpu.PhaseTransfer, bytes: n}
	if q.resident && way != betweenDevices {
		c.work, c.uses = d.costs.near(n), []*engine{&d.in}
		if way == fromDevice {
			c.uses[0] = &d.out
		}
		c.threads = 1
		d.clock.add(c)
		return
	}
	c.link = true
	c.work, c.tail = d.costs.transfer(way, n)
	switch way {
	case toDevice:
		c.uses = []*engine{&d.to}
	case fromDevice:
		c.uses = []*engine{&d.from}
	default:
		c.uses = []*engine{&other.from, &d.to}
		if held, tail := other.costs.transfer(way, n); held > c.work || tail > c.tail {
			c.work, c.tail = max(c.work, held), max(c.tail, tail)
		}
		c.cross(other.bus, fromDevice)
		way = toDevice
	}
	c.cross(d.bus, way)
	c.threads = 1
	if c.work > 0 {
		c.threads = min(1, d.costs.copying(n)/c.work)
		if d.host != nil && d.costs.emulated() && c.threads < 1 {
			_, sleeps := d.costs.goroutine()
			c.threads += sleeps / c.work
		}
		c.threads += q.waited() / c.work
	}
	d.clock.add(c)
}

// cross makes a copy go over a side of a bus, if there is one.
func (n *node) cross(b *Bus, side route) {
	if b != nil {
		n.lanes = append(n.lanes, lane{b, side})
	}
}

// Upload implements gpu.Queue.
func (q *Queue) Upload(dst gpu.Buffer, off gpu.Bytes, src []byte) {
	if !q.admit("Upload") {
		return
	}
	q.inner.Upload(dst, off, src)
	q.dev.look(dst, off, src)
	q.count(gpu.Usage{H2D: gpu.Bytes(len(src))})
	q.copies("Upload", toDevice, gpu.Bytes(len(src)), nil)
}

// UploadRows implements gpu.Queue.
func (q *Queue) UploadRows(dst gpu.Matrix, src []byte, rows []int32) {
	if !q.admit("UploadRows") {
		return
	}
	q.inner.UploadRows(dst, src, rows)
	n := size(dst)
	q.count(gpu.Usage{H2D: n})
	q.copies("UploadRows", toDevice, n, nil)
}

// Download implements gpu.Queue.
func (q *Queue) Download(dst []byte, src gpu.Buffer, off gpu.Bytes) {
	if !q.admit("Download") {
		return
	}
	q.inner.Download(dst, src, off)
	q.count(gpu.Usage{D2H: gpu.Bytes(len(dst))})
	q.copies("Download", fromDevice, gpu.Bytes(len(dst)), nil)
}

// CanCopyFrom reports whether the device has peer access and src is on its clock. Both must compute, or neither.
func (q *Queue) CanCopyFrom(src gpu.Device) bool {
	d, ok := src.(*Device)
	return ok && q.dev.peer && d.clock == q.dev.clock && d.counts == q.dev.counts
}

// CopyFrom implements gpu.PeerCopier. It occupies the links of both devices.
func (q *Queue) CopyFrom(dst, src gpu.Matrix) {
	if !q.admit("CopyFrom") {
		return
	}
	q.inner.(gpu.PeerCopier).CopyFrom(dst, src)
	n := size(src)
	q.count(gpu.Usage{Peer: n})
	q.copies("CopyFrom", betweenDevices, n, q.dev.ownerOf(src.Buf))
}

// ownerOf returns the device of a block.
func (d *Device) ownerOf(b gpu.Buffer) *Device {
	d.clock.mu.Lock()
	defer d.clock.mu.Unlock()
	if o := d.clock.owners[b]; o != nil {
		return o
	}
	panic(fmt.Sprintf("%s: copy from a block of no simulated device", d.info.Name))
}
