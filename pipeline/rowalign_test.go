package pipeline

import (
	"fmt"
	"slices"
	"testing"

	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/internal/named"
)

// gapped is a device that wants rows to begin at multiples of 32 bytes.
type gapped struct{ gpu.Device }

func (d gapped) Info() gpu.Info {
	i := d.Device.Info()
	i.RowAlign = 32
	return i
}

// Gaps between rows change no bit of weights, losses and predictions, whatever passes through the host.
func TestRowAlign(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds(t) {
		for i, storage := range []gpu.DType{gpu.FP32, gpu.BF16} {
			if !kind.StoresBF16() && storage == gpu.BF16 {
				continue // it has no such rows
			}
			p, m := task{share: 0.4, sparse: i == 1, multi: kind == named.GIN}.make(t, kind)
			if m.Multi {
				p.Classes = taskClasses // rows of targets are of so many
			} else {
				p.Classes = 11
			}
			m.Out, m.Hidden = p.Classes, 20
			for _, parts := range []int{1, 3} {
				name := fmt.Sprintf("%s, %v, %d parts", kind, storage, parts)
				plain := cpus(t, parts)
				wide := slices.Clone(plain)
				for i, d := range wide {
					wide[i] = gapped{d}
				}
				result := func(devices []gpu.Device) (string, []float32, []float64) {
					part := scatterParts(p.Vertices(), parts)
					if parts == 1 {
						part = make([]int32, p.Vertices())
					}
					var loss []float64
					tr := newTrainer(t, p, m, devices, part, func(o *Options) {
						o.OnEpoch = func(e EpochStats) error { loss = append(loss, e.Loss); return nil }
						o.Epochs, o.EvalEvery, o.Storage = 4, 1, storage
						if !m.Multi {
							o.Task = learn.Labels{Smoothing: 0.1}
						}
					})
					r := run(t, tr)
					o := PredictOptions{Model: netOf(m), Weights: r.Weights, Devices: devices, Part: part}
					return r.WeightsSHA, predicted(t, p, o), loss
				}
				sha, rows, loss := result(plain)
				gotSHA, gotRows, gotLoss := result(wide)
				if gotSHA != sha || !slices.Equal(gotRows, rows) || !slices.Equal(gotLoss, loss) {
					t.Errorf("%s: weights equal %v, predictions %v, losses %v", name, gotSHA == sha, slices.Equal(gotRows, rows), slices.Equal(gotLoss, loss))
				}
			}
		}
	}
}
