// Package check looks at the operands of operations, by one set of rules for all backends that compute.
//
// Its nouns: Operands looks at the arguments of one operation on one queue; a Memory is what the backend tells of its blocks.
//
// # Contract
//
// Every operation of gpu.Ops has a method of its name here. Backends call it first, before anything is enqueued. Shapes, strides,
// types and bounds come from this program's own code, so a wrong one is a bug at the place that enqueues: the method panics with
// one line that names device, queue, operation and argument. What lies in device memory, such as indices and labels, is not
// looked at.
//
// # Source
//
// The loops and shapes of package gpu.
//
// # Usage
//
//	c := check.Operands{Device: "cpu:0", Queue: "compute", Op: "Axpby", Memory: memory}
//	c.Axpby(dst, src)
package check
