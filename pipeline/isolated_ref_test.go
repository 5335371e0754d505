package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/pipeline/chunks"
)

// pairModel is the reference of one isolated part, written from the definitions of package chunks without its code:
// layers know the edges among the part's two chunks alone, layer 0 all edges where it keeps them, and the loss is
// weighed as the correction says.
func pairModel(p *learn.Problem, m named.Model, part []int32, how Isolated, pair chunks.Pair) *refModel {
	inside := func(v int32) bool { return int(part[v]) == pair.Base || int(part[v]) == pair.Added }
	r := newRefModel(p, m, part, nil)
	kept := keptEdges(r, m.Kind, part, how.Correction, inside)
	for l := range r.counts {
		if l > 0 || how.AllLayers {
			r.counts[l] = kept
		}
	}
	r.weight = make([]float64, p.Vertices())
	var covered, missing, targets float64
	for v := range r.weight {
		if !p.Train[v] || !inside(int32(v)) || how.Targets != chunks.Both && int(part[v]) != pair.Base {
			continue
		}
		local, all := neighbours(p.Graph, v, inside)
		ratio := 1.0
		if all > 0 {
			ratio = local / all
		}
		if local > 0 {
			missing += all - local
		}
		targets, covered = targets+1, covered+ratio
		if r.weight[v] = 1; how.Correction == chunks.Node {
			r.weight[v] = ratio
		}
	}
	factor := 1.0
	switch how.Correction {
	case chunks.Uniform:
		factor = covered / max(1, targets)
	case chunks.Resampling:
		factor = 1 / max(1, missing)
	}
	if how.Targets == chunks.Both {
		factor /= 2
	}
	for v := range r.weight {
		r.weight[v] *= factor
	}
	return r
}

// keptEdges returns how often edges count: those among the vertices inside as a correction says, others not.
func keptEdges(r *refModel, kind named.Kind, part []int32, correction chunks.Correction, inside func(int32) bool) []float64 {
	kept := make([]float64, len(r.g.Src))
	for e, u := range r.g.Src {
		v := r.g.Dst[e]
		local, all := neighbours(r.p.Graph, v, inside)
		switch {
		case !inside(int32(v)) || !inside(int32(u)):
		case u == v || kind.Attends():
			kept[e] = 1
		case !correction.EdgeWeights():
			kept[e] = all / local
		case part[u] != part[v]:
			kept[e] = float64(slices.Max(part)) // one less than there are chunks
		case correction == chunks.LongRun:
			kept[e] = harmonicMean(r.p.Graph, part, v) / local
		default:
			kept[e] = 1
		}
	}
	return kept
}

// neighbours counts the in-neighbours of v beside itself: those inside, and all.
func neighbours(g *graph.CSR, v int, inside func(int32) bool) (local, all float64) {
	for _, u := range g.Row(v) {
		if int(u) != v {
			if all++; inside(u) {
				local++
			}
		}
	}
	return local, all
}

// harmonicMean is that of the local neighbours of v, over all chunks that its own is together with.
func harmonicMean(g *graph.CSR, part []int32, v int) float64 {
	sum, n := 0.0, 0
	for other := range slices.Max(part) + 1 {
		if other == part[v] {
			continue
		}
		local, _ := neighbours(g, v, func(u int32) bool { return part[u] == part[v] || part[u] == other })
		sum, n = sum+1/local, n+1
	}
	return float64(n) / sum
}

// Isolated parts compute the gradient of their definition, under every correction, whichever part takes the loss of a
// vertex and at any depth: every tensor in float64, dropout on, within docs/determinism.md. Gradients that cancel to
// nothing are compared with the whole.
func TestIsolatedDefinition(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares with sums in float64, which say nothing of races")
	}
	var values [][]any
	for _, kind := range named.Kinds {
		for _, correction := range chunks.Corrections {
			for _, targets := range chunks.AllTargets {
				for _, layers := range []int{1, 2, 3, 4, 5} {
					for _, c := range []int{2, 3, 5} {
						for _, form := range []string{"", "directed", "loops", "all layers"} {
							if (!kind.Attends() || !correction.EdgeWeights()) && (!kind.KeepsOrigin() || form == "all layers") {
								values = append(values, []any{kind, correction, targets, layers, c, form})
							}
						}
					}
				}
			}
		}
	}
	taken := takes(t, 100, values)
	traced := []string{fmt.Sprint(named.GCN, chunks.None, chunks.Base, 4, 2, ""), fmt.Sprint(named.GAT, chunks.None, chunks.Both, 3, 3, "loops")}
	for i, v := range values {
		if !taken[i] && !slices.Contains(traced, fmt.Sprint(v...)) {
			continue
		}
		kind, layers, c, form := v[0].(named.Kind), v[3].(int), v[4].(int), v[5].(string)
		jumping := kind.Norms() && (layers+c)%2 == 0
		how := Isolated{Correction: v[1].(chunks.Correction), Targets: v[2].(chunks.Targets), AllLayers: form == "all layers"}
		t.Run(fmt.Sprintf("%s/%s/%s/%d layers/%d chunks/%s/jumping=%t", kind, how.Correction, how.Targets, layers, c, form, jumping), func(t *testing.T) {
			p, m, init := deepTask(t, kind, layers, form == "directed", form == "loops", func(m *named.Model) { m.Jumping = jumping })
			shift := 1 + i%(c-1)
			compareDefinition(t, p, m, init, how, c, shift)
		})
	}
}

// deepTask is smallTask with so many layers. Biases are moved off 0 as there: of a row without neighbours they are all
// that is normalised.
func deepTask(t *testing.T, kind named.Kind, layers int, directed, loops bool, edit ...func(*named.Model)) (*learn.Problem, named.Model, gnn.StateDict) {
	t.Helper()
	p, m, _ := smallTask(t, kind, directed, loops, edit...)
	m.Layers = layers
	w, r := weightsOf(t, m, nil), rand.New(rand.NewPCG(23, uint64(layers)))
	for i := range w.Flat {
		w.Flat[i] += float32(0.1 * r.NormFloat64())
	}
	return p, m, w.StateDict()
}

// compareDefinition compares the gradients of the epoch with that shift.
func compareDefinition(t *testing.T, p *learn.Problem, m named.Model, init gnn.StateDict, how Isolated, c, shift int) {
	t.Helper()
	part := scatterParts(p.Vertices(), c)
	tr := newTrainer(t, p, m, cpus(t, c), part, func(o *Options) { o.Init, o.Isolated, o.Epochs = init, &how, c-1 })
	if err := tr.hold(shift-1, 0); err != nil {
		t.Fatal(err)
	}
	tr.State.Epochs, tr.terms = shift-1, tr.terms/tr.isolation.shareOfTarget()
	got, _ := gradients(t, tr)
	w := newRefWeights(weightsOf(t, m, init))
	want := make([]float64, len(w.flat))
	for base := range c {
		r := pairModel(p, m, part, how, chunks.Pair{Base: base, Added: (base + shift) % c})
		if !slices.ContainsFunc(r.weight, func(x float64) bool { return x != 0 }) {
			continue
		}
		_, grad := r.gradient(w, shift-1)
		for j, g := range grad {
			want[j] += g
		}
	}
	all := norm(want)
	for _, x := range got.Tensors {
		ref := want[x.Off:][:len(x.Data)]
		// Terms may cancel, as those of what GAT adds to all scores of a vertex: float32 leaves a rounding of the
		// terms.
		limit := max(2e-5*norm(ref), all/(1<<24))
		if d := differs(x.Data, ref); !(d <= limit) {
			t.Errorf("gradient of %s differs by %.3g of %.3g (all %.3g)", x.Name, d, norm(ref), all)
		}
	}
}
