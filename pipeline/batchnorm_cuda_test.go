//go:build cuda

package pipeline

import (
	"math"
	"strings"
	"testing"

	"capgnn/gpu"
)

// On GPUs and beside a CPU gradients of a norm over all vertices are those of its definition in float64.
func TestGPUBatchNorm(t *testing.T) {
	for _, names := range [][]string{{"cuda:0"}, {"cuda:0", "cuda:1", "cpu:0"}} {
		t.Run(strings.Join(names, ","), func(t *testing.T) {
			p, m := normed(t)
			devices, _ := gpus(t, "n=2;mem=32", names...)
			w := weightsOf(t, m, nil)
			wantLoss, want := newRefModel(p, m, nil, nil).gradient(newRefWeights(w), 0)
			part := scatterParts(p.Vertices(), len(names))
			got, loss := gradients(t, newTrainer(t, p, m, devices, part, func(o *Options) { o.Init = w.StateDict() }))
			if !(math.Abs(loss-wantLoss) <= 1e-5*wantLoss) || !(differs(got.Flat, want) <= 1e-5*norm(want)) {
				t.Errorf("loss %v, want %v; gradients differ by %.3g of %.3g", loss, wantLoss, differs(got.Flat, want), norm(want))
			}
			for _, widths := range [][2]int{{5, 37}, {37, 5}} { // products of rows in BF16 round what they read
				p, m := normedOf(t, widths[0], widths[1])
				w := weightsOf(t, m, nil)
				_, want := newRefModel(p, m, nil, nil).gradient(newRefWeights(w), 0)
				got, _ := gradients(t, newTrainer(t, p, m, devices, part, func(o *Options) { o.Init, o.Storage = w.StateDict(), gpu.BF16 }))
				if d := differs(got.Flat, want); !(d > 0 && d <= 0.03*norm(want)) {
					t.Errorf("bf16, %v columns: gradients differ by %.3g of %.3g", widths, d, norm(want))
				}
			}
		})
	}
}
