package pipeline

import (
	"slices"

	"capgnn/gpu"
	"capgnn/internal/checkpoint/section"
	"capgnn/internal/trainer"
)

// Diverged says that the training loss became NaN or infinite, and where that began. The weights of this epoch are
// useless; the last checkpoint is from before.
type Diverged = trainer.Diverged

// Diverged implements trainer.Engine: it looks for where that began.
func (t engine) Diverged(epoch, _ int, loss float64) error {
	if t.o.Stream { // outputs are gone with the turns that made them
		return &Diverged{Epoch: epoch, Loss: loss}
	}
	own := make([]divergence, len(t.workers))
	for i, w := range t.workers {
		var err error
		if own[i], err = w.divergence(t.o.Model.Layers); err != nil {
			return err
		}
	}
	all, err := trainer.Gather(&t.core, trainer.TagDivergence, own)
	if err != nil {
		return err
	}
	bad := &Diverged{Epoch: epoch, Loss: loss, Layer: t.o.Model.Layers - 1, Device: all[0].Device} // or only the sum of outputs overflowed
	for part, d := range slices.Backward(all) {
		if d.Layer <= bad.Layer {
			bad.Layer, bad.Part, bad.Device = d.Layer, part, d.Device
		}
	}
	return bad
}

// divergence is where the outputs of one part are no numbers any more.
type divergence struct {
	Layer  int // the first one, the number of layers if there is none
	Device string
}

// divergence looks for it in the outputs of the last epoch, of which there are those of hidden layers.
func (w *worker) divergence(layers int) (divergence, error) {
	d := divergence{Layer: layers, Device: w.Device.Info().Name}
	for l, m := range w.Pass.Outputs() {
		finite, err := w.finite(m)
		if err != nil {
			return d, err
		}
		if !finite {
			d.Layer = l
			break
		}
	}
	return d, nil
}

func (w *worker) finite(m gpu.Matrix) (bool, error) {
	all := true
	err := w.rows(w.Waits.Hub.Context(), m, func(_, _ int, rows []float32) error {
		all = all && section.Finite(rows)
		return nil
	})
	return all, err
}
