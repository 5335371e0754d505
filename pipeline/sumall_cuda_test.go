//go:build cuda

package pipeline

import (
	"strings"
	"testing"
)

// On GPUs and beside a CPU gradients of sums over all vertices are those of their definition in float64.
func TestGPUSumsOverAll(t *testing.T) {
	for _, names := range [][]string{{"cuda:0"}, {"cuda:0", "cuda:1", "cpu:0"}} {
		for name := range overAll {
			t.Run(strings.Join(names, ",")+" "+name, func(t *testing.T) {
				p, m := summing(t, name)
				devices, _ := gpus(t, "n=2;mem=32", names...)
				w := weightsOf(t, m, nil)
				_, want := newRefModel(p, m, nil, nil).gradient(newRefWeights(w), 0)
				part := scatterParts(p.Vertices(), len(names))
				got, _ := gradients(t, newTrainer(t, p, m, devices, part, func(o *Options) { o.Init = w.StateDict() }))
				if d := differs(got.Flat, want); !(d <= 1e-5*norm(want)) {
					t.Errorf("gradients differ by %.3g of %.3g", d, norm(want))
				}
			})
		}
	}
}
