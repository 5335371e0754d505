// Package memory lists what is taken, before it is taken.
//
// Its nouns: a Use is memory for one purpose, a Plan the uses of a device or of the process. Bounds include slack,
// for steps that are larger than those that were sampled to see.
//
//	var m memory.Plan
//	m.Add("weights", 16*parameters, 0)
//	m.Map("tables of rows", tables, 0) // not of the heap
package memory
