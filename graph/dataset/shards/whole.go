package shards

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/stores"
)

// entriesKey is the array that says where the sparse features of every vertex begin among those of all.
const entriesKey = "entries_at"

// whole writes what sampled training needs to know of all parts: the graph, labels, and how many entries sparse features have.
func (w *writer) whole(dir string) error {
	d, f := w.Data, &filer{dir: dir, watch: w.watch, files: map[string]file{}}
	meta := map[string]any{"capgnn_store": 1, "vertices": d.Graph.Rows(), "edges": d.Graph.Edges(), "classes": d.Classes, "multi_label": d.MultiLabel()}
	f.array("indptr", nil, d.Graph.Indptr)
	f.array("indices", nil, d.Graph.Indices)
	if d.Graph.Weights != nil {
		f.array("weights", nil, d.Graph.Weights)
		meta["weighted"] = true
	}
	f.labels("y", d, every(d.Graph.Rows()))
	if d.Features.Sparse() {
		f.array(entriesKey, nil, d.Features.Indptr)
	}
	f.json(stores.MetaFile, meta)
	w.head.Whole = f.files
	return f.err
}

// every lists the vertices of a graph.
func every(n int) []graph.NodeID {
	ids := make([]graph.NodeID, n)
	for v := range ids {
		ids[v] = graph.NodeID(v)
	}
	return ids
}

// Whole is what is known of all parts besides the tables, mapped.
type Whole struct {
	Data    *dataset.Dataset // the graph, labels or targets; no features and no masks
	Entries []int64          // vertices+1: where the entries of each vertex begin among those of all; nil: features are dense
}

// GraphPath is where the whole graph lies.
func (f *Folder) GraphPath() string { return filepath.Join(f.Dir, graphDir) }

// CheckWhole compares the files of the whole graph with what they must be.
func (f *Folder) checkWhole(opt Options) error {
	dir := f.GraphPath()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: is not there: copy the graph into the folder, which sampled training reads: %w", dir, fs.ErrNotExist)
	}
	for _, name := range f.wholeFiles() {
		if _, ok := f.Head.Whole[name]; !ok {
			return &dataset.FormatError{File: filepath.Join(f.Dir, commonDir, headFile), Offset: -1, Err: fmt.Errorf("file %s of the graph is not announced", name)}
		}
	}
	return checkFiles(dir, f.Head.Whole, opt.Known, opt.Watch)
}

// wholeFiles are the files that the folder of the whole graph must have.
func (f *Folder) wholeFiles() []string {
	names := []string{stores.MetaFile, "indptr.npy", "indices.npy", "y.npy"}
	if f.Weighted {
		names = append(names, "weights.npy")
	}
	if f.Sparse {
		names = append(names, entriesKey+".npy")
	}
	return names
}

// MapWhole maps the whole graph; o is the outline. fs.ErrNotExist: its folder is not here.
func (f *Folder) MapWhole(o *graph.Outline, opt Options) (*Whole, error) {
	if err := f.checkWhole(opt); err != nil {
		return nil, err
	}
	dir := f.GraphPath()
	d, err := stores.Load(dir, dataset.Options{Edges: dataset.Directed, Known: opt.Known, Watch: opt.Watch})
	if err != nil {
		return nil, err
	}
	w := &Whole{Data: d}
	if err = d.Validate(); err == nil {
		err = f.agree(d, o)
	}
	if err != nil {
		err = &dataset.FormatError{File: dir, Offset: -1, Err: err}
	} else if f.Sparse {
		w.Entries, err = f.entries(dir)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return w, nil
}

// agree compares the whole graph and its labels with the tables.
func (f *Folder) agree(d *dataset.Dataset, o *graph.Outline) error {
	g := d.Graph
	if g.Rows() != f.Vertices || g.Edges() != f.Edges || (g.Weights != nil) != f.Weighted {
		return fmt.Errorf("%d vertices and %d edges (weighted: %t), %d and %d are announced (weighted: %t)", g.Rows(), g.Edges(), g.Weights != nil, f.Vertices, f.Edges, f.Weighted)
	}
	if d.Classes != f.Classes || d.MultiLabel() != f.MultiLabel || d.Labels == nil && d.Targets == nil {
		return fmt.Errorf("%d classes (multi-label: %t), %d are announced (multi-label: %t)", d.Classes, d.MultiLabel(), f.Classes, f.MultiLabel)
	}
	for v, n := range o.InDegree {
		if len(g.Row(v)) != int(n) {
			return fmt.Errorf("vertex %d has %d in-neighbours, by the tables %d", v, len(g.Row(v)), n)
		}
		if o.Hops[v] == 0 && d.Labels != nil && d.Labels[v] < 0 {
			return fmt.Errorf("vertex %d has no label, by the tables it is trained on", v)
		}
	}
	if f.Weighted && !g.WeightSums().Equal(o.Weights) {
		return errors.New("edges weigh other than the tables say")
	}
	return nil
}

// entries reads where the sparse features of every vertex begin.
func (f *Folder) entries(dir string) ([]int64, error) {
	a, err := fields.Vector(fields.Folder{Dir: dir}, entriesKey, f.Vertices+1)
	if err != nil {
		return nil, err
	}
	at, err := a.Int64()
	if err != nil {
		return nil, err
	}
	for v := range f.Vertices {
		if n := at[v+1] - at[v]; n < 0 || n > int64(f.Features) || at[0] != 0 {
			return nil, a.Fault(v+1, errors.New("entries of features do not begin where those before end"))
		}
	}
	if at[f.Vertices] != f.FeatureEntries {
		return nil, a.Fault(f.Vertices, fmt.Errorf("%d entries of features, %d are announced", at[f.Vertices], f.FeatureEntries))
	}
	return at, nil
}

// WholeUnchanged says what has become of the files of the whole graph since they were mapped, as far as their sizes tell.
func (f *Folder) WholeUnchanged() error { return f.checkWhole(Options{Known: true}) }

// WholeSum identifies what the files of the whole graph must be.
func (f *Folder) WholeSum() string { return sumOf(f.Head.Whole) }
