package gnn

import (
	"slices"

	"capgnn/gpu"
)

// InputMode says how layer 0 gets the features of remote in-neighbours (saving 1 of docs/mathematics.md).
type InputMode uint8

// Input modes.
const (
	// Precomputed: ÂX is aggregated once, before the first epoch.
	Precomputed InputMode = iota
	// Replicated: the features of halo vertices are copied once; every epoch transforms them locally.
	Replicated
	// Exchanged: layer 0 is like every other layer and exchanges halos in every epoch.
	Exchanged
)

func (m InputMode) String() string { return [...]string{"precomputed", "replicated", "exchanged"}[m] }

// LayerPlan is the order of operations of one layer (saving 2 of docs/mathematics.md).
type LayerPlan struct {
	// AggregateFirst: Z = (A·H)·Wᵀ, exchanging H; otherwise Z = A·(H·Wᵀ), exchanging the product.
	AggregateFirst bool
	// KeepAggregate: A·H is kept for dW = dZᵀ·(A·H); otherwise dW = (Aᵀ·dZ)ᵀ·H. Needs AggregateFirst.
	KeepAggregate bool
	// BackwardIn: dH = Aᵀ·(dZ·W), exchanging dZ·W; otherwise dH = (Aᵀ·dZ)·W, exchanging dZ. Needs KeepAggregate.
	BackwardIn bool
	// Returns: the part that reads halo rows returns their gradients to the owners, which add them up. Of GATv2, and of GAT where rows may be stale.
	Returns bool
	// Raw: halo rows are those of H, and the part that reads them transforms them itself: user and owner differentiate the same forward pass, however
	// old the rows are. Of GAT and GATv2, where rows may be stale. Needs Returns.
	Raw bool
	// Fresh: the layer reads only halo rows that were computed in the same epoch, whatever staleness is allowed.
	Fresh bool
}

// Ages reports whether a layer may read stale halo rows. Layer 0 never does: features do not change.
func (p Plan) Ages(layer int) bool { return layer > 0 && !p.Layers[layer].Fresh }

// Plan is every decision about the order of a model's operations. All devices of a run share one plan.
type Plan struct {
	Input  InputMode
	Layers []LayerPlan
	// Storage is the element type of the rows that aggregations gather and parts exchange. Sums, weights and what LayerNorm
	// keeps are FP32 all the same. Models but GCN, GraphSAGE and GIN gather FP32 whatever this is.
	Storage gpu.DType
}

// Mixed reports whether some layers may read stale rows while others always read fresh ones.
func (p Plan) Mixed() bool {
	return slices.ContainsFunc(p.Layers, func(l LayerPlan) bool { return l.Fresh })
}

// GatherType returns the element type of what layer l's aggregation reads, and parts exchange, in one direction under plan
// p; FP32 where nothing is aggregated in an epoch.
func (c Config) GatherType(p Plan, l int, dir Direction) gpu.DType {
	if !c.StoresBF16() || l == 0 && p.Input == Precomputed || l == 0 && dir == Forward && p.Layers[0].AggregateFirst {
		return gpu.FP32
	}
	return p.Storage
}

// Shape is the size of a problem, summed over parts: what Choose decides by.
type Shape struct {
	Rows           []int64 // Rows[k], 0 ≤ k ≤ layers: rows of level ≥ k
	Edges          []int64 // Edges[ℓ]: entries that layer ℓ aggregates
	Halo, BackHalo []int64 // halo rows per layer and direction
	FeatureEntries int64   // stored feature values; rows × width if dense
	Sparse         bool
}

// Choice restricts Choose; the zero value leaves it free.
type Choice struct {
	NoPrecompute bool
	// Blocks: the layers go through blocks of sampled vertices, without rows of other parts. Layer 0 has no gradient to spread
	// then, and reads ÂX or features as they are.
	Blocks bool
	// Period is after how many epochs rows of other parts are renewed, where they may be of earlier ones; 0 = they may not.
	Period int
	// Stale are the layers that may read stale halo rows if Period > 0; nil: all but those whose output is narrow.
	Stale   []int
	Storage gpu.DType
}

// Relative costs of a multiply-add in a dense product, of one gathered element of a sparse product, and of one exchanged
// element. Fixed numbers, not measurements, so that a plan is a function of the problem alone: from the
// measured limits of a 2-core AVX-512 machine (GEMM 0.5 TFLOP/s, SpMM 60 GB/s, copies 10 GB/s).
const (
	costMAC      = 1.0
	costGathered = 16.0
	costMoved    = 100.0
)

// Choose picks the cheaper order for every layer and direction, over the needed rows (savings 1 and 2); with stale rows, an
// order in which they are made and used by the same weights (docs/adr/0020).
// Pure: the same configuration and shape give the same plan.
func Choose(c Config, s Shape, ch Choice) Plan {
	p := Plan{Layers: make([]LayerPlan, c.Layers), Storage: ch.Storage}
	for l := range p.Layers {
		p.Layers[l] = chooseLayer(c, s, l, ch)
		if ch.Period > 0 && (l > 0 && c.staysFresh(l, ch) || l == 0 && c.DropsFeatures()) {
			p.Layers[l] = chooseLayer(c, s, l, Choice{})
			p.Layers[l].Fresh = l > 0
		}
	}
	p.Input = chooseInput(c, s, ch)
	switch {
	case c.pairs() && p.Input == Exchanged && !ch.Blocks:
		p.Layers[0] = LayerPlan{Returns: true}
	case c.Attends() || p.Input == Replicated || p.Input == Exchanged && s.Sparse:
		p.Layers[0] = LayerPlan{}
	case p.Input == Precomputed:
		p.Layers[0] = aggregateIn
	}
	return p
}

func chooseInput(c Config, s Shape, ch Choice) InputMode {
	if ch.NoPrecompute || c.KeepsOrigin() || c.DropsFeatures() {
		return Exchanged
	}
	if ch.Blocks && (c.Attends() || s.Sparse) {
		return Exchanged
	}
	if c.Attends() {
		return Replicated
	}
	if !s.Sparse {
		return Precomputed
	}
	in, out := c.Width(0)
	// Per epoch, forward and weight gradient: a dense product over ÂX against two sparse products and two aggregations.
	dense := 2 * costMAC * float64(s.Rows[1]) * float64(in) * float64(out)
	sparse := 2 * costGathered * float64(s.FeatureEntries+s.Edges[0]) * float64(out)
	if dense < sparse {
		return Precomputed
	}
	return Replicated
}

func chooseLayer(c Config, s Shape, l int, ch Choice) LayerPlan {
	if c.Attends() {
		stale := ch.Period > 0 && l > 0
		return LayerPlan{Returns: stale || c.pairs() && !ch.Blocks, Raw: stale}
	}
	if !c.Chooses(l) {
		return LayerPlan{}
	}
	in, out := c.Width(l)
	if ch.Period > 0 {
		if l > 0 && !c.addsOwn(l) && out <= in {
			return LayerPlan{AggregateFirst: true, KeepAggregate: true}
		}
		return aggregateIn
	}
	if ch.Blocks && l == 0 {
		return c.chooseFirst(s)
	}
	src, rows := float64(s.Rows[l]), float64(s.Rows[l+1])
	gemm := costMAC * float64(in) * float64(out)
	spread := func(width int, halo int64) float64 {
		return float64(width) * (costGathered*float64(s.Edges[l]) + costMoved*float64(halo))
	}
	transformOut := gemm*src + spread(out, s.Halo[l]) + 2*gemm*src + spread(out, s.BackHalo[l])
	aggregateOut := gemm*rows + spread(in, s.Halo[l]) + 2*gemm*src + spread(out, s.BackHalo[l])
	aggregateBoth := gemm*rows + spread(in, s.Halo[l]) + 2*gemm*rows + spread(in, s.BackHalo[l])
	best, plan := transformOut, LayerPlan{}
	if !c.addsOwn(l) && aggregateOut < best {
		best, plan = aggregateOut, LayerPlan{AggregateFirst: true}
	}
	if aggregateBoth < best {
		plan = aggregateIn
	}
	return plan
}

// chooseFirst is chooseLayer for layer 0 of blocks, whose backward pass makes the gradients of weights alone: of the features there
// is none.
func (c Config) chooseFirst(s Shape) LayerPlan {
	in, out := c.Width(0)
	src, rows := float64(s.Rows[0]), float64(s.Rows[1])
	gemm := costMAC * float64(in) * float64(out)
	gather := costGathered * float64(s.Edges[0])
	transform := 2 * (gemm*src + gather*float64(out))
	aggregate := 2*gemm*rows + gather*float64(in)
	if c.addsOwn(0) { // the gradient of ε reads that of what was aggregated
		aggregate += gemm * rows
	}
	if transform <= aggregate {
		return LayerPlan{}
	}
	return aggregateIn
}

// aggregateIn is the order that transforms last in both directions.
var aggregateIn = LayerPlan{AggregateFirst: true, KeepAggregate: true, BackwardIn: true}

// staysFresh reports whether layer l reads fresh halo rows although others may read stale ones: as ch.Stale says, or else because its
// output is so narrow that moving it in every epoch is at most 4/3 of what moving input forward and output back every period-th epoch
// would be. Short periods count as four: they are to hide transfers, not to save them, and what moves in its own epoch is not hidden.
func (c Config) staysFresh(l int, ch Choice) bool {
	if ch.Stale != nil {
		return !slices.Contains(ch.Stale, l)
	}
	in, out := c.Width(l)
	if c.Attends() {
		out = c.gatWidth(l)
	}
	return 3*max(4, ch.Period)*2*out <= 4*(in+out)
}

// gatWidth returns the columns of all heads together: the last layer's heads are averaged, so each has as many.
func (c Config) gatWidth(layer int) int { return c.layers[layer].attends }
