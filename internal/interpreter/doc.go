// Package interpreter runs programs of package model in float64, forward and backward, on one part or several: the
// definition of every operation as loops, which programs made from a program are compared with.
//
// Its nouns: a Graph, edge by edge, and a Run of a program on it. pipeline.Prove compares what devices compute with it.
//
// # Contract
//
// Parts exchange rows at Src alone, and add up at sums over all vertices; gradients of rows of other parts return to
// their owners. Of every value only the rows within its reach of the targets are computed; others are not there to be
// read. Nothing is optimised. A program is valid, so shapes are not checked.
//
// # Source
//
// docs/formats/model.md for values; the vector-Jacobian products are in gradients.go.
//
// # Usage
//
//	r := interpreter.Run{Program: p, Graph: g, X: x, Params: params}
//	logits := r.Forward()
//	grads := r.Backward(gradientOf(logits)) // by name of the tensor
package interpreter
