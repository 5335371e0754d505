package formats

import (
	"fmt"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/npy"
)

// loadBenchmark reads a gnn-benchmark .npz: adjacency and attributes as the arrays of CSR matrices, labels of any integer
// width. Names and pickled members are skipped. It holds no split.
//
// Source: github.com/shchur/gnn-benchmark.
func loadBenchmark(z *npy.Archive, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: dataset.BaseName(z.Name()), Format: "gnn-benchmark"}
	n, cols, err := fields.ReadShape(z, "adj_shape")
	if err != nil {
		return nil, err
	}
	if n != cols || n == 0 {
		return nil, memberFault(z, "adj_shape", fmt.Errorf("is %d × %d, want a square matrix of at least one vertex", n, cols))
	}
	indptr, indices, _, err := fields.ReadCSR(d, z, fields.CSRArrays{Indptr: "adj_indptr", Indices: "adj_indices", Column: "neighbour"}, n, n, true)
	if err != nil {
		return nil, err
	}
	if err := refuseWeights(z, "adj_data", len(indices), opt); err != nil {
		return nil, err
	}
	counts := adjacency.Counts{Stored: int64(len(indices))}
	a := adjacency.SortRows(indptr, indices)
	counts.Normal = a.Edges()
	if d.Graph, err = fromMatrix(opt, a); err != nil {
		return nil, memberFault(z, "adj_indices", err)
	}
	fields.NoteEdges(d, counts)
	if err := benchmarkFeatures(d, z, n); err != nil {
		return nil, err
	}
	switch {
	case z.Has("labels"):
		labels, err := z.Array("labels")
		if err != nil {
			return nil, err
		}
		return d, fields.ReadLabels(d, labels, n, -1)
	case z.Has("labels_data"):
		return nil, memberFault(z, "labels_data", fmt.Errorf("sparse multi-label data of this format is not read; save it as y of a store"))
	}
	return d, nil
}

func benchmarkFeatures(d *dataset.Dataset, z *npy.Archive, n int) error {
	if !z.Has("attr_indptr") {
		if z.Has("attr_data") || z.Has("attr_matrix") {
			return memberFault(z, "attr_indptr", fmt.Errorf("is missing: features of this format are CSR arrays"))
		}
		return nil
	}
	rows, cols, err := fields.ReadShape(z, "attr_shape")
	if err != nil {
		return err
	}
	if rows != n || cols < 1 || cols > check.MaxCols {
		return memberFault(z, "attr_shape", fmt.Errorf("is %d × %d, want %d rows and 1 to %d columns", rows, cols, n, check.MaxCols))
	}
	return fields.ReadSparse(d, z, fields.CSRArrays{Indptr: "attr_indptr", Indices: "attr_indices", Column: "column"}, "attr_data", n, cols)
}

// memberFault is a fault of a whole array of an archive.
func memberFault(z *npy.Archive, key string, err error) error {
	return &dataset.FormatError{File: z.Name(), Member: key + ".npy", Offset: -1, Err: err}
}
