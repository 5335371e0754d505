package minibatch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/gpu/sim"
	"capgnn/internal/named"
)

// simulated returns devices with links between them, on a clock of their own that tells trace what they do.
func simulated(t testing.TB, n int, link float64, arithmetic bool, trace func(sim.Span)) (out []gpu.Device) {
	t.Helper()
	clock := sim.NewClock()
	clock.Trace = trace
	for i := range n {
		d, err := sim.Open(sim.Config{Name: fmt.Sprintf("sim:%d", i), Clock: clock, Threads: 1, Memory: 1 << 30, Arithmetic: arithmetic, Linked: true,
			Rates: sim.Rates{FlopsPerSec: 2e10, GatherPerSec: 2e9, BytesPerSec: 1e10, H2D: link, D2H: link, Near: 32e9, Launch: 2e-6, Latency: 2e-6}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		out = append(out, d)
	}
	return out
}

// On simulated devices steps overlap as on real ones, in times that no host has a part in.
func TestSimulatedStepsOverlap(t *testing.T) {
	serial, c := overlapping(t, simulated(t, 2, 0.4e9, false, nil), true)
	overlapped, _ := overlapping(t, simulated(t, 2, 0.4e9, false, nil), false)
	all := float64(2*c.Steps) * float64(serial)
	fetch, compute, times := float64(c.Time.Fetch)/all, float64(c.Time.Compute)/all, float64(serial)/float64(overlapped)
	t.Logf("one by one %v a step: fetch %.1f %%, compute %.1f %%; overlapped %v: %.2f times as fast", serial, 100*fetch, 100*compute, overlapped, times)
	if min(fetch, compute) < 0.45 || max(fetch, compute) > 0.55 || times < 1.5 {
		t.Error("want fetching and computing of 45 to 55 % each, and steps 1.5 times as fast that overlap")
	}
}

// Rows of other parts cross the simulated links of their owners and of who reads them: all that are counted and no others. Bits are those of CPU devices, and times do not
// depend on who samples how far ahead.
func TestSimulatedRowsCrossLinks(t *testing.T) {
	for i, c := range []kindOfRoots{{}, {place: Home}, {local: true}, {place: Hop}} {
		p, m := task{sparse: i == 1}.make(t, []named.Kind{named.SAGE, named.GIN, named.GCN, named.SAGE}[i])
		part := homes(p.Vertices(), 3)
		for n, rules := range policies {
			if n%2 != i%2 {
				continue
			}
			name := fmt.Sprintf("%+v, %+v", c, rules)
			run := func(devices []gpu.Device, samplers int) *Result {
				o := small(m, devices, part)
				c.set(&o.Sampling)
				o.Sampling.NoGather, o.Sampling.Samplers = c.place == Hop && rules.Pull, samplers
				o.Sampling.Fetch, o.Sampling.RowCache = rules, CacheSize{CacheShare, 0.3}
				return trained(t, p, o)
			}
			crossed := map[string]gpu.Bytes{}
			got := run(simulated(t, 3, 1e9, true, func(s sim.Span) {
				if strings.HasPrefix(s.Queue, "rows from") {
					crossed[s.Op] += s.Bytes
				}
			}), 1)
			if crossed["Ask"] != got.Bytes.IDs || crossed["Answer"] != got.Bytes.Rows || got.Bytes.Rows == 0 {
				t.Errorf("%s: %v crossed links, want %d and %d", name, crossed, got.Bytes.IDs, got.Bytes.Rows)
			}
			if real := run(devices(t, 3, host.Spec{}), 1); real.WeightsSHA != got.WeightsSHA || real.Rows != got.Rows || real.Requests != got.Requests {
				t.Errorf("%s: %s, %+v, %d requests; on CPU devices %s, %+v, %d", name, got.WeightsSHA, got.Rows, got.Requests, real.WeightsSHA, real.Rows, real.Requests)
			}
			if again := run(simulated(t, 3, 1e9, false, nil), 3); !slices.Equal(again.EpochTime, got.EpochTime) {
				t.Errorf("%s: epochs take %v, then %v", name, got.EpochTime, again.EpochTime)
			}
		}
	}
}

// Rows are fetched as soon as the slot of their step is free, a step is uploaded when its rows are there and its input has been read, and computed when it has been uploaded.
func TestSimulatedStepsWaitForRows(t *testing.T) {
	p, m := task{cols: 512}.make(t, named.SAGE)
	spans := map[string][]sim.Span{}
	o := small(m, simulated(t, 2, 2e8, false, func(s sim.Span) {
		if s.Device == "sim:0" {
			key := s.Queue + " " + s.Op
			spans[key] = append(spans[key], s)
		}
	}), homes(p.Vertices(), 2))
	o.Epochs, o.Sampling.Prefetch = 1, 1
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if _, err := tr.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	fetched, sent, computed := spans["rows Fetch"], spans["prefetch Upload"], spans["compute SoftmaxLoss"]
	if n := tr.roots.steps; len(fetched) != n || len(sent) != n || len(computed) != n || n < 4 {
		t.Fatalf("%d fetches, %d uploads, %d losses: want one in each of %d steps", len(fetched), len(sent), len(computed), n)
	}
	beside := 0
	for k := range fetched {
		if sent[k].Start < fetched[k].End || computed[k].Start < sent[k].End {
			t.Errorf("step %d: fetched until %v, uploaded from %v to %v, loss from %v", k, fetched[k].End, sent[k].Start, sent[k].End, computed[k].Start)
		}
		if k >= 2 && (fetched[k].Start < sent[k-2].End || sent[k].Start < computed[k-2].End) {
			t.Errorf("step %d: fetched from %v, uploaded from %v; its slot was sent until %v, its input read by %v", k, fetched[k].Start, sent[k].Start, sent[k-2].End, computed[k-2].End)
		}
		if k > 0 && fetched[k].Start < computed[k-1].Start {
			beside++
		}
	}
	if beside < len(fetched)/2 {
		t.Errorf("%d of %d fetches begin before the step before is computed", beside, len(fetched))
	}
}
