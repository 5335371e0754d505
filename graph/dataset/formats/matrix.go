package formats

import (
	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/internal/room"
)

// fromMatrix returns the graph of a matrix A with A[i][j] = edge i → j, whose rows are normal. It takes a's arrays over.
func fromMatrix(o dataset.Options, a *graph.CSR) (*graph.CSR, error) {
	switch o.Edges {
	case dataset.Directed:
		if err := room.For(4*a.Edges() + 16*int64(a.Rows())); err != nil {
			return nil, err
		}
		return a.Transpose(), nil
	case dataset.Reversed:
		return a, nil
	}
	return adjacency.Symmetrised(a)
}
