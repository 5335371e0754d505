package fields

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/hostmem"
	"capgnn/internal/npy"
)

// Arrays is where named arrays come from: an .npz, or a folder of .npy files that can be mapped.
type Arrays interface {
	Has(key string) bool
	Array(key string) (*npy.Array, error)
}

// Folder is the arrays KEY.npy of a directory.
type Folder struct {
	Dir string
	Opt dataset.Options
}

func (f Folder) path(key string) string { return filepath.Join(f.Dir, key+".npy") }

// Has reports whether KEY.npy is there. A link to nowhere is there, so that reading it says what is wrong.
func (f Folder) Has(key string) bool {
	_, err := os.Lstat(f.path(key))
	return err == nil
}

// Array opens KEY.npy.
func (f Folder) Array(key string) (*npy.Array, error) { return OpenArray(f.Opt, f.path(key)) }

// Vector opens an array of one dimension, of n elements unless n is negative.
func Vector(src Arrays, key string, n int) (*npy.Array, error) {
	a, err := src.Array(key)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 1 {
		return nil, a.Fault(-1, fmt.Errorf("has shape %v, want one dimension%s", a.Shape, column(a)))
	}
	if n >= 0 && a.Len() != n {
		return nil, a.Fault(-1, fmt.Errorf("has %d entries, want %d", a.Len(), n))
	}
	return a, nil
}

// column says how a column of a matrix is saved; "": it is no matrix.
func column(a *npy.Array) string {
	if len(a.Shape) != 2 {
		return ""
	}
	return ": save one column, such as a[:, 0]"
}

// mapped maps the elements of an array of a store folder, or reads them through read where they lie in an archive or
// differ from T in type, order or alignment.
func mapped[T hostmem.Numeric](d *dataset.Dataset, src Arrays, key string, a *npy.Array, want npy.DType, read func() ([]T, error)) ([]T, error) {
	dir, isFolder := src.(Folder)
	if isFolder && key == "x" && dir.Opt.Standardises() {
		return read() // they will be written to
	}
	plain := a.DType == want && !(a.Fortran && len(a.Shape) > 1) && a.DataOffset%int64(want.Size) == 0
	if !isFolder || !plain || !hostmem.LittleEndian() {
		return read()
	}
	m, err := hostmem.Map[T](dir.path(key), a.DataOffset, a.Len())
	if err != nil {
		return nil, err
	}
	d.Keep(m)
	return m.Data, nil
}

// CSRArrays names the arrays of a sparse matrix and what its columns are called in errors.
type CSRArrays struct{ Indptr, Indices, Column string }

// ReadCSR reads and checks row pointers and columns. rows and cols may be -1: as the arrays have it; then cols = rows if
// square, else the largest column + 1.
func ReadCSR(d *dataset.Dataset, src Arrays, k CSRArrays, rows, cols int, square bool) (indptr []int64, indices []int32, outCols int, err error) {
	ptr, err := Vector(src, k.Indptr, -1)
	if err != nil {
		return nil, nil, 0, err
	}
	if n := ptr.Len() - 1; n < 0 || n > math.MaxInt32-1 || rows >= 0 && n != rows {
		return nil, nil, 0, ptr.Fault(-1, fmt.Errorf("has %d row pointers; want %s", n+1, wantRows(rows)))
	}
	ind, err := Vector(src, k.Indices, -1)
	if err != nil {
		return nil, nil, 0, err
	}
	if indptr, err = mapped(d, src, k.Indptr, ptr, npy.DType{Kind: 'i', Size: 8}, ptr.Int64); err != nil {
		return nil, nil, 0, err
	}
	if indices, err = mapped(d, src, k.Indices, ind, npy.DType{Kind: 'i', Size: 4}, ind.Int32); err != nil {
		return nil, nil, 0, err
	}
	switch {
	case cols >= 0:
	case square:
		cols = len(indptr) - 1
	default:
		for _, c := range indices {
			cols = max(cols, int(c)+1)
		}
		cols = max(cols, 0)
	}
	where, i, err := check.CSR(indptr, indices, cols, k.Column)
	if err != nil && where == check.InIndptr {
		return nil, nil, 0, ptr.Fault(i, err)
	}
	if err != nil {
		return nil, nil, 0, ind.Fault(i, err)
	}
	return indptr, indices, cols, nil
}

func wantRows(rows int) string {
	if rows < 0 {
		return fmt.Sprintf("1 to %d", math.MaxInt32)
	}
	return fmt.Sprintf("%d (vertices + 1)", rows+1)
}

// ReadValues reads float32 values and refuses NaN and infinity. at says where element i is, in a reader's words.
func ReadValues(d *dataset.Dataset, src Arrays, key string, a *npy.Array, at func(i int) string) ([]float32, error) {
	values, huge, err := readFloats(d, src, key, a, func(i int, x float32) error {
		return fmt.Errorf("%s is %g; features must be finite", at(i), x)
	})
	d.Huge = huge
	return values, err
}

// readFloats reads float32 values, and finds the first whose square is beyond float32, 0 if there is none. notFinite is the
// error of element i that is x.
func readFloats(d *dataset.Dataset, src Arrays, key string, a *npy.Array,
	notFinite func(i int, x float32) error) (values []float32, huge float32, err error) {
	if values, err = mapped(d, src, key, a, npy.DType{Kind: 'f', Size: 4}, a.Float32); err != nil {
		return nil, 0, err
	}
	if a.DType != (npy.DType{Kind: 'f', Size: 4}) {
		d.Note("%s: values of type %v were converted to float32", key, a.DType)
	}
	if f, ok := src.(Folder); ok && f.Opt.Known {
		return values, 0, nil
	}
	i, huge := check.FirstMapped(values, d.Rest)
	if i >= 0 {
		return nil, 0, a.Fault(i, notFinite(i, values[i]))
	}
	return values, huge, nil
}

// ReadWeights reads a weight for each edge, as [edges] or [edges, 1]. nil: all are 1.
func ReadWeights(d *dataset.Dataset, src Arrays, key string, edges int) ([]float32, error) {
	a, err := src.Array(key)
	if err != nil {
		return nil, err
	}
	if s := a.Shape; len(s) == 0 || s[0] != edges || len(s) > 2 || len(s) == 2 && s[1] != 1 {
		return nil, a.Fault(-1, fmt.Errorf("has shape %v, want a weight for each of %d edges", s, edges))
	}
	notes := len(d.Notes)
	w, _, err := readFloats(d, src, key, a, func(i int, x float32) error {
		return fmt.Errorf("edge %d has the weight %g; weights must be finite", i, x)
	})
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(w, func(x float32) bool { return x != 1 }) {
		d.Notes = d.Notes[:notes] // of a conversion that nobody sees
		return nil, nil
	}
	return w, nil
}

// CheckDense checks the shape of dense features of n vertices.
func CheckDense(a *npy.Array, n int) error {
	if len(a.Shape) != 2 || a.Shape[0] != n || a.Shape[1] < 1 || a.Shape[1] > check.MaxCols {
		cure := ""
		if len(a.Shape) == 2 && a.Shape[1] == n {
			cure = ": save it transposed, x.T"
		} else if len(a.Shape) == 1 && a.Shape[0] == n {
			cure = ": save one column as x[:, None]"
		}
		return a.Fault(-1, fmt.Errorf("has shape %v, want %d rows and 1 to %d columns%s", a.Shape, n, check.MaxCols, cure))
	}
	return nil
}

// ReadDense reads dense features of n vertices. Columns whose differences float32 changes are kept as stored too.
func ReadDense(d *dataset.Dataset, src Arrays, key string, a *npy.Array, n int) error {
	if err := CheckDense(a, n); err != nil {
		return err
	}
	cols := a.Shape[1]
	values, err := ReadValues(d, src, key, a, func(i int) string { return fmt.Sprintf("row %d, column %d", i/cols, i%cols) })
	if err != nil {
		return err
	}
	d.Features = dataset.Features{Cols: cols, Dense: values}
	d.FoundFinite(true)
	d.Exact, err = exactColumns(a)
	return err
}

// ReadSparse reads CSR features of n vertices; cols -1: largest column + 1.
func ReadSparse(d *dataset.Dataset, src Arrays, k CSRArrays, data string, n, cols int) error {
	indptr, indices, cols, err := ReadCSR(d, src, k, n, cols, false)
	if err != nil {
		return err
	}
	a, err := Vector(src, data, len(indices))
	if err != nil {
		return err
	}
	at := func(i int) string { return fmt.Sprintf("value %d (column %d)", i, indices[i]) }
	values, err := ReadValues(d, src, data, a, at)
	if err != nil {
		return err
	}
	d.Features = dataset.Features{Cols: cols, Indptr: indptr, Indices: indices, Data: values}
	d.FoundFinite(true)
	_, mapped := src.(Folder)
	return SortFeatures(d, mapped, func(err error) error { return a.Fault(-1, err) })
}

// SortFeatures sorts sparse features and notes what was merged. fault gives an error its file.
func SortFeatures(d *dataset.Dataset, mapped bool, fault func(error) error) error {
	merged, err := d.Features.SortRows(mapped)
	if err != nil {
		return fault(err)
	}
	if merged > 0 {
		d.FoundFinite(false) // a sum may be too large
		d.Note("features: %d repeated entries were added up", merged)
	}
	return nil
}

// ReadLabels reads one class per vertex from an array of any integer width. classes -1: largest label + 1.
func ReadLabels(d *dataset.Dataset, a *npy.Array, n, classes int) error {
	if len(a.Shape) != 1 || a.Shape[0] != n {
		return a.Fault(-1, fmt.Errorf("has shape %v, want [%d]", a.Shape, n))
	}
	limit, largest := check.MaxClasses(n), int64(-1)
	if classes >= 0 {
		limit = int64(classes)
	}
	if err := a.Afford(4 * int64(n)); err != nil {
		return err
	}
	labels := make([]int32, 0, n)
	err := a.EachInt64(func(i int, piece []int64) error {
		for k, y := range piece {
			v := i + k
			if y < -1 {
				return a.Fault(v, fmt.Errorf("vertex %d: label %d is below -1 (unlabelled)", v, y))
			}
			if y >= limit {
				return a.Fault(v, fmt.Errorf("vertex %d: label %d is outside [-1, %d)", v, y, limit))
			}
			labels = append(labels, int32(y))
			largest = max(largest, y)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.Labels = labels
	if a.DType.Kind == 'u' && a.DType.Size == 1 && largest == math.MaxUint8 {
		d.Note("labels: 255 is read as a class; if it is -1, no label, which is 255 as uint8, save them as int64")
	}
	d.Classes = int(largest + 1)
	if classes >= 0 {
		d.Classes = classes
	}
	return nil
}

// ReadTargets reads 0 or 1 per vertex and class.
func ReadTargets(d *dataset.Dataset, a *npy.Array, n int) error {
	if len(a.Shape) != 2 || a.Shape[0] != n || a.Shape[1] < 1 || a.Shape[1] == 1 && a.DType.Size > 1 {
		cure := ""
		if len(a.Shape) == 2 && a.Shape[1] == 1 {
			cure = column(a)
		}
		return a.Fault(-1, fmt.Errorf("has shape %v and type %v, want [%d], or [%d, classes] of 0 and 1 as uint8%s", a.Shape, a.DType, n, n, cure))
	}
	targets, err := a.Uint8()
	if err != nil {
		return err
	}
	d.Classes = a.Shape[1]
	for i, y := range targets {
		if y > 1 {
			return a.Fault(i, fmt.Errorf("vertex %d, class %d: %d is neither 0 nor 1", i/d.Classes, i%d.Classes, y))
		}
	}
	d.Targets = targets
	return nil
}

// ReadShape reads the two dimensions of a matrix.
func ReadShape(src Arrays, key string) (rows, cols int, err error) {
	a, err := Vector(src, key, 2)
	if err != nil {
		return 0, 0, err
	}
	shape, err := a.Int64()
	if err != nil {
		return 0, 0, err
	}
	for i, limit := range []int64{math.MaxInt32 - 1, check.MaxDim} {
		if shape[i] < 0 || shape[i] > limit {
			return 0, 0, a.Fault(i, fmt.Errorf("dimension %d is outside [0, %d]", shape[i], limit))
		}
	}
	return int(shape[0]), int(shape[1]), nil
}

// OpenArchive opens a .npz whose arrays report to Watch.
func OpenArchive(o dataset.Options, path string) (*npy.Archive, error) {
	z, err := npy.OpenArchive(path)
	if err == nil {
		z.Watch(o.Watch)
	}
	return z, err
}

// OpenArray opens a .npy that reports to Watch.
func OpenArray(o dataset.Options, path string) (*npy.Array, error) {
	a, err := npy.Open(path)
	if err == nil {
		a.Watch(o.Watch)
	}
	return a, err
}

// NoteEdges says how the number of edges changed.
func NoteEdges(d *dataset.Dataset, c adjacency.Counts) {
	if merged := c.Stored - c.Normal; merged > 0 {
		d.Note("%d repeated edges merged", merged)
	}
	if added := d.Graph.Edges() - c.Normal; added > 0 {
		d.Note("%d edges stored in one direction only were made symmetric (--edges directed keeps them as stored)", added)
	}
}
