package dataset

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"capgnn/graph"
	"capgnn/internal/npy"
)

// FormatError says what is wrong with a file and where: file, member of an archive, byte offset.
type FormatError = npy.FormatError

// Dataset is a graph with features, labels and splits. All slices are indexed by vertex; callers must not change those of
// Graph and Features.
type Dataset struct {
	Name     string
	Graph    *graph.CSR // in-neighbours, rows sorted, repeats merged, loops as stored
	Features Features   // no rows and no columns if the data has none
	Labels   []int32    // class per vertex, -1 = unlabelled; nil: none, or multi-label
	Targets  []uint8    // vertices × Classes, 0 or 1; nil: none, or one class per vertex
	Classes  int        // 0: no labels
	// ClassNames is what the classes are called; nil: only their numbers are known.
	ClassNames []string
	// ColumnNames is what the columns of the features are called; nil: only their numbers are known.
	ColumnNames []string
	Train       []bool   // nil: absent
	Val         []bool   // nil: absent
	Test        []bool   // nil: absent
	Drawn       bool     // the files have no set: Options.Draw drew all three
	TrainsRest  bool     // the files have no training set: Train is what Val and Test leave
	IDs         []int64  // original id per vertex, where it is a number; nil: the vertex number
	VertexNames []string // original id per vertex, where it may be any text; nil: IDs has it
	Splits      int      // numbered splits in the file, of which Options.MaskRow chose one; 0: they are not numbered

	Exact   map[int][]float64 // columns of the features whose differences float32 changes, as the files have them; only while a data set is loaded
	Huge    float32           // a value of the features as stored whose square is beyond float32; 0: none was seen
	Scaling *Scaling          // what the features were standardised with; nil: they are as stored
	// Standardised says how the features have been standardised, here or before a store was written: train, rows, or ""
	// for not, or not known.
	Standardised string

	Source string   // the path it was loaded from
	Format string   // "store", "npz", "gnn-benchmark", "planetoid", "graphsaint", "heterophilous", "ogb", "dgl-reddit", "dgl-csv", "csv", "matrix-market" or "edge-list"
	Notes  []string // what a user should see, one line each: casts, changes to edges

	Files  []string // of its folder that were read, by name; nil if it is no folder
	Unread []Unread // other files there

	mapped []Mapped
	finite bool // whoever read the features has looked: Validate does not look through them again
}

// Features are the input rows: dense, or CSR where Indptr is given.
type Features struct {
	Cols    int
	Dense   []float32 // vertices × Cols, row by row; nil if sparse
	Indptr  []int64   // len vertices+1
	Indices []int32   // columns, ascending in a row
	Data    []float32 // values
}

// Sparse reports whether the features are stored as CSR.
func (f *Features) Sparse() bool { return f.Indptr != nil }

// Present reports whether there are features at all.
func (f *Features) Present() bool { return f.Dense != nil || f.Indptr != nil }

// MultiLabel reports whether a vertex may belong to several classes.
func (d *Dataset) MultiLabel() bool { return d.Targets != nil }

// ID returns the original id of vertex v.
func (d *Dataset) ID(v int) string {
	switch {
	case d.VertexNames != nil:
		return d.VertexNames[v]
	case d.IDs != nil:
		return strconv.FormatInt(d.IDs[v], 10)
	}
	return strconv.Itoa(v)
}

// Close releases mapped files. Graph and Features must not be used afterwards, by anyone. Closing again does nothing.
func (d *Dataset) Close() error {
	var all []error
	for _, m := range d.mapped {
		all = append(all, m.Close())
	}
	d.mapped = nil
	return errors.Join(all...)
}

// Rest takes mapped files out of the process's memory until they are read again.
func (d *Dataset) Rest() {
	for _, m := range d.mapped {
		m.Rest()
	}
}

// ByRows says whether mapped files are read by rows, here and there, from now on, or in order, as after they were mapped.
func (d *Dataset) ByRows(on bool) {
	for _, m := range d.mapped {
		m.ByRows(on)
	}
}

// Mapped is a file that is mapped, such as a hostmem.MapArray.
type Mapped interface {
	Close() error
	Rest()
	ByRows(on bool)
}

// Keep makes d the owner of a mapped file.
func (d *Dataset) Keep(m Mapped) { d.mapped = append(d.mapped, m) }

// FoundFinite says that no value of the features is NaN or infinite, which is not looked for again, or no longer: others have come in their place.
func (d *Dataset) FoundFinite(yes bool) { d.finite = yes }

// Note adds a line that a user should see.
func (d *Dataset) Note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// Validate checks every invariant and reports the first one broken. Cost: one pass over everything.
func (d *Dataset) Validate() error {
	if d.Graph == nil || d.Graph.Rows() < 1 {
		return errors.New("there are no vertices")
	}
	if err := d.Graph.Validate(); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	n := d.Graph.Rows()
	if d.Graph.Cols != n {
		return fmt.Errorf("graph: %d rows, but %d columns", n, d.Graph.Cols)
	}
	if err := d.Features.validate(n, d.finite, d.Rest, &d.Huge); err != nil {
		return fmt.Errorf("features: %w", err)
	}
	if err := d.validateLabels(n); err != nil {
		return fmt.Errorf("labels: %w", err)
	}
	for _, m := range d.Masks() {
		if *m.Of != nil && len(*m.Of) != n {
			return fmt.Errorf("%s: %d entries for %d vertices", m.Key, len(*m.Of), n)
		}
	}
	if d.IDs != nil && len(d.IDs) != n {
		return fmt.Errorf("ids: %d entries for %d vertices", len(d.IDs), n)
	}
	for _, names := range []struct {
		of   string
		have []string
		want int
	}{{"classes", d.ClassNames, d.Classes}, {"columns", d.ColumnNames, d.Features.Cols}, {"vertices", d.VertexNames, n}} {
		if names.have != nil && len(names.have) != names.want {
			return fmt.Errorf("%d names of %d %s", len(names.have), names.want, names.of)
		}
	}
	return nil
}

func (d *Dataset) validateLabels(n int) error {
	if d.Labels != nil && d.Targets != nil {
		return errors.New("both one class per vertex and multi-label")
	}
	if d.Classes < 0 || d.Labels == nil && d.Targets == nil && d.Classes != 0 {
		return fmt.Errorf("%d classes without labels", d.Classes)
	}
	if d.Labels != nil && len(d.Labels) != n {
		return fmt.Errorf("%d for %d vertices", len(d.Labels), n)
	}
	for v, y := range d.Labels {
		if y < -1 || int(y) >= d.Classes {
			return fmt.Errorf("vertex %d: label %d is outside [-1, %d)", v, y, d.Classes)
		}
	}
	if d.Targets != nil && (d.Classes == 0 || len(d.Targets)%d.Classes != 0 || len(d.Targets)/d.Classes != n) {
		return fmt.Errorf("%d entries for %d vertices × %d classes", len(d.Targets), n, d.Classes)
	}
	for i, y := range d.Targets {
		if y > 1 {
			return fmt.Errorf("vertex %d, class %d: %d is neither 0 nor 1", i/d.Classes, i%d.Classes, y)
		}
	}
	return nil
}

// Mask is a split of a Dataset and the name of its array in a store.
type Mask struct {
	Key string
	Of  *[]bool // nil slice: absent
}

// Masks lists the training, validation and test vertices, in this order.
func (d *Dataset) Masks() []Mask {
	return []Mask{{"train_mask", &d.Train}, {"val_mask", &d.Val}, {"test_mask", &d.Test}}
}

// EdgeEnds are the endings of edge lists; each may have .gz behind it.
var EdgeEnds = []string{".txt", ".csv", ".tsv", ".el", ".edgelist", ".edges", ".edg", ".edge", ".ncol"}

// IsEdgeFile reports whether a file of this name may be an edge list.
func IsEdgeFile(base string) bool {
	return slices.Contains(EdgeEnds, filepath.Ext(strings.TrimSuffix(base, ".gz")))
}

// BaseName makes a data set's name from a path: without folders and without the ending of a data file.
func BaseName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	base := filepath.Base(path)
	for _, end := range append([]string{".gz", ".npz", ".mtx"}, EdgeEnds...) {
		base = strings.TrimSuffix(base, end)
	}
	return base
}
