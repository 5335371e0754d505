package link

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/gpu"
	"capgnn/internal/meet"
)

// recorder is a Transport that carries nothing and notes what it is told, as Timed does.
type recorder struct {
	said    []string
	sent    []func(error)
	arrived func(message uint32, hi int)
}

func (r *recorder) say(format string, a ...any) { r.said = append(r.said, fmt.Sprintf(format, a...)) }

func (*recorder) Rank() int  { return 0 }
func (*recorder) Ranks() int { return 2 }

func (r *recorder) Send(_ int, _, message uint32, off int, b []byte, sent func(error)) {
	r.say("send %d [%d,%d)", message, off, off+len(b))
	r.sent = append(r.sent, sent)
}

func (r *recorder) Expect(_ int, _ uint32, _ []byte, arrived func(uint32, int)) { r.arrived = arrived }

func (r *recorder) Taken(_ int, _, message uint32) { r.say("taken %d", message) }

// clocked is a recorder whose messages take virtual time.
type clocked struct{ *recorder }

func (c clocked) Depart(_ int, _, message uint32, off int, ev gpu.Event) {
	c.say("depart %d %d %v", message, off, ev)
}

func (clocked) Arrival(_ int, _, message uint32, hi int) gpu.Event {
	return event(fmt.Sprintf("arrival %d %d", message, hi))
}

func (c clocked) Release(_ int, _, message uint32, ev gpu.Event) { c.say("release %d %v", message, ev) }

// event is known by its name.
type event string

func (event) Done() <-chan struct{} { return nil }

// queue makes calls when it is run, and notes waits.
type queue struct {
	gpu.Queue
	r     *recorder
	calls []func() error
}

func (q *queue) Record() gpu.Event                { return event(fmt.Sprintf("behind %d calls", len(q.calls))) }
func (q *queue) Wait(ev gpu.Event)                { q.r.say("wait %v", ev) }
func (q *queue) Call(_ string, call func() error) { q.calls = append(q.calls, call) }

func (q *queue) run() {
	for _, call := range q.calls {
		call()
	}
	q.calls = nil
}

func newHub(t *testing.T) *meet.Hub { return meet.NewHub(t.Context(), time.Minute) }

// Whatever order pieces come in, they leave by ascending bytes, each behind its queue, and each message from its first
// byte on.
func TestPiecesLeaveInOrder(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		r := &recorder{}
		n, q, gone := Over(r, newHub(t)), &queue{r: r}, 0
		for message := uint32(3); message < 6; message++ {
			for _, k := range draw.Perm(5) {
				n.Send(q, cluster.Area{To: 1}, message, 4*k, make([]byte, 4), "rows", Last(5, func() { gone++ }))
			}
			if len(r.said) != 0 {
				t.Fatalf("sent before the queue has run: %v", r.said)
			}
			q.run()
			var want []string
			for k := range 5 {
				want = append(want, fmt.Sprintf("send %d [%d,%d)", message, 4*k, 4*k+4))
			}
			if !slices.Equal(r.said, want) {
				t.Fatalf("%v, want %v", r.said, want)
			}
			r.said = nil
		}
	}
}

// A piece that cannot be sent ends the run with a line; the others count.
func TestFailedSend(t *testing.T) {
	r, hub, left := &recorder{}, newHub(t), 0
	n := Over(r, hub)
	all := Last(2, func() { left++ })
	for off := range 3 {
		n.Send(nil, cluster.Area{To: 1}, 0, off, []byte{1}, "gradients", all)
	}
	r.sent[0](nil)
	if left != 0 {
		t.Error("the first of two pieces is the last")
	}
	if r.sent[1](nil); left != 1 {
		t.Errorf("%d calls behind the last piece", left)
	}
	r.sent[2](errors.New("connection closed"))
	err := meet.Guard(func() { meet.Receive(hub, make(chan int), 0, 0, "") })
	if err == nil || err.Error() != "send gradients to rank 1: connection closed" {
		t.Error(err)
	}
}

// A message is there as far as it has come. What is told late of one before, or again, changes nothing, and one that is
// not due ends the reader.
func TestInbox(t *testing.T) {
	r, told := &recorder{}, 0
	in := NewInbox(cluster.Area{From: 1}, make([]byte, 8))
	in.Open(Over(r, newHub(t)), func(uint32, int) { told++ })
	for _, x := range [][2]int{{4, 8}, {5, 4}, {4, 8}, {5, 4}, {5, 3}} {
		r.arrived(uint32(x[0]), x[1])
	}
	if told != 2 || !in.There(5, 4) || in.There(5, 5) || in.There(4, 4) {
		t.Errorf("told %d times, message %d to byte %d", told, in.message, in.hi)
	}
	by := Reader{What: "rows", Wrong: func(message uint32) error { return fmt.Errorf("message %d", message) }}
	in.Await(by, 5, 4)
	if err := meet.Guard(func() { in.Await(by, 6, 4) }); err == nil || err.Error() != "message 5" {
		t.Error(err)
	}
	time.AfterFunc(time.Millisecond, func() { r.arrived(6, 1); r.arrived(6, 8) })
	in.Await(Reader{What: "rows"}, 6, 8)
	if in.Taken(nil, 6, 2); r.said != nil {
		t.Errorf("one of two readers: %v", r.said)
	}
	if in.Taken(nil, 6, 2); !slices.Equal(r.said, []string{"taken 6"}) {
		t.Errorf("both readers: %v", r.said)
	}
}

// In virtual time queues stand for parts: a message departs, is waited for and released where they are then.
func TestVirtualTime(t *testing.T) {
	r := &recorder{}
	n, q := Over(clocked{r}, newHub(t)), &queue{r: r}
	in := NewInbox(cluster.Area{From: 1}, make([]byte, 8))
	in.Open(n, nil)
	r.arrived(0, 8)
	in.Await(Reader{}, 0, 6, q)
	in.Taken(q, 0, 1)
	n.Send(q, cluster.Area{To: 1}, 0, 0, make([]byte, 8), "rows", nil)
	n.Pass(in, 8, cluster.Area{To: 2}, 0, 0, make([]byte, 8), "rows", nil)
	n.Send(nil, cluster.Area{To: 1, Number: 1}, 0, 0, make([]byte, 1), "a word", nil)
	q.run()
	want := "wait arrival 0 6; release 0 behind 0 calls; depart 0 0 behind 1 calls; depart 0 0 arrival 0 8; " +
		"send 0 [0,8); send 0 [0,1); taken 0; send 0 [0,8)"
	if got := strings.Join(r.said, "; "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
