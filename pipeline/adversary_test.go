package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/faulty"
	"capgnn/gpu/host"
	"capgnn/gpu/sim"
	"capgnn/graph/synth"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// Adversarial schedules. Runs take place in a bubble of package synctest: a pause ends when nothing else can go on, so a
// queue that pauses before every operation is as late as it can be, whatever the machine does meanwhile, and waiting costs
// no time.

// setting is a run that schedules are tried on.
type setting struct {
	staleCase
	kind  named.Kind
	parts int
	sim   bool      // simulated devices with arithmetic, instead of CPU devices
	wide  bool      // gradients of later layers are summed up before those of the first are there
	piece gpu.Bytes // of copies
}

const settingEpochs = 9

func (s setting) String() string {
	devices := "host"
	if s.sim {
		devices = "sim"
	}
	if s.wide {
		devices += "/wide"
	}
	return fmt.Sprintf("%s/%v/%d parts/%s", s.kind, s.staleCase, s.parts, devices)
}

// settings returns n of them. Each 16 in a row have every bound with the pipeline on and off, as far as that goes, peer and staged;
// the rest is drawn. One in five is wide.
func settings(n int) []setting {
	r := rand.New(rand.NewPCG(6, 0))
	policies := []jaca.Policy{jaca.JACA, jaca.JACA, jaca.Paper, jaca.None}
	sizes := [][2]string{{"auto", "auto"}, {"30%", "40%"}, {"0", "50%"}, {"50%", "0"}, {"60%", "100%"}}
	var out []setting
	for k := range n {
		size := sizes[r.IntN(len(sizes))]
		s := setting{kind: named.Kinds[r.IntN(len(named.Kinds))], parts: 2 + r.IntN(3), sim: r.IntN(2) == 0, wide: k%5 == 4}
		s.staleCase = staleCase{policy: policies[r.IntN(len(policies))], local: size[0], global: size[1],
			staleness: []int{1, 2, 4, 8}[k/4%4], pipeline: k%2 == 1, peers: k/2%2 == 1, halo: halo.Encoding(r.IntN(3))}
		if k/16%2 == 1 {
			s.piece = 100 // some rows
		}
		out = append(out, s)
	}
	return out
}

// problem is small: what counts is the order of operations.
func (s setting) problem(t testing.TB) (*learn.Problem, named.Model) {
	t.Helper()
	const n = 90
	g, err := synth.Random(n, 3*n, s.parts == 3, 11)
	if err != nil {
		t.Fatal(err)
	}
	g = g.WithoutLoops()
	if s.kind.AddsLoops() {
		g = g.WithLoops()
	}
	r := rand.New(rand.NewPCG(3, 4))
	p := &learn.Problem{Graph: g, Classes: 3, Features: learn.Features{Cols: 8, Dense: make([]float32, 8*n)}}
	for i := range p.Features.Dense {
		p.Features.Dense[i] = float32(r.NormFloat64())
	}
	for range n {
		p.Train, p.Labels = append(p.Train, r.IntN(3) > 0), append(p.Labels, int32(r.IntN(3)))
	}
	m := named.Model{Kind: s.kind, Layers: 3, Hidden: 8, In: 8, Out: 3, Heads: 2, Alpha: 0.3, Theta: 0.7, Dropout: 0.3, AttentionDropout: attentionDropout(s.kind), Seed: 5}
	if s.wide { // four owners do not take a layer of so many weights together with others
		m.Hidden = 128
	}
	return p, m
}

// devices opens one device per part. Fresh memory of CPU devices is NaN.
func (s setting) devices(t testing.TB) []gpu.Device {
	t.Helper()
	clock := sim.NewClock()
	var out []gpu.Device
	for i := range s.parts {
		var d gpu.Device
		var err error
		if s.sim {
			c, e := sim.FindCard([]string{"rtx3090", "gtx1650"}[i%2])
			if e != nil {
				t.Fatal(e)
			}
			d, err = sim.Open(sim.Config{Name: fmt.Sprintf("sim:%d", i), Model: c.Model, Clock: clock, Rates: c.Rates(), Memory: 8 << 20,
				Threads: 1, Arithmetic: true, Peer: s.peers})
		} else {
			d, err = host.Open(host.Spec{Name: fmt.Sprintf("cpu:%d", i), Threads: 1, Memory: 8 << 20, Poison: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

// options are those of the run.
func (s setting) options(t testing.TB, o *Options) {
	o.Epochs, o.WaitDeadline = settingEpochs, 1000*time.Hour
	o.Cache = s.cache(t)
	o.Cache.NoPeer, o.Cache.Piece = !s.peers, s.piece
	o.Cache.Host = hostmem.LockOptions{Heap: true}
}

// outcome is what a run ends with.
type outcome struct {
	weights string
	loss    float64
	halo    jaca.Stats
	err     error
}

// run trains on devices that wrap returns for those of the setting, and closes them.
func (s setting) run(t testing.TB, p *learn.Problem, m named.Model, wrap func([]gpu.Device) []gpu.Device, edit func(*Trainer)) (out outcome) {
	t.Helper()
	devices := s.devices(t)
	if wrap != nil {
		devices = wrap(devices)
	}
	defer func() {
		for _, d := range devices {
			if err := d.Close(); err != nil && out.err == nil {
				out.err = err
			}
		}
	}()
	o := Options{
		Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}},
		Devices:  devices, Part: scatterParts(p.Vertices(), s.parts),
	}
	s.options(t, &o)
	tr, err := New(context.Background(), p, o)
	if err != nil {
		return outcome{err: err}
	}
	defer func() { out.err = errors.Join(out.err, tr.Close()) }()
	if edit != nil {
		edit(tr)
	}
	r, err := tr.Run(context.Background())
	if err != nil {
		return outcome{err: err}
	}
	return outcome{weights: r.WeightsSHA, loss: r.FinalLoss, halo: r.Halo}
}

// adversary makes queues late, by its seed: each pauses for up to 1 ms before some operations, and one to three of all
// queues for up to a second before every one. The latter are PCT's threads of low priority (Burckhardt et al., ASPLOS 2010):
// what does not wait for them goes ahead.
type adversary uint64

// queueNames are those of a worker.
var queueNames = []string{"compute", "local", "prefetch", "out", "reduce", "reduce 2", "gradients"}

// strongDelays is the number of queues that an adversary delays strongly, at most.
const strongDelays = 3

func (a adversary) wrap(devices []gpu.Device) []gpu.Device {
	r := rand.New(rand.NewPCG(uint64(a), 1))
	var out []gpu.Device
	share := []float64{0.02, 0.2, 0.5}[r.IntN(3)]
	for _, d := range devices {
		out = append(out, faulty.Wrap(d, faulty.Faults{Delays: faulty.Delays{Seed: uint64(a), Most: time.Millisecond, Share: share}}))
	}
	for k := range 1 + r.IntN(strongDelays) {
		late := r.IntN(len(out))
		queue := queueNames[r.IntN(len(queueNames))]
		out[late] = faulty.Wrap(out[late], faulty.Faults{Delays: faulty.Delays{Seed: uint64(a) + uint64(k), Queue: queue, Most: time.Second}})
	}
	return out
}

// against makes queues late so that a wait of the named queues matters: two schedules in three hold back all others of one device by up to a second, and
// leave these alone.
func (a adversary) against(devices []gpu.Device, prompt map[string]bool) []gpu.Device {
	if a%3 == 0 {
		return a.wrap(devices)
	}
	r := rand.New(rand.NewPCG(uint64(a), 2))
	out, late := slices.Clone(devices), r.IntN(len(devices))
	for k, queue := range queueNames {
		if !prompt[queue] {
			out[late] = faulty.Wrap(out[late], faulty.Faults{Delays: faulty.Delays{Seed: uint64(a) + uint64(k), Queue: queue, Most: time.Second}})
		}
	}
	return out
}

// No row is ever older than the bound, and none is of another epoch than the schedule says, whichever queue is late: the run
// has the bits and the counts of one in which none is.
func TestBoundUnderAdversarialSchedules(t *testing.T) {
	t.Parallel()
	const n = 16
	list, each := settings(7*n), 9
	first := 0
	switch {
	case testing.Short():
		each = 2
	case long.Wanted(): // by turns
		first = n * turn(t, 7)
	default:
		each = 3
	}
	schedules := 0
	for k := first; k < first+n; k++ {
		s := list[k]
		t.Run(s.String(), func(t *testing.T) {
			p, m := s.problem(t)
			want := s.run(t, p, m, nil, nil)
			if want.err != nil {
				t.Fatal(want.err)
			}
			if want.halo.AgeMax > s.staleness || s.staleness > 0 && want.halo.AgeMax < s.staleness && want.halo.Covered > 0 {
				t.Errorf("rows are up to %d epochs old, the bound is %d", want.halo.AgeMax, s.staleness)
			}
			for i := range each {
				a := adversary(k*each + i)
				synctest.Test(t, func(t *testing.T) {
					got := s.run(t, p, m, a.wrap, nil)
					if got != want {
						t.Errorf("schedule %d: %+v, undelayed %+v", a, got, want)
					}
				})
				schedules++
			}
		})
	}
	t.Logf("%d adversarial schedules of %d settings", schedules, n)
}
