package formats

import (
	"fmt"
	"math"
	"path/filepath"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/npy"
)

// Files of the folder raw of an OGB data set that is stored as arrays.
const (
	ogbArchive = "data.npz"
	ogbLabels  = "node-label.npz"
)

// loadOGBArchive reads an OGB folder whose graph is raw/data.npz: edge_index [2, edges], num_nodes_list, num_edges_list and node_feat, with
// raw/node-label.npz, which holds node_label, and splits as in loadOGB. Features and labels may be missing, nan is unlabelled.
//
// Source: ogb.io, DatasetSaver and read_binary_graph_raw.
func loadOGBArchive(dir string, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: dataset.BaseName(dir), Format: formatOGB}
	raw := filepath.Join(dir, "raw")
	z, err := fields.OpenArchive(opt, filepath.Join(raw, ogbArchive))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	n, err := ogbArrayCount(z, "num_nodes_list")
	if err != nil {
		return nil, err
	}
	m, err := ogbArrayCount(z, "num_edges_list")
	if err != nil {
		return nil, err
	}
	if n < 1 || n > check.MaxDim {
		return nil, memberFault(z, "num_nodes_list", fmt.Errorf("%d vertices, want 1 to %d", n, check.MaxDim))
	}
	if err := readOGBEdges(d, z, int(n), m, opt); err != nil {
		return nil, err
	}
	if z.Has("node_feat") {
		a, err := z.Array("node_feat")
		if err != nil {
			return nil, err
		}
		if err := fields.ReadDense(d, z, "node_feat", a, int(n)); err != nil {
			return nil, err
		}
	}
	listMembers(d, z, opt, ogbArchive)
	if path := filepath.Join(raw, ogbLabels); isFile(path) {
		if err := readOGBLabels(d, path, opt, int(n)); err != nil {
			return nil, err
		}
	}
	return d, readOGBSplits(d, filepath.Join(dir, "split"), opt)
}

// ogbArrayCount reads the one count in an array of counts by graph.
func ogbArrayCount(z *npy.Archive, key string) (int64, error) {
	a, err := z.Array(key)
	if err != nil {
		return 0, err
	}
	if a.Len() != 1 {
		return 0, a.Fault(-1, fmt.Errorf("has shape %v, want one number: data sets of one graph can be read", a.Shape))
	}
	v, err := a.Int64()
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// readOGBEdges reads edge_index of m edges, whose first row holds where edges begin and whose second one where they end.
func readOGBEdges(d *dataset.Dataset, z *npy.Archive, n int, m int64, opt dataset.Options) error {
	a, err := z.Array("edge_index")
	if err != nil {
		return err
	}
	if len(a.Shape) != 2 || a.Shape[0] != 2 || int64(a.Shape[1]) != m {
		return a.Fault(-1, fmt.Errorf("has shape %v, want [2, %d] (num_edges_list)", a.Shape, m))
	}
	var list adjacency.Edges
	if a.Fortran { // both ends of an edge lie side by side
		pairs := *a
		pairs.Shape, pairs.Fortran = []int{a.Shape[1], 2}, false
		list = func(edge func(from, to graph.NodeID)) error { return eachListed(&pairs, n, edge) }
	} else {
		from, err := a.Row(0)
		if err != nil {
			return err
		}
		to, err := a.Row(1)
		if err != nil {
			return err
		}
		list = func(edge func(from, to graph.NodeID)) error { return eachPair(from, to, n, edge) }
	}
	vertices := func(c *adjacency.RowCounts) (int, error) {
		if limit := adjacency.MaxVertices(c.Edges); int64(n) > limit {
			return 0, fmt.Errorf("has %d edges for %d vertices; at most %d vertices are handled", c.Edges, n, limit)
		}
		return n, nil
	}
	return takeEdges(d, list, opt, true, vertices, func(err error) error { return a.Fault(-1, err) })
}

// readOGBLabels reads node_label: a class for each vertex, or 0 and 1 for each of several classes.
func readOGBLabels(d *dataset.Dataset, path string, opt dataset.Options, n int) error {
	z, err := fields.OpenArchive(opt, path)
	if err != nil {
		return err
	}
	defer z.Close()
	a, err := z.Array("node_label")
	if err != nil {
		return err
	}
	listMembers(d, z, opt, ogbLabels)
	if len(a.Shape) == 0 || len(a.Shape) > 2 || a.Shape[0] != n || len(a.Shape) == 2 && (a.Shape[1] < 1 || a.Shape[1] > 1<<16) {
		return a.Fault(-1, fmt.Errorf("has shape %v, want [%d, 1], or [%d, classes] of 0 and 1", a.Shape, n, n))
	}
	if len(a.Shape) == 2 && a.Shape[1] > 1 {
		return readOGBTargets(d, a)
	}
	flat := *a
	flat.Shape = a.Shape[:1]
	if err := flat.Afford(4 * int64(n)); err != nil {
		return err
	}
	labels, limit, largest := make([]int32, 0, n), float64(check.MaxClasses(n)), -1.0
	err = flat.EachFloat64(func(i int, piece []float64) error {
		for k, y := range piece {
			if math.IsNaN(y) {
				y = -1
			}
			if y != math.Trunc(y) || y < -1 || y >= limit {
				return a.Fault(i+k, fmt.Errorf("vertex %d: label %g is no class from 0 to %g, and not -1 or nan (unlabelled)", i+k, y, limit-1))
			}
			labels, largest = append(labels, int32(y)), max(largest, y)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.Labels, d.Classes = labels, int(largest)+1
	if unlabelled := check.CountOf(labels, -1); unlabelled > 0 {
		d.Note("vertices without a label: %d", unlabelled)
	}
	return nil
}

// readOGBTargets reads 0 or 1 for each vertex and class, as numbers of any type.
func readOGBTargets(d *dataset.Dataset, a *npy.Array) error {
	if err := a.Afford(int64(a.Len())); err != nil {
		return err
	}
	targets, classes := make([]uint8, 0, a.Len()), a.Shape[1]
	err := a.EachFloat64(func(i int, piece []float64) error {
		for k, y := range piece {
			if y != 0 && y != 1 {
				return a.Fault(i+k, fmt.Errorf("vertex %d, class %d: %g is neither 0 nor 1", (i+k)/classes, (i+k)%classes, y))
			}
			targets = append(targets, uint8(y))
		}
		return nil
	})
	d.Targets, d.Classes = targets, classes
	return err
}
