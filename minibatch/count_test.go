package minibatch

import (
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
)

// partsOf returns homes of n vertices.
func partsOf(n, parts int) []int32 {
	out := make([]int32, n)
	for v := range out {
		out[v] = int32(v * 7 % 11 % parts)
	}
	return out
}

// readAgain is what Count counts, with maps: rows fetched on demand, and rows that are fetched once by each part, in two epochs.
func readAgain(p *learn.Problem, o *Options, rules sample.Rules, parts int) (c Counts, once int64) {
	hop := *o
	hop.Sampling.Place = Batch // models take their roots in the order of the batch
	for part := range parts {
		r, s, ever := newRoots(p, o), sample.New(sample.Topology{Graph: p.Graph, Loops: p.Loops}, rules), map[int32]bool{}
		if o.Sampling.Place == Hop {
			r = newRoots(p, &hop)
		}
		asked, read := map[int32]bool{}, map[int32]bool{}
		ask := func(step int, roots []graph.NodeID) {
			var st sample.Stack
			s.Draw(&st, uint32(step), roots)
			for _, v := range st.IDs {
				read[v] = true
			}
		}
		send := func() {
			for v := range read {
				c.Rows.Read++
				if home := o.Part[v]; int(home) != part {
					asked[home], ever[v] = true, true
					c.Rows.Fetched++
				}
			}
			c.Requests += int64(len(asked))
			clear(asked)
			clear(read)
		}
		for step := range 2 * r.steps {
			if o.Sampling.Place != Hop {
				ask(step, r.of(step, part, 0, nil))
				send()
				continue
			}
			for model := range parts {
				var own []graph.NodeID
				for _, v := range r.of(step, model, 0, nil) {
					if int(o.Part[v]) == part {
						own = append(own, v)
					}
				}
				if ask(step, own); o.Sampling.NoGather {
					send()
				}
			}
			send()
		}
		once += int64(len(ever))
	}
	return c, once
}

// Counts are those of a recount of the samples.
func TestTraceCountsWhatStepsRead(t *testing.T) {
	const parts = 3
	for _, fanout := range [][]int{{3, 4}, {3, sample.All}} {
		for _, kind := range []named.Kind{named.SAGE, named.GCN} {
			p, m := task{vertices: 400}.make(t, kind)
			m.Layers = 2
			for _, s := range []Sampling{{}, {Local: true}, {Place: Home}, {Place: Hop}, {Place: Hop, NoGather: true}, {Ladies: true}, {Ladies: true, Place: Hop}} {
				s.BatchSize, s.Fanout = 40, fanout
				o := Options{Training: Training{Model: netOf(m)}, Sampling: s, Part: partsOf(p.Vertices(), parts)}
				tr := NewTrace(p, o, parts)
				all := Way{rowcache.Rules{Kind: rowcache.Planned, Lookahead: rowcache.All}, []int{400, 400, 400}}
				got, err := tr.Count(t.Context(), 2, []Way{{Slots: make([]int, parts)}, all})
				if err != nil {
					t.Fatal(err)
				}
				want, once := readAgain(p, tr.o, tr.rules, parts)
				demand, kept := got[0][0], got[1][0]
				demand.Add(&got[0][1])
				kept.Add(&got[1][1])
				if r := demand.Rows; r.Fetched != want.Rows.Fetched || r.Read != want.Rows.Read || r.Read != r.Local+r.Fetched || demand.Requests != want.Requests {
					t.Errorf("%+v: demand counts %+v and %d requests, want %+v and %d", s, r, demand.Requests, want.Rows, want.Requests)
				}
				if r := kept.Rows; r.Fetched != once || r.Hit+r.Fetched != want.Rows.Fetched || r.Prefilled+r.Evicted != 0 {
					t.Errorf("%+v: with room for all %+v, want %d rows, each once", s, r, once)
				}
				if b, n := demand.Bytes, gpu.Bytes(demand.Rows.Fetched); b.IDs != 4*n || b.Rows != tr.row*n || tr.row == 0 {
					t.Errorf("%+v: bytes %+v of %d rows", s, b, n)
				}
			}
		}
	}
}

// The cache that is chosen fetches few rows, and the next smaller one too many.
func TestTraceSmallest(t *testing.T) {
	p, m := task{vertices: 600}.make(t, named.SAGE)
	m.Layers = 2
	tr := NewTrace(p, Options{
		Training: Training{Model: netOf(m)},
		Sampling: Sampling{BatchSize: 20, Fanout: []int{3, 4}, Place: Home}, Part: partsOf(p.Vertices(), 3),
	}, 3)
	rules := rowcache.Rules{Kind: rowcache.Planned}
	g, err := tr.Smallest(t.Context(), rules)
	if err != nil {
		t.Fatal(err)
	}
	distinct, err := tr.Distinct(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := slices.Index(shares, g.Share)
	if k < 1 || !slices.Equal(g.Slots, slotsOf(distinct, g.Share)) {
		t.Fatalf("%+v of %v distinct rows", g, distinct)
	}
	less, err := tr.Count(t.Context(), 1, []Way{{rules, slotsOf(distinct, shares[k-1])}})
	if err != nil {
		t.Fatal(err)
	}
	best, got, smaller := g.Best.Rows.Brought(), g.Counts.Rows.Brought(), less[0][0].Rows.Brought()
	if best > got || float64(got) > Nearly*float64(best) || float64(smaller) <= Nearly*float64(best) || g.Demand.Rows.Fetched <= got {
		t.Errorf("%v of the rows: %d fetched; %d with %v, %d at best, %d without", g.Share, got, smaller, shares[k-1], best, g.Demand.Rows.Fetched)
	}
}

// Counts are those of a run that trains: for every way to fetch rows, and wherever roots are computed. Requests apart, of which a run may have more: areas have a size.
func TestTraceCountsWhatARunCounts(t *testing.T) {
	const parts, slots = 3, 40
	p, m := task{}.make(t, named.SAGE)
	for _, s := range []Sampling{{Place: Home}, {Local: true}, {Place: Hop, NoMerge: true, NoGather: true}} {
		for _, rules := range policies {
			o := small(m, devices(t, parts, host.Spec{}), homes(p.Vertices(), parts))
			s.BatchSize, s.Fanout = o.Sampling.BatchSize, o.Sampling.Fanout
			o.Sampling, o.Epochs = s, 2
			o.Sampling.Fetch, o.Sampling.RowCache = rules, CacheSize{CacheRows, slots}
			want := trained(t, p, o).Counts
			counts, err := NewTrace(p, o, parts).Count(t.Context(), o.Epochs, []Way{{rules, slices.Repeat([]int{slots}, parts)}})
			if err != nil {
				t.Fatal(err)
			}
			got := counts[0][0]
			got.Add(&counts[0][1])
			if got.Rows != want.Rows || got.Edges != want.Edges || got.Roots != want.Roots || got.Bytes.Rows != want.Bytes.Rows || got.Bytes.IDs != want.Bytes.IDs {
				t.Errorf("%+v, %+v: %+v and %+v, the run counts %+v and %+v", s, rules, got.Rows, got.Bytes, want.Rows, want.Bytes)
			}
		}
	}
}
