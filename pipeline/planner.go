package pipeline

import (
	"fmt"

	"capgnn/gnn"
)

// planner decides, before anything is on a device, how a run is computed: the cut, the order of operations, what exchanges move, and
// which rows have slots. It fills in what the trainer keeps of that.
type planner struct{ *Trainer }

// planRun cuts the graph and decides the order of operations; where nothing ages, settleAging decides it anew.
func (t planner) planRun() error {
	o, p := &t.o, t.p
	if t.layout = o.Layout; t.layout == nil {
		var err error
		if t.layout, err = newLayout(p, o, len(o.Devices)); err != nil {
			return err
		}
	}
	t.cut = t.layout.cut
	t.shape = t.layout.shape(&p.Features, p.Features.Sparse() && !o.Savings.NoSparse, o.Model)
	t.chooseOrder()
	return nil
}

// chooseOrder decides the order of operations.
func (t planner) chooseOrder() {
	o := &t.o
	t.plan = gnn.Choose(o.Model, t.shape, gnn.Choice{NoPrecompute: o.Savings.NoPrecompute,
		NoTransformFirst: o.Savings.NoTransformFirst, NoFuse: o.Savings.NoFuse, Period: o.Cache.period(), Storage: o.Storage})
	o.Log.Info("planned", "input", t.plan.Input.String(), "layers", fmt.Sprintf("%+v", t.plan.Layers))
}
