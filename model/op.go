package model

import "slices"

// Op is what a node does. Functions are operations of their own. The formulas and their gradients are in
// docs/mathematics.md.
type Op string

// The operations. In brackets what a node reads.
const (
	Param     Op = "param"      // a tensor of the state_dict; in files under "tensors"
	Input     Op = "input"      // [] features of vertices, dense or sparse
	Const     Op = "const"      // [] What: a number, or made of the graph alone
	Linear    Op = "linear"     // [x, W] or [x, W, b]: x·Wᵀ + b over the last axis
	Product   Op = "product"    // [x, y] sums of products by Spec, as einsum has it; n is the row
	Add       Op = "add"        // [x…] Σ Coef[i]·x[i]
	Mul       Op = "mul"        // [x, y] x ⊙ y
	Div       Op = "div"        // [x, y] x / y
	Dropout   Op = "dropout"    // [x] zeroes with probability P, by Counter
	LayerNorm Op = "layer_norm" // [x] or [x, γ, β]: over the last axis
	BatchNorm Op = "batch_norm" // [x], [x, γ, β] or [x, γ, β, running mean, running variance]: over all vertices
	Concat    Op = "concat"     // [x…] side by side along Axis
	Slice     Op = "slice"      // [x] Lo to Hi of Axis, Hi excluded
	Reshape   Op = "reshape"    // [x] another shape behind the row
	Fold      Op = "fold"       // [x] sum, mean, max or softmax (How) along Axis, which all but softmax remove
	SumAll    Op = "sum_all"    // [x] over all vertices
	Src       Op = "src"        // [x] row of an edge's source: the only reader of other parts' rows
	Dst       Op = "dst"        // [x] row of an edge's target
	SumIn     Op = "sum_in"     // [e] over in-edges; 0 where there are none
	MaxIn     Op = "max_in"     // [e] over in-edges; 0 where there are none
	SoftmaxIn Op = "softmax_in" // [e] over in-edges

	ReLU      Op = "relu"
	LeakyReLU Op = "leaky_relu" // Slope below 0
	ELU       Op = "elu"        // Alpha·(e^x − 1) below 0
	Tanh      Op = "tanh"
	GELU      Op = "gelu" // x·Φ(x)
	Sigmoid   Op = "sigmoid"
	SiLU      Op = "silu"
	Softplus  Op = "softplus"
	Exp       Op = "exp"
	Log       Op = "log"
	Sqrt      Op = "sqrt"
	Square    Op = "square"
	Power     Op = "power" // x^Exponent
	Clamp     Op = "clamp" // to [Low, High]
	Stop      Op = "stop"  // x, without a gradient
)

// Functions lists the operations that map every element by itself.
var Functions = []Op{ReLU, LeakyReLU, ELU, Tanh, GELU, Sigmoid, SiLU, Softplus, Exp, Log, Sqrt, Square, Power, Clamp,
	Stop}

// Activations lists those that models with a name may have between layers.
var Activations = []Op{ReLU, LeakyReLU, ELU, Tanh}

// IsFunction reports whether an operation maps every element by itself.
func (o Op) IsFunction() bool { return slices.Contains(Functions, o) }

// Constants by What. Those of edges count a loop that is added with its graph's weight, and all others with 1 where
// the data set has no weights.
const (
	Number     = "number"      // Value
	VertexNum  = "vertices"    // the number of vertices
	EdgeWeight = "edge_weight" // of edges: w
	GCNNorm    = "gcn_norm"    // of edges: w / √(d_v·d_u), d the sums of weights into a vertex; 0 where one is 0
	Loop       = "loop"        // of edges: 1 of loops, 0 of others
	Sym        = "sym"         // of edges: w / √(d_v·d'_u), d' the sums of weights out of a vertex; 0 where one is 0
	InDegree   = "in_degree"   // of vertices: the number of in-edges
	OutDegree  = "out_degree"  // of vertices: the number of out-edges
	InCount    = "in_count"    // of vertices: the number of in-edges, at least 1
)

var constants = []string{Number, VertexNum, EdgeWeight, Loop, GCNNorm, Sym, InDegree, OutDegree, InCount}

// Ways of Fold.
const (
	FoldSum     = "sum"
	FoldMean    = "mean"
	FoldMax     = "max"
	FoldSoftmax = "softmax"
)

// Attr is what a node is told beside its inputs. An operation uses the fields that its rule names.
type Attr struct {
	Start    []float64 // of Param: its elements before training, row by row; nil: they are drawn
	Graph    string    // of Src, Dst, SumIn, MaxIn, SoftmaxIn, and constants made of a graph
	What     string    // of Const
	Spec     string    // of Product: "nhd,hd->nh"
	How      string    // of Fold
	Coef     []float64 // of Add, one for each input
	Axis     int       // of Concat, Slice, Fold: behind the row, from 0
	Lo, Hi   int       // of Slice
	Counter  int       // of Dropout: third number of its counter (docs/mathematics.md)
	Value    float64   // of Const
	P        float64   // of Dropout
	Eps      float64   // of LayerNorm, BatchNorm
	Momentum float64   // of BatchNorm: share of a batch in running statistics
	Slope    float64   // of LeakyReLU
	Alpha    float64   // of ELU
	Exponent float64   // of Power
	Low      float64   // of Clamp; −Inf: none
	High     float64   // of Clamp; +Inf: none
}
