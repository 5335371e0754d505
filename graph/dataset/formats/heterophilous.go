package formats

import (
	"fmt"
	"slices"
	"strings"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/npy"
)

// loadHeterophilous reads a heterophilous-graphs .npz: dense features, one class per vertex, every unordered pair of
// neighbours once, or edges from the first to the second vertex if the file's name says directed, as its authors read
// it, and splits.
//
// Source: Platonov et al., A critical look at the evaluation of GNNs under heterophily, 2023;
// github.com/yandex-research/heterophilous-graphs.
func loadHeterophilous(z *npy.Archive, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: dataset.BaseName(z.Name()), Format: formatHeterophilous}
	x, err := z.Array("node_features")
	if err != nil {
		return nil, err
	}
	if len(x.Shape) == 0 || x.Shape[0] < 1 || x.Shape[0] > check.MaxDim {
		return nil, x.Fault(-1, fmt.Errorf("has shape %v, want a row per vertex", x.Shape))
	}
	n := x.Shape[0]
	if err := fields.ReadDense(d, z, "node_features", x, n); err != nil { // first: it shows that n is no mere number in a header
		return nil, err
	}
	directed := strings.Contains(strings.ReplaceAll(strings.ToLower(d.Name), "undirected", ""), "directed")
	if err := readPairs(d, z, "edges", n, !directed, opt); err != nil {
		return nil, err
	}
	if directed {
		noteDirected(d, opt)
	}
	if z.Has("node_labels") {
		y, err := z.Array("node_labels")
		if err != nil {
			return nil, err
		}
		if err := fields.ReadLabels(d, y, n, -1); err != nil {
			return nil, err
		}
	}
	return d, readSplits(d, z, n, opt)
}

// readSplits reads numbered splits, as rows of three masks, of which Options.MaskRow picks one, or the masks of a store.
func readSplits(d *dataset.Dataset, z *npy.Archive, n int, opt dataset.Options) error {
	keys, rows := [3]string{}, false
	for k := range keys {
		all := slices.DeleteFunc(fields.SetKeys(k, "_masks"), func(key string) bool { return !z.Has(key) })
		if len(all) > 1 {
			return memberFault(z, all[1], fmt.Errorf("there is also %s.npy; keep one", all[0]))
		}
		if len(all) == 1 {
			keys[k], rows = all[0], true
		}
	}
	if rows {
		return readMaskRows(d, z, keys, n, opt.MaskRow)
	}
	return fields.ReadMasks(d, z, n)
}

// readPairs reads an array of m × 2 vertices as edges; symmetric is the default.
func readPairs(d *dataset.Dataset, src fields.Arrays, key string, n int, symmetric bool, opt dataset.Options) error {
	a, err := src.Array(key)
	if err != nil {
		return err
	}
	if len(a.Shape) != 2 || a.Shape[1] != 2 {
		return a.Fault(-1, fmt.Errorf("has shape %v, want [edges, 2]", a.Shape))
	}
	list := func(edge func(from, to graph.NodeID)) error { return eachListed(a, n, edge) }
	vertices := func(*adjacency.RowCounts) (int, error) { return n, nil }
	return takeEdges(d, list, opt, symmetric, vertices, func(err error) error { return a.Fault(-1, err) })
}

// eachListed calls edge with the rows of an array of m × 2 vertices.
func eachListed(a *npy.Array, n int, edge func(from, to graph.NodeID)) error {
	from := graph.NodeID(0)
	return a.EachInt64(func(i int, v []int64) error {
		for k, id := range v {
			if id < 0 || id >= int64(n) {
				return a.Fault(i+k, fmt.Errorf("edge %d: vertex %d is outside [0, %d)", (i+k)/2, id, n))
			}
			if (i+k)%2 == 0 {
				from = graph.NodeID(id)
			} else {
				edge(from, graph.NodeID(id))
			}
		}
		return nil
	})
}

// readMaskRows reads row number row of masks that hold a split in each row. A mask may be missing.
func readMaskRows(d *dataset.Dataset, src fields.Arrays, keys [3]string, n, row int) error {
	for i, key := range keys {
		if !src.Has(key) {
			continue
		}
		a, err := src.Array(key)
		if err != nil {
			return err
		}
		if len(a.Shape) != 2 || a.Shape[1] != n {
			return a.Fault(-1, fmt.Errorf("has shape %v, want [splits, %d]", a.Shape, n))
		}
		splits := a.Shape[0]
		if row >= splits {
			return a.Fault(-1, fmt.Errorf("has %d splits; there is no split %d (they are numbered from 0)", splits, row))
		}
		if d.Splits > 0 && splits != d.Splits {
			return a.Fault(-1, fmt.Errorf("has %d splits, the mask before it has %d", splits, d.Splits))
		}
		d.Splits = splits
		if *d.Masks()[i].Of, err = readMaskRow(a, row); err != nil {
			return err
		}
	}
	if d.Splits > 1 {
		d.Note("split %d of %d is used (--split N takes another)", row, d.Splits)
	}
	return nil
}

// readMaskRow reads one row of a matrix of bool, or of 8-bit integers that are all 0 or 1.
func readMaskRow(a *npy.Array, row int) ([]bool, error) {
	if a.DType.Size != 1 {
		return a.Bool() // which refuses them
	}
	n := a.Shape[1]
	mask := make([]bool, n)
	return mask, a.EachInt64(func(i int, v []int64) error {
		for k, x := range v {
			if x != 0 && x != 1 {
				return a.Fault(i+k, fmt.Errorf("value %d; want bool (0 or 1)", x))
			}
			if (i+k)/n == row {
				mask[(i+k)%n] = x == 1
			}
		}
		return nil
	})
}
