// Package reorder gives the vertices of a graph new numbers, so that a sparse product finds the rows that it reads in a cache.
//
// Community returns the rank of every vertex, a permutation of 0 to n-1 as graph.Split takes it. It takes a square graph, directed
// or not, with or without loops, and gives equal ranks on every platform and for any number of threads.
//
//	rank, err := reorder.Community(ctx, g, 0)
package reorder
