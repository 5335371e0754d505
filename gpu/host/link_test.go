package host

import (
	"errors"
	"testing"
	"time"

	"capgnn/gpu"
)

// linked returns the link of a device with this spec.
func linked(s Spec) *link {
	l := new(link)
	l.set(&s)
	return l
}

func TestLink(t *testing.T) {
	t0 := time.Unix(1000, 0)
	at := func(l *link, d direction, n gpu.Bytes, after time.Duration) time.Duration {
		return l.book(d, n, t0.Add(after)).Sub(t0)
	}
	const s = time.Second
	l := linked(Spec{Link: 1000, Latency: 5 * s})
	free := linked(Spec{})
	bus := NewBus(500)
	a, b, wide := linked(Spec{Link: 1000, Bus: bus}), linked(Spec{Link: 1000, Bus: bus}), linked(Spec{Bus: bus, Latency: s})
	for _, c := range []struct {
		what string
		got  time.Duration
		want time.Duration
	}{
		{"first", at(l, toDevice, 2000, 0), 7 * s},
		{"behind it", at(l, toDevice, 1000, 0), 8 * s},
		{"other direction", at(l, fromDevice, 1000, 0), 6 * s},
		{"after a pause", at(l, toDevice, 1000, 10*s), 16 * s},
		{"of a late sleeper, from when it was due", at(l, toDevice, 1000, 11*s), 17 * s},
		{"without a link", at(free, toDevice, 1000, 3*s), 3 * s},
		{"a bus slower than the link", at(a, toDevice, 1000, 0), 2 * s},
		{"the other device on it", at(b, toDevice, 500, 0), 3 * s},
		{"against them", at(a, fromDevice, 1000, 0), 2 * s},
		{"no link but a bus", at(wide, fromDevice, 500, 0), 4 * s},
		{"the link is free before the bus is", at(a, toDevice, 0, 0), 3 * s},
	} {
		if c.got != c.want {
			t.Errorf("%s: arrives after %v, want %v", c.what, c.got, c.want)
		}
	}
}

// A device on a bus is another one to a profile, and a bus must have a rate.
func TestBusSpec(t *testing.T) {
	plain, shared := open(t, Spec{}), open(t, Spec{Bus: NewBus(1 << 30)})
	if plain.Info().UUID == shared.Info().UUID {
		t.Error("a bus does not change the uuid")
	}
	if _, err := Open(Spec{Bus: NewBus(0)}); err == nil {
		t.Error("a bus without a rate was accepted")
	}
}

const copied = 100 << 10 // bytes of a copy between devices: at 10 MiB/s it takes 9.77 ms

// pair is two devices, a block of each, and a copy queue of each.
type pair struct {
	devices [2]*Device
	blocks  [2]gpu.Matrix
	queues  [2]*Queue
}

func newPair(t testing.TB, specs [2]Spec) *pair {
	p := new(pair)
	for i, s := range specs {
		s.Memory = 1 << 20
		d, err := Open(s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		buf, err := d.Alloc(copied, "block")
		if err != nil {
			t.Fatal(err)
		}
		p.devices[i], p.queues[i] = d, d.NewQueue("copies").(*Queue)
		p.blocks[i] = gpu.Matrix{Buf: buf, Rows: 1, Cols: copied / 4, LD: copied / 4}
	}
	return p
}

// took runs f and returns how long the queues then have to do.
func (p *pair) took(t testing.TB, f func()) time.Duration {
	t.Helper()
	start := time.Now()
	f()
	if err := errors.Join(p.queues[0].Sync(), p.queues[1].Sync()); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// Copies wait for all that they cross. Bounds from below hold on any machine; those from above are of the link's own time,
// which does not know how busy the machine is.
func TestLinkCopies(t *testing.T) {
	const (
		rate = 10 << 20
		one  = copied * time.Second / rate // 9.77 ms
	)
	host := make([]byte, copied)
	across := func(p *pair, to int) func() {
		return func() { p.queues[to].CopyFrom(p.blocks[to], p.blocks[1-to]) }
	}
	for _, c := range []struct {
		name  string
		specs func() [2]Spec
		run   func(p *pair)
		want  time.Duration // of the last copy's arrival, in the link's time
	}{
		{"up", func() [2]Spec { return [2]Spec{{Link: rate}, {}} }, func(p *pair) { p.queues[0].Upload(p.blocks[0].Buf, 0, host) }, one},
		{"between, the sender's link", func() [2]Spec { return [2]Spec{{Link: rate}, {}} }, func(p *pair) { across(p, 1)() }, one},
		{"between, the receiver's link", func() [2]Spec { return [2]Spec{{Link: rate}, {}} }, func(p *pair) { across(p, 0)() }, one},
		{"between, latency", func() [2]Spec { return [2]Spec{{}, {Latency: one}} }, func(p *pair) { across(p, 0)() }, one},
		{"between, a bus of its own", func() [2]Spec { return [2]Spec{{Bus: NewBus(rate)}, {}} }, func(p *pair) { across(p, 0)() }, one},
		{"both ways at once", func() [2]Spec { return [2]Spec{{Link: rate}, {Link: rate}} },
			func(p *pair) { across(p, 0)(); across(p, 1)() }, one},
		{"both ways at once over a bus", func() [2]Spec { b := NewBus(rate); return [2]Spec{{Bus: b}, {Bus: b}} },
			func(p *pair) { across(p, 0)(); across(p, 1)() }, 2 * one},
		{"two up over a bus", func() [2]Spec { b := NewBus(rate); return [2]Spec{{Link: 2 * rate, Bus: b}, {Link: 2 * rate, Bus: b}} },
			func(p *pair) {
				p.queues[0].Upload(p.blocks[0].Buf, 0, host)
				p.queues[1].Upload(p.blocks[1].Buf, 0, host)
			}, 2 * one},
		{"one after another", func() [2]Spec { return [2]Spec{{Link: rate}, {}} },
			func(p *pair) {
				for range 4 {
					p.queues[0].Upload(p.blocks[0].Buf, 0, host)
				}
			}, 4 * one},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t, c.specs())
			if got := p.took(t, func() { c.run(p) }); got < c.want {
				t.Errorf("took %v, less than %v", got, c.want)
			}
			var usage time.Duration
			for _, q := range p.queues {
				usage += q.Usage().Time[gpu.PhaseTransfer]
			}
			if usage < c.want {
				t.Errorf("%v were counted, less than %v", usage, c.want)
			}
		})
	}
}

// A queue that has woken up late begins its next copy when it should have, in the link's time, and waits no longer than
// that takes; but no copy ends before it is made.
func TestLateQueuesCatchUp(t *testing.T) {
	start := time.Now()
	was := start.Add(-time.Hour)
	q := &Queue{due: was}
	carry := func(run func(ready time.Time) time.Time) time.Duration {
		t.Helper()
		took, err := q.carry(run)
		if err != nil {
			t.Fatal(err)
		}
		return took
	}
	for range 3 {
		if took := carry(func(ready time.Time) time.Time { return ready.Add(time.Minute) }); took != time.Minute {
			t.Errorf("a copy of a minute counts %v", took)
		}
	}
	if got := q.due.Sub(was); got != 3*time.Minute {
		t.Errorf("three copies of a minute took %v", got)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it waited for %v although an hour late", took)
	}
	was = q.due
	carry(func(ready time.Time) time.Time { time.Sleep(5 * time.Millisecond); return ready.Add(1) })
	if got := q.due.Sub(was); got < 5*time.Millisecond {
		t.Errorf("copying for 5 ms took %v", got)
	}
	if carry(func(ready time.Time) time.Time { return ready }); q.due.Before(start) {
		t.Error("a copy that crosses no link was done before it began")
	}
}

// signal is an event of no device.
type signal chan struct{}

func (s signal) Done() <-chan struct{} { return s }

// A copy that waits for an event begins, in the link's time, when what the event stands for was done.
func TestCopyBeginsWithItsEvent(t *testing.T) {
	p := newPair(t, [2]Spec{{Link: 100 << 20}, {}})
	compute, copies := p.devices[0].NewQueue("compute").(*Queue), p.queues[0]
	enqueued := make(signal)
	var done, ready time.Time
	compute.Wait(enqueued)
	compute.compute("work", gpu.PhaseMM, func() { time.Sleep(time.Millisecond); done = time.Now() })
	worked := compute.Record()
	copies.Wait(worked)
	copies.transfer("copy", gpu.Usage{}, func(r time.Time) time.Time {
		ready = r
		return r
	})
	close(enqueued)
	if err := copies.Sync(); err != nil {
		t.Fatal(err)
	}
	if due := worked.(*event).due; !ready.Equal(due) || due.Before(done) {
		t.Errorf("the copy was ready %v after the work and %v after its event", ready.Sub(done), ready.Sub(due))
	}
}

// No alarm is early, with a timer of the system or without one, or when its timer is gone.
func TestAlarm(t *testing.T) {
	gone := &alarm{}
	gone.sleep(1)
	gone.close()
	for name, a := range map[string]*alarm{"timer": {}, "none": withoutTimer(), "gone": gone} {
		for _, d := range []time.Duration{0, 1, 300 * time.Microsecond, 3 * time.Millisecond} {
			start := time.Now()
			a.sleep(d)
			if took := time.Since(start); took < d {
				t.Errorf("%s: slept %v of %v", name, took, d)
			}
		}
		a.close()
	}
}
