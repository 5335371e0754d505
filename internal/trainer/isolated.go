package trainer

import (
	"fmt"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/pipeline/chunks"
)

// Describe fills in what isolated parts hold in an epoch.
func Describe(c *chunks.Course, epoch int, e *EpochStats) {
	e.Isolated = &SuperEpoch{Shift: c.Shift(epoch), Phases: c.Count(), Switches: c.Switches(epoch)}
}

// CheckIsolated says why a model, or what its rows are stored as, does not suit isolated parts.
func CheckIsolated(i *chunks.Isolated, m gnn.Config, storage gpu.DType) (errs []error) {
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf("isolated parts: "+format, a...)) }
	if (m.KeepsOrigin() || m.DropsFeatures()) && !i.AllLayers {
		bad("the first layer is cut as the others are where it reads dropped features, or what is made of features")
	}
	if m.Sums() != nil {
		bad("the model sums over several graphs or weights of edges: parts keep one: train it without")
	}
	if i.Correction.EdgeWeights() && m.Attends() {
		bad("correction %s weighs edges, which attention does by itself", i.Correction)
	}
	if i.Corrects() && storage != gpu.FP32 {
		bad("correction %s needs gradients in fp32, not %v", i.Correction, storage)
	}
	return errs
}
