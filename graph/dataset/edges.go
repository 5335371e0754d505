package dataset

import (
	"fmt"

	"capgnn/graph"
)

// Values of Options.Edges.
const (
	// Auto is directed for stores, their .npz and edge lists, symmetric for all other formats.
	Auto = "auto"
	// Symmetric takes every stored edge in both directions.
	Symmetric = "symmetric"
	// Directed takes edges as the file means them: an entry (i, j) of a matrix and a line "i j" are i → j, row v of a store
	// lists the in-neighbours of v.
	Directed = "directed"
	// Reversed turns every edge of Directed round.
	Reversed = "reversed"
)

// Options says how to read a data set. The zero value is usable.
type Options struct {
	Edges       string // Auto, Symmetric, Directed or Reversed; "" = Auto
	Standardize string // Auto, StandardizeNone or StandardizeTrain; "" = Auto: train for GraphSAINT folders, none for others
	MaskRow     int    // heterophilous-graphs files: which of their splits, from 0; anywhere else it must be 0
	Compact     bool   // edge lists without features and labels: number the ids that occur, ascending; elsewhere an error
}

func (o Options) validate() error {
	switch o.Edges {
	case "", Auto, Symmetric, Directed, Reversed:
	default:
		return fmt.Errorf("edges %q: want %s, %s, %s or %s", o.Edges, Auto, Symmetric, Directed, Reversed)
	}
	if o.MaskRow < 0 {
		return fmt.Errorf("split %d: splits are numbered from 0", o.MaskRow)
	}
	switch o.Standardize {
	case "", Auto, StandardizeNone, StandardizeTrain:
		return nil
	}
	return fmt.Errorf("standardize %q: want %s, %s or %s", o.Standardize, Auto, StandardizeNone, StandardizeTrain)
}

// fromMatrix returns the graph of a matrix A with A[i][j] = edge i → j, whose rows are normal.
func (o Options) fromMatrix(a *graph.CSR) *graph.CSR {
	switch o.Edges {
	case Directed:
		return a.Transpose()
	case Reversed:
		return a
	}
	return a.Symmetrise()
}

// fromStore returns the graph of a store, whose rows list in-neighbours.
func (o Options) fromStore(g *graph.CSR) *graph.CSR {
	switch o.Edges {
	case Symmetric:
		return g.Symmetrise()
	case Reversed:
		return g.Transpose()
	}
	return g
}

// noteEdges says how the number of edges changed.
func (d *Dataset) noteEdges(stored int, normal *graph.CSR) {
	if merged := int64(stored) - normal.Edges(); merged > 0 {
		d.note("%d repeated edges merged", merged)
	}
	if added := d.Graph.Edges() - normal.Edges(); added > 0 {
		d.note("%d edges stored in one direction only were made symmetric (--edges directed keeps them as stored)", added)
	}
}
