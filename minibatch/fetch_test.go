package minibatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
)

// policies is every way to fetch rows.
var policies = []rowcache.Rules{{}, {Kind: rowcache.Planned}, {Kind: rowcache.Planned, Lookahead: 3},
	{Kind: rowcache.Planned, Lookahead: rowcache.All}, {Kind: rowcache.Rapid},
	{Kind: rowcache.Rapid, Pull: true}, {Kind: rowcache.Massive, Delta: 4, Share: 0.5, Gamma: 0.9}}

// linked is a device with a link that takes some time.
var linked = host.Spec{Latency: 10 * time.Microsecond, Link: 1 << 30}

// How rows of other parts come, how many are kept, how far is looked ahead, what is prefetched, threads and links
// change no bit.
func TestFetchChangesNoBit(t *testing.T) {
	for i, k := range []task{{}, {sparse: true}, {}, {}} {
		kind := []named.Kind{named.SAGE, named.GCN, named.GAT, named.GIN}[i]
		p, m := k.make(t, kind)
		o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
		if kind == named.SAGE {
			o.Sampling.Fanout[2] = sample.All
		}
		o.Epochs, o.Sampling.Place = 2, []Place{Batch, Home, Batch, Hop}[i]
		o.Sampling.NoMerge = i == 3
		want := trained(t, p, o)
		specs := [][]gpu.Device{devices(t, 3, linked), devices(t, 3, host.Spec{Threads: 2, Latency: 1}), o.Devices,
			remotes(t, 3, 0)}
		n := 0
		for _, rules := range policies {
			for _, size := range []CacheSize{{}, {CacheRows, 0}, {CacheShare, 0.01}, {CacheShare, 0.3},
				{CacheBytes, 2000}} {
				if n++; (testing.Short() || !long.Wanted()) && n%3 != i%3 {
					continue
				}
				o := o
				o.Devices = specs[n%4]
				o.Sampling.Fetch, o.Sampling.RowCache, o.Sampling.Prefetch, o.Sampling.Samplers = rules, size,
					1+2*(n%2), 1+n/2%2
				o.Sampling.NoGather = i == 3 && n/3%2 == 0
				got := trained(t, p, o)
				name := fmt.Sprintf("%s, %+v, %+v, %s", kind, rules, size,
					[]string{"links", "threads", "no links", "GPUs"}[n%4])
				if got.WeightsSHA != want.WeightsSHA || !o.Sampling.NoGather &&
					(got.Rows.Read != want.Rows.Read || got.Rows.Local != want.Rows.Local) {
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

// recounted returns what a run counts of rows, by a policy of its own over steps that are drawn anew.
func recounted(p *learn.Problem, tr *Trainer) (want Counts) {
	for part, w := range tr.workers {
		trace, epoch, now := away(p, tr, part), tr.roots.steps*w.fetcher.turns, 0
		world := worldOf(p, &tr.o, epoch, part)
		world.Ahead = func(step int) ([]graph.NodeID, bool) {
			// where a run that measures cannot know the next epoch's units
			searches := tr.o.Sampling.Merged != nil && now/epoch <= *tr.o.Sampling.Merged+1
			if step >= len(trace) || searches && step/epoch > now/epoch {
				return nil, false
			}
			return trace[step], true
		}
		policy := rowcache.New(tr.o.Sampling.Fetch, tr.design.slots[part], world)
		var d rowcache.Decision
		for step, ids := range trace {
			now = step
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
			for _, ids := range byHome {
				if len(ids) > 0 {
					want.Requests++
				}
				for _, v := range ids {
					want.Bytes.Rows += gpu.Bytes(w.stage.rowSize(v))
					want.Bytes.IDs += 4
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
	for i, place := range []Sampling{{}, {Place: Home}, {Place: Hop, Merged: &zero},
		{Place: Hop, NoMerge: true, NoGather: true}} {
		k := task{sparse: i%2 == 1}
		kind := []named.Kind{named.SAGE, named.GIN}[i%2]
		p, m := k.make(t, kind)
		list := devices(t, 3, linked)
		for n, rules := range policies {
			for _, area := range []gpu.Bytes{0, 300}[n%2:][:1] {
				o := small(m, list, homes(p.Vertices(), 3))
				o.Sampling.Place, o.Sampling.Merged, o.Sampling.NoMerge, o.Sampling.NoGather = place.Place,
					place.Merged, place.NoMerge, place.NoGather
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
				want.Rows.Read, want.Rows.Local, want.Bytes.Gradients, want.Bytes.Carried = r.Rows.Read,
					r.Rows.Read-want.Rows.Hit-want.Rows.Fetched, r.Bytes.Gradients, r.Bytes.Carried
				if r.Rows != want.Rows || r.Bytes != want.Bytes || r.Requests != want.Requests {
					t.Errorf("%s, %v, %+v: %+v %+v %d requests, want %+v %+v %d", kind, place.Place, rules, r.Rows,
						r.Bytes, r.Requests, want.Rows, want.Bytes, want.Requests)
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

// A device that copies rows from where they lie reads what was written for its steps: own rows, staged ones, and those
// of a cache with room for all.
func TestRowsAreReadWhereTheyLie(t *testing.T) {
	for i, rules := range policies {
		for _, kind := range kinds(t) {
			p, m := task{}.make(t, kind)
			o := small(m, devices(t, 3, linked), homes(p.Vertices(), 3))
			if kind == named.SAGE { // rows of two tables
				o.Sampling.Fanout[2] = sample.All
			}
			o.Sampling.Place = []Place{Batch, Home, Hop}[i%3]
			o.Sampling.NoMerge, o.Sampling.NoGather = i%3 == 2, i%3 == 2 && i%2 == 1
			want := trained(t, p, o).WeightsSHA
			o.Sampling.Fetch = rules
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			ruinAll(tr)
			r, err := tr.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range tr.workers {
				if g := &w.stage; !g.near || (g.whole != nil) != (rules.Kind == rowcache.Planned) ||
					g.gathers == (g.whole != nil) {
					t.Errorf("%s, %+v: own rows where they lie %t, others in the cache %t, staged %t", kind, rules,
						g.near, g.whole != nil, g.gathers)
				}
			}
			tr.Close()
			if r.WeightsSHA != want {
				t.Errorf("%s, %+v: other weights", kind, rules)
			}
		}
	}
}

// Blocks, own rows and kept rows cross no link: over one that is as slow as this, uploads would take seconds.
func TestOwnRowsCrossNoLink(t *testing.T) {
	const rate = 1 << 18
	p, m := task{}.make(t, named.SAGE)
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
			if crossing := time.Duration(u.H2D) * time.Second / rate; crossing < time.Second ||
				u.Time[gpu.PhaseTransfer] > crossing/2 {
				t.Errorf("%d parts: uploads of %d bytes took %v, over the link they take %v", parts, u.H2D,
					u.Time[gpu.PhaseTransfer], crossing)
			}
			if parts == 1 && u.Peer != 0 || (r.Bytes.Rows == 0) != (parts == 1) {
				t.Errorf("%d parts: %+v, %+v", parts, u, r.Bytes)
			}
		}
		tr.Close()
	}
}
