package trainer

import (
	"capgnn/cluster"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/meet"
	"capgnn/pipeline/link"
)

// meetings are what the parts of a run offer each other to sum over all rows (gnn.Meeter). What one of them offers lies
// in host memory; its event says when. To other ranks it travels as a message, one behind the other.
type meetings struct {
	count, bytes int
	mail         [][]chan offer // by owner and reader of this process
	net          *link.Net
	areas        []cluster.Area
	inbox        []*link.Inbox // by owner, of other ranks
}

// offer is what a part offers at a meeting.
type offer struct {
	b     []byte
	ready gpu.Event
}

// meetingArea is the number of the first of the areas by which parts offer; those of rows are smaller.
const meetingArea uint32 = 1 << 31

// Meet lets the passes of parts sum over rows of all parts, where the model does so. Of several ranks Join comes
// behind it.
func (t *Trainer) Meet(passes func(part int) []*gnn.Pass) {
	m := &t.meetings
	if m.count, m.bytes = t.Options.Model.Meetings(); m.count == 0 || t.Options.Parts == 1 {
		return
	}
	for range t.Crew.Workers {
		var to []chan offer
		for range t.Crew.Workers {
			to = append(to, make(chan offer, 2)) // this meeting's and the next one's, behind which the part waits
		}
		m.mail = append(m.mail, to)
	}
	m.inbox = make([]*link.Inbox, t.Options.Parts)
	for _, w := range t.Crew.Workers {
		p := &party{t: t, w: w}
		for _, pass := range passes(w.Index) {
			if pass != nil {
				pass.Meets(p)
			}
		}
	}
}

// over returns the areas of all ranks by which parts offer: of each part at every other rank. They are open behind.
func (m *meetings) over(net *link.Net, rankOf []int) []cluster.Area {
	if m.mail == nil {
		return nil
	}
	m.net = net
	for part, from := range rankOf {
		for rank := range net.Ranks() {
			if rank != from {
				a := cluster.Area{From: from, To: rank, Number: meetingArea + uint32(part), Bytes: m.bytes}
				m.areas = append(m.areas, a)
			}
		}
	}
	return m.areas
}

// open has what other ranks offer arrive from now on.
func (m *meetings) open() {
	for _, a := range m.areas {
		if a.To == m.net.Rank() {
			in := link.NewInbox(a, make([]byte, a.Bytes))
			in.Open(m.net, nil)
			m.inbox[a.Number-meetingArea] = in
		}
	}
}

// party is a part at meetings.
type party struct {
	t    *Trainer
	w    *Worker
	held uint32 // how many there were
}

// meeting names one in errors.
type meeting struct{}

func (meeting) String() string { return "a meeting" }

const sums = "sums over all vertices"

func (x *party) Meet(q gpu.Queue, own []byte, f func(parts [][]byte)) {
	t, m, me, first := x.t, &x.t.meetings, x.w.Index, x.t.Options.First
	message := x.held
	x.held++
	ready := q.Record()
	for k := range m.mail {
		if part := first + k; part != me {
			m.mail[me-first][k] <- offer{own, ready}
		}
	}
	for _, a := range m.areas {
		if a.From == m.net.Rank() && a.Number == meetingArea+uint32(me) {
			m.net.Send(q, a, message, 0, own, sums, nil)
		}
	}
	x.w.Waits.Owe(ready)
	if x.w.Next != nil {
		x.w.Next()
	}
	parts := make([][]byte, t.Options.Parts)
	for part := range parts {
		switch in := m.inbox[part]; {
		case part == me:
			parts[part] = own
		case in != nil:
			in.Await(link.Reader{Part: me, Owner: part, What: sums}, message, len(own), q)
			parts[part] = in.Mem[:len(own)]
		default:
			o := meet.Receive(t.Hub, m.mail[part-first][me-first], me, part, sums)
			x.w.Waits.For(q, o.ready, part, meeting{}, sums)
			parts[part] = o.b
		}
	}
	q.Call(sums, func() error {
		f(parts)
		return nil
	})
	for _, in := range m.inbox {
		if in != nil {
			in.Taken(q, message, len(m.mail))
		}
	}
}
