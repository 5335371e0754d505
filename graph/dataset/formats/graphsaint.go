package formats

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/npy"
	"capgnn/internal/room"
)

// Files of a GraphSAINT folder. All but adjTrain are needed.
const (
	adjFull   = "adj_full.npz"
	adjTrain  = "adj_train.npz"
	featsFile = "feats.npy"
	classFile = "class_map.json"
	roleFile  = "role.json"
)

var saintFiles = []string{adjFull, adjTrain, featsFile, classFile, roleFile}

// formatSaint is Dataset.Format of a GraphSAINT folder.
const formatSaint = "graphsaint"

// isSaintFile reports whether a file of this name belongs to a GraphSAINT folder.
func isSaintFile(base string) bool { return slices.Contains(saintFiles, base) }

// loadSaint reads a GraphSAINT folder.
//
// Method: the graph is adj_full; vertices, and so all that the other files may say, are counted by its row pointers.
// adj_train is checked against graph and roles and then dropped: training is full-batch, so it sees adj_full, and a note
// counts the edges that adj_train leaves out because they leave the training vertices. Features are standardised with the
// training rows unless Options.Standardize says none or rows.
//
// Source: Zeng et al., GraphSAINT: Graph Sampling Based Inductive Learning Method; github.com/GraphSAINT/GraphSAINT.
func loadSaint(dir string, opt dataset.Options) (*dataset.Dataset, error) {
	for _, name := range saintFiles {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil && name != adjTrain {
			return nil, fmt.Errorf("%s: is no complete GraphSAINT folder: %w", dir, err)
		}
	}
	d := &dataset.Dataset{Name: dataset.BaseName(dir), Format: formatSaint}
	full, counts, err := readScipy(d, filepath.Join(dir, adjFull), opt, -1)
	if err != nil {
		return nil, err
	}
	n := full.Rows()
	if err := readRoles(d, filepath.Join(dir, roleFile), opt.Watch, n); err != nil {
		return nil, err
	}
	leaving, err := checkTrainGraph(d, filepath.Join(dir, adjTrain), opt, full)
	if err != nil {
		return nil, err
	}
	if d.Graph, err = fromMatrix(opt, full); err != nil {
		return nil, &dataset.FormatError{File: filepath.Join(dir, adjFull), Offset: -1, Err: err}
	}
	fields.NoteEdges(d, counts)
	if leaving > 0 {
		d.Note("%d edges join a training vertex to another one: training sees them (%s, which leaves them out, is not used)", leaving, adjTrain)
	}
	if err := readClassMap(d, filepath.Join(dir, classFile), opt.Watch, n); err != nil {
		return nil, err
	}
	return d, readFeats(d, filepath.Join(dir, featsFile), opt, n)
}

// checkTrainGraph compares adj_train, if it is there, with the whole matrix and the training vertices, and returns how many
// edges it leaves out because they leave these.
func checkTrainGraph(d *dataset.Dataset, path string, opt dataset.Options, full *graph.CSR) (leaving int, err error) {
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return 0, nil
	}
	sub, _, err := readScipy(d, path, opt, full.Rows())
	if err != nil {
		return 0, err
	}
	fault := func(v int, u graph.NodeID, what string) error {
		return &dataset.FormatError{File: path, Offset: -1, Err: fmt.Errorf("edge %d → %d: %s", v, u, what)}
	}
	for v := range full.Rows() {
		whole := full.Row(v)
		for _, u := range whole {
			if d.Train[v] != d.Train[u] {
				leaving++
			}
		}
		for _, u := range sub.Row(v) {
			if !d.Train[v] || !d.Train[u] {
				return 0, fault(v, u, "does not join two training vertices of "+roleFile)
			}
			if _, ok := slices.BinarySearch(whole, u); !ok {
				return 0, fault(v, u, "is not in "+adjFull)
			}
		}
	}
	return leaving, nil
}

// readFeats reads the dense features of n vertices, standardised as opt says.
func readFeats(d *dataset.Dataset, path string, opt dataset.Options, n int) error {
	a, err := fields.OpenArray(opt, path)
	if err != nil {
		return err
	}
	raw := opt.Standardize == dataset.StandardizeNone && opt.Scaling == nil || opt.ByRows()
	if single := (npy.DType{Kind: 'f', Size: 4}); raw || a.DType == single {
		// No folder to map from: others may write to this file.
		if err := fields.ReadDense(d, nil, "feats", a, n); err != nil || raw {
			return err
		}
		return standardise(d, path, opt)
	}
	if err := fields.CheckDense(a, n); err != nil {
		return err
	}
	if err := room.For(4 * int64(a.Len())); err != nil { // as many as the file really holds
		return a.Fault(-1, err)
	}
	out := make([]float32, a.Len())
	scaling, i, err := standardised(out, a.EachFloat64, a.Shape[1], d.Train, opt.Scaling)
	if err != nil {
		return a.Fault(i, err)
	}
	d.Note("feats: values of type %v were converted to float32", a.DType)
	noteStandardised(d, scaling, opt.Scaling, d.Train)
	d.Features = dataset.Features{Cols: a.Shape[1], Dense: out}
	return nil
}
