package gnn

// Tensor is one named parameter on the host. Data has the product of Shape elements, row-major, and aliases Weights.Flat.
type Tensor struct {
	Name  string // PyTorch Geometric BasicGNN state_dict name, e.g. "convs.0.lin.weight"
	Shape []int  // [out, in] for matrices; [1] for eps
	Data  []float32
	Off   int // first element in Weights.Flat
}

// Weights is the parameters of a model on the host: tensors laid one after another in one flat array, so that a
// reduction, an update or a broadcast is one operation. The gradient has the same layout.
type Weights struct {
	Tensors []Tensor
	Flat    []float32
}
