package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/internal/trainer"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// testRank is a process of several that live in one.
type testRank struct {
	noRows
	rank     int
	up, down []chan testRecord // by rank
}

type testRecord struct {
	tag uint32
	b   []byte
}

func testRanks(n int) (all []*testRank) {
	up, down := make([]chan testRecord, n), make([]chan testRecord, n)
	for r := range n {
		up[r], down[r] = make(chan testRecord, 1), make(chan testRecord, 1)
	}
	for r := range n {
		all = append(all, &testRank{noRows{}, r, up, down})
	}
	return all
}

// noRows is the part of a Ranks that carries rows and gradients, of ranks that have none.
type noRows struct{}

func (noRows) Announce(context.Context, []cluster.Area) error           { panic("areas") }
func (noRows) Send(int, uint32, uint32, int, []byte, func(error))       { panic("rows") }
func (noRows) Expect(int, uint32, []byte, func(message uint32, hi int)) { panic("rows") }
func (noRows) Done() <-chan struct{}                                    { panic("rows") }
func (noRows) Err() error                                               { panic("rows") }
func (noRows) SetEpoch(uint32)                                          { panic("rows") }
func (noRows) Received(int) (rows, frames int64)                        { panic("rows") }
func (noRows) Taken(from int, area, message uint32)                     { panic("rows") }

func (r *testRank) Rank() int  { return r.rank }
func (r *testRank) Ranks() int { return len(r.up) }

func takeRecord(ctx context.Context, from chan testRecord, tag uint32) ([]byte, error) {
	select {
	case r := <-from:
		if r.tag != tag {
			return nil, fmt.Errorf("record %d, want %d", r.tag, tag)
		}
		return r.b, nil
	case <-time.After(time.Minute):
		return nil, errors.New("no record")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (r *testRank) Gather(ctx context.Context, tag uint32, b []byte) (all [][]byte, err error) {
	r.up[r.rank] <- testRecord{tag, bytes.Clone(b)}
	for k := 0; r.rank == 0 && k < len(r.up) && err == nil; k++ {
		b, err = takeRecord(ctx, r.up[k], tag)
		all = append(all, b)
	}
	return all, err
}

func (r *testRank) Broadcast(ctx context.Context, tag uint32, b []byte) ([]byte, error) {
	for k := 0; r.rank == 0 && k < len(r.down); k++ {
		r.down[k] <- testRecord{tag, bytes.Clone(b)}
	}
	return takeRecord(ctx, r.down[r.rank], tag)
}

// onRanks returns the trainers of a run whose parts are grouped so, made side by side, or the error of each.
func onRanks(t *testing.T, groups []graph.Range, make func(own graph.Range, r Ranks) (*Trainer, error)) ([]*Trainer, []error) {
	t.Helper()
	ranks, trainers, errs, done := testRanks(len(groups)), slices.Repeat([]*Trainer{nil}, len(groups)), slices.Repeat([]error{nil}, len(groups)), [](chan bool){}
	for k, own := range groups {
		end := newEnd()
		done = append(done, end)
		go func() {
			trainers[k], errs[k] = make(own, ranks[k])
			close(end)
		}()
	}
	for _, end := range done {
		<-end
	}
	for _, tr := range trainers {
		if tr != nil {
			closeAfter(t, tr)
		}
	}
	return trainers, errs
}

func newEnd() chan bool { return make(chan bool) }

// However parts are grouped into processes, all of them plan alike: caches have the same sizes, and the same rows cross between ranks. Where no row has a slot every part takes
// what it takes in one process, name by name; what it packs differs, as rows that several parts of another rank read are packed once. Slots are those of a rank's own
// parts, and of the gradient's owners the last one has the optimiser's state.
func TestRanksPlanAlike(t *testing.T) {
	const parts = 4
	none := hostmem.LockOptions{Heap: true}
	for _, kind := range []named.Kind{named.GCN, named.GAT} {
		for name, edit := range map[string]func(p *learn.Problem, o *Options){
			"none":   func(*learn.Problem, *Options) {},
			"jaca":   func(_ *learn.Problem, o *Options) { o.Cache = halo.Options{Policy: jaca.JACA} },
			"pruned": func(p *learn.Problem, o *Options) { o.Dropped = dropReplicas(p.Graph, o.Part, parts, 0.5) },
			"int8": func(_ *learn.Problem, o *Options) {
				o.Cache = halo.Options{Policy: jaca.Paper, HaloType: halo.Int8, Global: jaca.Percent(30)}
			},
			"stale": func(_ *learn.Problem, o *Options) {
				o.Cache = halo.Options{Policy: jaca.JACA, Staleness: 3, Local: jaca.Percent(40), Global: jaca.Percent(20)}
			},
			"lagging": func(_ *learn.Problem, o *Options) {
				o.Cache = halo.Options{Policy: jaca.JACA, Staleness: 2, Pipeline: true}
			},
			"unequal": func(_ *learn.Problem, o *Options) {
				o.Cache = halo.Options{Policy: jaca.JACA, Links: jaca.Links{H2D: []float64{1, 2, 1, 3}, D2H: []float64{2, 1, 1, 4}}, Local: jaca.Percent(30), Global: jaca.Percent(40)}
			},
		} {
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				p, m := task{share: 0.6}.make(t, kind)
				place := func(own graph.Range, r Ranks) (*Trainer, error) {
					o := Options{
						Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01},
							Epochs: 9, Ranks: r},
						First: own.Lo, Parts: parts, Part: scatterParts(p.Vertices(), parts),
					}
					edit(p, &o)
					o.Cache.NoPeer, o.Cache.Host = true, none
					if l := &o.Cache.Links; l.H2D != nil {
						l.H2D, l.D2H = l.H2D[own.Lo:own.Hi], l.D2H[own.Lo:own.Hi]
					}
					for part := own.Lo; part < own.Hi; part++ { // of unequal memory
						o.Devices = append(o.Devices, ledgers(part + 1)[part])
					}
					return New(t.Context(), p, o)
				}
				whole, err := place(graph.Range{Lo: 0, Hi: parts}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer whole.Close()
				for _, groups := range [][]graph.Range{{{Lo: 0, Hi: 2}, {Lo: 2, Hi: 4}}, {{Lo: 0, Hi: 1}, {Lo: 1, Hi: 4}}, {{Lo: 0, Hi: 1}, {Lo: 1, Hi: 2}, {Lo: 2, Hi: 3}, {Lo: 3, Hi: 4}}} {
					trainers, errs := onRanks(t, groups, place)
					if err := errors.Join(errs...); err != nil {
						t.Fatal(err)
					}
					for k, tr := range trainers {
						if got, want := tr.halo.Areas(), trainers[0].halo.Areas(); !slices.Equal(got, want) || len(got) == 0 {
							t.Errorf("parts %v: rows cross in %v, rank 0 says %v", groups[k], got, want)
						}
						if c := tr.Caches(); c != nil {
							checkSlots(t, c, trainers[0].Caches(), groups[k])
						}
						for part := groups[k].Lo; part < groups[k].Hi; part++ {
							if got, want := takenAlike(tr, part), takenAlike(whole, part); tr.Caches() == nil && !slices.Equal(got, want) {
								t.Errorf("parts %v, part %d: takes\n%s\nin a run of one process\n%s", groups[k], part, strings.Join(got, "\n"), strings.Join(want, "\n"))
							}
						}
						if got, want := holds(tr, "first moments"), k == len(groups)-1; got != want {
							t.Errorf("parts %v: has the optimiser's state: %t", groups[k], got)
						}
					}
				}
			})
		}
	}
}

// checkSlots fails the test if caches of a rank have other sizes than those of rank 0, or slots for parts of others.
func checkSlots(t *testing.T, c, first *jaca.Plan, own graph.Range) {
	t.Helper()
	if got, want := fmt.Sprint(c.Capacities), fmt.Sprint(first.Capacities); got != want {
		t.Errorf("parts %v: caches of %s, at rank 0 %s", own, got, want)
	}
	for _, table := range c.Tables {
		for i := range table.Readers {
			r := &table.Readers[i]
			if n := len(r.Local) + len(r.Transient); (n > 0) != own.Has(i) {
				t.Errorf("parts %v: part %d reads %d rows", own, i, n)
			}
		}
	}
}

// takenAlike lists what a part takes whatever the ranks: all but what it packs, where rows cross between ranks.
func takenAlike(tr *Trainer, part int) []string {
	return slices.DeleteFunc(takenBy(tr.worker(part).Device), func(s string) bool { return strings.HasPrefix(s, "halo send ") })
}

// holds reports whether a part of the process has memory of that name.
func holds(tr *Trainer, name string) bool {
	return slices.ContainsFunc(tr.workers, func(w *worker) bool {
		return slices.ContainsFunc(w.Device.(*ledger.Device).Entries(), func(e ledger.Entry) bool { return e.Name == name })
	})
}

// A rank whose records are not of its parts ends the start with a line.
func TestRanksThatLie(t *testing.T) {
	p, m := task{share: 0.6}.make(t, named.GCN)
	place := func(own graph.Range, r Ranks) (*Trainer, error) {
		o := Options{
			Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}, Ranks: r},
			First:    own.Lo, Parts: 3, Part: scatterParts(p.Vertices(), 3), Devices: ledgers(own.Hi - own.Lo), Cache: halo.Options{Policy: jaca.JACA},
		}
		return New(t.Context(), p, o)
	}
	for _, c := range []struct {
		says string
		want string
	}{
		{`[{}]`, "ranks have records of 2 parts, the run has 3"},
		{`[{},{},{}]`, "ranks have records of 4 parts, the run has 3"},
		{`{}`, "read records of rank 1: json: cannot unmarshal object into Go value of type []json.RawMessage"},
		{`[{},{"Device":"x"}]`, "read records of rank 0: json: cannot unmarshal string into Go struct field Facts.Device of type int"},
		{``, "read records of rank 1: unexpected end of JSON input"},
	} {
		ranks := testRanks(2)
		go ranks[1].Gather(t.Context(), trainer.TagFacts, []byte(c.says))
		if _, err := place(graph.Range{Lo: 0, Hi: 1}, ranks[0]); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", c.says, err)
		}
	}
}

// Where memory leaves no slot to rows that age, all processes place an exact run, as one with all parts does.
func TestRanksLackMemoryAlike(t *testing.T) {
	const parts = 3
	p, m := task{share: 0.6}.make(t, named.SAGE)
	place := func(own graph.Range, r Ranks) (*Trainer, error) {
		o := Options{
			Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.SGD, LR: 0.01}, Epochs: 9, Ranks: r},
			First:    own.Lo, Parts: parts, Part: scatterParts(p.Vertices(), parts), Devices: ledgers(parts)[own.Lo:own.Hi],
		}
		o.Cache = halo.Options{Policy: jaca.JACA, Staleness: 2, NoPeer: true, ReserveDevice: math.MaxInt64, ReserveHost: 1 << 60}
		return New(t.Context(), p, o)
	}
	trainers, errs := onRanks(t, []graph.Range{{Lo: 0, Hi: 1}, {Lo: 1, Hi: 3}}, place)
	for k, tr := range trainers {
		if errs[k] != nil || !tr.Replaced() || tr.Ages() {
			t.Errorf("rank %d: %v", k, errs[k])
		}
	}
}

// A process that has no memory to build a run whose rows age makes all others build it anew; another error is its own.
func TestRanksAgree(t *testing.T) {
	full, broken := &gpu.OutOfMemory{Device: "cpu:1", Name: "features", Need: 9, Have: 8}, errors.New("broken")
	for _, c := range []struct {
		bound int
		err   error
		other error
	}{{0, nil, nil}, {2, nil, nil}, {2, full, halo.ErrNoSlots}, {0, full, nil}, {2, broken, nil}} {
		errs := eachRank([]graph.Range{{Lo: 0, Hi: 2}, {Lo: 2, Hi: 3}, {Lo: 3, Hi: 4}}, 4, func(tr *Trainer, own graph.Range) error {
			tr.o.Cache.Staleness, tr.halo = c.bound, new(halo.Plan)
			tr.workers = make([]*worker, own.Hi-own.Lo)
			mine, want := error(nil), c.other
			if own.Lo == 2 {
				mine, want = c.err, c.err
			}
			got := tr.agree(mine)
			if !errors.Is(got, want) || tr.lacksMemoryToAge(got) != (c.other != nil) {
				return fmt.Errorf("parts %v, %+v: %w", own, c, got)
			}
			return nil
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}
}

// A run whose records travel has the bits and the counts of one whose records do not: losses, scores, an end by patience. One that diverges says the same.
func TestRecordsTravel(t *testing.T) {
	const parts = 3
	happens := map[string]string{"exact": "patience", "diverges": "it began in the output of layer 0 (part"}
	for name, edit := range map[string]func(o *Options){
		"exact":    func(o *Options) { o.Patience = 1 },
		"pipeline": func(o *Options) { o.Cache.Staleness, o.Cache.Pipeline = 2, true },
		"diverges": func(*Options) {},
	} {
		t.Run(name, func(t *testing.T) {
			p, m := task{share: 0.5, multi: name == "exact"}.make(t, named.SAGE)
			train := func(r Ranks) string {
				var said []string
				tr := newTrainer(t, p, m, cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
					o.Epochs, o.EvalEvery, o.Ranks = 12, 2, r
					o.Cache = halo.Options{Policy: jaca.JACA, Local: jaca.Percent(60), Host: hostmem.LockOptions{Heap: true}}
					edit(o)
					o.OnEpoch = func(e EpochStats) error {
						said = append(said, fmt.Sprint(e.Epoch, e.Loss, e.Halo, e.HaloParts, e.Usage.H2D, e.Usage.Peer, len(e.CheckParts), e.Gradients.Peer))
						if e.Eval && e.Metrics.ValLoss != nil {
							said = append(said, fmt.Sprint(*e.Metrics.Train, *e.Metrics.ValLoss))
						}
						return nil
					}
				})
				result, err := tr.Run(t.Context())
				if err != nil {
					return strings.Join(append(said, err.Error()), "\n")
				}
				return strings.Join(append(said, result.WeightsSHA, result.Stopped, fmt.Sprint(result.PeakDevice)), "\n")
			}
			if name == "diverges" {
				p.Features.Dense[0] = float32(math.Inf(1))
			}
			got, want := train(testRanks(1)[0]), train(nil)
			if got != want {
				t.Errorf("with records\n%s\nwithout\n%s", got, want)
			}
			if !strings.Contains(want, happens[name]) {
				t.Errorf("%q did not happen:\n%s", happens[name], want)
			}
		})
	}
}

// A run of several processes ends behind the epoch in which one of them says that it has been asked to.
func TestRanksEndTogether(t *testing.T) {
	p, m := task{share: 0.5}.make(t, named.GCN)
	ctx, cancel := context.WithCancel(t.Context())
	c := farRun{p: p, m: m, asked: ctx, edit: func(_ *learn.Problem, o *Options) { o.Epochs = 12 }}
	c.at = func(rank int, o *Options) {
		o.OnEpoch = func(e EpochStats) error {
			if e.Epoch == 3 { // its records have been sent
				cancel()
			}
			return nil
		}
	}
	got, err := c.train(t, groupings["3+1"], memoryRanks(t, 2, 0))
	if err != nil || got[0] != got[1] || !strings.HasPrefix(got[0][64:], "5 ") { // behind the weights' hash
		t.Errorf("%q, %v", got, err)
	}
}
