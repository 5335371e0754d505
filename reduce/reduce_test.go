package reduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/hostmem"
	"capgnn/internal/meet"
)

// routes are how parts reach each other.
var routes = []string{"peer", "by the host", "mixed"}

// scene is who takes part in a reduction, and of what.
type scene struct {
	devices []int // by part
	route   string
	layers  [][]gnn.Range
	rule    gnn.Optimizer
}

func (s scene) String() string {
	return fmt.Sprintf("parts on devices %v, %s, %v, layers %v", s.devices, s.route, s.rule, s.layers)
}

func (s scene) elements() (n int) {
	for _, ranges := range s.layers {
		for _, g := range ranges {
			n = max(n, g.Hi)
		}
	}
	return n
}

// few are layers that interleave in the flat vectors.
var few = [][]gnn.Range{{{Lo: 0, Hi: 7}, {Lo: 30, Hi: 41}}, {{Lo: 7, Hi: 8}}, {{Lo: 8, Hi: 30}}}

// apart returns n parts on devices of their own.
func apart(n int) (devices []int) {
	for i := range n {
		devices = append(devices, i)
	}
	return devices
}

// team is some parts with gradients, on CPU devices, without a model.
type team struct {
	hub      *meet.Hub
	parts    []Part
	division *Division
	layers   [][]gnn.Range
	start    []float32   // weights
	grads    [][]float32 // by part
}

// draw returns weights and the gradients of n parts. Sums depend on their order.
func draw(elements, n int) (start []float32, grads [][]float32) {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	random := func() []float32 {
		v := make([]float32, elements)
		for k := range min(elements, 4099) {
			v[k] = float32(r.NormFloat64() * float64(uint(1)<<r.IntN(20)))
		}
		for k := 4099; k < elements; k += 4099 { // a prime: no piece begins with it
			copy(v[k:], v[:4099])
		}
		return v
	}
	start = random()
	for range n {
		grads = append(grads, random())
	}
	return start, grads
}

// newTeam makes the parts of a scene.
func newTeam(t *testing.T, s scene) *team {
	t.Helper()
	start, grads := draw(s.elements(), len(s.devices))
	return newRank(t, s, Rank{}, start, grads)
}

// newRank makes the parts of a scene at one rank of several, with weights and gradients.
func newRank(t *testing.T, s scene, at Rank, start []float32, grads [][]float32) *team {
	t.Helper()
	elements, n := s.elements(), len(s.devices)
	x := &team{hub: meet.NewHub(t.Context(), 10*time.Second), layers: s.layers, start: start, grads: grads}
	devices, homes := make([]gpu.Device, n), make([]int, n)
	for i, k := range s.devices {
		homes[i] = slices.Index(s.devices, k)
		if devices[i] = devices[homes[i]]; devices[i] != nil {
			continue
		}
		d, err := host.Open(host.Spec{Name: fmt.Sprintf("cpu:%d", k), Threads: 1, Memory: 1 << 27, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		devices[i] = d
	}
	at.Clips = s.rule.Clip > 0
	x.division = DivideRank(s.layers, homes, at)
	for i, d := range devices {
		p := Part{Compute: d.NewQueue("compute"), Queues: NewQueues(d, homes[i] == i), Waits: &meet.Waits{Hub: x.hub, Part: at.First + i, Device: d.Info().Name}}
		alloc := func(size gpu.Bytes, name string) gpu.Buffer {
			b, err := d.Alloc(size, name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(b.Free)
			return b
		}
		p.Weights = gpu.Vec{Buf: alloc(4*gpu.Bytes(elements), "weights"), Len: elements}
		p.Gradients = gpu.Vec{Buf: alloc(4*gpu.Bytes(elements), "gradients"), Len: elements}
		p.Compute.Upload(p.Weights.Buf, 0, hostmem.Bytes(x.start))
		for j := range devices {
			same := homes[i] == homes[j]
			p.Reach = append(p.Reach, same || s.route == "peer" || s.route == "mixed" && (homes[i]+2*homes[j])%3 == 0)
		}
		p.Owner = x.division.NewOwner(alloc, p.Compute, s.rule, i)
		x.parts = append(x.parts, p)
	}
	return x
}

// nobody is late or silent.
func nobody(int) {}

// epoch runs one with every part late by what late says, and waits for all. A silent part does nothing.
func (x *team) epoch(r *Reduction, late func(part int), silent int) error {
	errs := make([]error, len(x.parts))
	var all sync.WaitGroup
	for i := range x.parts {
		all.Go(func() {
			p := &x.parts[i]
			errs[i] = meet.Guard(func() {
				p.Compute.Upload(p.Gradients.Buf, 0, hostmem.Bytes(x.grads[i]))
				for l := len(x.layers) - 1; l >= 0 && i != silent; l-- {
					late(i)
					r.Done(i, l)
				}
				if i != silent {
					r.Finish(i)
				}
			})
			if errs[i] == nil {
				errs[i] = p.Waits.Settle(append(p.All(), p.Compute)...)
			}
		})
	}
	all.Wait()
	return meet.RootCause(errs, x.division.at.First, func(error) bool { return false })
}

// weights returns those of a part.
func (x *team) weights(t *testing.T, part int) []float32 {
	t.Helper()
	out := make([]float32, len(x.start))
	x.parts[part].Compute.Download(hostmem.Bytes(out), x.parts[part].Weights.Buf, 0)
	if err := x.parts[part].Compute.Sync(); err != nil {
		t.Fatal(err)
	}
	return out
}

// plain is what a reduction equals: whole gradients added in part order, and one step of all elements, on one device.
type plain struct {
	q                             gpu.Queue
	rule                          gnn.Optimizer
	weights, grads, in, m, v, top gpu.Vec
	steps                         int
	blocks                        []gnn.Range // of the norm
}

func newPlain(t *testing.T, x *team, rule gnn.Optimizer) *plain {
	t.Helper()
	d, err := host.Open(host.Spec{Name: "plain", Threads: 2, Memory: 1 << 26})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	p := &plain{q: d.NewQueue("compute"), rule: rule, blocks: blocksOf(x.layers)}
	for _, v := range []*gpu.Vec{&p.weights, &p.grads, &p.in, &p.m, &p.v, &p.top} {
		b, err := d.Alloc(4*gpu.Bytes(len(x.start)), "vector")
		if err != nil {
			t.Fatal(err)
		}
		*v = gpu.Vec{Buf: b, Len: len(x.start)}
		p.q.Fill(row(*v), 0)
	}
	p.q.Upload(p.weights.Buf, 0, hostmem.Bytes(x.start))
	if !rule.AMSGrad {
		p.top = gpu.Vec{}
	}
	return p
}

// epoch returns the weights behind one more.
func (p *plain) epoch(t *testing.T, grads [][]float32) []float32 {
	t.Helper()
	p.q.Upload(p.grads.Buf, 0, hostmem.Bytes(grads[0]))
	for _, g := range grads[1:] {
		p.q.Upload(p.in.Buf, 0, hostmem.Bytes(g))
		p.q.Axpby(row(p.grads), 1, row(p.in), 1)
	}
	if p.rule.Clip > 0 {
		p.clip(t)
	}
	p.steps++
	decays := p.rule.Decays
	if decays == nil {
		decays = []gnn.DecayRange{{Range: gnn.Range{Hi: p.weights.Len}, Decay: p.rule.WeightDecay}}
	}
	for _, d := range decays {
		of := func(v gpu.Vec) gpu.Vec { return v.Slice(d.Lo, d.Hi) }
		if p.rule.Kind == gnn.SGD {
			p.q.SGD(of(p.weights), of(p.grads), float32(p.rule.LR), float32(d.Decay))
			continue
		}
		a := gpu.AdamArgs{Param: of(p.weights), Grad: of(p.grads), M: of(p.m), V: of(p.v), LR: p.rule.LR, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8,
			WeightDecay: d.Decay, Decoupled: p.rule.Kind == gnn.AdamW, Step: p.steps}
		if !p.top.Empty() {
			a.VMax = of(p.top)
		}
		p.q.Adam(a)
	}
	out := make([]float32, p.weights.Len)
	p.q.Download(hostmem.Bytes(out), p.weights.Buf, 0)
	if err := p.q.Sync(); err != nil {
		t.Fatal(err)
	}
	return out
}

// clip limits the norm of the gradient.
func (p *plain) clip(t *testing.T) {
	t.Helper()
	sum := 0.0
	for _, b := range p.blocks {
		g, square := row(p.grads.Slice(b.Lo, b.Hi)), make([]float32, 1)
		p.q.Dot(p.in.Slice(0, 1), g, g, 0)
		p.q.Download(hostmem.Bytes(square), p.in.Buf, 0)
		if err := p.q.Sync(); err != nil {
			t.Fatal(err)
		}
		sum += float64(square[0])
	}
	if factor := p.rule.Clip / (math.Sqrt(sum) + 1e-6); factor < 1 {
		p.q.Fill(row(p.in), 0)
		p.q.Axpby(row(p.in), float32(factor), row(p.grads), 0)
		p.q.Copy(row(p.grads), row(p.in))
	}
}

// rules are all update rules.
var rules = []gnn.Optimizer{{Kind: gnn.Adam, LR: 0.01, WeightDecay: 0.1}, {Kind: gnn.Adam, LR: 0.01, AMSGrad: true},
	{Kind: gnn.AdamW, LR: 0.01, WeightDecay: 0.1}, {Kind: gnn.AdamW, LR: 0.01, AMSGrad: true}, {Kind: gnn.SGD, LR: 0.125, WeightDecay: 0.1},
	{Kind: gnn.SGD, LR: 0.125, Clip: 1000}, {Kind: gnn.AdamW, LR: 0.01, WeightDecay: 0.1, Clip: 2e4}, {Kind: gnn.Adam, LR: 0.01, Clip: 1e30}}

// randomScene draws parts, devices, ways, layers and a rule. Vectors have fewer elements than devices, or pieces.
func randomScene(r *rand.Rand) scene {
	s := scene{route: routes[r.IntN(len(routes))], rule: rules[r.IntN(len(rules))]}
	devices := 1 + r.IntN(5)
	for i := range 1 + r.IntN(9) {
		d := r.IntN(devices) // interleaved
		if r.IntN(2) == 0 {
			d = i % devices // by turns, as runs have them
		}
		s.devices = append(s.devices, d)
	}
	layers := 1 + r.IntN(4)
	s.layers = make([][]gnn.Range, layers)
	at := 0
	for k := range layers + r.IntN(4) {
		n := []int{1 + r.IntN(4), 1 + r.IntN(100), 1 + r.IntN(40000), devices*most + r.IntN(most)}[min(3, r.IntN(13)/4)]
		l := k
		if k >= layers {
			l = r.IntN(layers)
		}
		s.layers[l] = append(s.layers[l], gnn.Range{Lo: at, Hi: at + n})
		at += n
	}
	if r.IntN(2) == 0 {
		s.rule.Decays = randomDecays(r, at)
	}
	return s
}

// randomDecays draws groups of weights, which end anywhere.
func randomDecays(r *rand.Rand, elements int) (out []gnn.DecayRange) {
	for at := 0; at < elements; {
		hi := min(elements, at+1+r.IntN([]int{1, 100, elements}[r.IntN(3)]))
		out = append(out, gnn.DecayRange{Range: gnn.Range{Lo: at, Hi: hi}, Decay: r.Float64()})
		at = hi
	}
	return out
}

// On any route, with any parts on any devices, whoever is late: every part has the weights of sums in part order and of one step of
// everything, to the bit.
func TestSumsInPartOrder(t *testing.T) {
	const epochs = 2
	r := rand.New(rand.NewPCG(17, 1))
	var scenes []scene
	for n, route := range routes {
		scenes = append(scenes, scene{apart(1 + n), route, few, rules[n]}, scene{[]int{0, 1, 0, 1, 2}, route, few, rules[n+2]}, scene{apart(9), route, few, rules[n]},
			scene{[]int{0, 0, 0}, route, few, rules[n]}, scene{apart(5), route, [][]gnn.Range{{{Lo: 0, Hi: 3}}}, rules[n]})
	}
	for range 30 {
		scenes = append(scenes, randomScene(r))
	}
	for _, s := range scenes {
		late := r.IntN(len(s.devices)+1) - 1
		x := newTeam(t, s)
		reduction, want := New(x.hub, x.parts, x.division), newPlain(t, x, s.rule)
		for epoch := range epochs {
			err := x.epoch(reduction, func(part int) {
				if part == late {
					time.Sleep(200 * time.Microsecond)
				}
			}, -1)
			if err != nil {
				t.Fatal(s, err)
			}
			weights := want.epoch(t, x.grads)
			for i := range x.parts {
				got := x.weights(t, i)
				if slices.Equal(got, weights) {
					continue
				}
				if k := slices.IndexFunc(apart(len(got)), func(k int) bool { return got[k] != weights[k] }); k >= 0 {
					t.Fatalf("%v, part %d late: epoch %d: element %d at part %d is %v, want %v", s, late, epoch, k, i, got[k], weights[k])
				}
			}
		}
		if reduction.Steps() != epochs {
			t.Errorf("%v: %d steps", s, reduction.Steps())
		}
	}
}

// A reduction that goes on with the moments and the number of steps of another one, whoever owned them, gives the weights of one that
// did not stop.
func TestResume(t *testing.T) {
	for _, rule := range rules {
		for _, layers := range [][][]gnn.Range{few, {{{Lo: 0, Hi: 3 * most}}, {{Lo: 3 * most, Hi: 3*most + 9}}}} {
			parts := []int{0, 1, 0}
			a := newTeam(t, scene{parts, "peer", layers, rule})
			whole := New(a.hub, a.parts, a.division)
			for range 2 {
				if err := a.epoch(whole, nobody, -1); err != nil {
					t.Fatal(err)
				}
			}
			weights, state := a.weights(t, 0), moments(t, a, whole)
			for _, devices := range [][]int{parts, {0, 1, 2}, {0, 0, 0}} {
				b := newTeam(t, scene{devices, "by the host", layers, rule})
				resumed := New(b.hub, b.parts, b.division)
				resumed.Resume(whole.Steps())
				for i := range b.parts {
					b.parts[i].Compute.Upload(b.parts[i].Weights.Buf, 0, hostmem.Bytes(weights))
				}
				for k, from := range state {
					for _, m := range resumed.Moments() {
						v := []gpu.Vec{m.M, m.V, m.VMax}[k]
						if v.Len > 0 {
							b.parts[m.Part].Compute.Upload(v.Buf, 4*gpu.Bytes(v.Off), hostmem.Bytes(from[:v.Len]))
							from = from[v.Len:]
						}
					}
					if len(from) > 0 {
						t.Fatalf("%v: %d moments more than there are places", rule, len(from))
					}
				}
				for i := range b.parts { // owners step on queues of their own
					if err := b.parts[i].Compute.Sync(); err != nil {
						t.Fatal(err)
					}
				}
				if err := b.epoch(resumed, nobody, -1); err != nil {
					t.Fatal(err)
				}
				want := newPlain(t, a, rule)
				want.epoch(t, a.grads)
				want.epoch(t, a.grads)
				if got := b.weights(t, 1); !slices.Equal(got, want.epoch(t, a.grads)) || slices.Equal(got, weights) {
					t.Errorf("%+v, %v on %v: other weights than without a stop", rule, layers, devices)
				}
			}
		}
	}
}

// moments returns the first, second and largest second moments of all elements.
func moments(t *testing.T, x *team, r *Reduction) (all [3][]float32) {
	t.Helper()
	for _, m := range r.Moments() {
		for k, v := range []gpu.Vec{m.M, m.V, m.VMax} {
			if v.Len == 0 {
				continue
			}
			host, q := make([]float32, v.Len), x.parts[m.Part].Compute
			q.Download(hostmem.Bytes(host), v.Buf, 4*gpu.Bytes(v.Off))
			if err := q.Sync(); err != nil {
				t.Fatal(err)
			}
			all[k] = append(all[k], host...)
		}
	}
	return all
}

// Whoever does not hand over gradients or weights is named when the deadline has passed.
func TestWhoIsSilent(t *testing.T) {
	for silent, want := range map[int]string{0: "part 1 waited 50ms for part 0: gradients of layer 0", 2: "part 0 waited 50ms for part 2: gradients of layer 0"} {
		x := newTeam(t, scene{apart(3), "peer", [][]gnn.Range{few[0], few[1], {{Lo: 8, Hi: 30}, {Lo: 41, Hi: 90}}}, rules[4]})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		*x.hub = *meet.NewHub(ctx, 50*time.Millisecond)
		err := x.epoch(New(x.hub, x.parts, x.division), nobody, silent)
		if late := new(meet.Late); !errors.As(err, &late) || !strings.Contains(err.Error(), want) {
			t.Errorf("part %d is silent: error %v, want %q", silent, err, want)
		}
	}
}

// A part that has handed over its gradients, and then takes no step, keeps the others waiting for its weights, and the other parts of its
// device for all of them.
func TestNoNewWeights(t *testing.T) {
	for silent, want := range map[int]string{0: "part 1 waited 50ms for part 0: new weights", 1: "part 0 waited 50ms for part 1: new weights"} {
		x := newTeam(t, scene{[]int{0, 1, silent}, "by the host", few, rules[0]})
		*x.hub = *meet.NewHub(t.Context(), 50*time.Millisecond)
		r := New(x.hub, x.parts, x.division)
		errs := make([]error, len(x.parts))
		var all sync.WaitGroup
		for i := range x.parts {
			all.Go(func() {
				errs[i] = meet.Guard(func() {
					for l := len(x.layers) - 1; l >= 0; l-- {
						r.Done(i, l)
					}
					if i != silent {
						r.Finish(i)
					}
				})
			})
		}
		all.Wait()
		mate := fmt.Sprintf("part 2 waited 50ms for part %d: new weights", silent)
		if err := errs[1-silent]; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if err := errs[2]; err == nil || !strings.Contains(err.Error(), mate) {
			t.Errorf("error %v, want %q", err, mate)
		}
	}
}

// Memory that is replaced by page-locked memory is what gradients and weights pass through: every gradient of another device's slices once,
// and every owner's weights once. Where parts reach each other there is none.
func TestLock(t *testing.T) {
	for _, route := range routes {
		x := newTeam(t, scene{apart(3), route, [][]gnn.Range{{{Lo: 0, Hi: 48000}}}, rules[4]})
		r := New(x.hub, x.parts, x.division)
		var locked [][]byte
		for i := range x.parts {
			r.Lock(i, func(mem []byte) []byte {
				if len(mem) == 0 {
					return mem
				}
				locked = append(locked, make([]byte, len(mem)))
				return locked[len(locked)-1]
			})
		}
		if err := x.epoch(r, nobody, -1); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, mem := range locked {
			if got = append(got, len(mem)/64000); !slices.ContainsFunc(mem, func(b byte) bool { return b != 0 }) {
				t.Errorf("%s: nothing passes through memory of %d bytes", route, len(mem))
			}
		}
		if want := map[string][]int{"by the host": {2, 1, 2, 1, 2, 1}, "mixed": {2, 1, 2, 1, 2, 1}}[route]; !slices.Equal(got, want) {
			t.Errorf("%s: memory of so many slices: %v, want %v", route, got, want)
		}
	}
}

// No direction of any device carries more than 2G(P-1)/P bytes of gradients and weights where every device has one part; the state of the
// update rule is that of one process cut by the number of devices. Both to a cache line for each other device.
func TestBytesOfSlices(t *testing.T) {
	sizes := [][]int{{200 * 1001, 64*64 + 128, 320}, {1000, 1000, 1000, 1000}, {9000, 7, 70000, 65, 12}, {130}}
	for n, size := range sizes {
		var layers [][]gnn.Range
		at := 0
		for _, k := range size {
			layers = append(layers, []gnn.Range{{Lo: at, Hi: at + k}})
			at += k
		}
		for _, parts := range []int{1, 2, 3, 4, 8} {
			for _, route := range routes {
				x := newTeam(t, scene{apart(parts), route, layers, rules[1]})
				if err := x.epoch(New(x.hub, x.parts, x.division), nobody, -1); err != nil {
					t.Fatal(err)
				}
				in, out := make([]gpu.Bytes, parts), make([]gpu.Bytes, parts)
				slack := gpu.Bytes(4 * align * parts)
				for i := range x.parts {
					var u gpu.Usage
					for _, q := range x.parts[i].All() {
						u = u.Add(q.Usage())
					}
					in[i], out[i] = in[i]+u.H2D+u.Peer, out[i]+u.D2H
					for o := range x.parts { // copies between devices leave the one that they are read from
						if o != i && x.parts[i].Reach[o] {
							out[o] += 4 * gpu.Bytes(x.division.Elements(i)+x.division.Elements(o))
						}
					}
					if state := gpu.Bytes(4 * x.parts[i].Owner.m.Len); state*gpu.Bytes(parts) > gpu.Bytes(4*at)+slack*gpu.Bytes(parts) {
						t.Errorf("sizes %d, part %d of %d: %d bytes of moments, of %d", n, i, parts, state, 4*at)
					}
				}
				most := gpu.Bytes(2*4*at*(parts-1)/parts) + slack
				for i := range in {
					if in[i] > most || out[i] > most {
						t.Errorf("sizes %d, %s, part %d of %d: %d bytes in, %d out, want %d at most", n, route, i, parts, in[i], out[i], most)
					}
				}
			}
		}
	}
}
