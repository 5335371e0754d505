package pipeline

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/ledger"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/named"
)

// What a process with some of the parts plans by is what one with all of them does: sizes, edge weights, its own parts. What is kept of its
// cut is found again, and not taken for that of other parts.
func TestLayoutRange(t *testing.T) {
	const parts = 4
	for _, kind := range []named.Kind{named.GCN, named.SAGE} {
		for k, c := range []task{{share: 0.3}, {share: 0.3, directed: true}, {share: 1, sparse: true}} {
			for _, drop := range []float64{0, 0.5} {
				t.Run(fmt.Sprintf("%s/%+v/dropped=%g", kind, c, drop), func(t *testing.T) {
					p, m := c.make(t, kind)
					p.GraphKey, p.Loops = "graph", graph.Loops((k+1)%3)
					s := newShelf()
					o := &Options{
						Training: Training{Model: netOf(m), Log: slog.New(slog.DiscardHandler)},
						Parts:    parts, Part: scatterParts(p.Vertices(), parts), Prepared: s,
					}
					if drop > 0 {
						o.Dropped = dropReplicas(p.Graph, o.Part, parts, drop)
					}
					whole := layoutOf(t, p, o, graph.Range{Lo: 0, Hi: parts})
					for _, own := range []graph.Range{{Lo: 0, Hi: 1}, {Lo: 1, Hi: 3}, {Lo: 2, Hi: 4}} {
						for _, entries := range []int{s.puts + 1, s.puts + 1} { // made, then found
							some := layoutOf(t, p, o, own)
							if s.puts != entries {
								t.Fatalf("parts %v: %d cuts are kept, want %d", own, s.puts, entries)
							}
							if got, want := some.shape(p.FeatureEntries(), false, netOf(m)), whole.shape(p.FeatureEntries(), false, netOf(m)); !reflect.DeepEqual(got, want) {
								t.Errorf("parts %v: shape %+v, of all %+v", own, got, want)
							}
							if got, want := some.scaling(netOf(m)), whole.scaling(netOf(m)); !reflect.DeepEqual(got, want) {
								t.Errorf("parts %v: other edge weights", own)
							}
							for i := own.Lo; i < own.Hi; i++ {
								if !samePart(some.cut.Parts[i], whole.cut.Parts[i]) || !samePart(some.kept.Parts[i], whole.kept.Parts[i]) {
									t.Errorf("parts %v: part %d differs", own, i)
								}
							}
							some.Release()
						}
					}
				})
			}
		}
	}
}

func layoutOf(t *testing.T, p *learn.Problem, o *Options, own graph.Range) *Layout {
	t.Helper()
	l, err := newLayout(p, o, own)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// samePart compares what two parts are printed as: nil or empty is one.
func samePart(p, q *graph.Part) bool {
	print := func(p *graph.Part) string {
		s := fmt.Sprint(p.Inner, p.Rows, p.Central)
		for _, b := range []*graph.Block{&p.In, &p.Out} {
			s += fmt.Sprint(*b.Inner, b.Halo, b.IDs, b.Owners, b.Levels, b.Edges, b.Left)
		}
		return s
	}
	return print(p) == print(q)
}

// A part takes the same memory and uploads, name by name and byte by byte, whether its process has all parts or some. The slices of the
// gradient that it owns are not among them: they are cut between the devices of a process.
func TestRangeBuild(t *testing.T) {
	const parts = 5
	for _, kind := range kinds(t) {
		for name, edit := range map[string]func(p *learn.Problem, o *Options){
			"plain":     func(*learn.Problem, *Options) {},
			"exchanged": func(_ *learn.Problem, o *Options) { change(o, func(m *named.Model) { m.DropFeatures = kind.Norms() }) },
			"pruned":    func(p *learn.Problem, o *Options) { o.Dropped = dropReplicas(p.Graph, o.Part, parts, 0.5) },
		} {
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				p, m := task{share: 0.3, directed: true, sparse: kind == named.GIN}.make(t, kind)
				build := func(first, n int, devices []gpu.Device) *Trainer {
					o := Options{
						Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01},
							Log: slog.New(slog.DiscardHandler)},
						Devices: devices, First: first, Parts: parts, Part: scatterParts(p.Vertices(), parts),
					}
					edit(p, &o)
					return builtOnly(t, p, o)
				}
				ranges := []graph.Range{{Lo: 0, Hi: 5}, {Lo: 0, Hi: 2}, {Lo: 2, Hi: 3}, {Lo: 3, Hi: 5}}
				memory, uploads := map[int][]string{}, map[int]gpu.Bytes{}
				for _, own := range ranges {
					n := own.Hi - own.Lo
					on := build(own.Lo, n, ledgers(n))
					up := build(own.Lo, n, cpus(t, n))
					for part := own.Lo; part < own.Hi; part++ {
						if w := on.worker(part); w.Index != part || w.ep.Part != part || w.Waits.Part != part {
							t.Fatalf("parts %v: the worker of part %d has number %d", own, part, w.Index)
						}
						takes, bytes := takenBy(on.worker(part).Device), up.worker(part).Usage().H2D
						if own == ranges[0] {
							memory[part], uploads[part] = takes, bytes
						}
						if want := memory[part]; !slices.Equal(takes, want) || len(want) == 0 {
							t.Errorf("parts %v, part %d: takes %v, in a run of one process %v", own, part, takes, want)
						}
						if want := uploads[part]; bytes != want || bytes == 0 {
							t.Errorf("parts %v, part %d: %d bytes are uploaded, in a run of one process %d", own, part, bytes, want)
						}
					}
				}
			})
		}
	}
}

// builtOnly returns a trainer whose parts are on their devices, without exchanges.
func builtOnly(t *testing.T, p *learn.Problem, o Options) *Trainer {
	t.Helper()
	task, err := learn.Of(o.Task, p)
	if err != nil {
		t.Fatal(err)
	}
	tr := newTrainerOf(p, o)
	tr.Task = task
	if err := errors.Join(tr.NewWeights(false), tr.planRun()); err != nil {
		t.Fatal(err)
	}
	tr.Hub = meet.NewHub(t.Context(), time.Minute)
	tr.newWorkers()
	closeAfter(t, tr)
	scale := tr.layout.scaling(o.Model)
	if err := tr.each(func(w *worker) error { return tr.build(w, scale) }); err != nil {
		t.Fatal(err)
	}
	return tr
}

func ledgers(n int) (books []gpu.Device) {
	for i := range n {
		books = append(books, ledger.New(gpu.Info{Name: fmt.Sprintf("cpu:%d", i)}))
	}
	return books
}

// takenBy lists what a ledger holds, but for what owners of gradients have there.
func takenBy(d gpu.Device) (all []string) {
	owned := []string{"first moments", "second moments", "gradients of another part", "sum of gradients"}
	for _, e := range d.(*ledger.Device).Entries() {
		if !slices.Contains(owned, e.Name) {
			all = append(all, fmt.Sprintf("%s %d", e.Name, e.Size))
		}
	}
	slices.Sort(all)
	return all
}

// Parts that are not there are not taken.
func TestRangeOptions(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.GCN)
	for _, c := range []struct {
		first, parts, devices int
		want                  string
	}{
		{-1, 2, 2, "devices for parts -1 to 0 of 2"},
		{1, 0, 2, "devices for parts 1 to 2 of 2"},
		{2, 3, 2, "devices for parts 2 to 3 of 3"},
		{0, 1, 2, "devices for parts 0 to 1 of 1"},
		{1, 3, 2, "devices for 2 of 3 parts: this process does not reach the others"},
	} {
		o := Options{
			Training: Training{Model: netOf(m), Optimizer: gnn.Optimizer{Kind: gnn.Adam, LR: 0.01}},
			Devices:  ledgers(c.devices), First: c.first, Parts: c.parts, Part: make([]int32, p.Vertices()),
		}
		if _, err := New(t.Context(), p, o); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
