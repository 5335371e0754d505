package pipeline

import (
	"testing"

	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// A part of one vertex that does not train computes no row of the last layer, so it reads none there, though it has halo rows:
// with caches its weights are those without.
func TestPartWithoutRowsOfTheLastLayer(t *testing.T) {
	for _, kind := range kinds(t) {
		p, m := task{share: 0.5}.make(t, kind)
		part := make([]int32, p.Vertices())
		for v := range part {
			part[v] = 1
		}
		for v := range part {
			if !p.Train[v] && len(p.Graph.Row(v)) > 1 {
				part[v] = 0
				break
			}
		}
		weights := func(policy jaca.Policy, staleness int) string {
			tr := newTrainer(t, p, m, cpus(t, 2), part, func(o *Options) {
				o.Epochs, o.Cache = 4, halo.Options{Policy: policy, NoPeer: true, Staleness: staleness}
			})
			defer tr.Close()
			return run(t, tr).WeightsSHA
		}
		if got, want := weights(jaca.JACA, 0), weights(jaca.None, 0); got != want {
			t.Errorf("%s: weights with caches differ from those without", kind)
		}
		weights(jaca.JACA, 4)
	}
}
