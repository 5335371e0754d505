package tcp

import (
	"encoding/json"
	"net"
	"sync"
	"testing"

	"capgnn/cluster"
)

// frames that anybody may send to a rank that has joined: no panic, no hang, bounded memory.
func fuzzLink(f *testing.F, control bool) {
	for _, lie := range lies {
		if lie.control == control {
			var b []byte
			for _, fr := range lie.frames {
				fr.head.Length = uint32(len(fr.body))
				var h [cluster.HeaderBytes]byte
				fr.head.Put(&h)
				cluster.PutSum(&h, fr.body)
				b = append(append(b, h[:]...), fr.body...)
			}
			f.Add(append(b, lie.raw...), byte(0))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, rank byte) {
		o, _ := Options{Rank: int(rank & 1), Ranks: 2, Master: "127.0.0.1:1"}.complete()
		g := newGroup(o)
		g.joined.Store(true)
		near, far := net.Pipe()
		l := newLink(Member{Rank: 1 - int(rank&1)}, near, near, &o)
		g.control = []*link{nil, nil}
		g.control[1-o.Rank] = l
		l.announce([]cluster.Area{{From: o.Rank, To: 1 - o.Rank, Number: 1, Bytes: 100}}, []cluster.Area{{From: 1 - o.Rank, To: o.Rank, Number: 1, Bytes: 100}})
		l.inbound.areas[1].into, l.inbound.areas[1].arrived = make([]byte, 100), func(uint32, int) {}
		var wait sync.WaitGroup
		wait.Go(func() {
			// Sums are made right, so that what is behind them is reached.
			for len(in) >= cluster.HeaderBytes {
				var h [cluster.HeaderBytes]byte
				copy(h[:], in)
				in = in[cluster.HeaderBytes:]
				head, err := cluster.ParseHeader(&h)
				body := in[:min(int(head.Length), len(in))]
				in = in[len(body):]
				if err == nil && int(head.Length) == len(body) {
					cluster.PutSum(&h, body)
				}
				if _, err := far.Write(append(h[:], body...)); err != nil {
					break
				}
			}
			far.Close()
		})
		before := allocated()
		handle := g.onData
		if control {
			handle = g.onControl
		}
		err := l.reading(func(h cluster.Header) error { return handle(l, h) })
		if err == nil {
			t.Error("reading ends without a reason")
		}
		if n := allocated() - before; n > 1<<20 {
			t.Errorf("%d bytes were allocated", n)
		}
		g.end(errClosed)
		near.Close()
		wait.Wait()
	})
}

func FuzzData(f *testing.F)    { fuzzLink(f, false) }
func FuzzControl(f *testing.F) { fuzzLink(f, true) }

// Lists of members and what ranks say of themselves may be anything.
func FuzzInvitation(f *testing.F) {
	f.Add([]byte(`{"members":[{"rank":0,"host":"a","addr":"127.0.0.1:1"}],"key":"AAAA"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var i invitation
		var m Member
		if decode(in, &i) == nil && !json.Valid(in) || decode(in, &m) == nil && !json.Valid(in) {
			t.Error("what is no JSON was read")
		}
		m.name()
	})
}
