package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/internal/named"
	"capgnn/internal/ref"
)

// ⟨A_eff x, y⟩ = ⟨x, A_effᵀ y⟩ on the devices of three parts, over the exchanges and the operands of an epoch, 5 % of the
// vertices training; and both products are those of A_eff's definition. Rows that the layer does not read are NaN.
func TestPrunedAdjointOnDevices(t *testing.T) {
	prunedCases(t, func(t *testing.T, kind named.Kind, directed, loops bool, edit func(*named.Model)) {
		if kind.Attends() {
			return // no linear map; TestPrunedGradients covers it
		}
		p, m, _ := smallTask(t, kind, directed, loops, edit)
		m.Dropout = 0
		const parts = 3
		part := scatterParts(p.Vertices(), parts)
		dropped := dropReplicas(p.Graph, part, parts, 0.5)
		tr := newTrainer(t, p, m, cpus(t, parts), part, func(o *Options) {
			o.Dropped = dropped
			var err error
			if o.Layout, err = NewLayout(p, *o, parts); err != nil { // its edges stay on the host
				t.Fatal(err)
			}
		})
		bench := operandBench{tr, operandsOf(tr)}
		for l := range m.Layers {
			if exchanged(tr, l, gnn.Forward) > 0 {
				a := effective(p, kind, part, dropped, l)
				t.Run(fmt.Sprintf("layer %d", l), func(t *testing.T) { bench.adjoint(t, a, l) })
			}
		}
	})
}

// operandBench runs single aggregations of a trainer.
type operandBench struct {
	tr     *Trainer
	layers [][]gnn.LayerGraph // per worker
}

// operandsOf builds the adjacencies of all workers once more.
func operandsOf(tr *Trainer) [][]gnn.LayerGraph {
	w := tr.layout.scaling(tr.o.Model)
	var out [][]gnn.LayerGraph
	for _, worker := range tr.workers {
		worker.seen = map[any]gpu.Buffer{}
		train, _ := tr.builder(worker, w).graphs()
		out = append(out, train)
	}
	return out
}

// adjoint compares the two products of a layer with a's, and with each other.
func (b *operandBench) adjoint(t *testing.T, a ref.CSR, l int) {
	wf, wb := exchanged(b.tr, l, gnn.Forward), exchanged(b.tr, l, gnn.Backward)
	reads, writes := b.needed(a.Rows, l), b.needed(a.Rows, l+1)
	x, y := random(1, wf, reads), random(2, wb, writes)
	ax, aty := b.run(t, l, gnn.Forward, x), ref.NewMatrix(a.Rows, wb)
	if wb > 0 { // there is no gradient for the input features
		aty = b.run(t, l, gnn.Backward, y)
	}
	wantAX, wantATY := ref.NewMatrix(a.Rows, wf), ref.NewMatrix(a.Rows, wb)
	for v := range a.Rows {
		for e := a.Begin[v]; e < a.End[v] && writes[v]; e++ {
			u := int(a.Indices[e])
			for j := range wf {
				wantAX.Row(v)[j] += a.Val[e] * x.At(u, j)
			}
			for j := range wb {
				wantATY.Row(u)[j] += a.Val[e] * y.At(v, j)
			}
		}
	}
	nearRows(t, "A_eff x", ax, wantAX, writes)
	nearRows(t, "A_effᵀ y", aty, wantATY, reads)
	forward, backward := 0.0, 0.0 // by the columns that both have
	for v := range a.Rows {
		for j := range min(wf, wb) {
			if writes[v] {
				forward += ax.At(v, j) * y.At(v, j)
			}
			if reads[v] {
				backward += x.At(v, j) * aty.At(v, j)
			}
		}
	}
	if !(math.Abs(forward-backward) <= 1e-5*(1+math.Abs(forward))) {
		t.Errorf("⟨Ax,y⟩ = %v, ⟨x,Aᵀy⟩ = %v", forward, backward)
	}
}

// needed reports for every vertex whether its level is at least this.
func (b *operandBench) needed(n, level int) []bool {
	out := make([]bool, n)
	for _, p := range b.tr.layout.cut.Parts {
		for _, v := range p.Inner[:p.Rows[level]] {
			out[v] = true
		}
	}
	return out
}

// nearRows compares the rows that of names: sums of some ten terms of about 1, in float32.
func nearRows(t *testing.T, what string, got, want ref.Matrix, of []bool) {
	t.Helper()
	for v := range got.Rows {
		for j, w := range want.Row(v) {
			if x := got.At(v, j); of[v] && !(math.Abs(x-w) <= 1e-5*(1+math.Abs(w))) {
				t.Fatalf("%s: vertex %d column %d is %v, want %v", what, v, j, x, w)
			}
		}
	}
}

// random returns normal numbers in the rows that of names, NaN in the others.
func random(seed uint64, cols int, of []bool) ref.Matrix {
	r := rand.New(rand.NewPCG(31, seed))
	return ref.Map(len(of), cols, func(i, _ int) float64 {
		if !of[i] {
			return math.NaN()
		}
		return float64(float32(r.NormFloat64()))
	})
}

// run aggregates rows of all vertices in one layer and direction on the devices, with the exchange of an epoch.
func (b *operandBench) run(t *testing.T, l int, dir gnn.Direction, x ref.Matrix) ref.Matrix {
	t.Helper()
	out := ref.NewMatrix(x.Rows, x.Cols)
	err := b.tr.each(func(w *worker) error {
		g := b.layers[w.Index][l]
		op, read, written := g.Forward, g.Src, g.Rows
		if dir == gnn.Backward {
			op, read, written = g.Backward, g.Rows, g.Src
		}
		xs, ys := w.matrix("read", read, x.Cols), w.matrix("written", written, x.Cols)
		host := make([]float32, read*x.Cols)
		for i, v := range w.part.Inner[:read] {
			for j, f := range x.Row(int(v)) {
				host[i*x.Cols+j] = float32(f)
			}
		}
		w.Compute.Upload(xs.Buf, 0, hostmem.Bytes(host))
		got := make([]float32, written*x.Cols)
		err := meet.Guard(func() {
			w.trainHalo.Begin(w.Compute, l, dir, xs)
			w.Compute.Aggregate(gpu.AggregateArgs{Y: ys, A: op.Inner, X: xs, RowScale: op.RowScale, ColScale: op.ColScale})
			w.Compute.Aggregate(gpu.AggregateArgs{Y: ys, A: op.Halo, X: w.trainHalo.Wait(w.Compute, l, dir), RowScale: op.RowScale,
				ColScale: op.HaloScale, Accumulate: true})
			w.Compute.Download(hostmem.Bytes(got), ys.Buf, 0)
		})
		if err == nil {
			err = w.Sync()
		}
		for i, v := range w.part.Inner[:written] {
			for j := range x.Cols {
				out.Row(int(v))[j] = float64(got[i*x.Cols+j])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
