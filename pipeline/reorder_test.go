package pipeline

import (
	"fmt"
	"testing"

	"capgnn/internal/named"
)

// Weights that were reordered give the logits of reordered features, class by class where the classes are in another
// order, whatever the model and however many layers and heads it has.
func TestReorder(t *testing.T) {
	for _, kind := range named.Kinds {
		for layers := 1; layers <= 3; layers++ {
			p, m := task{share: 0.4, vertices: 60}.make(t, kind)
			m.Layers, m.Jumping = layers, layers == 3 && kind.Norms()
			w := weightsOf(t, m, nil)
			for i := range w.Tensors { // biases are 0 at first
				for k := range w.Tensors[i].Data {
					w.Tensors[i].Data[k] += float32((i*7+k*3)%11-5) / 32
				}
			}
			o := PredictOptions{Model: netOf(m), Weights: w, Devices: cpus(t, 1), Part: make([]int32, p.Vertices())}
			was := predicted(t, unlabelled(p), o)
			inputs, outputs := turned(m.In), turned(m.Out)
			x := make([]float32, len(p.Features.Dense))
			for i, v := range p.Features.Dense {
				x[i/m.In*m.In+inputs[i%m.In]] = v
			}
			p.Features.Dense = x
			more, other := m, m
			more.In++
			other.Out++
			w.Reorder(netOf(more), inputs)
			w.Reorder(netOf(other), outputs)
			is := predicted(t, unlabelled(p), o)
			got, want := make([]float32, len(was)), make([]float64, len(was))
			for i, v := range was {
				want[i], got[i] = float64(v), is[i/m.Out*m.Out+outputs[i%m.Out]]
			}
			near(t, fmt.Sprintf("%s, %d layers", kind, layers), got, want)
		}
	}
}

// turned is an order of n that is not its own inverse from 3 on.
func turned(n int) []int {
	to := make([]int, n)
	for i := range to {
		to[i] = (i + 1) % n
	}
	return to
}
