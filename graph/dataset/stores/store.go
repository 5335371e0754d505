package stores

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/npy"
	"capgnn/internal/room"
)

// Format is Dataset.Format of a store.
const Format = "store"

// Load maps a native store folder.
func Load(dir string, opt dataset.Options) (*dataset.Dataset, error) {
	m, err := readMeta(filepath.Join(dir, MetaFile))
	if err != nil {
		return nil, err
	}
	d := &dataset.Dataset{Name: m.Name, Format: Format, Standardised: m.Standard}
	fault := func(err error) error {
		return &dataset.FormatError{File: filepath.Join(dir, MetaFile), Offset: -1, Err: err}
	}
	if err := readStore(d, fields.Folder{Dir: dir, Opt: opt}, m, fault, opt); err != nil {
		d.Close() // a failed unmap would hide what is wrong with the file
		return nil, err
	}
	return d, fields.ReadNames(d, dir)
}

// LoadArchive reads an .npz with the store's keys. Two keys more stand for what meta.json says: x_shape (rows and
// columns of sparse features) and classes; both are optional.
func LoadArchive(z *npy.Archive, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: dataset.BaseName(z.Name()), Format: "npz"}
	var m meta
	if z.Has("x_shape") {
		rows, cols, err := fields.ReadShape(z, "x_shape")
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
		if strings.IndexByte("USO", a.DType.Kind) >= 0 {
			return nil, a.Fault(-1, errors.New("holds text, and is the number of classes: their names go into classes.csv of a store"))
		}
		v, err := a.Int64()
		if err != nil {
			return nil, err
		}
		if len(v) != 1 || v[0] < 0 || v[0] > check.MaxDim {
			return nil, a.Fault(-1, fmt.Errorf("is not one number of classes"))
		}
		m.Classes = &v[0]
	}
	fault := func(err error) error { return &dataset.FormatError{File: z.Name(), Offset: -1, Err: err} }
	if err := readStore(d, z, m, fault, opt); err != nil {
		return nil, err
	}
	if z.Has(matrixKey) && !d.Graph.Symmetric() {
		d.Note("row v of indptr and indices lists where edges into v come from; " +
			"if it is a matrix whose entry (i, j) is the edge i → j, give --edges reversed")
	}
	return d, nil
}

// readStore reads the store's arrays. fault makes an error about what m says.
func readStore(d *dataset.Dataset, src fields.Arrays, m meta, fault func(error) error, opt dataset.Options) error {
	indptr, indices, _, err := fields.ReadCSR(d, src, fields.CSRArrays{Indptr: "indptr", Indices: "indices", Column: "neighbour"}, or(m.Vertices), -1, true)
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
	weights, err := readWeights(d, src, len(indices), opt)
	if err != nil {
		return err
	}
	switch there := src.Has(weightsKey) || src.Has(weightsAlias); {
	case m.Weighted == nil || *m.Weighted == there:
	case there:
		return fault(errors.New("weighted is false, but weights.npy is there"))
	default:
		return fault(errors.New("edge weights are announced, but weights.npy is missing"))
	}
	if err := takeGraph(d, src, indptr, indices, weights, opt); err != nil {
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

// readWeights reads the weights of the edges, which may have the name that PyTorch Geometric gives them, or in an archive
// SciPy; nil: there are none.
func readWeights(d *dataset.Dataset, src fields.Arrays, edges int, opt dataset.Options) ([]float32, error) {
	key := weightsKey
	_, archive := src.(*npy.Archive)
	switch {
	case opt.IgnoreWeights:
		return nil, nil
	case src.Has(key) && src.Has(weightsAlias):
		a, err := src.Array(weightsAlias)
		if err != nil {
			return nil, err
		}
		return nil, a.Fault(-1, fmt.Errorf("there is also %s.npy; keep one", key))
	case src.Has(weightsAlias):
		key = weightsAlias
	case src.Has(key):
	case archive && src.Has(matrixKey):
		key = matrixKey
	default:
		return nil, nil
	}
	w, err := fields.ReadWeights(d, src, key, edges)
	if err == nil && archive && key != matrixKey && src.Has(matrixKey) {
		err = refuseOther(src, key, w, edges)
	}
	if w != nil && key == matrixKey {
		d.Note("%s is read as weights of edges (--ignore-weights leaves them out)", key)
	}
	return w, err
}

// refuseOther refuses a matrix's values that are other weights of edges than w, nil for ones, which key has.
func refuseOther(src fields.Arrays, key string, w []float32, edges int) error {
	a, err := src.Array(matrixKey)
	if err != nil {
		return err
	}
	if len(a.Shape) != 1 || a.Len() != edges {
		return a.Fault(-1, fmt.Errorf("has shape %v, want a weight for each of %d edges", a.Shape, edges))
	}
	values, err := a.Float32()
	if err != nil {
		return err
	}
	for i, x := range values {
		want := float32(1)
		if w != nil {
			want = w[i]
		}
		if x != want {
			return a.Fault(i, fmt.Errorf("edge %d has the weight %g, and %g in %s.npy; keep one of these arrays, "+
				"or ignore both (--ignore-weights)", i, x, want, key))
		}
	}
	return nil
}

// takeGraph makes the graph of rows of in-neighbours that were checked: in their own arrays, or in copies of mapped ones and of rows with weights.
func takeGraph(d *dataset.Dataset, src fields.Arrays, indptr []int64, indices []int32, weights []float32, opt dataset.Options) (err error) {
	counts, g := adjacency.Counts{Stored: int64(len(indices))}, (*graph.CSR)(nil)
	_, mapped := src.(fields.Folder)
	stays := mapped || weights != nil
	if stays {
		if g, err = normalised(&graph.CSR{Indptr: indptr, Indices: indices, Cols: len(indptr) - 1, Weights: weights}); err != nil {
			return err
		}
	} else {
		g = adjacency.SortRows(indptr, indices)
	}
	counts.Normal = g.Edges()
	copies := opt.Edges == dataset.Symmetric && stays && !g.Symmetric()
	if opt.Edges == dataset.Reversed || copies {
		if err := room.For(12*counts.Normal + 16*int64(len(indptr)) + 12*int64(len(g.Weights))); err != nil {
			return err
		}
	}
	switch {
	case opt.Edges == dataset.Reversed:
		g = g.Transpose()
	case copies:
		g = graph.Union(g, g.Transpose())
	case opt.Edges == dataset.Symmetric && stays: // it stays in its file
	case opt.Edges == dataset.Symmetric:
		if g, err = adjacency.Symmetrised(g); err != nil {
			return err
		}
	}
	d.Graph = g
	fields.NoteEdges(d, counts)
	return nil
}

// normalised returns g, which may be larger than memory, if it is normal; only what is not needs memory for a copy.
func normalised(g *graph.CSR) (*graph.CSR, error) {
	normal, err := g.Normal()
	if err != nil || normal {
		return g, err
	}
	if err := room.For(4*int64(len(g.Indices)) + 4*int64(len(g.Weights)) + 8*int64(len(g.Indptr))); err != nil {
		return nil, err
	}
	return graph.Normalise(g)
}

func readStoreFeatures(d *dataset.Dataset, src fields.Arrays, m meta, fault func(error) error, n int) error {
	dense, sparse := src.Has("x"), src.Has("x_indptr")
	if m.Sparse != nil && or(m.Features) > 0 && *m.Sparse != sparse {
		return fault(fmt.Errorf("sparse is %v, but x_indptr.npy is there: %v", *m.Sparse, sparse))
	}
	switch {
	case dense && sparse:
		return fault(errors.New("there are both x.npy and x_indptr.npy; keep one"))
	case sparse:
		cols := or(m.Features)
		return fields.ReadSparse(d, src, fields.CSRArrays{Indptr: "x_indptr", Indices: "x_indices", Column: "column"}, "x_data", n, cols)
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
	if err := fields.CheckDense(a, n); err != nil {
		return err
	}
	if want, cols := or(m.Features), a.Shape[1]; want >= 0 && want != cols {
		return fault(fmt.Errorf("%d features are announced, x has %d columns", want, cols))
	}
	return fields.ReadDense(d, src, "x", a, n)
}

// readStoreLabels reads y: one class per vertex, or a row of 0 and 1 per vertex.
func readStoreLabels(d *dataset.Dataset, src fields.Arrays, m meta, fault func(error) error, n int) error {
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
		if int64(classes) > check.MaxClasses(n) {
			return fault(fmt.Errorf("%d classes for %d vertices; at most %d are handled", classes, n, check.MaxClasses(n)))
		}
		return fields.ReadLabels(d, a, n, classes)
	}
	if classes >= 0 && classes != a.Shape[1] {
		return fault(fmt.Errorf("%d classes are announced, y has %d columns", classes, a.Shape[1]))
	}
	return fields.ReadTargets(d, a, n)
}

func readStoreMasks(d *dataset.Dataset, src fields.Arrays, m meta, fault func(error) error, n int) error {
	if err := fields.ReadMasks(d, src, n); err != nil {
		return err
	}
	for i, want := range []*int64{m.Train, m.Val, m.Test} {
		k := d.Masks()[i]
		if want, there := or(want), check.CountTrue(*k.Of); want > 0 && want != there {
			return fault(fmt.Errorf("%s: %d vertices are announced, %d are there", k.Key, want, there))
		}
	}
	if !src.Has("ids") {
		return nil
	}
	a, err := fields.Vector(src, "ids", n)
	if err != nil {
		return err
	}
	if strings.IndexByte("USO", a.DType.Kind) >= 0 {
		d.VertexNames, err = a.Strings()
		for v, name := range d.VertexNames {
			d.VertexNames[v] = strings.ToValidUTF8(name, "\ufffd")
		}
		return err
	}
	d.IDs, err = a.Int64()
	return err
}

const (
	weightsKey   = "weights"
	weightsAlias = "edge_weight"
	matrixKey    = "data" // of a SciPy matrix
)

// Keys are the arrays of a native store.
var Keys = []string{"indptr", "indices", weightsKey, weightsAlias, "x", "x_indptr", "x_indices", "x_data", "y", "ids"}
