//go:build cuda

package cuda

import (
	"errors"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/cuda/fakedriver/fake"
)

// foreign is an event of a device that is no GPU.
type foreign chan struct{}

func (f foreign) Done() <-chan struct{} { return f }

// soon fails the test if a channel does not close within seconds.
func soon(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: nothing after 20 s", what)
	}
}

// A queue that waits for the host is parked; other queues of the device go on, and so do those that wait for them.
func TestParkedQueue(t *testing.T) {
	configure(t, "n=2;mem=16;seed=3")
	a, b := open(t, Spec{Ordinal: 0}), open(t, Spec{Ordinal: 1})
	parked, free, other := a.NewQueue("parked"), a.NewQueue("free"), b.NewQueue("other")
	host := make(foreign)
	x := alloc(t, a, 4000, "x")
	m := gpu.Matrix{Buf: x, Rows: 1, Cols: 1000, LD: 1000}
	parked.Wait(host)
	parked.Fill(m, 2)
	late := parked.Record()
	free.Fill(m, 1)
	other.Wait(free.Record())
	soon(t, "an event behind a queue that goes on", other.Record().Done())
	select {
	case <-late.Done():
		t.Fatal("a parked queue's event fired")
	default:
	}
	other.Wait(late) // not recorded yet: parks the other device's queue
	behind := other.Record()
	time.Sleep(time.Millisecond)
	close(host)
	soon(t, "an event behind a parked queue", behind.Done())
	got := make([]byte, 4)
	parked.Download(got, x, 0)
	if err := parked.Sync(); err != nil {
		t.Fatal(err)
	}
	if got[3] != 0x40 { // 2.0
		t.Errorf("% x is not 2", got)
	}
	if w := parked.Usage().Time[gpu.PhaseWait]; w < time.Millisecond {
		t.Errorf("waited %v for the host, at least 1 ms", w)
	}
}

// Driver events serve again; events that have fired stay so, also when their device is gone.
func TestEventsServeAgain(t *testing.T) {
	configure(t, "n=2;mem=16")
	a, b := open(t, Spec{Ordinal: 0}), open(t, Spec{Ordinal: 1})
	q := a.NewQueue("q").(*queue)
	m := gpu.Matrix{Buf: alloc(t, a, 4, "x"), Rows: 1, Cols: 1, LD: 1}
	record := func() gpu.Event { // nothing between two of them would make them one
		q.Fill(m, 1)
		return q.Record()
	}
	var events []gpu.Event
	for i := range 500 {
		events = append(events, record())
		if i%50 == 0 {
			if err := q.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	for range spareEvents + 1 {
		record()
	}
	q.Sync()
	a.do(func() {
		if n := len(q.inflight); n > 200 {
			t.Errorf("%d driver events for 500 of which never more than 51 were open", n)
		}
	})
	for i := len(events) - 1; i >= 0; i-- {
		soon(t, "an event that has fired", events[i].Done())
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	other := b.NewQueue("other")
	for _, e := range events {
		other.Wait(e)
	}
	if err := other.Sync(); err != nil {
		t.Errorf("waiting for events of a closed device: %v", err)
	}
}

// A queue that has nothing to do is not waited for: it hands out its last event again, and asks the driver nothing.
func TestIdleQueue(t *testing.T) {
	configure(t, "mem=16;seed=1")
	d := open(t, Spec{})
	q := d.NewQueue("q")
	m := gpu.Matrix{Buf: alloc(t, d, 4000, "x"), Rows: 1, Cols: 1000, LD: 1000}
	q.Fill(m, 1)
	first := q.Record()
	if q.Record() != first {
		t.Error("nothing was enqueued, and yet there is another event")
	}
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	before, syncs := q.Usage(), fake.Count("syncs")
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	soon(t, "an event of an idle queue", q.Record().Done())
	if n := fake.Count("syncs"); n != syncs {
		t.Errorf("the host waits %d times for an idle queue", n-syncs)
	}
	if before.Time[gpu.PhaseOther] == 0 || q.Usage() != before {
		t.Errorf("usage %+v, then %+v", before, q.Usage())
	}
	q.Fill(m, 2)
	if q.Record() == first {
		t.Error("an event of before serves for what was enqueued since")
	}
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	if u := q.Usage(); u.Time[gpu.PhaseOther] <= before.Time[gpu.PhaseOther] {
		t.Errorf("the time of new work is not counted: %+v after %+v", u, before)
	}
}

// A Call runs between what is before and behind it, and its panic is a fault.
func TestCallPanics(t *testing.T) {
	configure(t, "mem=16")
	q := open(t, Spec{}).NewQueue("q")
	q.Call("check", func() error { panic("no good") })
	if err := q.Sync(); err == nil || err.Error() != "cuda:0: queue q: check: panic: no good" {
		t.Errorf("sync: %v", err)
	}
}

// Driver events go when their device is closed, though goroutines still wait for some of them, and those that a lost GPU refuses to record:
// the context outlives the device. A Sync that hears of a fault says so.
func TestEventsGo(t *testing.T) {
	onlyFake(t, "counts of the fake driver, and a GPU that is lost")
	for config, rounds := range map[string]int{"mem=16;jitter=50": 20, "mem=16;seed=3": 20, "mem=16;lost=0:30": 2} { // each loss takes a context
		for range rounds {
			configure(t, config)
			d, err := driver.Open(Spec{})
			if err != nil {
				t.Fatal(err)
			}
			m := gpu.Matrix{Buf: alloc(t, d, 4, "x"), Rows: 1, Cols: 1, LD: 1}
			queues := []gpu.Queue{d.NewQueue("a"), d.NewQueue("b")}
			for i := range 60 {
				q := queues[i%2]
				q.Fill(m, 1)
				done := q.Record()
				for range 3 {
					go func() { <-done.Done() }()
				}
				queues[(i+1)%2].Wait(done)
			}
			if strings.Contains(config, "lost") {
				for _, q := range queues {
					if err := q.Sync(); !errors.Is(err, gpu.ErrDeviceLost) {
						t.Errorf("%s: sync: %v", config, err)
					}
				}
			}
			if err := d.Close(); err != nil {
				t.Errorf("%s: close: %v", config, err)
			}
			if n := fake.Count("events"); n != 0 {
				t.Fatalf("%s: %d events of a closed device are left", config, n)
			}
		}
	}
}
