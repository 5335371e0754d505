package minibatch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/faulty"
	"capgnn/gpu/host"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/named"
	"capgnn/internal/trainer"
	"capgnn/minibatch/rowcache"
)

// unruly is a service whose answers come late and in any order; until then areas hold NaN.
type unruly struct {
	service
	rng *rand.Rand
	mu  sync.Mutex
	all sync.WaitGroup
}

func (u *unruly) ask(requests []request) []gpu.Event {
	events := make([]gpu.Event, len(requests))
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range requests {
		ruin(requests[i].area)
		e, one, turns := make(event), requests[i:i+1], u.rng.IntN(40)
		events[i] = e
		u.all.Go(func() {
			for range turns {
				runtime.Gosched()
			}
			<-u.service.ask(one)[0].Done()
			close(e)
		})
	}
	return events
}

// fed returns the parts of a run up to their feeds: nothing is computed.
func fed(t *testing.T, p *learn.Problem, o Options, d design) *Trainer {
	t.Helper()
	tr := newTrainerOf(p, o)
	tr.design, tr.Hub = d, meet.NewHub(t.Context(), time.Minute)
	for i, dev := range o.Devices {
		w := &worker{Worker: trainer.Worker{Index: i, At: i, Device: dev, Waits: meet.Waits{Hub: tr.Hub}}, stage: d.stageOf(p, &o, i)}
		w.stage.roots, w.stage.grown = tr.roots, func(string, gpu.Bytes, gpu.Bytes) {}
		w.feed = newFeed(i, o.Sampling.Prefetch+1, 1, w.stage.fill)
		if err := tr.fetcher(w); err != nil {
			t.Fatal(err)
		}
		tr.workers, tr.Crew.Workers = append(tr.workers, w), append(tr.Crew.Workers, &w.Worker)
	}
	return tr
}

// However late and in whatever order answers come, every step gets the rows of its vertices.
func TestAnswersInAnyOrder(t *testing.T) {
	const schedules = 1000
	p, m := task{vertices: 24}.make(t, named.SAGE)
	m.Layers = 2
	o := small(m, nil, homes(p.Vertices(), 3))
	for _, d := range devices(t, 3, host.Spec{}) {
		o.Devices = append(o.Devices, faulty.Wrap(d, faulty.Faults{})) // without queues of its own for rows
	}
	o.Epochs, o.Sampling.BatchSize, o.Sampling.Fanout, o.Sampling.Fetch = 2, 3, []int{3, 2}, policies[1]
	o.setDefaults()
	d, err := newDesign(t.Context(), p, &o, newRoots(p, &o))
	if err != nil {
		t.Fatal(err)
	}
	for k := range schedules {
		r := rand.New(rand.NewPCG(7, uint64(k)))
		o := o
		o.Sampling.Prefetch, o.Sampling.Fetch = 1+r.IntN(3), policies[1+k%(len(policies)-1)]
		d.slots, d.areas = slices.Repeat([]int{r.IntN(12)}, 3), slices.Repeat([]gpu.Bytes{gpu.Bytes(d.row * (1 + r.IntN(30)))}, 3)
		tr := fed(t, p, o, d)
		services := make([]*unruly, len(tr.workers))
		for i, w := range tr.workers {
			ruin(w.fetcher.cache.Bytes())
			services[i] = &unruly{service: w.fetcher.service, rng: rand.New(rand.NewPCG(8, uint64(k*9+i)))}
			w.fetcher.service = services[i]
		}
		if err := tr.sample(0); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for _, w := range tr.workers {
			all.Go(func() {
				for step := range o.Epochs * tr.roots.steps {
					s, _ := w.feed.take(tr.Hub, step)
					d := &s.units[0]
					rows := on(d.mem.Bytes(), d.layout.tables[0])
					for i, v := range d.ids() {
						if want := p.Features.Dense[int(v)*m.In:][:m.In]; !slices.Equal(rows[i*m.In:][:m.In], want) {
							t.Errorf("schedule %d, %+v: part %d, step %d: other row of vertex %d", k, o.Sampling, w.Index, step, v)
						}
					}
					ruin(d.mem.Bytes())
					s.release(nil)
				}
			})
		}
		all.Wait()
		for i, w := range tr.workers {
			services[i].all.Wait()
			if w.fetcher.lookahead != nil {
				w.fetcher.lookahead.close()
			}
			w.feed.close()
			w.fetcher.close()
		}
		if t.Failed() {
			return
		}
	}
}

// broken is a service that fails, or never answers.
type broken struct {
	service
	mu   sync.Mutex
	left int
	err  error // nil: no answer
}

func (b *broken) ask(requests []request) []gpu.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left--; b.left >= 0 {
		return b.service.ask(requests)
	}
	events := make([]gpu.Event, len(requests))
	for i := range events {
		if events[i] = make(event); b.err != nil {
			events[i] = fired{}
		}
	}
	return events
}

func (b *broken) fault() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left < 0 {
		return b.err
	}
	return nil
}

// A service that fails or never answers ends the run with one line that names it, and leaves nothing behind.
func TestServiceFails(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for _, c := range []struct {
		left int
		err  error
		want string
	}{
		{9, nil, "part 1 waited 2s for part 0: rows: device lost"},
		{0, fmt.Errorf("cable cut: %w", gpu.ErrDeviceLost), "epoch 0: part 1: fetch rows of other parts: cable cut: device lost"},
		{9, fmt.Errorf("cable cut: %w", gpu.ErrDeviceLost), "part 1: fetch rows of other parts: cable cut: device lost"},
	} {
		o := small(m, devices(t, 3, linked), homes(p.Vertices(), 3))
		o.Epochs, o.WaitDeadline, o.Sampling.Fetch, o.Sampling.RowCache = 50, 2*time.Second, rowcache.Rules{Kind: rowcache.Planned}, CacheSize{CacheRows, 5}
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		f := tr.workers[1].fetcher
		f.service = &broken{service: f.service, left: c.left, err: c.err}
		_, err = tr.Run(t.Context())
		if !errors.Is(err, gpu.ErrDeviceLost) || !strings.Contains(fmt.Sprint(err), c.want) || strings.Contains(fmt.Sprint(err), "\n") {
			t.Errorf("%+v: %v", c, err)
		}
		tr.Close()
		none(t, "broken service")
	}
}
