// Package reorder gives the vertices of a graph new numbers, so that a sparse product finds the rows that it reads in a cache.
//
// Degree, RCM and Community return the rank of every vertex, as graph.Split takes it; Community is the one that pays for graphs
// with communities, RCM for meshes. All take a square graph, directed or not, with or without loops, and give equal ranks on
// every platform and for any number of threads.
//
//	rank, err := reorder.Community(ctx, g, 0)
package reorder
