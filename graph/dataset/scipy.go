package dataset

import (
	"fmt"
	"math"

	"capgnn/graph"
	"capgnn/internal/npy"
)

// readScipy reads a SciPy sparse file, csr or coo, as rows sorted and without repeats, and returns how many entries it
// stores. n is the number of vertices, -1 if unknown.
func readScipy(d *Dataset, path string, n int) (a *graph.CSR, stored int, err error) {
	z, err := npy.OpenArchive(path)
	if err != nil {
		return nil, 0, err
	}
	defer z.Close()
	kind, err := scipyKind(z)
	if err != nil {
		return nil, 0, err
	}
	rows, cols, err := readShape(z, "shape")
	if err != nil {
		return nil, 0, err
	}
	if rows != cols || rows == 0 || n >= 0 && rows != n {
		want := "a square matrix of at least one vertex"
		if n >= 0 {
			want = fmt.Sprintf("%d × %d", n, n)
		}
		return nil, 0, memberFault(z, "shape", fmt.Errorf("is %d × %d, want %s", rows, cols, want))
	}
	if kind == "coo" {
		return readCOO(z, rows, n)
	}
	indptr, indices, _, err := readCSR(d, z, csrArrays{"indptr", "indices", "neighbour"}, rows, rows, true)
	if err != nil {
		return nil, 0, err
	}
	if err := refuseWeights(z, "data", len(indices)); err != nil {
		return nil, 0, err
	}
	if a, err = normal(indptr, indices); err != nil {
		return nil, 0, memberFault(z, "indices", err)
	}
	return a, len(indices), nil
}

// scipyKind reads how a matrix is stored; a file that does not say so has the arrays of csr.
func scipyKind(z *npy.Archive) (string, error) {
	if !z.Has("format") {
		return "csr", nil
	}
	f, err := z.Array("format")
	if err != nil {
		return "", err
	}
	kind, err := f.Strings()
	if err != nil {
		return "", err
	}
	if len(kind) != 1 || kind[0] != "csr" && kind[0] != "coo" {
		return "", f.Fault(-1, fmt.Errorf("is %.60q, want csr or coo: save the matrix with scipy.sparse.save_npz(path, a.tocsr())", kind))
	}
	return kind[0], nil
}

// readCOO reads the entries (row, col) of a matrix of rows × rows. n is the number of vertices, -1 if only the shape
// tells; then it must be in proportion to the entries.
func readCOO(z *npy.Archive, rows, n int) (a *graph.CSR, stored int, err error) {
	var ends [2][]int32
	for k, key := range []string{"row", "col"} {
		want := -1
		if k == 1 {
			want = len(ends[0])
		}
		e, err := vector(z, key, want)
		if err != nil {
			return nil, 0, err
		}
		if ends[k], err = e.Int32(); err != nil {
			return nil, 0, err
		}
		for i, v := range ends[k] {
			if v < 0 || int(v) >= rows {
				return nil, 0, e.Fault(i, fmt.Errorf("entry %d: vertex %d is outside [0, %d)", i, v, rows))
			}
		}
	}
	stored = len(ends[0])
	if limit := min(maxVertices(stored), math.MaxInt32); n < 0 && int64(rows) > limit {
		return nil, 0, memberFault(z, "shape", fmt.Errorf("is %d × %d for %d entries; at most %d are handled", rows, rows, stored, limit))
	}
	if err := refuseWeights(z, "data", stored); err != nil {
		return nil, 0, err
	}
	// Row i of the matrix lists its columns: j is to i what a source is to its target.
	a, err = inNeighbours(rows, func(edge func(from, to graph.NodeID)) {
		for k, i := range ends[0] {
			edge(ends[1][k], i)
		}
	})
	if err != nil {
		return nil, 0, memberFault(z, "row", err)
	}
	return a, stored, nil
}

// refuseWeights accepts edge values only if all of them are 1.
func refuseWeights(src arrays, key string, n int) error {
	if !src.Has(key) {
		return nil
	}
	a, err := vector(src, key, n)
	if err != nil {
		return err
	}
	return a.EachFloat64(func(i int, values []float64) error {
		for k, v := range values {
			if v != 1 {
				return a.Fault(i+k, fmt.Errorf("edge %d has the weight %g; edge weights are not supported, set all of them to 1", i+k, v))
			}
		}
		return nil
	})
}
