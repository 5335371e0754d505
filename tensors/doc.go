// Package tensors gives Go programs weights, features and predictions as *tensor.Dense of gorgonia.org/tensor, and takes them as such.
//
// All are float32. The other packages of capgnn have slices with shapes instead, so programs that do not import this package, as
// capgnn itself, do not link gorgonia.org/tensor.
//
// # Contract
//
// A tensor shares memory with what it is made of, and what is made of a tensor shares memory with it where its elements lie row by
// row; views, transposed and column-major tensors are copied. A tensor without dimensions is always a copy.
//
// # Source
//
// docs/adr/0022.
//
// # Usage
//
//	logits, err := tensors.Predict(ctx, problem, options)
//	weight := tensors.Of(weights.StateDict())["convs.0.lin.weight"]
//	state, err := tensors.StateDict(map[string]*tensor.Dense{…})
//	err = weights.LoadStateDict(state)
package tensors
