package dataset

import (
	"errors"
	"fmt"
	"path/filepath"

	"capgnn/graph"
	"capgnn/internal/npy"
	"capgnn/internal/room"
)

// formatStore is Dataset.Format of a store.
const formatStore = "store"

// loadStore maps a native store folder.
func loadStore(dir string, opt Options) (*Dataset, error) {
	m, err := readMeta(filepath.Join(dir, metaFile))
	if err != nil {
		return nil, err
	}
	d := &Dataset{Name: m.Name, Format: formatStore}
	fault := func(err error) error { return &FormatError{File: filepath.Join(dir, metaFile), Offset: -1, Err: err} }
	if err := readStore(d, folder{Dir: dir, Opt: opt}, m, fault, opt); err != nil {
		d.Close() // a failed unmap would hide what is wrong with the file
		return nil, err
	}
	return d, readClassNames(d, dir)
}

// loadStoreArchive reads an .npz with the store's keys. Two keys more stand for what meta.json says: x_shape (rows and
// columns of sparse features) and classes; both are optional.
func loadStoreArchive(z *npy.Archive, opt Options) (*Dataset, error) {
	d := &Dataset{Name: BaseName(z.Name()), Format: "npz"}
	var m meta
	if z.Has("x_shape") {
		rows, cols, err := readShape(z, "x_shape")
		if err != nil {
			return nil, err
		}
		r, c := int64(rows), int64(cols)
		m.Vertices, m.Features = &r, &c
	}
	if z.Has("classes") {
		a, err := z.Array("classes")
		if err != nil {
			return nil, err
		}
		v, err := a.Int64()
		if err != nil {
			return nil, err
		}
		if len(v) != 1 || v[0] < 0 || v[0] > maxDim {
			return nil, a.Fault(-1, fmt.Errorf("is not one number of classes"))
		}
		m.Classes = &v[0]
	}
	fault := func(err error) error { return &FormatError{File: z.Name(), Offset: -1, Err: err} }
	if err := readStore(d, z, m, fault, opt); err != nil {
		return nil, err
	}
	return d, nil
}

// readStore reads the store's arrays. fault makes an error about what m says.
func readStore(d *Dataset, src arrays, m meta, fault func(error) error, opt Options) error {
	indptr, indices, _, err := readCSR(d, src, csrArrays{Indptr: "indptr", Indices: "indices", Column: "neighbour"}, or(m.Vertices), -1, true)
	if err != nil {
		return err
	}
	n := len(indptr) - 1
	if n == 0 {
		return fault(errors.New("there are no vertices"))
	}
	if m.Edges != nil && *m.Edges != int64(len(indices)) {
		return fault(fmt.Errorf("%d edges are announced, indices.npy has %d", *m.Edges, len(indices)))
	}
	if err := takeGraph(d, src, indptr, indices, opt); err != nil {
		return fault(err)
	}
	if err := readStoreFeatures(d, src, m, fault, n); err != nil {
		return err
	}
	if err := readStoreLabels(d, src, m, fault, n); err != nil {
		return err
	}
	return readStoreMasks(d, src, m, fault, n)
}

// takeGraph makes the graph of rows of in-neighbours that were checked: in their own arrays, or in copies of mapped ones.
func takeGraph(d *Dataset, src arrays, indptr []int64, indices []int32, opt Options) (err error) {
	counts, g := edgeCounts{Stored: int64(len(indices))}, (*graph.CSR)(nil)
	_, mapped := src.(folder)
	if mapped {
		if err := room.For(4 * counts.Stored); err != nil {
			return err
		}
		if g, err = graph.Normalise(&graph.CSR{Indptr: indptr, Indices: indices, Cols: len(indptr) - 1}); err != nil {
			return err
		}
	} else {
		g = sortRows(indptr, indices)
	}
	counts.Normal = g.Edges()
	if opt.Edges == Reversed || opt.Edges == Symmetric && mapped {
		if err := room.For(12*counts.Normal + 16*int64(len(indptr))); err != nil {
			return err
		}
	}
	switch {
	case opt.Edges == Reversed:
		g = g.Transpose()
	case opt.Edges == Symmetric && mapped:
		g = g.Symmetrise()
	case opt.Edges == Symmetric:
		if g, err = symmetrised(g); err != nil {
			return err
		}
	}
	d.Graph = g
	noteEdges(d, counts)
	return nil
}

func readStoreFeatures(d *Dataset, src arrays, m meta, fault func(error) error, n int) error {
	dense, sparse := src.Has("x"), src.Has("x_indptr")
	if m.Sparse != nil && or(m.Features) > 0 && *m.Sparse != sparse {
		return fault(fmt.Errorf("sparse is %v, but x_indptr.npy is there: %v", *m.Sparse, sparse))
	}
	switch {
	case dense && sparse:
		return fault(errors.New("there are both x.npy and x_indptr.npy; keep one"))
	case sparse:
		cols := or(m.Features)
		return readSparse(d, src, csrArrays{Indptr: "x_indptr", Indices: "x_indices", Column: "column"}, "x_data", n, cols)
	case !dense:
		if or(m.Features) > 0 {
			return fault(fmt.Errorf("%d features are announced, but x.npy is missing", *m.Features))
		}
		return nil
	}
	a, err := src.Array("x")
	if err != nil {
		return err
	}
	if len(a.Shape) != 2 || a.Shape[0] != n || a.Shape[1] < 1 || a.Shape[1] > maxCols {
		return a.Fault(-1, fmt.Errorf("has shape %v, want %d rows and 1 to %d columns", a.Shape, n, maxCols))
	}
	cols := a.Shape[1]
	if want := or(m.Features); want >= 0 && want != cols {
		return fault(fmt.Errorf("%d features are announced, x has %d columns", want, cols))
	}
	at := func(i int) string { return fmt.Sprintf("row %d, column %d", i/cols, i%cols) }
	values, err := readValues(d, src, "x", a, at)
	if err != nil {
		return err
	}
	d.Features = Features{Cols: cols, Dense: values}
	return nil
}

// readStoreLabels reads y: one class per vertex, or a row of 0 and 1 per vertex.
func readStoreLabels(d *Dataset, src arrays, m meta, fault func(error) error, n int) error {
	if !src.Has("y") {
		if or(m.Classes) > 0 {
			return fault(fmt.Errorf("%d classes are announced, but y.npy is missing", *m.Classes))
		}
		return nil
	}
	a, err := src.Array("y")
	if err != nil {
		return err
	}
	multi := len(a.Shape) == 2
	if m.MultiLabel != nil && *m.MultiLabel != multi {
		return fault(fmt.Errorf("multi_label is %v, but y has shape %v", *m.MultiLabel, a.Shape))
	}
	classes := or(m.Classes)
	if !multi {
		if int64(classes) > maxClasses(n) {
			return fault(fmt.Errorf("%d classes for %d vertices; at most %d are handled", classes, n, maxClasses(n)))
		}
		return readLabels(d, a, n, classes)
	}
	if classes >= 0 && classes != a.Shape[1] {
		return fault(fmt.Errorf("%d classes are announced, y has %d columns", classes, a.Shape[1]))
	}
	return readTargets(d, a, n)
}

func readStoreMasks(d *Dataset, src arrays, m meta, fault func(error) error, n int) error {
	announced := []*int64{m.Train, m.Val, m.Test}
	for i, k := range d.Masks() {
		if src.Has(k.Key) {
			a, err := vector(src, k.Key, -1)
			if err != nil {
				return err
			}
			if a.Len() != n && a.Len() != 0 {
				return a.Fault(-1, fmt.Errorf("has %d entries, want %d or none", a.Len(), n))
			}
			if a.Len() == n {
				if *k.Of, err = a.Bool(); err != nil {
					return err
				}
			}
		}
		if want := or(announced[i]); want > 0 && want != countTrue(*k.Of) {
			return fault(fmt.Errorf("%s: %d vertices are announced, %d are there", k.Key, want, countTrue(*k.Of)))
		}
	}
	if !src.Has("ids") {
		return nil
	}
	a, err := vector(src, "ids", n)
	if err != nil {
		return err
	}
	d.IDs, err = a.Int64()
	return err
}

// storeKeys are the arrays of a native store.
var storeKeys = []string{"indptr", "indices", "x", "x_indptr", "x_indices", "x_data", "y", "train_mask", "val_mask", "test_mask", "ids"}
