package pipeline

import (
	"fmt"
	"math"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/checkpoint/section"
)

// Diverged says that the training loss is no number any more, and where that began. The weights of the epoch are useless;
// the newest checkpoint is from before.
type Diverged struct {
	Epoch  int
	Loss   float64 // NaN or infinite
	Layer  int     // first layer whose output holds a NaN or an infinity; the last layer if none of the hidden ones does
	Part   int
	Device string
}

func (e *Diverged) Error() string {
	return fmt.Sprintf("loss is %v: it began in the output of layer %d (part %d, %s): try a lower learning rate, or look for extreme features",
		e.Loss, e.Layer, e.Part, e.Device)
}

// checkLoss returns a *Diverged if the loss of an epoch is not finite.
func (t *Trainer) checkLoss(e *EpochStats) error {
	if !math.IsNaN(e.Loss) && !math.IsInf(e.Loss, 0) {
		return nil
	}
	bad := &Diverged{Epoch: e.Epoch, Loss: e.Loss, Layer: t.o.Model.Layers}
	for _, w := range t.workers {
		for l, m := range w.train.Outputs() {
			if l >= bad.Layer {
				break
			}
			finite, err := w.finite(m)
			if err != nil {
				return err
			}
			if !finite {
				bad.Layer, bad.Part, bad.Device = l, w.index, w.dev.Info().Name
			}
		}
	}
	if bad.Layer == t.o.Model.Layers { // the outputs are finite: only their sum overflowed
		bad.Layer, bad.Part, bad.Device = t.o.Model.Layers-1, t.o.First, t.worker(t.o.First).dev.Info().Name
	}
	return bad
}

// finite reports whether a contiguous matrix holds neither NaN nor infinity.
func (w *worker) finite(m gpu.Matrix) (bool, error) {
	const chunk = 1 << 20
	host := make([]float32, min(chunk, m.Rows*m.Cols))
	for lo := 0; lo < m.Rows*m.Cols; lo += chunk {
		part := host[:min(chunk, m.Rows*m.Cols-lo)]
		w.compute.Download(hostmem.Bytes(part), m.Buf, 4*gpu.Bytes(m.Off+lo))
		if err := w.compute.Sync(); err != nil {
			return false, err
		}
		if !section.Finite(part) {
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
	return &section.NotFinite{What: fmt.Sprintf("epoch %d: weights behind its update", t.state.Epochs-1)}
}
