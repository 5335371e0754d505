package pipeline

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/pipeline/halo"
)

// shelf is a Prepared in memory.
type shelf struct {
	mu         sync.Mutex
	entries    map[string]kept
	gets, puts int
	lent       int
}

type kept struct {
	pieces map[string][]byte
	close  func()
}

func newShelf() *shelf { return &shelf{entries: map[string]kept{}} }

func (s *shelf) Get(key string) Kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if !ok {
		return nil
	}
	s.gets++
	s.lent++
	e.close = func() { s.mu.Lock(); s.lent--; s.mu.Unlock() }
	return e
}

func (s *shelf) Put(key, what string, pieces []Piece) {
	e := kept{pieces: map[string][]byte{}}
	for _, p := range pieces {
		var b bytes.Buffer
		if err := p.Write(&b); err != nil || int64(b.Len()) != p.Size {
			panic(fmt.Sprintf("%s: %d bytes, announced %d: %v", p.Name, b.Len(), p.Size, err))
		}
		e.pieces[p.Name] = aligned(b.Bytes())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[key] = e
	s.puts++
}

func aligned(b []byte) []byte {
	out := hostmem.Bytes(make([]int64, len(b)/8+1))[:len(b)]
	copy(out, b)
	return out
}

func (k kept) Piece(name string) []byte { return k.pieces[name] }
func (k kept) Close()                   { k.close() }

// Runs that find what earlier ones have prepared give the bits of a run without; what is on loan is given back.
func TestPrepared(t *testing.T) {
	for _, kind := range kinds(t) {
		for _, k := range []task{{share: 0.3}, {share: 0.3, directed: true, multi: true}, {share: 0.3, sparse: true}} {
			for name, parts := range map[string]int{"1": 1, "3": 3, "3, pruned": 3} {
				t.Run(fmt.Sprintf("%s/%+v/%s", kind, k, name), func(t *testing.T) {
					p, m := k.make(t, kind)
					part := scatterParts(p.Vertices(), parts)
					var dropped [][]graph.NodeID
					if name == "3, pruned" {
						dropped = dropReplicas(p.Graph, part, parts, 0.5)
					}
					p.GraphKey, p.FeaturesKey = "graph", "features"
					s := newShelf()
					var want string
					for round := range 3 {
						tr := newTrainer(t, p, m, cpus(t, parts), part, func(o *Options) {
							o.Epochs, o.Dropped = 3, dropped
							if round > 0 {
								o.Prepared = s
							}
						})
						r := run(t, tr)
						if want == "" {
							want = r.WeightsSHA
						}
						if r.WeightsSHA != want {
							t.Errorf("round %d: weights %s, without anything prepared %s", round, r.WeightsSHA, want)
						}
						entries := 1
						if tr.plan.Input == gnn.Precomputed {
							entries += parts
						}
						if gets := []int{0, 0, entries}[round]; s.gets != gets || s.puts != min(round, 1)*entries {
							t.Errorf("round %d: %d entries found and %d kept, want %d and %d", round, s.gets, s.puts, gets, entries)
						}
						tr.Close()
						if s.lent != 0 {
							t.Errorf("round %d: %d entries are still on loan", round, s.lent)
						}
					}
				})
			}
		}
	}
}

// otherKernels is a device whose kernels are of another variant.
type otherKernels struct{ gpu.Device }

func (d otherKernels) Info() gpu.Info {
	info := d.Device.Info()
	info.Variant += " of another kind"
	return info
}

// Whatever changes the cut or the features changes the key.
func TestPreparedKeys(t *testing.T) {
	p, m := task{share: 0.3}.make(t, named.GCN)
	p.GraphKey, p.FeaturesKey = "graph", "features"
	base, model := *p, m
	train, rank := slices.Clone(p.Train), make([]int32, p.Vertices())
	for v := range train {
		if p.Trains(graph.NodeID(v)) {
			train[v] = false
			break
		}
	}
	for v := range rank {
		rank[v] = int32(len(rank) - 1 - v)
	}
	dropped := dropReplicas(p.Graph, scatterParts(p.Vertices(), 2), 2, 0.5)
	s := newShelf()
	total := 0
	for _, c := range []struct {
		name    string
		cut, ax int // entries made anew
		change  func(p *learn.Problem, o *Options)
	}{
		{"base", 1, 2, func(*learn.Problem, *Options) {}},
		{"again", 0, 0, func(*learn.Problem, *Options) {}},
		{"seed", 0, 0, func(p *learn.Problem, o *Options) { o.Model.Seed++ }},
		{"hidden", 0, 0, func(p *learn.Problem, o *Options) { change(o, func(m *named.Model) { m.Hidden = 24 }) }},
		{"features", 0, 2, func(p *learn.Problem, o *Options) { p.FeaturesKey = "other" }},
		{"model", 0, 2, func(p *learn.Problem, o *Options) { change(o, func(m *named.Model) { m.Kind = named.SAGE }) }},
		{"storage", 0, 2, func(p *learn.Problem, o *Options) { o.Storage = gpu.BF16 }},
		{"kernels", 0, 1, func(p *learn.Problem, o *Options) { o.Devices[1] = otherKernels{o.Devices[1]} }},
		{"graph", 1, 2, func(p *learn.Problem, o *Options) { p.GraphKey = "other" }},
		{"loops", 1, 2, func(p *learn.Problem, o *Options) { p.Loops = graph.LoopsRemoved }},
		{"layers", 1, 2, func(p *learn.Problem, o *Options) { change(o, func(m *named.Model) { m.Layers = 2 }) }},
		{"needed rows", 1, 2, func(p *learn.Problem, o *Options) { o.everyRow = true }},
		{"training vertices", 1, 2, func(p *learn.Problem, o *Options) { p.Train = train }},
		{"rank", 1, 2, func(p *learn.Problem, o *Options) { o.Rank = rank }},
		{"parts", 1, 2, func(p *learn.Problem, o *Options) { o.Part = slices.Clone(o.Part); o.Part[0] ^= 1 }},
		{"dropped", 1, 2, func(p *learn.Problem, o *Options) { o.Dropped = dropped }},
		{"dropped elsewhere", 1, 2, func(p *learn.Problem, o *Options) { o.Dropped = [][]graph.NodeID{nil, dropped[1]} }},
		{"none dropped", 0, 0, func(p *learn.Problem, o *Options) { o.Dropped = [][]graph.NodeID{nil, nil} }},
		{"no key", 0, 0, func(p *learn.Problem, o *Options) { p.GraphKey = "" }},
		{"no features key", 0, 0, func(p *learn.Problem, o *Options) { p.FeaturesKey = "" }},
	} {
		q := base
		tr := newTrainer(t, &q, model, cpus(t, 2), scatterParts(q.Vertices(), 2), func(o *Options) {
			o.Prepared = s
			c.change(&q, o)
		})
		tr.Close()
		total += c.cut + c.ax
		if s.puts != total || len(s.entries) != total {
			t.Fatalf("%s: %d entries made, %d in all, want %d", c.name, s.puts, len(s.entries), total)
		}
	}
}

// A damaged entry is not used: it is made again, and the run is the same.
func TestPreparedDamaged(t *testing.T) {
	t.Parallel()
	p, m := task{share: 0.3, directed: true}.make(t, named.GCN)
	p.GraphKey, p.FeaturesKey = "graph", "features"
	train := func(s *shelf) string {
		tr := newTrainer(t, p, m, cpus(t, 2), scatterParts(p.Vertices(), 2), func(o *Options) { o.Epochs, o.Prepared = 2, s })
		defer tr.Close()
		return run(t, tr).WeightsSHA
	}
	good := newShelf()
	want := train(good)
	var names []string
	for _, e := range good.entries {
		names = append(names, slices.Collect(maps.Keys(e.pieces))...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		for how, damage := range map[string]func(b []byte) []byte{
			"missing":   func(b []byte) []byte { return nil },
			"short":     func(b []byte) []byte { return b[:len(b)-1] },
			"half":      func(b []byte) []byte { return b[:len(b)/16*8] },
			"large":     func(b []byte) []byte { b = aligned(b); clear(b[:4]); b[3] = 0x7f; return b },
			"negative":  func(b []byte) []byte { b = aligned(b); b[min(7, len(b)-1)] = 0xff; b[3] = 0xff; return b },
			"very long": func(b []byte) []byte { return append(aligned(b), make([]byte, 64)...) },
		} {
			numbers := how == "large" || how == "negative"
			if numbers && (name == "in" || name == "out" || name == aggregatePiece || strings.HasSuffix(name, "/levels")) ||
				!numbers && strings.HasSuffix(name, "/central") {
				continue // nothing contradicts them: only the checksum of who keeps them can tell
			}
			s := newShelf()
			hit := false
			for key, e := range good.entries {
				pieces := maps.Clone(e.pieces)
				if raw := pieces[name]; len(raw) > 8 && !hit {
					pieces[name], hit = damage(raw), true
				}
				s.entries[key] = kept{pieces: pieces}
			}
			if !hit {
				continue
			}
			if got := train(s); got != want {
				t.Errorf("%s %s: weights differ", name, how)
			}
			if s.puts == 0 {
				t.Errorf("%s %s: nothing was made again", name, how)
			}
		}
	}
}

// No bytes in a kept cut make reading it panic, and a cut that is taken can be planned with: one of all parts, and one of some.
func FuzzKeptCut(f *testing.F) {
	g, err := synth.Random(40, 120, true, 3)
	if err != nil {
		f.Fatal(err)
	}
	part, seeds := make([]int32, 40), make([]bool, 40)
	for v := range part {
		part[v], seeds[v] = int32(v%2), v%3 == 0
	}
	pruning, err := graph.NewPruning(part, 2, [][]graph.NodeID{{1, 5, 7, 39}, {0, 2, 8}})
	if err != nil {
		f.Fatal(err)
	}
	var good [2]map[string][]byte
	owns := [2]graph.Range{{Lo: 0, Hi: 2}, {Lo: 1, Hi: 2}}
	for k, own := range owns {
		c, err := graph.SplitRange(g, graph.LoopsAdded, part, 2, own, graph.Needed(g, seeds, 2, pruning), 2, nil, pruning)
		if err != nil {
			f.Fatal(err)
		}
		s := newShelf()
		s.Put("cut", "", cutPieces(c))
		good[k] = s.entries["cut"].pieces
	}
	names := [2][]string{slices.Sorted(maps.Keys(good[0])), slices.Sorted(maps.Keys(good[1]))}
	for i := range len(names[0]) + len(names[1]) {
		f.Add(uint8(i), uint16(4), []byte{0xff, 0xff, 0xff, 0x7f}, uint16(1000))
		f.Add(uint8(i), uint16(0), []byte{1}, uint16(8))
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint16, value []byte, size uint16) {
		k := int(which) / len(names[0]) % 2
		pieces := maps.Clone(good[k])
		name := names[k][int(which)%len(names[0])%len(names[k])]
		raw := aligned(pieces[name])
		copy(raw[min(int(at), len(raw)):], value)
		pieces[name] = raw[:min(int(size), len(raw))]
		c, err := cutOf(kept{pieces: pieces}, part, 2, owns[k], 2, true)
		if err != nil {
			return
		}
		m := named.Model{Kind: named.GCN, Layers: 2, Hidden: 4, In: 3, Out: 2}
		l := &Layout{cut: c, kept: c.Without(pruning), pruning: pruning, problem: &learn.Problem{Graph: g, Loops: graph.LoopsAdded}}
		plan := gnn.Choose(netOf(m), l.shape(120, false, netOf(m)), gnn.Choice{})
		if _, err := halo.NewPlan(halo.Config{Model: netOf(m), Order: plan, Cuts: *l.cuts()}); err != nil {
			t.Errorf("a cut that was taken is not planned with: %v", err)
		}
		for i := owns[k].Lo; i < owns[k].Hi; i++ {
			c.Parts[i].In.Transpose(c.Parts[i].Rows[1])
			rowEnds(c.Parts[i].Out.Inner, c.Parts[i].Rows[0], c.Parts[i].Rows[1])
		}
	})
}
