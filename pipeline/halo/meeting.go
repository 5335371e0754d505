package halo

import (
	"capgnn/cluster"
	"capgnn/gpu"
	"capgnn/internal/meet"
	"capgnn/pipeline/link"
)

// meetings are what the parts of a run offer each other to sum over all vertices (gnn.Halo.Meet). What one of them
// offers lies in host memory; its event says when. To other ranks it travels as a message, one behind the other.
type meetings struct {
	count int
	bytes int
	mail  [][]chan offer // by owner and reader of this process
	inbox []*link.Inbox  // by owner, of other ranks
}

// offer is what a part offers at a meeting.
type offer struct {
	b     []byte
	ready gpu.Event
}

// meetingArea is the number of the first of the areas by which parts offer; that of halo rows are smaller.
const meetingArea uint32 = 1 << 31

// meetingAreas lists the areas of all ranks: of each part at every other rank.
func (p *Plan) meetingAreas() (all []cluster.Area) {
	count, bytes := p.Model.Meetings()
	if count == 0 || p.training == nil || p.Net == nil {
		return nil
	}
	for part := range p.parts() {
		for rank := range p.Net.Ranks() {
			if rank != p.rank(part) {
				all = append(all, cluster.Area{From: p.rank(part), To: rank, Number: meetingArea + uint32(part), Bytes: bytes})
			}
		}
	}
	return all
}

// openMeetings makes the way from each part to each of this process.
func (p *Plan) openMeetings() {
	m := &p.meetings
	if m.count, m.bytes = p.Model.Meetings(); m.count == 0 {
		return
	}
	m.inbox = make([]*link.Inbox, p.parts())
	for _, a := range p.meetingAreas() {
		if a.To == p.Net.Rank() {
			m.inbox[a.Number-meetingArea] = link.NewInbox(a, make([]byte, a.Bytes))
		}
	}
	for range p.Ends {
		var to []chan offer
		for range p.Ends {
			to = append(to, make(chan offer, 1)) // one meeting's: the next is behind it
		}
		m.mail = append(m.mail, to)
	}
}

// meeting names one in errors.
type meeting struct{}

func (meeting) String() string { return "batch_norm" }

const sums = "sums over all vertices"

// Meet implements gnn.Halo.
func (x *Exchange) Meet(q gpu.Queue, number int, own []byte, f func(parts [][]byte)) {
	p, me := x.plan, x.ep.Part
	m, first := &p.meetings, p.Cuts.Whole.Own.Lo
	message := uint32(x.clock()*m.count + number)
	ready := q.Record()
	for k := range p.Ends {
		if part := first + k; part != me {
			m.mail[me-first][k] <- offer{own, ready}
		}
	}
	for _, a := range p.meetingAreas() {
		if a.From == p.Net.Rank() && a.Number == meetingArea+uint32(me) {
			p.Net.Send(q, a, message, 0, own, sums, nil)
		}
	}
	x.ep.Waits.Owe(ready)
	parts := make([][]byte, p.parts())
	for part := range parts {
		switch in := m.inbox[part]; {
		case part == me:
			parts[part] = own
		case in != nil:
			in.Await(link.Reader{Part: me, Owner: part, What: sums}, message, len(own), q)
			parts[part] = in.Mem[:len(own)]
		default:
			o := meet.Receive(p.Hub, m.mail[part-first][me-first], me, part, sums)
			x.ep.Waits.For(q, o.ready, part, meeting{}, sums)
			parts[part] = o.b
		}
	}
	q.Call(sums, func() error {
		f(parts)
		return nil
	})
	for _, in := range m.inbox {
		if in != nil {
			in.Taken(q, message, len(p.Ends))
		}
	}
}
