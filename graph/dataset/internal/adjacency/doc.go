// Package adjacency builds the rows of in-neighbours of a graph from edges in any order, with little memory beside the result.
//
// Its nouns: Edges calls for every edge of a file, the same ones each time; InRows makes sorted rows without repeats of them, for as
// many vertices as RowCounts lead to, and Counts says what became of them; Symmetrised adds reverse edges; IDs numbers
// vertex ids with gaps.
//
// # Contract
//
// Trust. Edges may name any id: memory grows with the edges that are there, never with an id. What the system would not give is an
// error (*room.Short inside), and so are edges that differ between the two times that they are gone through.
//
// Ownership. SortRows and Symmetrised work where the rows lie and take the arrays over.
//
// Equal edges give equal rows, in whatever order they come.
//
// # Usage
//
//	g, counts, err := adjacency.InRows(list, symmetric, func(*adjacency.RowCounts) (int, error) { return vertices, nil })
package adjacency
