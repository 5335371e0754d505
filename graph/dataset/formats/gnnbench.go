package formats

import (
	"errors"
	"fmt"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/npy"
)

// benchmarkMatrix returns what the names of the arrays of a CSR matrix begin with, "": there is none. APPNP's files have
// adj_matrix.data where gnn-benchmark has adj_data.
func benchmarkMatrix(z *npy.Archive, of string) string {
	for _, begin := range []string{of + "_", of + "_matrix.", of + "_matrix_"} {
		if z.Has(begin+"indptr") && z.Has(begin+"indices") {
			return begin
		}
	}
	return ""
}

// loadBenchmark reads a gnn-benchmark .npz: adjacency and attributes as the arrays of CSR matrices, attributes also
// dense, labels of any integer width, and a split if somebody has added one, as masks.
//
// Source: github.com/shchur/gnn-benchmark; github.com/gasteigerjo/ppnp.
func loadBenchmark(z *npy.Archive, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: dataset.BaseName(z.Name()), Format: "gnn-benchmark"}
	z.Skip("metadata") // of published files, pickled
	adj := benchmarkMatrix(z, "adj")
	n, cols, err := fields.ReadShape(z, adj+"shape")
	if err != nil {
		return nil, err
	}
	if n != cols || n == 0 {
		return nil, memberFault(z, adj+"shape", fmt.Errorf("is %d × %d, want a square matrix of at least one vertex", n, cols))
	}
	names := fields.CSRArrays{Indptr: adj + "indptr", Indices: adj + "indices", Column: "neighbour"}
	indptr, indices, _, err := fields.ReadCSR(d, z, names, n, n, true)
	if err != nil {
		return nil, err
	}
	if err := refuseWeights(z, adj+"data", len(indices), opt); err != nil {
		return nil, err
	}
	counts := adjacency.Counts{Stored: int64(len(indices))}
	a := adjacency.SortRows(indptr, indices)
	counts.Normal = a.Edges()
	if d.Graph, err = fromMatrix(opt, a); err != nil {
		return nil, memberFault(z, adj+"indices", err)
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
		if err := fields.ReadLabels(d, labels, n, -1); err != nil {
			return nil, err
		}
	case z.Has("labels_data"), z.Has("labels.data"):
		err := errors.New("sparse multi-label data of this format is not read; save it as y of a store")
		return nil, memberFault(z, "labels_data", err)
	}
	return d, readSplits(d, z, n, opt)
}

func benchmarkFeatures(d *dataset.Dataset, z *npy.Archive, n int) error {
	attr := benchmarkMatrix(z, "attr")
	switch {
	case attr != "":
	case z.Has("attr_matrix"):
		a, err := z.Array("attr_matrix")
		if err != nil {
			return err
		}
		return fields.ReadDense(d, z, "attr_matrix", a, n)
	case z.Has("attr_data") || z.Has("attr_matrix.data"):
		return memberFault(z, "attr_indptr", fmt.Errorf("is missing: features of this format are CSR arrays"))
	default:
		return nil
	}
	rows, cols, err := fields.ReadShape(z, attr+"shape")
	if err != nil {
		return err
	}
	if rows != n || cols < 1 || cols > check.MaxCols {
		err := fmt.Errorf("is %d × %d, want %d rows and 1 to %d columns", rows, cols, n, check.MaxCols)
		return memberFault(z, attr+"shape", err)
	}
	names := fields.CSRArrays{Indptr: attr + "indptr", Indices: attr + "indices", Column: "column"}
	return fields.ReadSparse(d, z, names, attr+"data", n, cols)
}

// memberFault is a fault of a whole array of an archive.
func memberFault(z *npy.Archive, key string, err error) error {
	return &dataset.FormatError{File: z.Name(), Member: key + ".npy", Offset: -1, Err: err}
}
