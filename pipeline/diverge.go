package pipeline

import (
	"fmt"
	"math"
	"slices"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint/section"
)

// Diverged says that the training loss became NaN or infinite, and where that began. The weights of this epoch are
// useless; the last checkpoint is from before.
type Diverged struct {
	Epoch  int
	Loss   float64 // NaN or infinite
	Layer  int     // first layer whose output holds a NaN or an infinity; the last layer if none of the hidden ones does
	Part   int
	Device string
}

func (e *Diverged) Error() string {
	return fmt.Sprintf("loss is %v: it began in the output of layer %d (part %d, %s): try a lower learning rate, or look for extreme features or edge weights",
		e.Loss, e.Layer, e.Part, e.Device)
}

// checkLoss returns a *Diverged if the loss of an epoch is not finite.
func (t *Trainer) checkLoss(e *EpochStats) error {
	if !math.IsNaN(e.Loss) && !math.IsInf(e.Loss, 0) {
		return nil
	}
	own := make([]divergence, len(t.workers))
	for i, w := range t.workers {
		var err error
		if own[i], err = w.divergence(t.o.Model.Layers); err != nil {
			return err
		}
	}
	all, err := gather(t.hub.Context(), t, tagDivergence, own)
	if err != nil {
		return err
	}
	bad := &Diverged{Epoch: e.Epoch, Loss: e.Loss, Layer: t.o.Model.Layers - 1, Device: all[0].Device} // or only the sum of outputs overflowed
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
	for l, m := range w.train.Outputs() {
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

// finite reports whether a matrix holds neither NaN nor infinity.
func (w *worker) finite(m gpu.Matrix) (bool, error) {
	const chunk = 1 << 20
	step := max(1, chunk/m.LD)
	host := make([]float32, min(step, m.Rows)*m.LD)
	for lo := 0; lo < m.Rows; lo += step {
		part := m.RowRange(lo, min(m.Rows, lo+step))
		w.Compute.Download(hostmem.Bytes(host[:part.Span()]), m.Buf, 4*gpu.Bytes(part.Off))
		if err := w.Compute.Sync(); err != nil {
			return false, err
		}
		if !section.Finite(gpu.Compact(host, part)) {
			return false, nil
		}
	}
	return true, nil
}

// finiteWeights checks some weights or moments of a checkpoint.
func (t saver) finiteWeights(part []byte) error {
	if section.Finite(hostmem.Of[float32](part)) {
		return nil
	}
	return &section.NotFinite{What: fmt.Sprintf("epoch %d: weights after its update", t.state.Epochs-1)}
}
