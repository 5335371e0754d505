package pipeline

import (
	"testing"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
)

// What tests of several files reach of a trainer, beside what it exports.

// partGradient returns the gradient that a part's device holds.
func partGradient(t testing.TB, w *worker) []float32 { return downloaded(t, w, w.Grads.Flat) }

// partWeights returns the weights that a part's device holds.
func partWeights(t testing.TB, w *worker) []float32 { return downloaded(t, w, w.Params.Flat) }

func downloaded(t testing.TB, w *worker, v gpu.Vec) []float32 {
	t.Helper()
	flat, err := w.Download(v)
	if err != nil {
		t.Fatal(err)
	}
	return flat
}

// setWeights gives a part's device weights, from one on.
func setWeights(t testing.TB, w *worker, from int, flat []float32) {
	t.Helper()
	w.Compute.Upload(w.Params.Flat.Buf, 4*gpu.Bytes(w.Params.Flat.Off+from), hostmem.Bytes(flat))
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
}

// backward runs a forward and a backward pass on all parts. done is gnn.Pass.Backward's; finish, if any, is called behind it.
func backward(t testing.TB, tr *Trainer, epoch int, scale float64, done func(w *worker, layer int), finish func(w *worker)) {
	t.Helper()
	err := tr.each(func(w *worker) error {
		err := meet.Guard(func() {
			w.runTrain(epoch, scale, func(layer int) {
				if done != nil {
					done(w, layer)
				}
			})
			if finish != nil {
				finish(w)
			}
		})
		if err != nil {
			return err
		}
		return w.Sync()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// nextEpoch trains the epoch behind those done, and returns what is counted of it.
func nextEpoch(t testing.TB, tr *Trainer) EpochStats {
	t.Helper()
	e := EpochStats{Epoch: tr.State.Epochs}
	if err := tr.Steps(t.Context(), e.Epoch); err != nil {
		t.Fatal(err)
	}
	tr.Engine.Describe(e.Epoch, &e)
	tr.State.Partial.Report(e.Epoch, &e)
	tr.State.Batch, tr.State.Partial = 0, trainer.Partial{}
	tr.State.Epochs++
	return e
}

// gradients runs one training pass without updating the weights and returns the summed gradients and the loss.
func gradients(t testing.TB, tr *Trainer) (*gnn.Weights, float64) {
	t.Helper()
	backward(t, tr, tr.State.Epochs, 1/tr.terms, nil, nil)
	loss := 0.0
	reduceWhole(tr)
	for _, w := range tr.workers {
		loss += w.lossValue()
	}
	g := tr.Weights.Clone()
	copy(g.Flat, partGradient(t, tr.workers[0]))
	return g, loss
}
