package minibatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/faulty"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
)

// policies is every way to fetch rows.
var policies = []rowcache.Rules{{}, {Kind: rowcache.Planned}, {Kind: rowcache.Planned, Lookahead: 3}, {Kind: rowcache.Planned, Lookahead: rowcache.All}, {Kind: rowcache.Rapid},
	{Kind: rowcache.Rapid, Pull: true}, {Kind: rowcache.Massive, Delta: 4, Share: 0.5, Gamma: 0.9}}

// linked is a device with a link that takes some time.
var linked = host.Spec{Latency: 10 * time.Microsecond, Link: 1 << 30}

// How rows of other parts come, how many are kept, how far is looked ahead, what is prefetched, threads and links change no bit.
func TestFetchChangesNoBit(t *testing.T) {
	for i, k := range []task{{}, {sparse: true}, {}, {}} {
		kind := []gnn.Kind{gnn.SAGE, gnn.GCN, gnn.GAT, gnn.GIN}[i]
		p, m := k.make(t, kind)
		o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
		if kind == gnn.SAGE {
			o.Sampling.Fanout[2] = sample.All
		}
		o.Epochs, o.Sampling.Place = 2, []Place{Batch, Home, Batch, Hop}[i]
		o.Sampling.NoMerge = i == 3
		want := trained(t, p, o)
		specs := [][]gpu.Device{devices(t, 3, linked), devices(t, 3, host.Spec{Threads: 2, Latency: 1}), o.Devices}
		n := 0
		for _, rules := range policies {
			for _, size := range []CacheSize{{}, {CacheRows, 0}, {CacheShare, 0.01}, {CacheShare, 0.3}, {CacheBytes, 2000}} {
				if n++; testing.Short() && n%3 != i%3 { // under the race detector
					continue
				}
				o := o
				o.Devices = specs[n%3]
				o.Sampling.Fetch, o.Sampling.RowCache, o.Sampling.Prefetch, o.Sampling.Samplers = rules, size, 1+2*(n%2), 1+n/2%2
				o.Sampling.NoGather = i == 3 && n/3%2 == 0
				got := trained(t, p, o)
				name := fmt.Sprintf("%s, %+v, %+v, %s", kind, rules, size, []string{"links", "threads", "no links"}[n%3])
				if got.WeightsSHA != want.WeightsSHA || !o.Sampling.NoGather && (got.Rows.Read != want.Rows.Read || got.Rows.Local != want.Rows.Local) {
					t.Errorf("%s: %s, %+v; want %s, %+v", name, got.WeightsSHA, got.Rows, want.WeightsSHA, want.Rows)
				}
			}
		}
	}
}

// away returns the rows of other parts that each turn of a part reads, drawn anew.
func away(p *learn.Problem, tr *Trainer, part int) (turns [][]graph.NodeID) {
	s, n := tr.design.sampler(p), tr.roots.units
	var st sample.Stack
	for unit := range tr.o.Epochs * tr.roots.steps * n {
		if tr.workers[part].fetcher.turns == n || unit%n == 0 {
			turns = append(turns, nil)
		}
		ids := &turns[len(turns)-1]
		s.Draw(&st, uint32(unit/n), tr.roots.of(unit/n, part, unit%n, nil))
		for _, v := range st.IDs {
			if int(tr.o.Part[v]) != part && !slices.Contains(*ids, v) {
				*ids = append(*ids, v)
			}
		}
	}
	return turns
}

// recounted returns what a run counts of rows, by a policy of its own over steps that are drawn anew, and by parts that ask in as many rounds as their areas make it.
func recounted(p *learn.Problem, tr *Trainer) (want Counts) {
	for part, w := range tr.workers {
		trace := away(p, tr, part)
		world := worldOf(p, &tr.o, tr.roots.steps*w.fetcher.turns, part)
		world.Ahead = func(step int) ([]graph.NodeID, bool) {
			if step >= len(trace) {
				return nil, false
			}
			return trace[step], true
		}
		policy := rowcache.New(tr.o.Sampling.Fetch, tr.design.slots[part], world)
		var d rowcache.Decision
		for step, ids := range trace {
			policy.Decide(rowcache.Step{Number: step, Rows: ids}, &d)
			want.Rows.Evicted += int64(d.Evicted)
			for _, from := range d.From {
				if from >= 0 {
					want.Rows.Hit++
				} else {
					want.Rows.Fetched++
				}
			}
			byHome := make([][]graph.NodeID, len(tr.workers))
			for _, f := range d.Fetch {
				if f.Row < 0 {
					want.Rows.Prefilled++
				}
				byHome[tr.o.Part[f.ID]] = append(byHome[tr.o.Part[f.ID]], f.ID)
			}
			left, asked := int(tr.design.areas[part]), -1
			for home, ids := range byHome {
				for _, v := range ids {
					size := w.stage.rowSize(v)
					want.Bytes.Rows += gpu.Bytes(size)
					want.Bytes.IDs += 4
					if left -= size; left < 0 {
						left, asked = int(tr.design.areas[part])-size, -1
					}
					if asked != home {
						asked = home
						want.Requests++
					}
				}
			}
		}
	}
	return want
}

// Rows, requests and bytes by counter are those of a recount of the blocks, and what crossed links is what was counted.
func TestFetchedRowsAreCounted(t *testing.T) {
	seen := Rows{}
	zero := 0
	for i, place := range []Sampling{{}, {Place: Home}, {Place: Hop, Merged: &zero}, {Place: Hop, NoMerge: true, NoGather: true}} {
		k := task{sparse: i%2 == 1}
		kind := []gnn.Kind{gnn.SAGE, gnn.GIN}[i%2]
		p, m := k.make(t, kind)
		list := devices(t, 3, linked)
		for n, rules := range policies {
			for _, area := range []gpu.Bytes{0, 300}[n%2:][:1] {
				o := small(m, list, homes(p.Vertices(), 3))
				o.Sampling.Place, o.Sampling.Merged, o.Sampling.NoMerge, o.Sampling.NoGather = place.Place, place.Merged, place.NoMerge, place.NoGather
				o.Sampling.Fetch, o.Sampling.RowCache = rules, CacheSize{CacheShare, 0.4}
				tr, err := New(t.Context(), p, o)
				if err != nil {
					t.Fatal(err)
				}
				for part, w := range tr.workers {
					if area == 0 {
						break
					}
					tr.design.areas[part] = area
					for _, s := range w.feed.slots {
						for k := range s.turns {
							s.turns[k].area = areaOf(t, w.fetcher, area)
						}
					}
				}
				want := recounted(p, tr)
				r, err := tr.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				var peer gpu.Bytes
				for _, w := range tr.workers {
					peer += w.rows.Usage().Peer
				}
				tr.Close()
				want.Rows.Read, want.Rows.Local, want.Bytes.Gradients, want.Bytes.Carried = r.Rows.Read, r.Rows.Read-want.Rows.Hit-want.Rows.Fetched, r.Bytes.Gradients, r.Bytes.Carried
				if r.Rows != want.Rows || r.Bytes != want.Bytes || r.Requests != want.Requests {
					t.Errorf("%s, %v, %+v: %+v %+v %d requests, want %+v %+v %d", kind, place.Place, rules, r.Rows, r.Bytes, r.Requests, want.Rows, want.Bytes, want.Requests)
				}
				if peer != r.Bytes.Rows+r.Bytes.IDs {
					t.Errorf("%s, %+v: %d bytes of rows crossed links, %+v were counted", kind, rules, peer, r.Bytes)
				}
				c := Counts{Rows: seen}
				c.Add(&r.Counts)
				seen = c.Rows
			}
		}
	}
	if seen.Hit == 0 || seen.Evicted == 0 || seen.Prefilled == 0 {
		t.Errorf("not everything happened: %+v", seen)
	}
}

func areaOf(t *testing.T, f *fetcher, n gpu.Bytes) *hostmem.Block {
	t.Helper()
	mem, err := f.arena.Alloc(int64(n), "area")
	if err != nil {
		t.Fatal(err)
	}
	return mem
}

// ruin writes NaN everywhere.
func ruin(mem []byte) {
	for i, all := 0, hostmem.Of[uint32](mem[:len(mem)/4*4]); i < len(all); i++ {
		all[i] = math.Float32bits(float32(math.NaN()))
	}
}

// ruinAll fills caches, areas and slots of a run that has not begun.
func ruinAll(tr *Trainer) {
	for _, w := range tr.workers {
		ruin(w.fetcher.cache.Bytes())
		for _, s := range w.feed.slots {
			for u := range s.units {
				ruin(s.units[u].mem.Bytes())
			}
			for k := range s.turns {
				ruin(s.turns[k].area.Bytes())
			}
		}
	}
}

// What is read of caches and areas was written there before, and a slot is not written before it was read: of trainers that do otherwise the weights are others.
func TestCachesAreReadBehindWrites(t *testing.T) {
	for name, mutate := range map[string]func(f *fetcher, step int, x *fetching) error{
		"none": nil,
		"slots are written a step early": func(f *fetcher, _ int, x *fetching) error {
			if x.to < len(x.order) {
				return errors.New("not in one round")
			}
			if err := f.await(x); err != nil {
				return err
			}
			for k := range x.order {
				if r := x.fetched(k); r.Slot >= 0 {
					f.g.packRow(f.slot(r.Slot), r.ID)
				}
			}
			return nil
		},
		"nobody answers": func(f *fetcher, _ int, x *fetching) error {
			if err := f.await(x); err != nil {
				return err
			}
			ruin(x.area.Bytes())
			return nil
		},
		"nothing is kept": func(f *fetcher, step int, _ *fetching) error {
			if step == 3 {
				ruin(f.cache.Bytes())
			}
			return nil
		},
	} {
		for _, rules := range []rowcache.Rules{{Kind: rowcache.Planned}, {Kind: rowcache.Planned, Lookahead: 2}} {
			p, m := task{}.make(t, gnn.SAGE)
			o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
			want := trained(t, p, o).WeightsSHA
			o.Sampling.Fetch, o.Sampling.RowCache = rules, CacheSize{CacheRows, 20}
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			ruinAll(tr)
			for _, w := range tr.workers {
				if collect := w.feed.then[1]; mutate != nil {
					w.feed.then[1] = func(s *slot) error {
						if err := mutate(w.fetcher, s.step, &s.turns[0]); err != nil {
							return err
						}
						return collect(s)
					}
				}
			}
			r, err := tr.Run(t.Context())
			tr.Close()
			if diverged := new(Diverged); err != nil && !errors.As(err, &diverged) {
				t.Fatal(err)
			}
			if equal := err == nil && r.WeightsSHA == want; equal != (mutate == nil) {
				t.Errorf("%s, %v: equal weights: %t", name, rules.Kind, equal)
			}
		}
	}
}

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

// event fires when it is closed.
type event chan struct{}

func (e event) Done() <-chan struct{} { return e }

// fed returns the parts of a run up to their feeds: nothing is computed.
func fed(t *testing.T, p *learn.Problem, o Options, d design) *Trainer {
	t.Helper()
	tr := &Trainer{p: p, o: o, roots: newRoots(p, &o), design: d, hub: meet.NewHub(t.Context(), time.Minute), cancel: func(error) {}}
	tr.state.Merging = tr.roots.merging
	for i, dev := range o.Devices {
		w := &worker{index: i, dev: dev, stage: d.stageOf(p, &o, i)}
		w.stage.roots, w.stage.grown = tr.roots, func(string, gpu.Bytes, gpu.Bytes) {}
		w.feed = newFeed(i, o.Sampling.Prefetch+1, 1, w.stage.fill)
		if err := (placer{tr}).fetcher(w); err != nil {
			t.Fatal(err)
		}
		tr.workers = append(tr.workers, w)
	}
	return tr
}

// However late and in whatever order answers come, every step gets the rows of its vertices.
func TestAnswersInAnyOrder(t *testing.T) {
	const schedules = 1000
	p, m := task{vertices: 24}.make(t, gnn.SAGE)
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
					s, _ := w.feed.take(tr.hub, step)
					d := &s.units[0]
					rows := d.layout.tables[0].on(d.mem.Bytes())
					for i, v := range d.ids() {
						if want := p.Features.Dense[int(v)*m.In:][:m.In]; !slices.Equal(rows[i*m.In:][:m.In], want) {
							t.Errorf("schedule %d, %+v: part %d, step %d: other row of vertex %d", k, o.Sampling, w.index, step, v)
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
			if w.fetcher.scout != nil {
				w.fetcher.scout.close()
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
	p, m := task{}.make(t, gnn.SAGE)
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

// A run with caches that is interrupted anywhere and resumed ends in the bits and counts of one that is not: what fills caches again is counted apart.
func TestCachesAreResumed(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n, rules := range policies[1:] {
		if testing.Short() && n%2 != 0 { // under the race detector
			continue
		}
		p, m := task{sparse: rules.Kind == rowcache.Rapid}.make(t, gnn.SAGE)
		o := small(m, devices(t, 3, linked), homes(p.Vertices(), 3))
		o.Epochs, o.Sampling.BatchSize, o.Sampling.Fetch, o.Sampling.RowCache = 8, 12, rules, CacheSize{CacheShare, 0.3}
		want := trained(t, p, o)
		steps := want.Steps
		o.CheckpointDir, o.Resume, o.Identity, o.CheckpointSteps = t.TempDir(), true, "id", 5
		stops := 0
		for at := 0; ; stops++ {
			at += 1 + r.IntN(steps/3)
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			ruinAll(tr)
			ctx, cancel := context.WithCancel(t.Context())
			tr.o.OnStep = func(p Progress) {
				if p.Epoch*p.Steps+p.Step >= at {
					cancel()
				}
			}
			got, err := tr.Run(ctx)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			at = max(at, tr.state.Epochs*tr.roots.steps+tr.state.Batch)
			tr.Close()
			if got.Stopped == fit.Interrupted {
				continue
			}
			if stops < 2 || got.WeightsSHA != want.WeightsSHA || got.Rows != want.Rows || got.Bytes != want.Bytes || got.Requests != want.Requests || got.Refilled == 0 {
				t.Errorf("%+v: stopped %d times: %s %+v %+v %d requests, %d refilled; want %s %+v %+v %d", rules, stops, got.WeightsSHA, got.Rows, got.Bytes, got.Requests, got.Refilled,
					want.WeightsSHA, want.Rows, want.Bytes, want.Requests)
			}
			break
		}
	}
}

// Plan names what caches and areas take: as much as a run has of them.
func TestPlanNamesCaches(t *testing.T) {
	p, m := task{vertices: 2000}.make(t, gnn.SAGE)
	o := small(m, devices(t, 3, linked), homes(p.Vertices(), 3))
	for _, rules := range policies {
		o.Sampling.Fetch, o.Sampling.RowCache = rules, CacheSize{CacheRows, 900}
		plan, err := Plan(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		bound := gpu.Bytes(0)
		for _, u := range plan.Host {
			if u.Name == "rows of other parts, on their way" || u.Name == "row caches" {
				bound += u.Bound
			}
		}
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		taken := gpu.Bytes(0)
		for _, w := range tr.workers {
			taken += gpu.Bytes(w.fetcher.arena.Usage().Used)
		}
		tr.Close()
		if taken > bound || float64(taken) < 0.8*float64(bound) {
			t.Errorf("%+v: %d bytes are taken, the bound is %d", rules, taken, bound)
		}
	}
}

// Blocks, own rows and kept rows cross no link: over one that is as slow as this, uploads would take seconds.
func TestOwnRowsCrossNoLink(t *testing.T) {
	const rate = 1 << 18
	p, m := task{}.make(t, gnn.SAGE)
	for _, parts := range []int{1, 2} {
		o := small(m, devices(t, parts, host.Spec{Link: rate}), homes(p.Vertices(), parts))
		o.Sampling.Fetch, o.EvalEvery = rowcache.Rules{Kind: rowcache.Planned}, 1000
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := tr.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range tr.workers {
			u := w.prefetch.Usage()
			if crossing := time.Duration(u.H2D) * time.Second / rate; crossing < time.Second || u.Time[gpu.PhaseTransfer] > crossing/2 {
				t.Errorf("%d parts: uploads of %d bytes took %v, over the link they take %v", parts, u.H2D, u.Time[gpu.PhaseTransfer], crossing)
			}
			if parts == 1 && u.Peer != 0 || (r.Bytes.Rows == 0) != (parts == 1) {
				t.Errorf("%d parts: %+v, %+v", parts, u, r.Bytes)
			}
		}
		tr.Close()
	}
}
