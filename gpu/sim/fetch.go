package sim

import "capgnn/gpu"

// piece is how much of an answer holds the links at once, as in package host.
const piece = 256 << 10

// Linked implements gpu.Resident.
func (d *Device) Linked() bool { return d.linked }

// NewResidentQueue implements gpu.Resident. Copies of a device that is not linked take the time of its link on this queue, too: that lies between it and its host.
func (d *Device) NewResidentQueue(name string) gpu.ResidentQueue {
	q := d.newQueue(name, d.inner.NewQueue(name))
	q.resident, q.senders = d.linked, map[*Device]*Queue{}
	return q
}

// Fetch implements gpu.ResidentQueue. f has run when it returns, or when the arithmetic has come to it. What comes from one device crosses the links in the order of parcels,
// beside what comes from others; links of devices that are not linked take no time. The trace has it twice: each request and each piece of an answer, and what the
// queue takes for all that comes from a device.
func (q *Queue) Fetch(parcels []gpu.Parcel, f func()) {
	if !q.admit("Fetch") {
		return
	}
	var others []gpu.Parcel
	var all gpu.Bytes
	for _, p := range parcels {
		if p.From != gpu.Device(q.dev) {
			others, all = append(others, p), all+p.Ask+p.Answer
		}
	}
	if inner, ok := q.inner.(gpu.ResidentQueue); ok {
		inner.Fetch(others, f)
	} else {
		f()
	}
	q.count(gpu.Usage{Peer: all})
	begin, comes := q.latest(), map[*Device]gpu.Bytes{}
	var from []*Device // in the order of parcels
	for _, p := range others {
		owner, _ := p.From.(*Device)
		if _, again := comes[owner]; !again {
			from = append(from, owner)
			q.sender(owner).follows(begin, gpu.PhaseWait, 0)
		}
		comes[owner] += p.Ask + p.Answer
		q.sender(owner).parcel(owner, p)
	}
	for _, owner := range from {
		q.follows(q.sender(owner).latest(), gpu.PhaseTransfer, comes[owner])
	}
}

// sender returns the queue of what another device sends.
func (q *Queue) sender(from *Device) *Queue {
	if q.senders[from] == nil {
		name := "elsewhere"
		if from != nil {
			name = from.info.Name
		}
		q.senders[from] = q.dev.newQueue(q.name+" from "+name, nil)
	}
	return q.senders[from]
}

// latest returns the last operation.
func (q *Queue) latest() *node {
	q.dev.clock.mu.Lock()
	defer q.dev.clock.mu.Unlock()
	return q.last
}

// follows lets what comes later wait for an operation of another queue; nil: there is none.
func (q *Queue) follows(n *node, phase gpu.Phase, bytes gpu.Bytes) {
	q.dev.clock.add(&node{q: q, op: "Fetch", phase: phase, waits: true, after: n, bytes: bytes})
}

// parcel notes a request, and its answer in pieces.
func (q *Queue) parcel(from *Device, p gpu.Parcel) {
	q.crosses("Ask", from, fromDevice, p.Ask, true)
	for left := p.Answer; left > 0; left -= piece {
		q.crosses("Answer", from, toDevice, min(left, piece), left <= piece)
	}
}

// crosses notes what goes one way over the links of the device and of another one, until the last of it has arrived.
func (q *Queue) crosses(op string, other *Device, way route, n gpu.Bytes, last bool) {
	c := &node{q: q, op: op, phase: gpu.PhaseTransfer, link: true, bytes: n}
	c.over(q.dev, way, n)
	back := toDevice
	if way == toDevice {
		back = fromDevice
	}
	if other != nil {
		c.over(other, back, n)
	}
	if !last {
		c.tail = 0
	}
	q.dev.clock.add(c)
}

// over makes a copy of n bytes take a direction of a device's link.
func (c *node) over(d *Device, way route, n gpu.Bytes) {
	if !d.linked {
		return
	}
	held, tail := d.costs.transfer(way, n)
	c.work, c.tail = max(c.work, held), max(c.tail, tail)
	side := &d.to
	if way == fromDevice {
		side = &d.from
	}
	c.uses = append(c.uses, side)
	c.cross(d.bus, way)
}
