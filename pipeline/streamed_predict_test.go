package pipeline

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/named"
)

// Parts that take turns predict the rows of held ones, of every layer, on devices with one part and with several.
func TestStreamedPredictions(t *testing.T) {
	for _, kind := range named.Kinds {
		p, m := task{directed: true, share: 0.5}.make(t, kind)
		for _, on := range [][]int{{0}, {0, 0, 0}, {0, 1, 0, 1, 2}, {1, 1, 0, 0}} {
			for layers := range netOf(m).HiddenLayers() + 1 {
				var rows [2][]float32
				var most [2]gpu.Bytes
				for k := range rows {
					devs := cpus(t, 1+slices.Max(on))
					o := PredictOptions{Model: netOf(m), Weights: weightsOf(t, m, nil), Layers: layers, Stream: k == 1,
						Part: scatterParts(p.Vertices(), len(on))}
					for _, d := range on {
						o.Devices = append(o.Devices, devs[d])
					}
					rows[k], most[k] = predicted(t, unlabelled(p), o), devs[0].Memory().HighWater
				}
				if !slices.Equal(rows[0], rows[1]) {
					t.Errorf("%s on %v, %d layers: streamed parts predict other rows than held ones", kind, on, layers)
				}
				if len(on) == 3 && most[1] >= most[0] {
					t.Errorf("%s: held parts take %d bytes of the device, streamed ones %d", kind, most[0], most[1])
				}
			}
		}
	}
}

// A model that sums over all vertices predicts the same rows in turns.
func TestStreamedPredictionsMeet(t *testing.T) {
	for name := range overAll {
		p, m := summing(t, name)
		dev := cpus(t, 1)[0]
		var rows [2][]float32
		for k := range rows {
			rows[k] = predicted(t, unlabelled(p), PredictOptions{Model: netOf(m), Weights: weightsOf(t, m, nil),
				Devices: []gpu.Device{dev, dev, dev}, Part: scatterParts(p.Vertices(), 3), Stream: k == 1})
		}
		if !slices.Equal(rows[0], rows[1]) {
			t.Errorf("%s: streamed parts predict other rows than held ones", name)
		}
	}
}

// Whoever takes rows may end the prediction: no part waits for the others' rows then.
func TestStreamedPredictionsEnd(t *testing.T) {
	p, m := task{share: 0.5}.make(t, named.GAT)
	dev, enough := cpus(t, 1)[0], errors.New("enough")
	o := PredictOptions{Model: netOf(m), Weights: weightsOf(t, m, nil), Devices: []gpu.Device{dev, dev, dev},
		Part: scatterParts(p.Vertices(), 3), Stream: true, WaitDeadline: time.Minute}
	calls := 0
	err := PredictRows(context.Background(), p, o, func([]graph.NodeID, []float32) error {
		if calls++; calls == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || calls != 2 {
		t.Errorf("after %d calls: %v", calls, err)
	}
}
