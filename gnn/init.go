package gnn

import (
	"hash/fnv"
	"math"
	"strings"

	"capgnn/gpu"
)

// Init draws the initial weights of a run (docs/mathematics.md), from the names and shapes of the tensors alone:
//
//	convs.L.lin.weight              GCN, GAT: uniform in ±sqrt(6 / (rows + columns))   (Glorot)
//	convs.L.att_src, att_dst        GAT: the same over the last two dimensions, heads and width of a head
//	convs.L.att                     GATv2: as att_src; convs.L.lin_l.weight and lin_r.weight as lin.weight
//	convs.L.bias                    GCN, GAT, GATv2: 0
//	convs.L.lin_l, lin_r, nn.lins.K SAGE, GIN: weight and bias uniform in ±1/sqrt(columns of the weight); biases of GATv2 too
//	convs.L.eps                     GIN: 0
//	convs.L.weight1                 GCNII: as convs.L.lin.weight of GCN
//	convs.L.lin.weight and .bias    DirGNN: as nn.lins.K of GIN
//	lin, lin1, lin2, lins.0, lins.1 SGC, APPNP, GCNII, jumping knowledge: as nn.lins.K of GIN
//	norms.L.weight, norms.L.bias    1, 0; of batch_norm also running_var, running_mean; of GraphNorm also mean_scale, 1
//
// A tensor that has a start in its program begins with that: temp of GPRGNN. Those that have other names are drawn by what they are for: of layer_norm and batch_norm 1 and 0, of linear uniform in
// ±1/sqrt(columns of the weight), other matrices as Glorot's, and what is left is 0.
//
// These are PyTorch Geometric's and torch.nn.Linear's defaults. An element is a function of (seed, tensor name, index)
// alone, see uniform, so it depends neither on order nor on the other tensors of the model.
func (w *Weights) Init(seed uint64) {
	for i := range w.Tensors {
		t := &w.Tensors[i]
		for k, x := range t.start {
			t.Data[k] = float32(x)
		}
		if t.start != nil {
			continue
		}
		bound, constant, ok := w.initRule(t)
		if !ok {
			bound, constant = t.bound, t.constant
		}
		if bound == 0 {
			for k := range t.Data {
				t.Data[k] = constant
			}
			continue
		}
		uniform(t.Data, seed, t.Name, bound)
	}
}

// initRule returns the bound of a tensor's uniform distribution, or 0 and the constant that it starts with, and whether its name says so.
func (w *Weights) initRule(t *Tensor) (bound float64, constant float32, ok bool) {
	conv, leaf := t.Name[:strings.LastIndexByte(t.Name, '.')+1], t.Name[strings.LastIndexByte(t.Name, '.')+1:]
	switch {
	case leaf == "mean_scale":
		return 0, 1, true
	case strings.HasPrefix(t.Name, "norms."):
		if leaf == "weight" || leaf == "running_var" {
			return 0, 1, true
		}
		return 0, 0, true
	case leaf == "eps":
		return 0, 0, true
	case strings.HasSuffix(conv, ".lin.") && w.Tensor(conv+"bias") != nil: // a torch.nn.Linear
		return 1 / math.Sqrt(float64(w.Tensor(conv + "weight").Shape[1])), 0, true
	case strings.HasPrefix(leaf, "att"), leaf == "weight1", strings.HasSuffix(t.Name, ".lin.weight"), leaf == "weight" && w.Tensor(attOf(conv)) != nil:
		if n := len(t.Shape); n > 1 {
			return glorot(t.Shape), 0, true
		}
	case strings.Contains(t.Name, ".lin_l."), strings.Contains(t.Name, ".lin_r."), strings.Contains(t.Name, ".nn.lins."), strings.HasPrefix(t.Name, "lin"):
		if m := w.Tensor(conv + "weight"); m != nil && len(m.Shape) == 2 {
			return 1 / math.Sqrt(float64(m.Shape[1])), 0, true
		}
	case leaf == "bias" && strings.HasPrefix(conv, "convs."):
		return 0, 0, true
	}
	return 0, 0, false
}

// glorot returns the bound of a tensor whose last two axes are a matrix's.
func glorot(shape []int) float64 {
	n := len(shape)
	return math.Sqrt(6 / float64(shape[n-2]+shape[n-1]))
}

// attOf returns the name of GATv2's attention vector in the layer of a tensor, whose name is conv and something without a dot.
func attOf(conv string) string {
	layer, _, _ := strings.Cut(strings.TrimPrefix(conv, "convs."), ".")
	return "convs." + layer + ".att"
}

// uniform fills x with numbers uniform in ±bound. Element k comes from the word r = Philox(counter, key)[k mod 4] with
//
//	key     = low and high 32 bits of seed
//	counter = {low 32 bits of k/4, high 32 bits of k/4, low 32 bits of h, high 32 bits of h}
//	h       = 64-bit FNV-1a hash of the tensor's name
//	x[k]    = float32(bound · (r − 2³¹ + ½) / 2³¹)
//
// in float64 until the last rounding. The distribution is symmetric, has no zero, and |x[k]| ≤ float32(bound). The third
// word of a dropout counter is a layer number (at most model.FeatureCounter); no name of a model has a hash whose low word is that small (a
// test looks), so weights and dropout never use the same counter.
func uniform(x []float32, seed uint64, name string, bound float64) {
	f := fnv.New64a()
	f.Write([]byte(name))
	h := f.Sum64()
	key := gpu.SeedKey(seed)
	for k := 0; k < len(x); k += 4 {
		b := uint64(k / 4)
		words := gpu.Philox([4]uint32{uint32(b), uint32(b >> 32), uint32(h), uint32(h >> 32)}, key)
		for lane, r := range words[:min(4, len(x)-k)] {
			x[k+lane] = float32(bound * ((float64(r) - (1<<31 - 0.5)) / (1 << 31)))
		}
	}
}
