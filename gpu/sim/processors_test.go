package sim

import (
	"slices"
	"testing"
)

// Threads that compute, and goroutines that copy, share the processors of a host fairly; copies that need less than their share leave the rest to others.
func TestProcessorShares(t *testing.T) {
	type device struct {
		threads int
		slow    float64
		asks    float64
		copies  []int // ns of each, before it computes
		work    int   // ns; 0: there is nothing to compute
	}
	for name, tc := range map[string]struct {
		processors int
		devices    []device
		want       []int64 // when the last operation of each device ends, in ns
	}{
		// Two thirds of a processor each until c is done at 48; a and b have 28 left then.
		"three on two": {2, []device{{work: 60}, {work: 60}, {work: 32}}, []int64{76, 76, 48}},
		// Of three threads each has two thirds, so both devices go at 2/3 until b is done.
		"unequal threads": {2, []device{{threads: 2, work: 40}, {work: 20}}, []int64{50, 30}},
		"enough":          {3, []device{{threads: 2, work: 40}, {work: 20}}, []int64{40, 20}},
		"no end of them":  {0, []device{{threads: 2, work: 40}, {threads: 2, work: 20}}, []int64{40, 20}},
		// The copy asks for a quarter, which is less than its half: a has three quarters until 40, and 70 left.
		"a link leaves the rest": {1, []device{{work: 100}, {asks: 0.25, copies: []int{40}}}, []int64{110, 40}},
		// The copy asks for all, and has half: until 80.
		"a copy in memory": {1, []device{{work: 100}, {asks: 1, copies: []int{40}}}, []int64{140, 80}},
		// The small copy asks for a quarter and has it, the others have 0.875 each.
		"small and large copies": {2, []device{{work: 28}, {asks: 0.25, copies: []int{32}}, {asks: 1, copies: []int{28}}}, []int64{32, 32, 32}},
		// b computes half of its time, so that 1.5 processors are asked for: both go at 2/3 until b is done.
		"a slowed device sleeps": {1, []device{{work: 60}, {slow: 2, work: 20}}, []int64{70, 30}},
		"nothing to do":          {1, []device{{work: 60}, {}, {asks: 1, copies: []int{0}}}, []int64{60, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 { // the order of goroutines and maps decides nothing
				host, clock := &Host{Processors: tc.processors}, NewClock()
				ends := make([]int64, len(tc.devices))
				clock.Trace = func(s Span) { ends[s.Device[0]-'a'] = s.End.Nanoseconds() }
				for i, d := range tc.devices {
					q := openFlat(t, Config{Name: string(rune('a' + i)), Clock: clock, Host: host, Threads: d.threads, Slow: d.slow}, flat{crowd: 1, asks: d.asks}).NewQueue("q")
					for _, n := range d.copies {
						q.Upload(nil, 0, make([]byte, n))
					}
					fill(q, d.work)
				}
				clock.Now()
				if !slices.Equal(ends, tc.want) {
					t.Fatalf("ends %v, want %v", ends, tc.want)
				}
			}
		})
	}
}

// A goroutine asks for a processor to sleep until a copy is due, and takes time to wait for events.
func TestGoroutines(t *testing.T) {
	host, clock := &Host{Processors: 1}, NewClock()
	ends := map[string][]int64{}
	clock.Trace = func(s Span) { ends[s.Device] = append(ends[s.Device], s.End.Nanoseconds()) }
	open := func(name string, f flat) *Queue {
		return openFlat(t, Config{Name: name, Clock: clock, Host: host}, f).NewQueue("q").(*Queue)
	}
	a, b := open("a", flat{crowd: 1}), open("b", flat{crowd: 1, asks: 0.25, waits: 10e-9, sleeps: 10e-9})
	fill(a, 100)
	b.Upload(nil, 0, make([]byte, 40)) // asks for 10 ns, and 10 to sleep: half a processor, until 40, when a has 80 left
	b.Wait(a.Record())
	fill(b, 20) // behind 120, and 10 to wait
	clock.Now()
	compare(t, ends, map[string][]int64{"a": {120}, "b": {40, 120, 150}})
}

// Devices that take turns on a processor slow each other's memory down only as far as they compute at the same time, and find their rows as far away as if
// each touched what all of them do.
func TestTurns(t *testing.T) {
	clock, queues, ends := flats(t, &Host{Processors: 2}, "a", "b", "c", "d")
	for _, name := range []string{"a", "b", "c", "d"} {
		fill(queues[name], 40)
	}
	clock.Now()
	// Half a processor each, and twice as long beside the one other device that has a processor, not beside three.
	compare(t, ends, map[string][]int64{"a": {160}, "b": {160}, "c": {160}, "d": {160}})
	for threads, want := range map[int]float64{1: 2, 2: 4} {
		host := &Host{Processors: 2}
		for range 4 {
			openFlat(t, Config{Name: "x", Clock: clock, Host: host, Threads: threads}, flat{})
		}
		if got := host.devices[0].turns(); got != want {
			t.Errorf("%d threads each: %g turns, want %g", threads, got, want)
		}
	}
	alone := openFlat(t, Config{Name: "y", Clock: clock}, flat{})
	if got := alone.turns(); got != 1 {
		t.Errorf("without a host: %g turns", got)
	}
	p := part{bytes: 10, turns: 4}
	if got := p.apart(p.bytes); got != 40 {
		t.Errorf("10 bytes of 4 devices are %g apart", got)
	}
}
