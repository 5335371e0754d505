package tcp

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/internal/long"
)

// While ranks join, others scan the port, dial slowly, send too much, and take all slots: the ranks come in all the same.
func TestStrangersAtTheDoor(t *testing.T) {
	for _, o := range []Options{{}, {Secret: testSecret}, {Secret: testSecret, Plain: true}} {
		checkLeaks(t)
		o.Master = freePort(t, "127.0.0.1")
		o.Ranks, o.JoinTimeout = 2, 20*time.Second
		root := make(chan error, 1)
		go func() {
			g, err := Join(context.Background(), o)
			if err == nil {
				err = g.Close()
			}
			root <- err
		}()
		var strangers []net.Conn
		knock := func(first []byte) net.Conn {
			for {
				c, err := net.Dial("tcp", o.Master)
				if err != nil {
					time.Sleep(time.Millisecond)
					continue
				}
				c.Write(first)
				strangers = append(strangers, c)
				return c
			}
		}
		knock(nil).Close()
		for _, first := range [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n"), bytes.Repeat([]byte("c"), 8<<10), {22, 3, 1}, {22, 3, 1, 255, 255}, random(1, 5<<10)} {
			knock(first)
		}
		for range 2 * limit {
			knock([]byte("c"))
		}
		// All slots are taken now; those beyond were closed at once.
		for _, c := range strangers[len(strangers)-8:] {
			c.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "timeout") {
				t.Errorf("a stranger beyond the 64th: %v", err)
			}
		}
		for _, c := range strangers[:len(strangers)/2] { // the others stay for their 5 s
			c.Close()
		}
		second := o
		second.Rank = 1
		g, err := Join(context.Background(), second)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(g.Close(), <-root); err != nil {
			t.Error(err)
		}
		for _, c := range strangers {
			c.Close()
		}
	}
}

const limit = strangers

// A stranger who says nothing is sent away after 5 s; one who says too much at once, at 4 KiB.
func TestDoorLimits(t *testing.T) {
	checkLeaks(t)
	trust, err := trustOf(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := Options{Ranks: 2, Master: "127.0.0.1:0", Secret: testSecret}.complete()
	d, err := newDoor(context.Background(), "127.0.0.1:0", trust, &o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	c, err := net.Dial("tcp", d.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// A handshake record of 16 KiB, whose bytes come.
	if _, err := c.Write(append([]byte{22, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb}, make([]byte, 12<<10)...)); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.Copy(io.Discard, c); err != nil && !isClosed(err) {
		t.Errorf("12 KiB of a handshake: %v", err)
	}
	for end := time.Now().Add(time.Second); !strings.Contains(d.lastRefused(), "more than 4 KiB"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("turned away: %q", d.lastRefused())
		}
	}
}

// liar is a rank that has joined and then says what it likes on its data connection with rank 0, whose group is returned. The other ranks
// are honest.
func liar(t *testing.T, o Options) (root *Group, data, control *link) {
	t.Helper()
	groups := together(t, 2, o, nil)
	announce(t, groups, []cluster.Area{{From: 0, To: 1, Number: 1, Bytes: 100}, {From: 1, To: 0, Number: 1, Bytes: 100}, {From: 1, To: 0, Number: 2, Bytes: 10}})
	return groups[0], groups[1].data[0], groups[1].control[0]
}

// lies are frames that no rank sends, and what rank 0 says of them.
var lies = map[string]struct {
	frames  []frame
	raw     []byte
	control bool
	want    string
}{
	"unknown area":     {frames: []frame{rows(9, 1, 0, 5)}, want: "sent area 9, which is not expected"},
	"unexpected area":  {frames: []frame{rows(2, 1, 0, 5)}, want: "sent area 2, which is not expected"},
	"beyond the area":  {frames: []frame{rows(1, 1, 0, 101)}, want: "sent 101 bytes at 0 of area 1, which has 100"},
	"offset":           {frames: []frame{rows(1, 1, 50, 10)}, want: "sent 10 bytes at 50 of area 1, which has 100, 0 of them there"},
	"overflow":         {frames: []frame{rows(1, 1, cluster.MaxArea, 10)}, want: "of area 1"},
	"replayed":         {frames: []frame{rows(1, 1, 0, 10), rows(1, 1, 0, 10)}, want: "sent 10 bytes at 0 of area 1, which has 100, 10 of them there"},
	"reordered":        {frames: []frame{rows(1, 1, 0, 10), rows(1, 1, 20, 10)}, want: "sent 10 bytes at 20 of area 1"},
	"earlier epoch":    {frames: []frame{rows(1, 5, 0, 10), rows(1, 4, 0, 10)}, want: "sent epoch 4 in area 1 after epoch 5"},
	"later, not taken": {frames: []frame{rows(1, 5, 0, 100), rows(1, 6, 0, 10)}, want: "sent epoch 6 in area 1 after epoch 5"},
	"empty again":      {frames: []frame{rows(1, 5, 0, 0), rows(1, 5, 0, 0)}, want: "sent 0 bytes at 0 of area 1"},
	"took unsent":      {frames: []frame{sign(cluster.Taken, 1, 1, 0)}, want: "took epoch 1 of area 1, which was not sent"},
	"took unknown":     {frames: []frame{sign(cluster.Taken, 7, 1, 0)}, want: "took area 7, which is not in the table"},
	"opened unknown":   {frames: []frame{sign(cluster.Open, 7, 0, 100)}, want: "opened area 7, which is not in the table"},
	"opened larger":    {frames: []frame{sign(cluster.Open, 1, 0, 101)}, want: "opened area 1 with 101 bytes in place of 100"},
	"opened twice":     {frames: []frame{sign(cluster.Open, 1, 0, 100), sign(cluster.Open, 1, 0, 100)}, want: "opened area 1 twice"},
	"control on data":  {frames: []frame{sign(cluster.Ask, 0, 0, 0)}, want: "sent a frame of kind 15 on a data connection"},
	"4 GiB":            {raw: header(cluster.Header{Kind: cluster.Rows, Area: 1, Epoch: 1, Length: 1<<32 - 1}), want: "announces 4294967295 bytes"},
	"noise":            {raw: random(3, 4096), want: "a frame begins with"},
	"bye twice":        {frames: []frame{sign(cluster.Bye, 0, 0, 0), sign(cluster.Bye, 0, 0, 0)}, want: "said goodbye twice"},
	"rows after bye":   {frames: []frame{sign(cluster.Bye, 0, 0, 0), rows(1, 1, 0, 10)}, want: "rows came after the last"},

	"join again":      {control: true, frames: []frame{{head: cluster.Header{Kind: cluster.Join}, body: []byte("{}")}}, want: "kind 6 that was not due"},
	"verdict":         {control: true, frames: []frame{{head: cluster.Header{Kind: cluster.Verdict}, body: []byte("x")}}, want: "kind 12 that was not due"},
	"start":           {control: true, frames: []frame{sign(cluster.Start, 0, 0, 0)}, want: "kind 10 that was not due"},
	"rows on control": {control: true, frames: []frame{rows(1, 1, 0, 10)}, want: "kind 3 that was not due"},
	"fault no JSON":   {control: true, frames: []frame{{head: cluster.Header{Kind: cluster.Fault}, body: []byte("x")}}, want: "reported a fault that cannot be read"},
	"fault of nobody": {control: true, frames: []frame{{head: cluster.Header{Kind: cluster.Fault}, body: []byte(`{"about":7}`)}}, want: "reported a fault that cannot be read"},
	"ask for nothing": {control: true, frames: []frame{sign(cluster.Ask, 4, 0, 0)}, want: "asked for message 4, which was not begun"},
	"more of nothing": {control: true, frames: []frame{{head: cluster.Header{Kind: cluster.More, Area: 4}, body: []byte("x")}}, want: "sent 1 bytes of message 4, which were not asked for"},
	"huge message":    {control: true, frames: []frame{{head: cluster.Header{Kind: cluster.Begin, Offset: maxMessage + 1}, body: make([]byte, 32)}}, want: "began a message of"},
	"short begin":     {control: true, frames: []frame{{head: cluster.Header{Kind: cluster.Begin, Offset: 9}, body: make([]byte, 33)}}, want: "began a message of 9 bytes with 33"},
	"second message": {control: true, frames: []frame{{head: cluster.Header{Kind: cluster.Begin, Area: 1}, body: make([]byte, 32)},
		{head: cluster.Header{Kind: cluster.Begin, Area: 2}, body: make([]byte, 32)}}, want: "began message 2 before the one before it was asked for"},
}

func header(h cluster.Header) []byte {
	var b [cluster.HeaderBytes]byte
	h.Put(&b)
	return b[:]
}

func rows(area, epoch uint32, off uint64, n int) frame {
	return frame{head: cluster.Header{Kind: cluster.Rows, Area: area, Epoch: epoch, Offset: off}, body: make([]byte, n)}
}

func sign(kind cluster.Kind, area, epoch uint32, off uint64) frame {
	return frame{head: cluster.Header{Kind: kind, Area: area, Epoch: epoch, Offset: off}}
}

// Every lie ends the group with a line that names the rank, without a panic, and without memory for it.
func TestLies(t *testing.T) {
	for name, lie := range lies {
		for mode, o := range modes {
			if mode != "open" && !long.Wanted() {
				continue
			}
			t.Run(name+"/"+mode, func(t *testing.T) {
				checkLeaks(t)
				root, data, control := liar(t, o)
				root.Expect(1, 1, make([]byte, 100), func(uint32, int) {})
				l := data
				if lie.control {
					l = control
				}
				before := allocated()
				for _, f := range lie.frames {
					l.push(f)
				}
				if lie.raw != nil {
					l.conn.Write(lie.raw)
				}
				want := "rank 1 (host host1) broke the protocol before the first epoch: "
				text := root.waitEnd(t)
				if !strings.HasPrefix(text, want) || !strings.Contains(text, lie.want) {
					t.Errorf("ends with %q, want %q", text, lie.want)
				}
				if n := allocated() - before; n > 1<<20 {
					t.Errorf("%d bytes were allocated", n)
				}
			})
		}
	}
}

// allocated is what this process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// What is announced and does not come costs nothing: 8 GiB of a message, 16 MiB of a Join.
func TestAnnouncedIsNotAllocated(t *testing.T) {
	checkLeaks(t)
	root, _, control := liar(t, Options{PeerTimeout: 300 * time.Millisecond})
	before := allocated()
	control.push(frame{head: cluster.Header{Kind: cluster.Begin, Area: 5, Offset: maxMessage}, body: make([]byte, 32+cluster.MaxFirst)})
	_, err := root.Gather(withTimeout(t, 200*time.Millisecond), 5, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("gather: %v", err)
	}
	if n := allocated() - before; n > 1<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

func withTimeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// A changed bit on a connection without TLS is noticed.
func TestChecksum(t *testing.T) {
	checkLeaks(t)
	root, data, _ := liar(t, Options{Secret: testSecret, Plain: true})
	arrived := make(chan int, 1)
	root.Expect(1, 1, make([]byte, 100), func(_ uint32, hi int) { arrived <- hi })
	var b [cluster.HeaderBytes]byte
	cluster.Header{Kind: cluster.Rows, Area: 1, Epoch: 1, Length: 10}.Put(&b)
	body := make([]byte, 10)
	cluster.PutSum(&b, body)
	body[7] ^= 4
	if _, isTLS := data.conn.(*tls.Conn); isTLS {
		t.Fatal("plain mode has TLS")
	}
	data.conn.Write(append(b[:], body...))
	if text := root.waitEnd(t); !strings.Contains(text, "the checksum of a frame is") {
		t.Errorf("ends with %s", text)
	}
	if len(arrived) > 0 {
		t.Error("the rows were handed on")
	}
}

// Who has no key of the run does not get a data connection, even with the secret, nor by repeating what another rank sent.
func TestDataNeedsTheKeyOfTheRun(t *testing.T) {
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			o.Ranks, o.Master = 2, "127.0.0.1:0"
			o, _ := o.complete()
			trust, err := trustOf(o.Secret)
			if err != nil {
				t.Fatal(err)
			}
			d, err := newDoor(context.Background(), "127.0.0.1:0", trust, &o)
			if err != nil {
				t.Fatal(err)
			}
			key, other := random(1, keyBytes), random(2, keyBytes)
			ctx, cancel := context.WithCancel(context.Background())
			g := newGroup(o)
			met := make(chan error, 1)
			go func() { met <- g.mesh(ctx, d, trust, key) }()
			hello := cluster.Hello{Protocol: cluster.Protocol, Role: cluster.Data, Plain: o.Plain, Rank: 1, Ranks: 2, Nonce: [32]byte{1}}
			try := func(key []byte) error {
				conn, raw, err := dial(ctx, d.listener.Addr().String(), trust, hello, &o)
				if err != nil {
					return err
				}
				defer raw.Close()
				return prove(conn, key, hello)
			}
			if err := try(other); err == nil || !strings.Contains(err.Error(), "does not belong to this run") {
				t.Errorf("with another key: %v", err)
			}
			conn, raw, err := dial(ctx, d.listener.Addr().String(), trust, hello, &o)
			if err != nil {
				t.Fatal(err)
			}
			io.ReadFull(conn, make([]byte, 64))
			replay := cluster.Proof(key, hello, [32]byte{9}, true) // of a nonce of another connection
			conn.Write(replay[:])
			if _, err := io.ReadFull(conn, make([]byte, 1)); err == nil {
				t.Error("a proof of another connection was accepted")
			}
			raw.Close()
			if g.data[1] != nil {
				t.Error("a data connection was made")
			}
			if err := try(key); err != nil {
				t.Errorf("with the key: %v", err)
			}
			if err := <-met; err != nil {
				t.Error(err)
			}
			cancel()
			d.close()
			g.end(errClosed)
			g.running.Wait()
		})
	}
}

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
