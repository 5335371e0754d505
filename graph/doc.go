// Package graph holds graphs and what partitioned training derives from them.
//
// Its nouns: a CSR is a graph (row v lists in-neighbours). A Part is one device's share of it, with local numbering,
// halos and send lists. A Cut is all parts, or some of them with what is needed to plan exchanges with the others.
// Needed says which rows each layer must compute, a Pruning which halo vertices parts drop, Loops what happens to
// self-loops. Package synth generates graphs, package reorder renumbers their vertices.
//
// Everything here is a pure function of its arguments: no clock, no randomness but a given seed, no map order. A CSR is
// immutable once built and may be shared by goroutines.
//
// Source: docs/mathematics.md has the definitions; halos and overlap are as in §2.2 and Eq. 2 of the CaPGNN paper. We differ in
// the direction: halos are in-neighbours, and the backward pass has halos of its own (H').
//
//	g, err := graph.FromEdges(n, edges)
//	g = g.WithoutLoops().WithLoops()
//	cut, err := graph.Split(g, graph.LoopsAdded, part, 4, graph.Needed(g, train, layers, nil), layers, nil, nil)
package graph
