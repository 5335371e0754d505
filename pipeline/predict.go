package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/pipeline/halo"
	"capgnn/pipeline/layered"
)

// PredictOptions configures Predict and PredictRows.
type PredictOptions struct {
	Model   gnn.Config
	Weights *gnn.Weights // of Model; read-only
	// Layers is how many layers run: 0 = all, which gives logits. k with 1 ≤ k < Model.Layers gives the rows of hidden
	// layer k−1 after norm and activation; for SGC and APPNP the rows after k propagations, as wide as the
	// logits. With jumping knowledge k = Model.Layers gives the rows of the last layer.
	Layers int

	Devices []gpu.Device // one part each, in order; a device may appear more than once
	// First, Parts and Ranks are as in Options.
	First, Parts int
	Ranks        Ranks
	Part         []int32   // part of every vertex
	Rank         []int32   // as in Options; without Chunks
	Storage      gpu.DType // as in Options: that of a run gives the logits that it evaluated
	// Chunks has devices hold a chunk of their part at a time, and the host two tables of a layer's rows: of logits, in
	// one process.
	Chunks bool
	// Stream has parts of one device take turns there (Options.Stream), with the rows of parts that are held: in one
	// process, without Chunks.
	Stream bool

	// WaitDeadline bounds every wait of one worker for another; 0 = 5 minutes.
	WaitDeadline time.Duration
	Log          *slog.Logger // nil: discard
}

// rows enqueues a worker's forward pass, and returns what is predicted.
func (o *PredictOptions) rows(w *worker) gpu.Matrix {
	out := w.eval.Forward(w.Compute, w.evalHalo, 0)
	if o.Layers > 0 && o.Layers == o.Model.Layers {
		return w.eval.LastRows()
	}
	return out
}

// emittedValues is how many predicted values cross to the host at a time: 4 MiB, which hides the latency of a copy.
const emittedValues = 1 << 20

// Predict runs the network over every vertex and every edge, including pruned ones, without dropout. It needs no
// labels and no split. It returns float32 rows by vertex id: [vertices, outputs], or with o.Layers the width of that
// layer.
//
// Memory: devices hold the graph, the features and the activations of one layer, whatever the number of layers; the
// host holds the result besides the problem. ctx is checked between placing, the pass, and every chunk of rows.
//
// Errors of input have no type; a part that does not fit its device is a *gpu.OutOfMemory. All ranks call Predict;
// rank 0 gets the result, the others nil.
func Predict(ctx context.Context, p *learn.Problem, o PredictOptions) (rows []float32, err error) {
	width := 0
	err = PredictRows(ctx, p, o, func(ids []graph.NodeID, chunk []float32) error {
		if rows == nil { // they are asked for when the devices have had their memory, which is more
			width = len(chunk) / len(ids)
			rows = make([]float32, p.Vertices()*width)
		}
		for i, v := range ids {
			copy(rows[int(v)*width:], chunk[i*width:][:width])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// PredictRows is Predict that passes rows to emit instead of keeping them: row i of a chunk belongs to vertex ids[i].
// Every vertex is emitted once, by part and within a part by local number. emit must not keep its slices. It is called
// once at a time; its error ends the prediction. All ranks call PredictRows; rank 0 emits the rows of all.
func PredictRows(ctx context.Context, p *learn.Problem, o PredictOptions, emit func(ids []graph.NodeID, rows []float32) error) error {
	if o.Chunks {
		return o.inChunks(ctx, p, emit)
	}
	t, err := newPredictor(ctx, p, o)
	if err != nil {
		return err
	}
	defer t.Close()
	if o.Stream {
		return t.emitInTurns(ctx, &o, emit)
	}
	out := make([]gpu.Matrix, len(t.workers))
	err = t.each(func(w *worker) error {
		if err := meet.Guard(func() { out[w.At] = o.rows(w) }); err != nil {
			return err
		}
		return w.Sync()
	})
	if err != nil {
		return err
	}
	if err := t.emit(ctx, out, out[0].Cols, emit); err != nil {
		return err
	}
	t.Over = true
	return nil
}

// PlacePrediction places what PredictRows holds on the devices, which may be ledgers, and computes nothing. o.Chunks is
// not set.
func PlacePrediction(ctx context.Context, p *learn.Problem, o PredictOptions) error {
	t, err := newPredictor(ctx, p, o)
	if err == nil {
		t.Close()
	}
	return err
}

// inChunks is PredictRows of Chunks.
func (o *PredictOptions) inChunks(ctx context.Context, p *learn.Problem, emit emitter) error {
	p, err := o.checked(p)
	if err != nil {
		return err
	}
	e, err := layered.New(ctx, p, layered.Options{Model: o.Model, Devices: o.Devices, Part: o.Part, Storage: o.Storage,
		Precomputed: o.Model.CanPrecompute() && !p.Features.Sparse(), WaitDeadline: o.WaitDeadline})
	if err != nil {
		return err
	}
	return errors.Join(e.Logits(ctx, o.Weights, emit), e.Close())
}

// checked returns the problem as the model reads it. It reports all problems of o and p at once.
func (o *PredictOptions) checked(p *learn.Problem) (*learn.Problem, error) {
	p, err := p.For(o.Model)
	if err != nil {
		return nil, err
	}
	errs := p.CheckInput(o.Model, len(o.Devices), len(o.Part))
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if o.Chunks && o.Model.SumsAll() {
		bad("the model sums over all vertices, of which a chunk has some: predict whole parts")
	}
	if o.Chunks && (o.Layers > 0 || o.Ranks != nil) {
		bad("chunks give logits, in one process")
	}
	if o.Stream && (o.Chunks || o.Ranks != nil) {
		bad("parts take turns in one process, without chunks")
	}
	if o.Layers < 0 || o.Layers > o.Model.HiddenLayers() {
		bad("%d layers to run: the model has %d hidden ones", o.Layers, o.Model.HiddenLayers())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if o.Weights == nil || int64(len(o.Weights.Flat)) != gnn.FlatLen(o.Model) {
		return nil, errors.New("the weights are of another model")
	}
	return p, nil
}

// newPredictor returns a trainer that can only evaluate: without gradients, optimiser, answers and backward operands.
func newPredictor(ctx context.Context, p *learn.Problem, o PredictOptions) (*Trainer, error) {
	p, err := o.checked(p)
	if err != nil {
		return nil, err
	}
	if o.Layers == 0 {
		o.Layers = o.Model.Layers
	}
	t := newTrainerOf(p, Options{
		Training: Training{Model: o.Model, Ranks: o.Ranks, Storage: o.Storage,
			WaitDeadline: o.WaitDeadline, Log: o.Log},
		Devices: o.Devices, First: o.First, Parts: o.Parts, Part: o.Part, Rank: o.Rank, Stream: o.Stream,
		everyRow: true,
	})
	t.Weights = o.Weights
	if err := errors.Join(ctx.Err(), t.planRun()); err != nil {
		return nil, err
	}
	t.Hub = meet.NewHub(ctx, t.o.WaitDeadline)
	t.newWorkers()
	err = t.place(func(w *worker, scale gnn.Scaling) error { return t.buildEvaluation(w, scale, o.Layers) },
		func() (*halo.Plan, error) {
			c, err := t.exchangeFacts()
			if err != nil {
				return nil, err
			}
			return halo.NewEvaluation(c, o.Layers), nil
		})
	if err == nil {
		t.Meet(t.passes)
		err = t.join()
	}
	if err := errors.Join(err, ctx.Err()); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// buildEvaluation puts one part on its device for a forward pass through the first layers.
func (t *Trainer) buildEvaluation(w *worker, scale gnn.Scaling, layers int) error {
	b := t.builder(w, scale)
	all := b.layer(w.part, len(w.part.Inner), len(w.part.Inner))
	if w.Failed != nil {
		return w.Failed
	}
	in := b.input(all, 0, 0) // no row is trained on, so sparse features need no transpose
	err := t.buildPasses(w, nil, slices.Repeat([]gnn.LayerGraph{all}, layers), in, in)
	return errors.Join(err, w.settle())
}

// emit is rows, with the vertices that they are of.
func (w *worker) emit(ctx context.Context, m gpu.Matrix, f func(ids []graph.NodeID, rows []float32) error) error {
	return w.rows(ctx, m, func(lo, hi int, rows []float32) error { return f(w.part.Inner[lo:hi], rows) })
}

// rows hands the rows of a matrix to f, a chunk at a time, as FP32.
func (w *worker) rows(ctx context.Context, m gpu.Matrix, f func(lo, hi int, rows []float32) error) error {
	step := max(1, emittedValues/m.Cols)
	rows := make([]float32, min(step, m.Rows)*m.LD)
	var halves []uint16
	if m.Type == gpu.BF16 {
		halves = make([]uint16, len(rows))
	}
	for lo := 0; lo < m.Rows; lo += step {
		hi := min(m.Rows, lo+step)
		part := m.RowRange(lo, hi)
		raw := hostmem.Bytes(rows[:part.Span()])
		if halves != nil {
			raw = hostmem.Bytes(halves[:part.Span()])
		}
		w.Compute.Download(raw, m.Buf, gpu.Bytes(m.Type.Size())*gpu.Bytes(part.Off))
		if err := errors.Join(w.Compute.Sync(), ctx.Err()); err != nil {
			return err
		}
		for i, x := range halves {
			rows[i] = math.Float32frombits(uint32(x) << 16)
		}
		if err := f(lo, hi, gpu.Compact(rows, part)); err != nil {
			return err
		}
	}
	return nil
}
