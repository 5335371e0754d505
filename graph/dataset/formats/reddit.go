package formats

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/npy"
)

// DGL's Reddit is a pair of files: NAME_data.npz with vertices and NAME_graph.npz with edges.
const (
	redditData  = "_data.npz"
	redditGraph = "_graph.npz"
)

// redditNames are the two variants that DGL publishes: as it is, and with a loop at every vertex.
var redditNames = []string{"reddit", "reddit_self_loop"}

// redditName returns NAME of a file of a Reddit pair.
func redditName(base string) (string, bool) {
	for _, end := range []string{redditData, redditGraph} {
		if name, ok := strings.CutSuffix(base, end); ok && slices.Contains(redditNames, name) {
			return name, true
		}
	}
	return "", false
}

// loadReddit reads a pair of files: feature, label, node_types (1 training, 2 validation, 3 test, 0 none) and
// node_ids of every vertex, and the matrix of edges as a SciPy file.
//
// Source: Hamilton et al., Inductive Representation Learning on Large Graphs, 2017; dgl.data.RedditDataset.
func loadReddit(dir, name string, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: name, Format: formatReddit}
	z, err := fields.OpenArchive(opt, filepath.Join(dir, name+redditData))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	kinds, err := fields.Vector(z, "node_types", -1)
	if err != nil {
		return nil, err
	}
	n := kinds.Len()
	if n < 1 || n > check.MaxDim {
		return nil, kinds.Fault(-1, fmt.Errorf("has %d entries, want 1 to %d", n, check.MaxDim))
	}
	labels, err := z.Array("label")
	if err != nil {
		return nil, err
	}
	if err := fields.ReadLabels(d, labels, n, -1); err != nil { // first: it shows that n is no mere number in a header
		return nil, err
	}
	if err := readNodeTypes(d, kinds, n); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name+redditGraph)
	a, counts, err := readScipy(d, path, opt, n)
	if err != nil {
		return nil, err
	}
	if d.Graph, err = fromMatrix(opt, a); err != nil {
		return nil, &dataset.FormatError{File: path, Offset: -1, Err: err}
	}
	fields.NoteEdges(d, counts)
	if err := readNodeIDs(d, z, n); err != nil {
		return nil, err
	}
	x, err := z.Array("feature")
	if err != nil {
		return nil, err
	}
	listMembers(d, z, opt, name+redditData)
	return d, fields.ReadDense(d, z, "feature", x, n)
}

func readNodeTypes(d *dataset.Dataset, a *npy.Array, n int) error {
	for _, m := range d.Masks() {
		*m.Of = make([]bool, n)
	}
	masks := d.Masks()
	return a.EachInt64(func(i int, types []int64) error {
		for k, kind := range types {
			if kind < 0 || kind > 3 {
				return a.Fault(i+k, fmt.Errorf("vertex %d has the type %d, want 1 (training), 2 (validation), 3 (test) or 0 (none)", i+k, kind))
			}
			if kind > 0 {
				(*masks[kind-1].Of)[i+k] = true
			}
		}
		return nil
	})
}

// readNodeIDs reads the original ids, if they are there and are not the vertex numbers.
func readNodeIDs(d *dataset.Dataset, src fields.Arrays, n int) error {
	if !src.Has("node_ids") {
		return nil
	}
	a, err := fields.Vector(src, "node_ids", n)
	if err != nil {
		return err
	}
	ids, err := a.Int64()
	if err != nil {
		return err
	}
	for v, id := range ids {
		if id != int64(v) {
			d.IDs = ids
			break
		}
	}
	return nil
}
