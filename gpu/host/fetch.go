package host

import (
	"time"

	"capgnn/gpu"
)

// piece is how much of an answer takes a link at once: what else is to cross it, such as gradients, waits for no more than that.
const piece = 256 << 10

// Fetch implements gpu.ResidentQueue.
func (q *Queue) Fetch(parcels []gpu.Parcel, f func()) {
	x := &exchange{to: q.dev, parcels: make([]gpu.Parcel, 0, len(parcels))}
	var n, most gpu.Bytes
	for _, p := range parcels {
		if p.From != gpu.Device(q.dev) {
			x.parcels = append(x.parcels, p)
			n, most = n+p.Ask+p.Answer, max(most, p.Answer)
		}
	}
	q.transfer("Fetch", gpu.Usage{Peer: n}, func(ready time.Time) time.Time {
		arrived := x.ask(ready)
		f()
		return arrived
	})
	for range (most - 1) / piece {
		q.transfer("Fetch", gpu.Usage{}, x.next)
	}
}

// exchange is parcels under way to a device.
type exchange struct {
	to      *Device
	parcels []gpu.Parcel    // Answer is what has not been sent
	asked   []time.Duration // by parcel: how long its request takes
}

// ask sends the requests, and the first pieces of the answers. These take the links from then on, and arrive later by what the requests take: so a link is not kept for them in
// between.
func (x *exchange) ask(ready time.Time) time.Time {
	for _, p := range x.parcels {
		asked := x.to.link.book(fromDevice, p.Ask, ready)
		if from, ok := p.From.(*Device); ok {
			asked = latest(asked, from.link.book(toDevice, p.Ask, ready))
		}
		x.asked = append(x.asked, asked.Sub(ready))
	}
	return x.next(ready)
}

// next sends the next piece of every answer, and returns when the links are free for what comes behind it; of the last ones, when all answers have arrived.
func (x *exchange) next(ready time.Time) time.Time {
	through, arrived, more := ready, ready, false
	for i := range x.parcels {
		p := &x.parcels[i]
		n := min(p.Answer, piece)
		p.Answer -= n
		more = more || p.Answer > 0
		own := x.to.link.pass(toDevice, n, ready)
		through, own = latest(through, own), own.Add(x.to.link.latency)
		if from, ok := p.From.(*Device); ok {
			sent := from.link.pass(fromDevice, n, ready)
			through, own = latest(through, sent), latest(own, sent.Add(from.link.latency))
		}
		arrived = latest(arrived, own.Add(x.asked[i]))
	}
	if more {
		return through
	}
	return arrived
}
