package reduce

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/cluster/shaped"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/long"
	"capgnn/internal/meet"
	"capgnn/pipeline/link"
)

// Numbers of areas.
const gradientArea, weightArea = 7, 8

// world is some ranks in one process: teams that reach each other by a network alone.
type world struct {
	*network
	ranks      []*team
	reductions []*Reduction
	grads      [][]float32 // by part of all ranks
	epochs     int         // run
}

// newWorld makes ranks with these devices by part, each with a route of its own.
func newWorld(t *testing.T, net *network, devices [][]int, layers [][]gnn.Range, rule gnn.Optimizer) *world {
	t.Helper()
	var ports []link.Transport
	for k := range devices {
		ports = append(ports, port{net, k, len(devices)})
	}
	w := joinWorld(t, ports, devices, layers, rule)
	w.network = net
	return w
}

// joinWorld is newWorld on other networks, by rank.
func joinWorld(t *testing.T, ports []link.Transport, devices [][]int, layers [][]gnn.Range, rule gnn.Optimizer) *world {
	t.Helper()
	w := &world{}
	parts := 0
	for _, d := range devices {
		parts += len(d)
	}
	var start []float32
	start, w.grads = draw(scene{layers: layers}.elements(), parts)
	first := 0
	for k, d := range devices {
		at := Rank{Index: k, Count: len(devices), First: first}
		x := newRank(t, scene{d, routes[k%len(routes)], layers, rule}, at, start, w.grads[first:first+len(d)])
		r := New(x.hub, x.parts, x.division)
		r.Join(link.Over(ports[k], x.hub), gradientArea, weightArea, func(mem []byte) []byte { return mem })
		w.ranks, w.reductions, first = append(w.ranks, x), append(w.reductions, r), first+len(d)
	}
	return w
}

// epoch runs one on all ranks, with parts late by what late says.
func (w *world) epoch(late func(rank, part int)) []error {
	errs := make([]error, len(w.ranks))
	var all sync.WaitGroup
	for k, x := range w.ranks {
		x.hub.Epoch = w.epochs
		all.Go(func() { errs[k] = x.epoch(w.reductions[k], func(part int) { late(k, part) }, -1) })
	}
	all.Wait()
	w.epochs++
	return errs
}

// compare runs epochs, and demands of every part the weights of sums in part order and of one step of everything.
func (w *world) compare(t *testing.T, name string, epochs int, late func(rank, part int), want *plain) {
	t.Helper()
	for range epochs {
		if err := errors.Join(w.epoch(late)...); err != nil {
			t.Fatal(name, err)
		}
		weights := want.epoch(t, w.grads)
		for k, x := range w.ranks {
			for i := range x.parts {
				if got := x.weights(t, i); !slices.Equal(got, weights) {
					e := slices.IndexFunc(apart(len(got)), func(e int) bool { return got[e] != weights[e] })
					if e >= 0 { // else NaN
						t.Fatalf("%s, epoch %d: element %d at part %d of rank %d is %v, want %v", name, w.epochs, e, i, k, got[e], weights[e])
					}
				}
			}
		}
	}
}

// inTime is late of parts that are not.
func inTime(int, int) {}

// Whatever the ranks, their devices, the ways and the times of messages: every part has the weights of one process, to the bit, and each link
// carries all gradients up and all weights down, once.
func TestRanksSumInPartOrder(t *testing.T) {
	const epochs = 3
	draws := 30
	if long.Wanted() {
		draws = 200
	}
	for seed := range uint64(draws) {
		r := rand.New(rand.NewPCG(seed, 18))
		s := randomScene(r)
		devices := [][]int{}
		for range 1 + r.IntN(5) {
			n := 1 + r.IntN(3)
			var d []int
			for range 1 + r.IntN(4) {
				d = append(d, r.IntN(n))
			}
			devices = append(devices, d)
		}
		name := fmt.Sprintf("draw %d: %v, %v, layers %v", seed, devices, s.rule, s.layers)
		net := newNetwork(t, seed, time.Duration(r.IntN(2))*200*time.Microsecond)
		w := newWorld(t, net, devices, s.layers, s.rule)
		slow := r.IntN(len(devices))
		w.compare(t, name, epochs, func(rank, part int) {
			if rank == slow && part == 0 {
				time.Sleep(100 * time.Microsecond)
			}
		}, newPlain(t, w.ranks[0], s.rule))
		g := 4 * s.elements()
		for k := range len(devices) - 1 {
			up, down := net.bytes[way{k, k + 1, gradientArea}], net.bytes[way{k + 1, k, weightArea}]
			if up != epochs*g || down != epochs*g || len(net.bytes) != 2*(len(devices)-1) {
				t.Errorf("%s: link %d carries %d bytes up and %d down, want %d: %v", name, k, up, down, epochs*g, net.bytes)
			}
		}
		for k, x := range w.reductions {
			if x.Steps() != epochs {
				t.Errorf("%s: %d steps at rank %d", name, x.Steps(), k)
			}
		}
	}
}

// Shapes that draws seldom have: a model smaller than a cache line, or than the parts; frozen layers; more devices than pieces.
func TestRanksOfFewElements(t *testing.T) {
	for name, layers := range map[string][][]gnn.Range{
		"one element":  {{{Lo: 0, Hi: 1}}},
		"three":        {{{Lo: 0, Hi: 3}}},
		"interleaved":  few,
		"first frozen": {{}, {{Lo: 0, Hi: 40}}},
		"last frozen":  {{{Lo: 0, Hi: 40}}, {}},
		"two pieces":   {{{Lo: 0, Hi: most + 1}}, {{Lo: most + 1, Hi: most + 9}}},
	} {
		for _, devices := range [][][]int{{{0}, {0}}, {{0, 1, 2}, {0}}, {{0}, {0, 1, 2, 0}}, {{0}, {0, 0}, {1, 0}, {0}}} {
			w := newWorld(t, newNetwork(t, 1, 0), devices, layers, rules[0])
			w.compare(t, fmt.Sprint(name, devices), 2, inTime, newPlain(t, w.ranks[0], rules[0]))
		}
	}
}

// Ranks that divide by other numbers of devices send elements in one order, and have pieces of 256 KiB at most.
func TestOneLine(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 50 {
		s := randomScene(r)
		var want []int
		for devices := 1; devices <= 5; devices++ {
			d := DivideRank(s.layers, apart(devices), Rank{Index: devices % 3, Count: 3})
			got := make([]int, s.elements()) // by element: its place
			at := 0
			for _, x := range d.line {
				p := d.piece(x)
				if p.wire != at || p.len() > most {
					t.Fatalf("%v on %d devices: %d elements at %d, want at %d", s.layers, devices, p.len(), p.wire, at)
				}
				for k := range p.len() {
					got[p.Lo+k] = at
					at++
				}
			}
			if devices == 1 {
				want = got
			}
			if at != len(want) || d.Bytes() != 4*at || !slices.Equal(got, want) {
				t.Fatalf("%v on %d devices: another order, or %d elements", s.layers, devices, at)
			}
		}
	}
}

// A run goes on with moments and steps on other ranks, or in one process, as one that did not stop. All moments are at the last rank.
func TestResumeOnOtherRanks(t *testing.T) {
	layers := [][]gnn.Range{{{Lo: 0, Hi: 2*most + 77}}, {{Lo: 2*most + 77, Hi: 3 * most}}, {{Lo: 3 * most, Hi: 3*most + 9}}}
	groups := [][][]int{{{0}, {0}, {0}, {0}}, {{0, 1}, {1, 0}}, {{0, 1, 0}, {0}}, {{0, 0, 1, 2}}}
	for n, rule := range rules {
		from, to := groups[n%len(groups)], groups[(n+1)%len(groups)]
		a := newWorld(t, newNetwork(t, 2, 0), from, layers, rule)
		want := newPlain(t, a.ranks[0], rule)
		a.compare(t, "before", 2, inTime, want)
		end := len(from) - 1
		weights, state := a.ranks[end].weights(t, 0), moments(t, a.ranks[end], a.reductions[end])
		for k := range end {
			if m := moments(t, a.ranks[k], a.reductions[k]); len(m[0])+len(m[1])+len(m[2]) > 0 {
				t.Errorf("rank %d of %d has moments", k, len(from))
			}
		}
		if rule.Kind != gnn.SGD && len(state[0]) != len(weights) {
			t.Fatalf("%d moments of %d elements at the last rank", len(state[0]), len(weights))
		}
		b := newWorld(t, newNetwork(t, 3, 0), to, layers, rule)
		b.epochs = a.epochs
		for k, x := range b.ranks {
			b.reductions[k].Resume(a.reductions[0].Steps())
			for i := range x.parts {
				x.parts[i].Compute.Upload(x.parts[i].Weights.Buf, 0, hostmem.Bytes(weights))
			}
			if k == len(to)-1 {
				load(t, x, b.reductions[k], state)
			}
			for i := range x.parts { // owners step on queues of their own
				if err := x.parts[i].Compute.Sync(); err != nil {
					t.Fatal(err)
				}
			}
		}
		b.compare(t, fmt.Sprint(rule, from, to), 2, inTime, want)
	}
}

// load puts moments back.
func load(t *testing.T, x *team, r *Reduction, state [3][]float32) {
	t.Helper()
	for k, from := range state {
		for _, m := range r.Moments() {
			v := []gpu.Vec{m.M, m.V, m.VMax}[k]
			if v.Len > 0 {
				x.parts[m.Part].Compute.Upload(v.Buf, 4*gpu.Bytes(v.Off), hostmem.Bytes(from[:v.Len]))
				from = from[v.Len:]
			}
		}
		if len(from) > 0 {
			t.Fatalf("%d moments more than there are places", len(from))
		}
	}
}

// ended runs an epoch, and fails if it, or what queues were given before it broke off, does not end.
func (w *world) ended(t *testing.T, what string) []error {
	t.Helper()
	done := make(chan []error, 1)
	go func() {
		errs := w.epoch(inTime)
		for _, x := range w.ranks {
			for i := range x.parts {
				for _, q := range append(x.parts[i].All(), x.parts[i].Compute) {
					q.Sync()
				}
			}
		}
		done <- errs
	}()
	select {
	case errs := <-done:
		return errs
	case <-time.After(30 * time.Second):
		t.Fatal(what, "hangs")
		return nil
	}
}

// Whoever waits too long for another rank names a part of it and what it waited for, with the numbers of all ranks.
func TestWhichRankIsSilent(t *testing.T) {
	const deadline = 500 * time.Millisecond // of those who wait in vain; the others have time, however slow the machine is
	layers := [][]gnn.Range{{{Lo: 0, Hi: 7}}, {{Lo: 7, Hi: 2 * wireGrain}}}
	for w, want := range map[way]map[int]string{
		{0, 1, gradientArea}: {1: "epoch 0: part 2 waited 500ms for part 1: gradients of layer 1", 2: "part 4 waited 500ms for part 3: gradients of layer 1", 0: "for part 2: new weights"},
		{1, 2, gradientArea}: {2: "epoch 0: part 4 waited 500ms for part 3: gradients of layer 1", 1: "for part 4: new weights", 0: "for part 2: new weights"},
		{2, 1, weightArea}:   {1: "for part 4: new weights", 0: "for part 2: new weights"},
		{1, 0, weightArea}:   {0: "part 0 waited 500ms for part 2: new weights"},
	} {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			net := newNetwork(t, 0, 0)
			net.lost[w] = true
			x := newWorld(t, net, [][]int{{0, 1}, {0, 1}, {0}}, layers, rules[0])
			for k := range want {
				*x.ranks[k].hub = *meet.NewHub(t.Context(), deadline)
			}
			for k, err := range x.ended(t, w.String()) {
				late := new(meet.Late)
				if text, is := want[k]; is != errors.As(err, &late) || is && !strings.Contains(err.Error(), text) {
					t.Errorf("rank %d: error %v, want %q", k, err, text)
				}
			}
		})
	}
}

// A message that cannot be sent ends the run of its rank with that error, and one that is over ends the others: nothing hangs.
func TestSendFails(t *testing.T) {
	broken := errors.New("connection closed")
	layers := [][]gnn.Range{{{Lo: 0, Hi: 5 * most}}}
	for w, want := range map[way]string{
		{0, 1, gradientArea}: "send gradients to rank 1: connection closed",
		{1, 2, gradientArea}: "send gradients to rank 2: connection closed",
		{2, 1, weightArea}:   "send weights to rank 1: connection closed",
		{1, 0, weightArea}:   "send weights to rank 0: connection closed",
	} {
		net := newNetwork(t, 0, 0)
		x := newWorld(t, net, [][]int{{0, 1}, {0}, {0, 1, 1}}, layers, rules[0])
		if err := errors.Join(x.epoch(inTime)...); err != nil {
			t.Fatal(err)
		}
		net.mu.Lock()
		net.cut[w] = broken
		net.mu.Unlock()
		for _, k := range x.ranks { // the run of a rank ends that of all
			context.AfterFunc(k.hub.Context(), func() {
				for _, other := range x.ranks {
					other.hub.Fail(errors.New("rank lost"))
				}
			})
		}
		errs := x.ended(t, w.String())
		// A rank that cannot pass weights on may be done with the epoch: the next wait ends it.
		if err := errs[w.from]; err == nil {
			errs[w.from] = meet.Guard(func() { meet.Receive(x.ranks[w.from].hub, make(chan int), 0, 0, "the next epoch") })
		}
		if err := errs[w.from]; err.Error() != want || !errors.Is(err, broken) {
			t.Errorf("%v is cut: rank %d: error %v, want %s", w, w.from, err, want)
		}
		if errs[0] == nil {
			t.Errorf("%v is cut: rank 0 has weights", w)
		}
	}
}

// A rank that goes on from another step than its neighbour is told so.
func TestOtherStep(t *testing.T) {
	x := newWorld(t, newNetwork(t, 0, 0), [][]int{{0}, {0}}, few, rules[0])
	*x.ranks[0].hub = *meet.NewHub(t.Context(), 50*time.Millisecond) // it waits in vain
	var all sync.WaitGroup
	errs := make([]error, 2)
	for k, r := range x.ranks {
		x.reductions[k].Resume(3 + k)
		all.Go(func() { errs[k] = r.epoch(x.reductions[k], nobody, -1) })
	}
	all.Wait()
	want := "receive gradients of layer 0: they are of step 3, here it is step 4: start all ranks from one checkpoint"
	if errs[0] == nil || errs[1] == nil || errs[1].Error() != want {
		t.Errorf("%v, want %s", errs, want)
	}
}

// On lines of a bounded rate with jitter, both directions are busy at the same time: an epoch takes little longer than all gradients take one way.
func TestRanksOnSlowLines(t *testing.T) {
	const rate, elements = 50e6, 20 * most
	layers := [][]gnn.Range{{{Lo: 0, Hi: elements / 2}}, {{Lo: elements / 2, Hi: elements}}}
	locals := shaped.NewLocal(3)
	defer locals[0].Close()
	var ports []link.Transport
	for k, l := range locals {
		s := shaped.Shape(l, shaped.Options{Rate: rate, Latency: 200 * time.Microsecond, Jitter: time.Millisecond, Seed: uint64(k)})
		defer s.Close()
		ports = append(ports, s)
	}
	w := joinWorld(t, ports, [][]int{{0, 1}, {0}, {0, 0}}, layers, rules[0])
	want := newPlain(t, w.ranks[0], rules[0])
	w.compare(t, "warm up", 1, inTime, want)
	one := time.Duration(4 * elements / rate * 1e9)
	start := time.Now()
	w.compare(t, "slow lines", 2, inTime, want)
	t.Logf("%v per epoch and its check, of which gradients take %v one way", time.Since(start)/2, one)
	if took := time.Since(start) / 2; took < one {
		t.Errorf("an epoch takes %v, its gradients alone %v", took, one)
	}
}
