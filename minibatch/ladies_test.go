package minibatch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu/host"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
	"capgnn/model"
	"capgnn/pipeline/chunks"
)

// Steps whose hops draw layers are those of their definition, in float64: a message weighs what its edge does, what its column does and what its row does. What these are is compared with a
// slow twin in package sample.
func TestLadiesSteps(t *testing.T) {
	for k, kind := range []named.Kind{named.GCN, named.SAGE} {
		for parts := 1; parts < 4; parts += 2 {
			p, m := task{vertices: 120, cols: 4}.make(t, kind)
			m.Layers, m.Hidden, m.Dropout, m.NoNorm, m.Activation = 2, 4, 0, true, model.Tanh
			o := small(m, devices(t, parts, host.Spec{}), homes(p.Vertices(), parts))
			o.Epochs, o.Optimizer = 2, gnn.Optimizer{Kind: gnn.SGD, LR: 0.3}
			o.Sampling = Sampling{BatchSize: 24, Fanout: fanouts(20, 25), Ladies: true, Place: []Place{Batch, Home}[k]}
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			from := gnn.NewWeights(netOf(m))
			from.Init(m.Seed)
			ref := newIsolatedRef(p, m, Isolated{chunks.Isolated{}, make([]int32, p.Vertices())}, o.Sampling.Fanout, from)
			sampler := sample.New(sample.Topology{Graph: p.Graph, Loops: p.Loops}, sample.Rules{Seed: m.Seed, Fanout: o.Sampling.Fanout, Ladies: 24})
			chosen := 0
			for step := range o.Epochs * tr.roots.steps {
				var all []*share
				for part := range parts {
					s := &share{roots: tr.roots.of(step, part, 0, nil), read: [2]map[int32][]message{{}, {}}}
					s.weight = slices.Repeat([]float64{1}, len(s.roots))
					var st sample.Stack
					sampler.Draw(&st, uint32(step), s.roots)
					for hop := range st.Blocks {
						b := &st.Blocks[hop]
						if b.Weight != nil {
							chosen++
						}
						for row := range b.Rows {
							v := st.IDs[row]
							for _, c := range b.Indices[b.Begin[row]:b.Begin[row+1]] {
								w := ref.entry(v, st.IDs[c])
								if int(c) != row && b.Weight != nil { // the loops of GCN, as others are removed
									w *= float64(b.Weight[c]) * float64(b.Ratio[row])
								}
								s.read[hop][v] = append(s.read[hop][v], message{st.IDs[c], w})
							}
						}
					}
					all = append(all, s)
				}
				ref.descend(all, o.Optimizer.LR)
			}
			got, err := tr.Run(t.Context())
			tr.Close()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range got.Weights.Tensors {
				first := tensorOf(from, e.Name)
				var diff, norm float64
				for i, x := range ref.w[e.Name] {
					diff, norm = diff+math.Pow(float64(e.Data[i])-x, 2), norm+math.Pow(x-float64(first[i]), 2)
				}
				if diff, norm = math.Sqrt(diff), math.Sqrt(norm); !(diff <= 2e-5*norm+1e-7) {
					t.Errorf("%s, %d parts: %s differs by %.2e of %.2e", kind, parts, e.Name, diff, norm)
				}
			}
			if chosen < 2*tr.roots.steps {
				t.Errorf("%s: %d layers chose: the test shows nothing", kind, chosen)
			}
		}
	}
}

// With layers as large as all candidates the gradient of two layers is that of all neighbours, whoever computes which roots.
func TestLadiesOfAllNeighbours(t *testing.T) {
	for i, kind := range named.Kinds {
		if kind.Attends() {
			continue
		}
		p, m := task{sparse: i%2 == 1, directed: i%3 == 0}.make(t, kind)
		m.Layers = 2
		o := small(m, devices(t, 2, host.Spec{}), homes(p.Vertices(), 2))
		from := gnn.NewWeights(netOf(m))
		from.Init(m.Seed)
		o.Sampling.Fanout, o.Sampling.Ladies = fanouts(20*p.Vertices(), 20*p.Vertices()), true
		got := gradient(t, p, o, 1, from)
		o.Sampling.Fanout, o.Sampling.Ladies, o.Sampling.Place = fanouts(sample.All, sample.All), false, Home
		closeTo(t, fmt.Sprint(kind), got, gradient(t, p, o, 1, from), gnn.NewWeights(netOf(m)), 2e-5)
	}
}

// What layers are not drawn for is refused.
func TestLadiesRefusals(t *testing.T) {
	for _, kind := range []named.Kind{named.GCN, named.GAT} {
		p, m := task{}.make(t, kind)
		o := small(m, devices(t, 1, host.Spec{}), nil)
		if kind == named.GCN {
			o = isolatedOptions(t, m, chunks.Isolated{Chunks: 4}, p.Vertices(), 1)
		}
		o.Sampling.Ladies = true
		if _, err := New(t.Context(), p, o); err == nil || !strings.Contains(err.Error(), "layers are drawn neither") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
