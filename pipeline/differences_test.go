package pipeline

import (
	"fmt"
	"strings"

	"capgnn/gnn"
	"capgnn/internal/ref"
)

// refWeights are parameters in float64, in the layout of gnn.Weights.
type refWeights struct {
	layout *gnn.Weights
	flat   []float64
}

func newRefWeights(w *gnn.Weights) *refWeights {
	r := &refWeights{w, make([]float64, len(w.Flat))}
	for i, x := range w.Flat {
		r.flat[i] = float64(x)
	}
	return r
}

func (w *refWeights) at(name string, layer ...any) []float64 {
	t := w.layout.Tensor(fmt.Sprintf(name, layer...))
	return w.flat[t.Off:][:len(t.Data)]
}

// gradient returns the derivative of the loss by every parameter, in the layout of the weights. With loss and weights of
// about 1, the step leaves an error of some 1e-9 per element.
func (r *refModel) gradient(w *refWeights, epoch int) []float64 {
	return r.differences(w, epoch, 1e-6)
}

// differences is gradient by another step. What layers before a tensor compute does not depend on it.
func (r *refModel) differences(w *refWeights, epoch int, step float64) []float64 {
	var in []ref.Matrix
	if !r.byFormula() {
		in = r.inputs(w, epoch, nil)
	}
	grad := make([]float64, len(w.flat))
	for _, t := range w.layout.Tensors {
		known := in
		if layer := 0; len(in) > 0 && !strings.HasPrefix(t.Name, "lin.") {
			fmt.Sscanf(t.Name[strings.IndexByte(t.Name, '.')+1:], "%d", &layer)
			known = in[:layer+1]
		}
		for i := t.Off; i < t.Off+len(t.Data); i++ {
			x := w.flat[i]
			w.flat[i] = x + step
			up := r.lossBehind(w, epoch, known)
			w.flat[i] = x - step
			grad[i] = (up - r.lossBehind(w, epoch, known)) / (2 * step)
			w.flat[i] = x
		}
	}
	return grad
}
