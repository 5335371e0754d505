package pipeline

import (
	"fmt"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/trainer"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
	"capgnn/pipeline/link"
)

// planRun cuts the graph and decides the order of operations; where nothing ages, settleAging decides it anew.
func (t *Trainer) planRun() error {
	o, p := &t.o, t.p
	if t.layout = o.Layout; t.layout == nil {
		var err error
		if t.layout, err = newLayout(p, o, o.own()); err != nil {
			return err
		}
	}
	t.cut = t.layout.cut
	var err error
	if t.isolation, err = newIsolation(p, o, t.cut); err != nil {
		return err
	}
	if t.isolation != nil {
		t.shape = t.isolation.shape(&p.Features)
	} else {
		t.shape = t.layout.shape(p.FeatureEntries(), p.Features.Sparse(), o.Model)
	}
	t.chooseOrder()
	return nil
}

func (t *Trainer) chooseOrder() {
	o := &t.o
	t.plan = gnn.Choose(o.Model, t.shape, gnn.Choice{NoPrecompute: o.Isolated != nil && o.Isolated.AllLayers, Period: o.Cache.Period(), Stale: o.Cache.Layers, Storage: o.Storage})
	if t.isolation != nil {
		t.isolation.replicates = t.plan.Input == gnn.Replicated
	}
	o.Log.Info("planned", "input", t.plan.Input.String(), "layers", fmt.Sprintf("%+v", t.plan.Layers))
}

// exchangeConfig is what exchanges are planned by, but for the facts of devices.
func (t *Trainer) exchangeConfig() halo.Config {
	c := halo.Config{Options: t.o.Cache, Model: t.o.Model, Order: t.plan, Cuts: *t.layout.cuts(), Hub: t.Hub, Log: t.o.Log,
		Area: trainer.FirstRowArea}
	if t.o.Ranks != nil {
		c.Net = link.Over(t.o.Ranks, t.Hub)
	}
	for _, w := range t.workers {
		c.Ends = append(c.Ends, &w.ep)
	}
	return c
}

// exchangeFacts is exchangeConfig with the facts of all parts' devices.
func (t *Trainer) exchangeFacts() (halo.Config, error) {
	c := t.exchangeConfig()
	var err error
	c.Facts, err = trainer.Gather(&t.core, trainer.TagFacts, c.OwnFacts())
	return c, err
}

// Ages reports whether training may use rows of other parts that an earlier epoch made.
func (t *Trainer) Ages() bool { return t.o.Cache.Ages() }

// Caches says which halo rows have slots; nil: none.
func (t *Trainer) Caches() *jaca.Plan { return t.halo.Caches() }

// HostMemory returns the host memory that exchanges need: the global cache, and buffers of rows that are sent.
func (t *Trainer) HostMemory() (cache, staging gpu.Bytes) {
	return t.halo.HostMemory()
}
