package formats

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
)

// ogbSplits are the names of the split files in the order of Dataset.Masks.
var ogbSplits = [3]string{"train", "valid", "test"}

// loadOGB reads the folder of an OGB node-prediction data set as it is unpacked: raw/edge, raw/node-feat, raw/node-label,
// raw/num-node-list and raw/num-edge-list as .csv.gz or .csv, and split/KIND/train, valid and test. Features, labels and
// splits may be missing. Labels of several columns are multi-label, nan is unlabelled. Edges are symmetric unless
// Options.Edges says otherwise: most sets of this kind list every pair once. The graph may also be one archive: see loadOGBArchive.
//
// Source: Hu et al., Open Graph Benchmark, 2020; ogb.nodeproppred, read_csv_graph_raw.
func loadOGB(dir string, opt dataset.Options) (*dataset.Dataset, error) {
	d := &dataset.Dataset{Name: dataset.BaseName(dir), Format: formatOGB}
	raw := filepath.Join(dir, "raw")
	if text, err := ogbFile(raw, "num-node-list", false); isFile(filepath.Join(raw, ogbArchive)) {
		if text != "" || err != nil {
			return nil, fmt.Errorf("%s: there are both %s and num-node-list; keep one", raw, ogbArchive)
		}
		return loadOGBArchive(dir, opt)
	}
	n, err := ogbCount(raw, "num-node-list", opt)
	if err != nil {
		return nil, err
	}
	m, err := ogbCount(raw, "num-edge-list", opt)
	if err != nil {
		return nil, err
	}
	if n < 1 || n > check.MaxDim {
		return nil, fmt.Errorf("%s: num-node-list: %d vertices, want 1 to %d", raw, n, check.MaxDim)
	}
	path, err := ogbFile(raw, "edge", true)
	if err != nil {
		return nil, err
	}
	err = textfile.Open(path, opt.Watch, func(t *textfile.Reader) error {
		l := &edgeText{t: t, n: int(n)}
		return l.graph(d, opt, true, func(c *adjacency.RowCounts) (int, error) {
			if c.Edges != m {
				return 0, t.Whole("has %d edges, num-edge-list says %d", c.Edges, m)
			}
			if limit := adjacency.MaxVertices(c.Edges); n > limit {
				return 0, t.Whole("has %d edges for %d vertices; at most %d vertices are handled", c.Edges, n, limit)
			}
			return int(n), nil
		})
	})
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		stem string
		read func(d *dataset.Dataset, t *textfile.Reader, named bool, n int) (int, error)
	}{{"node-feat", readTextFeatures}, {"node-label", readTextLabels}} {
		path, err := ogbFile(raw, f.stem, false)
		if err != nil {
			return nil, err
		}
		if path == "" {
			continue
		}
		if err := textfile.Open(path, opt.Watch, func(t *textfile.Reader) error { _, err := f.read(d, t, false, int(n)); return err }); err != nil {
			return nil, err
		}
	}
	if path, _ := ogbFile(raw, "edge-feat", false); path != "" {
		d.Note("features of edges (%s) are not used", filepath.Base(path))
	}
	return d, readOGBSplits(d, filepath.Join(dir, "split"), opt)
}

// ogbFile finds STEM.csv.gz or STEM.csv; "" if there is none and it is not needed.
func ogbFile(dir, stem string, needed bool) (string, error) {
	path, err := findFile(dir, stem, ".csv.gz", ".csv")
	if err == nil && path == "" && needed {
		err = fmt.Errorf("%s: is no complete OGB folder: %s.csv.gz is missing", dir, stem)
	}
	return path, err
}

// ogbCount reads a file of one number.
func ogbCount(dir, stem string, opt dataset.Options) (count int64, err error) {
	path, err := ogbFile(dir, stem, true)
	if err != nil {
		return 0, err
	}
	return count, textfile.Open(path, opt.Watch, func(t *textfile.Reader) error {
		rows, _, err := t.Table(64, 1, func(row, _ int, v float64) error {
			if row > 0 {
				return t.Fault("holds several graphs; data sets of one graph can be read")
			}
			if v != math.Trunc(v) || v < 0 || v > 1<<53 {
				return t.Fault("found %g, want a count", v)
			}
			count = int64(v)
			return nil
		})
		if err == nil && rows == 0 {
			err = t.Whole("is empty, want one number")
		}
		return err
	})
}

// readOGBSplits reads the lists of vertices of the one split in a folder, if there is one.
func readOGBSplits(d *dataset.Dataset, dir string, opt dataset.Options) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	var kinds, others []string
	saved := ""
	for _, e := range list {
		if path, _ := ogbFile(filepath.Join(dir, e.Name()), ogbSplits[0], false); path != "" {
			kinds = append(kinds, e.Name())
		} else if path := filepath.Join(dir, e.Name(), "split_dict.pt"); isFile(path) {
			saved = path
		} else if inside, err := os.ReadDir(filepath.Join(dir, e.Name())); len(inside) > 0 || err != nil && suffix(textEnds...)(e.Name()) {
			others = append(others, e.Name())
		}
	}
	if len(kinds) == 0 && saved != "" {
		return foreign{"a split of PyTorch", fmt.Sprintf(`for k, v in torch.load(IN, weights_only=False).items(): numpy.savetxt(f"%s/{k}.csv", v, fmt="%%d")`, filepath.Dir(saved))}.fault(saved)
	}
	if len(kinds) > 1 {
		return fmt.Errorf("%s: holds several splits (%.100s); keep one", dir, strings.Join(kinds, " "))
	}
	if len(kinds) == 0 && len(others) > 0 {
		return fmt.Errorf("%s: holds %s, and no folder with train.csv.gz, valid.csv.gz and test.csv.gz, which a split is", dir, fields.Quoted(others))
	}
	if len(kinds) == 0 {
		return nil
	}
	dir = filepath.Join(dir, kinds[0])
	for i, stem := range ogbSplits {
		path, err := ogbFile(dir, stem, true)
		if err != nil {
			return err
		}
		mask := make([]bool, d.Graph.Rows())
		err = textfile.Open(path, opt.Watch, func(t *textfile.Reader) error {
			for t.Next() {
				v, err := t.ID("a vertex")
				if err != nil {
					return err
				}
				if v >= int64(len(mask)) {
					return t.Fault("vertex %d is outside [0, %d)", v, len(mask))
				}
				if mask[v] {
					return t.Fault("vertex %d is listed twice", v)
				}
				mask[v] = true
				if more, err := t.Separator(); err != nil || more {
					return t.Unexpected("one vertex to a line")
				}
			}
			return t.Finish()
		})
		if err != nil {
			return err
		}
		*d.Masks()[i].Of = mask
	}
	return nil
}
