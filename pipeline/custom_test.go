package pipeline

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/interpreter/programs"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/model"
)

// Programs whose rows are stored in BF16 have one loss on one part and on three, near that of FP32 rows.
func TestProgramsBF16(t *testing.T) {
	t.Parallel()
	tried := 0
	for seed := range uint64(400) {
		p, _, _ := smallTask(t, named.GCN, true, true)
		program, err := model.Parse([]byte(programs.Draw(seed, p.Features.Cols, p.Classes)))
		if err != nil {
			t.Fatal(err)
		}
		custom, err := gnn.NewModel(program)
		if err != nil {
			continue
		}
		m := custom.Config(true, 3)
		if m.Layers < 2 || !m.StoresBF16() {
			continue
		}
		tried++
		p.Loops = map[string]graph.Loops{model.FullLoops: graph.LoopsAdded, model.NoLoops: graph.LoopsRemoved}[custom.Loops()]
		loss := func(parts int, storage gpu.DType) float64 {
			_, loss := gradients(t, newTrainer(t, p, programOf(m), cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) { o.Storage = storage }))
			return loss
		}
		want, one, three := loss(1, gpu.FP32), loss(1, gpu.BF16), loss(3, gpu.BF16)
		// Rows lose 2⁻⁹ of their size in each layer, and the same in all parts but where sums are rounded elsewhere.
		if !(math.Abs(one-three) <= 2e-3*max(1, want)) || !(math.Abs(one-want) <= 5e-2*max(1, want)) {
			t.Errorf("seed %d: loss %g, of BF16 rows %g, in three parts %g", seed, want, one, three)
		}
	}
	if tried < 20 {
		t.Errorf("only %d programs store BF16", tried)
	}
}

// Programs drawn from blocks that models are made of have the loss and the gradients of their definition in float64,
// on one part, two, three and five, of dense features and of sparse ones, or are refused.
func TestPrograms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compares with sums in float64, which say nothing of races")
	}
	n := 200
	if long.Wanted() {
		n = 600
	}
	taken, why := 0, map[string]int{}
	for seed := range n {
		t.Run(strconv.Itoa(seed), func(t *testing.T) { // whose trainers go before the next one
			directed := seed%2 == 0
			p, _, _ := smallTask(t, named.GCN, directed, true)
			if seed%3 == 0 {
				p.Features = sparsified(p.Features)
			}
			text := programs.Draw(uint64(seed), p.Features.Cols, p.Classes)
			program, err := model.Parse([]byte(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			custom, err := gnn.NewModel(program)
			if err != nil {
				why[err.Error()[max(0, strings.Index(err.Error(), ":")):]]++
				return
			}
			taken++
			m := custom.Config(directed, 3)
			p.Loops = map[string]graph.Loops{model.FullLoops: graph.LoopsAdded, model.NoLoops: graph.LoopsRemoved}[custom.Loops()]
			made, err := p.For(m)
			if err != nil {
				t.Fatal(err)
			}
			p.Features = made.Features
			weights, r := weightsOf(t, programOf(m), nil), rand.New(rand.NewPCG(23, uint64(seed)))
			for i := range weights.Tensors {
				for k := range weights.Tensors[i].Data {
					weights.Tensors[i].Data[k] += float32(0.1 * r.NormFloat64())
				}
			}
			ref := newRefModel(p, programOf(m), nil, nil)
			wantLoss, want := ref.gradient(newRefWeights(weights), 0)
			for _, parts := range []int{1, 2, 3, 5} {
				got, loss := gradients(t, newTrainer(t, p, programOf(m), cpus(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) { o.Init = weights.StateDict() }))
				worst := ""
				bad := !(math.Abs(loss-wantLoss) <= 1e-5*max(1, wantLoss))
				for _, x := range got.Tensors {
					part := want[x.Off:][:len(x.Data)]
					if !(differs(x.Data, part) <= 5e-5*max(norm(part), 1e-3*norm(want))) {
						bad, worst = true, x.Name
					}
				}
				if bad {
					t.Errorf("%d parts: loss %v, want %v; gradients differ by %.3g of %.3g, that of %s too much\n%s", parts, loss, wantLoss, differs(got.Flat, want), norm(want), worst, text)
					break
				}
			}
		})
	}
	t.Logf("%d of %d programs are trained; refused: %v", taken, n, why)
	if 2*taken < n {
		t.Errorf("only %d of %d programs are trained; refused: %v", taken, n, why)
	}
}
