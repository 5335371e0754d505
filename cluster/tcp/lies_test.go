package tcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"capgnn/cluster"
	"capgnn/internal/long"
)

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

// Lies of rank 0, and among the others: whoever is told one reports it, and all ranks name who lied and who saw it.
func TestLiesAmongOthers(t *testing.T) {
	for name, lie := range map[string]struct {
		from, to int
		control  bool
		frame    frame
		want     string
	}{
		"rows nobody expects":  {from: 2, to: 1, frame: rows(9, 1, 0, 5), want: "it sent area 9, which is not expected"},
		"rows beyond the area": {from: 1, to: 2, frame: rows(1, 1, 0, 101), want: "it sent 101 bytes at 0 of area 1"},
		"rows of rank 0":       {from: 0, to: 2, frame: rows(1, 1, 7, 5), want: "it sent 5 bytes at 7 of area 1"},
		"took unsent":          {from: 0, to: 1, frame: sign(cluster.Taken, 1, 1, 0), want: "it took epoch 1 of area 1, which was not sent"},
		"a fault of rank 0":    {from: 0, to: 1, control: true, frame: frame{head: cluster.Header{Kind: cluster.Fault}, body: []byte("{}")}, want: "kind 11 that was not due"},
		"ready":                {from: 0, to: 1, control: true, frame: sign(cluster.Ready, 0, 0, 0), want: "kind 9 that was not due"},
		"a second start":       {from: 0, to: 2, control: true, frame: sign(cluster.Start, 0, 0, 0), want: "kind 10 that was not due"},
		"a second list":        {from: 0, to: 2, control: true, frame: frame{head: cluster.Header{Kind: cluster.Welcome}, body: []byte("{}")}, want: "kind 7 that was not due"},
		"a refusal":            {from: 0, to: 2, control: true, frame: frame{head: cluster.Header{Kind: cluster.Refuse}, body: []byte("go")}, want: "kind 8 that was not due"},
	} {
		t.Run(name, func(t *testing.T) {
			checkLeaks(t)
			groups := together(t, 3, Options{}, nil)
			var list []cluster.Area
			for from := range 3 {
				for to := range 3 {
					if from != to {
						list = append(list, cluster.Area{From: from, To: to, Number: 1, Bytes: 100})
					}
				}
			}
			announce(t, groups, list)
			for r, g := range groups {
				for from := range groups {
					if from != r {
						g.Expect(from, 1, make([]byte, 100), func(uint32, int) {})
					}
				}
			}
			before := allocated()
			if lie.control {
				groups[lie.from].control[lie.to].push(lie.frame)
			} else {
				groups[lie.from].data[lie.to].push(lie.frame)
			}
			who, seen := fmt.Sprintf("rank %d (host host%d) broke the protocol before the first epoch: ", lie.from, lie.from), fmt.Sprintf("; seen by rank %d (host host%d)", lie.to, lie.to)
			for r, g := range groups {
				if text := g.waitEnd(t); !strings.HasPrefix(text, who) || !strings.Contains(text, lie.want) || !strings.HasSuffix(text, seen) {
					t.Errorf("rank %d ends with %q, want %q", r, text, lie.want)
				}
			}
			if n := allocated() - before; n > 1<<20 {
				t.Errorf("%d bytes were allocated", n)
			}
		})
	}
}

// A verdict of noise is shown as one printable line.
func TestVerdictOfNoise(t *testing.T) {
	checkLeaks(t)
	groups := together(t, 2, Options{}, nil)
	groups[0].control[1].push(frame{head: cluster.Header{Kind: cluster.Verdict}, body: random(5, cluster.MaxText)})
	text := groups[1].waitEnd(t)
	if len(text) > cluster.MaxText+3 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("ends with %q", text)
	}
	groups[0].waitEnd(t)
}

// allocated is what this process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// What is announced and does not come costs nothing: 8 GiB of a message.
func TestAnnouncedIsNotAllocated(t *testing.T) {
	checkLeaks(t)
	root, _, control := liar(t, Options{PeerTimeout: 300 * time.Millisecond})
	<-control.stream.asked // as if it were a message of its own: it is asked for the rest
	tag := uint32(5)
	control.stream.mu.Lock()
	control.stream.out = &tag
	control.stream.mu.Unlock()
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
