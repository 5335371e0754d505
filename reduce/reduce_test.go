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

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/hostmem"
	"capgnn/internal/meet"
)

// routes are how parts reach each other.
var routes = []string{"peer", "same device", "by the host", "mixed"}

// team is some parts with gradients, on CPU devices, without a model.
type team struct {
	hub    *meet.Hub
	parts  []Part
	layers [][]gnn.Range
	start  []float32   // weights
	grads  [][]float32 // by part
}

const elements = 41

// newTeam makes the parts of a run whose layers interleave in the flat vectors.
func newTeam(t *testing.T, n int, route string, rule gnn.Optimizer) *team {
	t.Helper()
	x := &team{hub: meet.NewHub(t.Context(), 10*time.Second), layers: [][]gnn.Range{{{Lo: 0, Hi: 7}, {Lo: 30, Hi: 41}}, {{Lo: 7, Hi: 8}}, {{Lo: 8, Hi: 30}}}}
	r := rand.New(rand.NewPCG(uint64(n), 3))
	random := func() []float32 {
		v := make([]float32, elements)
		for k := range v {
			v[k] = float32(r.NormFloat64() * float64(uint(1)<<r.IntN(20))) // sums depend on their order
		}
		return v
	}
	x.start = random()
	devices := make([]gpu.Device, n)
	for i := range devices {
		if route == "same device" && i%2 == 1 {
			devices[i] = devices[i-1]
			continue
		}
		d, err := host.Open(host.Spec{Name: fmt.Sprintf("cpu:%d", i), Threads: 1, Memory: 1 << 20, Poison: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		devices[i] = d
	}
	for i, d := range devices {
		p := Part{Compute: d.NewQueue("compute"), Reduce: d.NewQueue("reduce"), Waits: &meet.Waits{Hub: x.hub, Part: i, Device: d.Info().Name}}
		alloc := func(size gpu.Bytes, name string) gpu.Buffer {
			b, err := d.Alloc(size, name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(b.Free)
			return b
		}
		x.grads = append(x.grads, random())
		p.Weights = gpu.Vec{Buf: alloc(4*elements, "weights"), Len: elements}
		p.Gradients = gpu.Vec{Buf: alloc(4*elements, "gradients"), Len: elements}
		p.Compute.Upload(p.Weights.Buf, 0, hostmem.Bytes(x.start))
		for j, o := range devices {
			p.Same = append(p.Same, o == d)
			p.Reach = append(p.Reach, o == d || route != "by the host" && (route != "mixed" || i == j+1))
		}
		if i == 0 {
			p.Owner = NewOwner(alloc, p.Compute, rule, elements, n, x.layers)
		}
		x.parts = append(x.parts, p)
	}
	return x
}

// epoch runs one with every part late by what late says, and waits for all. silent parts do nothing.
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
				errs[i] = p.Waits.Settle(p.Compute, p.Reduce)
			}
		})
	}
	all.Wait()
	return meet.RootCause(errs, func(error) bool { return false })
}

// weights returns those of a part.
func (x *team) weights(t *testing.T, part int) []float32 {
	t.Helper()
	out := make([]float32, elements)
	x.parts[part].Compute.Download(hostmem.Bytes(out), x.parts[part].Weights.Buf, 0)
	if err := x.parts[part].Compute.Sync(); err != nil {
		t.Fatal(err)
	}
	return out
}

// On any route, whoever is late, every part has the weights of sums in part order, to the bit.
func TestSumsInPartOrder(t *testing.T) {
	const epochs, lr = 3, 0.125
	for _, n := range []int{1, 2, 3, 5} {
		for _, route := range routes {
			for late := -1; late < n; late++ {
				x := newTeam(t, n, route, gnn.Optimizer{Kind: gnn.SGD, LR: lr})
				r := New(x.hub, x.parts, x.layers)
				want := slices.Clone(x.start)
				for range epochs {
					for k := range want {
						sum := x.grads[0][k]
						for _, g := range x.grads[1:] {
							sum += g[k]
						}
						want[k] -= lr * sum // exact but for its own rounding: lr is a power of two
					}
					err := x.epoch(r, func(part int) {
						if part == late {
							time.Sleep(200 * time.Microsecond)
						}
					}, -1)
					if err != nil {
						t.Fatal(err)
					}
				}
				for i := range x.parts {
					if got := x.weights(t, i); !slices.Equal(got, want) {
						t.Errorf("%d parts, %s, part %d late: part %d has weights %v, want %v", n, route, late, i, got, want)
					}
				}
				if r.Steps() != epochs {
					t.Errorf("%d steps", r.Steps())
				}
			}
		}
	}
}

// A reduction that goes on with the moments and the number of steps of another one gives the weights of one that did not stop.
func TestResume(t *testing.T) {
	for _, rule := range []gnn.Optimizer{{Kind: gnn.Adam, LR: 0.01}, {Kind: gnn.Adam, LR: 0.01, AMSGrad: true}, {Kind: gnn.AdamW, LR: 0.01, WeightDecay: 0.1}, {Kind: gnn.SGD, LR: 0.01}} {
		now := func(int) {}
		a, b := newTeam(t, 2, "peer", rule), newTeam(t, 2, "peer", rule)
		whole := New(a.hub, a.parts, a.layers)
		for range 2 {
			if err := a.epoch(whole, now, -1); err != nil {
				t.Fatal(err)
			}
		}
		state := [][]float32{a.weights(t, 0)}
		for _, m := range whole.Moments() {
			for _, v := range []gpu.Vec{m.M, m.V, m.VMax} {
				host := make([]float32, v.Len)
				if q := a.parts[m.Part].Compute; v.Len > 0 {
					q.Download(hostmem.Bytes(host), v.Buf, 4*gpu.Bytes(v.Off))
					if err := q.Sync(); err != nil {
						t.Fatal(err)
					}
				}
				state = append(state, host)
			}
		}
		resumed := New(b.hub, b.parts, b.layers)
		resumed.Resume(whole.Steps())
		for i := range b.parts {
			b.parts[i].Compute.Upload(b.parts[i].Weights.Buf, 0, hostmem.Bytes(state[0]))
		}
		k := 1
		for _, m := range resumed.Moments() {
			for _, v := range []gpu.Vec{m.M, m.V, m.VMax} {
				if v.Len > 0 {
					b.parts[m.Part].Compute.Upload(v.Buf, 4*gpu.Bytes(v.Off), hostmem.Bytes(state[k]))
				}
				k++
			}
		}
		if err := errors.Join(a.epoch(whole, now, -1), b.epoch(resumed, now, -1)); err != nil {
			t.Fatal(err)
		}
		want := a.weights(t, 1)
		if got := b.weights(t, 1); !slices.Equal(got, want) || slices.Equal(want, state[0]) {
			t.Errorf("%+v: weights %v, want %v", rule, got, want)
		}
	}
}

// Whoever does not hand over gradients or weights is named when the deadline has passed.
func TestWhoIsSilent(t *testing.T) {
	for silent, want := range map[int]string{0: "for part 0: new weights", 2: "part 0 waited 50ms for part 2: gradients of layer 2"} {
		x := newTeam(t, 3, "peer", gnn.Optimizer{Kind: gnn.SGD, LR: 1})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		*x.hub = *meet.NewHub(ctx, 50*time.Millisecond)
		err := x.epoch(New(x.hub, x.parts, x.layers), func(int) {}, silent)
		if late := new(meet.Late); !errors.As(err, &late) || !strings.Contains(err.Error(), want) {
			t.Errorf("part %d is silent: error %v, want %q", silent, err, want)
		}
	}
}

// Memory that is replaced by page-locked memory is what gradients and weights pass through; where parts reach each other there is none.
func TestLock(t *testing.T) {
	for _, route := range routes {
		x := newTeam(t, 2, route, gnn.Optimizer{Kind: gnn.SGD, LR: 1})
		r := New(x.hub, x.parts, x.layers)
		var locked [][]byte
		for i := range x.parts {
			r.Lock(i, func(mem []byte) []byte {
				if mem == nil {
					return nil
				}
				locked = append(locked, make([]byte, len(mem)))
				return locked[len(locked)-1]
			})
		}
		if err := x.epoch(r, func(int) {}, -1); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"by the host": 2, "mixed": 1}[route] // the gradients of part 1, and weights for it
		if len(locked) != want {
			t.Errorf("%s: %d pieces of memory, want %d", route, len(locked), want)
		}
		for _, mem := range locked {
			if len(mem) != 4*elements || !slices.ContainsFunc(mem, func(b byte) bool { return b != 0 }) {
				t.Errorf("%s: nothing passes through memory of %d bytes", route, len(mem))
			}
		}
	}
}
