package formats

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/npy"
)

// textEnds are the endings of a column file that is text, with and without compression.
var textEnds = []string{".csv", ".csv.gz"}

// findFile returns the one file STEM.END of a folder, "" if there is none.
func findFile(dir, stem string, ends ...string) (string, error) {
	found := ""
	for _, end := range ends {
		path := filepath.Join(dir, stem+end)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if found != "" {
			return "", fmt.Errorf("%s: there are both %s and %s; keep one", dir, filepath.Base(found), filepath.Base(path))
		}
		found = path
	}
	return found, nil
}

// loadCSV reads a folder of an edge list edges.csv and, each optional, features, labels and the masks train, val (or valid) and
// test, as NAME.npy, NAME.csv or NAME.csv.gz; sparse features also as features.npz of SciPy or features.json of lists. Text files may begin with a line of names, and
// a column may number their rows or say which vertex each is of. A mask is one 0 or 1 per vertex, or the list of its vertices: see vertexMask. Features and labels tell
// how many vertices there are; without them the largest id does. Edges are directed unless Options.Edges says otherwise.
func loadCSV(dir string, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: dataset.BaseName(dir), Format: formatCSV}
	f, err := findFiles(dir)
	if err != nil {
		return nil, err
	}
	if f.edges == "" {
		return nil, fmt.Errorf("%s: has no edges.csv", dir)
	}
	f.opt = opt
	if err := f.tellHeaders(d); err != nil {
		return nil, err
	}
	n, err := f.readColumns(d)
	if err != nil {
		return nil, err
	}
	if opt.Compact && n >= 0 {
		return nil, fmt.Errorf("%s: --compact would renumber vertices, and features and labels go by the old numbers: drop it", dir)
	}
	byRow := false // edges go by numbers of rows
	err = textfile.Open(f.edges, opt.Watch, func(t *textfile.Reader) error {
		l := &edgeText{t: t, named: true, n: n, told: f.told, given: f.vertexNames}
		if l.says = filepath.Base(f.features); f.features == "" || suffix(listEnds...)(f.features) {
			l.says = filepath.Base(f.labels)
		}
		if n < 0 {
			return readEdges(d, l, opt)
		}
		if err := l.graph(d, opt, false, l.vertices); err != nil {
			return err
		}
		noteDirected(d, opt)
		byRow = l.words == nil
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.readMasks(d), fields.ReadNames(d, dir)); err != nil {
		return nil, err
	}
	if byRow {
		noteOtherNumbers(d)
	}
	noteClasses(d, 0)
	noteAnswers(d)
	return d, nil
}

// Endings of the files of a CSV folder, beside its edges. Lists of features stand for vertices by number, so that labels, if
// there are any, say how many there are.
var (
	listEnds    = []string{".json", ".json.gz"}
	columnEnds  = append([]string{".npy"}, textEnds...)
	featureEnds = append(append([]string{".npz"}, columnEnds...), listEnds...)
)

// readColumns reads features and labels, and returns the number of vertices, -1 if there is neither.
func (f *csvFiles) readColumns(d *dataset.Dataset) (n int, err error) {
	list := suffix(listEnds...)(f.features)
	n = -1
	switch {
	case list || f.features == "":
	case filepath.Ext(f.features) == ".npz":
		n, err = readSparseFile(d, f.features, f.opt)
	default:
		n, err = f.readColumn(f.features, n, func(r *rowText) (int, error) { return readFeatureRows(d, r, n) },
			func(a *npy.Array, n int) error { return fields.ReadDense(d, nil, "features", a, n) })
	}
	if err != nil {
		return 0, err
	}
	if f.labels != "" {
		n, err = f.readColumn(f.labels, n, func(r *rowText) (int, error) { return readLabelRows(d, r, n, f.classes) },
			func(a *npy.Array, n int) error { return readLabelColumns(d, a, n) })
	}
	if err != nil || !list {
		return n, err
	}
	return fields.ReadLists(d, f.features, f.opt, n)
}

// readSparseFile reads features as scipy.sparse.save_npz writes a CSR matrix, a row for each vertex.
func readSparseFile(d *dataset.Dataset, path string, opt dataset.Options) (rows int, err error) {
	z, err := fields.OpenArchive(opt, path)
	if err != nil {
		return 0, err
	}
	defer z.Close()
	if _, err := scipyKind(z, "csr"); err != nil {
		return 0, err
	}
	if !z.Has("indptr") || !z.Has("shape") {
		return 0, fmt.Errorf("%s: is not a SciPy CSR matrix: save the matrix with scipy.sparse.save_npz(path, a.tocsr())", path)
	}
	rows, cols, err := fields.ReadShape(z, "shape")
	if err != nil {
		return 0, err
	}
	if rows == 0 || cols == 0 || cols > check.MaxCols {
		return 0, memberFault(z, "shape", fmt.Errorf("is %d × %d, want a row for each vertex and 1 to %d columns", rows, cols, check.MaxCols))
	}
	err = fields.ReadSparse(d, z, fields.CSRArrays{Indptr: "indptr", Indices: "indices", Column: "column"}, "data", rows, cols)
	listMembers(d, z, opt, filepath.Base(path))
	return rows, err
}

// readColumn reads a file with a row for each of n vertices, -1: as many as there are rows, and returns how many these are.
func (f *csvFiles) readColumn(path string, n int, fromText func(r *rowText) (int, error), fromArray func(a *npy.Array, n int) error) (rows int, err error) {
	if filepath.Ext(path) != ".npy" {
		err := textfile.Open(path, f.opt.Watch, func(t *textfile.Reader) error {
			r, err := rowsOf(t, true, f.numbers[path])
			if err == nil {
				rows, err = fromText(r)
			}
			return err
		})
		return rows, err
	}
	a, err := fields.OpenArray(f.opt, path)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		if len(a.Shape) == 0 || a.Shape[0] < 1 || a.Shape[0] > check.MaxDim {
			return 0, a.Fault(-1, fmt.Errorf("has shape %v, want a row per vertex", a.Shape))
		}
		n = a.Shape[0]
	}
	return n, fromArray(a, n)
}

// readLabelColumns reads one class per vertex, or a row of 0 and 1 per vertex.
func readLabelColumns(d *dataset.Dataset, a *npy.Array, n int) (err error) {
	defer func() {
		if err != nil && len(a.Shape) > 0 && a.Shape[0] != n {
			err = fmt.Errorf("%w%s", err, rowsOfFeatures(d))
		}
	}()
	if len(a.Shape) == 1 || len(a.Shape) == 2 && a.Shape[1] == 1 && a.Shape[0] == n {
		flat := *a
		flat.Shape = a.Shape[:1]
		return fields.ReadLabels(d, &flat, n, -1)
	}
	return fields.ReadTargets(d, a, n)
}

// readMasks reads the masks of a folder whose graph has been read.
func (f *csvFiles) readMasks(d *dataset.Dataset) error {
	n := d.Graph.Rows()
	if err := f.masksHaveHeaders(d, n); err != nil {
		return err
	}
	for i, path := range f.masks {
		if path == "" {
			continue
		}
		name := filepath.Base(path)
		if f.opt.Compact {
			return fmt.Errorf("%s: --compact would renumber vertices, and %s goes by the old numbers: drop it", f.dir, name)
		}
		if d.VertexNames != nil {
			return fmt.Errorf("%s: edges.csv names vertices, and %s counts them: list their names in that order in a file %s", f.dir, name, fields.IDsFile)
		}
		into, err := d.Masks()[i].Of, error(nil)
		if filepath.Ext(path) == ".npy" {
			*into, err = readArrayMask(path, f.opt, n)
		} else {
			err = textfile.Open(path, f.opt.Watch, func(t *textfile.Reader) error {
				r, err := rowsOf(t, true, f.numbers[path])
				if err == nil {
					*into, err = readTextMask(d, r, name, n)
				}
				return err
			})
		}
		if err != nil {
			return err
		}
		if check.CountTrue(*into) == 0 {
			d.Note("%s: no vertex is in it", name)
		}
	}
	return nil
}

func readArrayMask(path string, opt dataset.Options, n int) ([]bool, error) {
	a, err := fields.OpenArray(opt, path)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 1 || a.Len() > n || a.DType.Kind == 'b' && a.Len() != n {
		return nil, a.Fault(-1, fmt.Errorf("has shape %v and type %v, want [%d], or a list of vertices", a.Shape, a.DType, n))
	}
	list, err := a.Int64()
	if err != nil {
		return nil, err
	}
	return vertexMask(list, n, func(i int, format string, args ...any) error { return a.Fault(i, fmt.Errorf(format, args...)) })
}
