package formats

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/npy"
)

// readScipy reads a SciPy sparse file, csr or coo, as rows sorted and without repeats, and counts its entries. n is the
// number of vertices, -1 if unknown.
func readScipy(d *dataset.Dataset, path string, opt dataset.Options, n int) (a *graph.CSR, counts adjacency.Counts, err error) {
	z, err := fields.OpenArchive(opt, path)
	if err != nil {
		return nil, counts, err
	}
	defer z.Close()
	kind, err := scipyKind(z, "csr", "coo")
	if err != nil {
		return nil, counts, err
	}
	rows, cols, err := fields.ReadShape(z, "shape")
	if err != nil {
		return nil, counts, err
	}
	if rows != cols || rows == 0 || n >= 0 && rows != n {
		want := "a square matrix of at least one vertex"
		if n >= 0 {
			want = fmt.Sprintf("%d × %d", n, n)
		}
		return nil, counts, memberFault(z, "shape", fmt.Errorf("is %d × %d, want %s", rows, cols, want))
	}
	if kind == "coo" {
		a, counts, err = readCOO(z, rows, n, opt)
		listMembers(d, z, opt, filepath.Base(path))
		return a, counts, err
	}
	indptr, indices, _, err := fields.ReadCSR(d, z, fields.CSRArrays{Indptr: "indptr", Indices: "indices", Column: "neighbour"}, rows, rows, true)
	if err != nil {
		return nil, counts, err
	}
	if err := refuseWeights(z, "data", len(indices), opt); err != nil {
		return nil, counts, err
	}
	listMembers(d, z, opt, filepath.Base(path))
	a = adjacency.SortRows(indptr, indices)
	return a, adjacency.Counts{Stored: int64(len(indices)), Normal: a.Edges()}, nil
}

// scipyKind reads how a matrix is stored, as one of the kinds that are read; a file that does not say so has the arrays of csr.
func scipyKind(z *npy.Archive, read ...string) (string, error) {
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
	if len(kind) != 1 || !slices.Contains(read, kind[0]) {
		return "", f.Fault(-1, fmt.Errorf("is %.60q, want %s: save the matrix with scipy.sparse.save_npz(path, a.tocsr())", kind, strings.Join(read, " or ")))
	}
	return kind[0], nil
}

// readCOO reads the entries (row, col) of a matrix of rows × rows. n is the number of vertices, -1 if only the shape
// tells; then it must be in proportion to the entries.
func readCOO(z *npy.Archive, rows, n int, opt dataset.Options) (a *graph.CSR, counts adjacency.Counts, err error) {
	from, err := fields.Vector(z, "row", -1)
	if err != nil {
		return nil, counts, err
	}
	to, err := fields.Vector(z, "col", from.Len())
	if err != nil {
		return nil, counts, err
	}
	if err := refuseWeights(z, "data", from.Len(), opt); err != nil {
		return nil, counts, err
	}
	vertices := func(c *adjacency.RowCounts) (int, error) {
		if limit := min(adjacency.MaxVertices(c.Edges), math.MaxInt32); n < 0 && int64(rows) > limit {
			return 0, memberFault(z, "shape", fmt.Errorf("is %d × %d for %d entries; at most %d are handled", rows, rows, c.Edges, limit))
		}
		return rows, nil
	}
	// Row i of the matrix lists its columns: j is to i what a source is to its target.
	list := func(edge func(from, to graph.NodeID)) error {
		return eachPair(from, to, rows, func(i, j graph.NodeID) { edge(j, i) })
	}
	a, counts, err = adjacency.InRows(list, false, vertices)
	if _, placed := err.(*dataset.FormatError); err != nil && !placed {
		err = memberFault(z, "row", err)
	}
	return a, counts, err
}

// eachPair calls pair with the elements of two arrays of vertices of equal length, which are read side by side.
func eachPair(a, b *npy.Array, n int, pair func(x, y graph.NodeID)) error {
	nextX, stopX := iter.Pull2(vertexPieces(a, n))
	defer stopX()
	nextY, stopY := iter.Pull2(vertexPieces(b, n))
	defer stopY()
	var x, y []int64
	var err error
	for more := true; ; {
		if len(x) == 0 {
			if x, err, more = nextX(); err != nil {
				return err
			}
		}
		if len(y) == 0 {
			if y, err, _ = nextY(); err != nil || !more { // both end together, and say whether they end well
				return err
			}
		}
		k := min(len(x), len(y))
		for i := range k {
			pair(graph.NodeID(x[i]), graph.NodeID(y[i]))
		}
		x, y = x[k:], y[k:]
	}
}

// errEnough ends the reading of an array of which no more is wanted.
var errEnough = errors.New("enough")

// vertexPieces lists an array of vertices in pieces; an error comes last.
func vertexPieces(a *npy.Array, n int) iter.Seq2[[]int64, error] {
	return func(yield func([]int64, error) bool) {
		err := a.EachInt64(func(i int, piece []int64) error {
			for k, v := range piece {
				if v < 0 || v >= int64(n) {
					return a.Fault(i+k, fmt.Errorf("entry %d: vertex %d is outside [0, %d)", i+k, v, n))
				}
			}
			if !yield(piece, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && err != errEnough {
			yield(nil, err)
		}
	}
}

// refuseWeights accepts edge values only if all of them are 1, or are to be ignored.
func refuseWeights(z *npy.Archive, key string, n int, opt dataset.Options) error {
	if !z.Has(key) || opt.IgnoreWeights {
		z.Skip(key)
		return nil
	}
	a, err := fields.Vector(z, key, n)
	if err != nil {
		return err
	}
	return a.EachFloat64(func(i int, values []float64) error {
		for k, v := range values {
			if v != 1 {
				return a.Fault(i+k, fmt.Errorf("edge %d has the weight %g; weights are not read from matrices: give them in a store or an edge list, or ignore them (--ignore-weights)", i+k, v))
			}
		}
		return nil
	})
}
