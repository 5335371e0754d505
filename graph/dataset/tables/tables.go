package tables

import (
	"errors"
	"fmt"

	"capgnn/graph/dataset"
)

// Tables are two tables with names in them, as databases and spreadsheets write them: one line per vertex, one per
// edge. Fields stand between commas, semicolons, tabs or bars, whichever the first line has most of, or blanks, and
// may be quoted.
type Tables struct {
	Nodes string // file; its first line names the columns; "" = none: the vertices are those of Edges
	Edges string // file; two of its columns are ids of Nodes, from and to, behind a first line that names them
	ID    string // column of Nodes with the ids; "" = the one that is called id, else the first
	Label string // column with the classes, by any name; "" = no labels
	// LabelSep stands between the classes of a vertex; "" = it has one.
	LabelSep string
	// SplitColumn is the column that says train, val or test; "" = one called split, or masks called train_mask,
	// val_mask, test_mask, if they are there.
	SplitColumn string
	Weight      string // column of Edges with their weights; "" = they have none
	Drop        []string
	// Categorical are columns of names: each name becomes a feature, 1 where it stands. Lists are columns whose
	// fields hold several, NAME or NAME:VALUE, between blanks, commas, semicolons or bars.
	Categorical, Lists []string
	// Features is a file of features beside those of Nodes: JSON {"ID": [FEATURE, …], …} of features by number, or
	// .npy with a row for each line of Nodes; "" = none.
	Features string
	// Missing stands for an empty field of a feature: a number, or mean or median of its column, or drop, which
	// leaves out its vertex; "": one is an error.
	Missing string
	// SkipUnknown leaves out edges with an id that Nodes does not have; else one is an error.
	SkipUnknown bool
	Watch       dataset.Watch // is told what was read; nil: nobody
}

// Written says what became of tables.
type Written struct {
	Vertices   int      `json:"vertices"`
	Edges      int64    `json:"edges"`
	Features   []string `json:"features"`
	Classes    []string `json:"classes"`
	Unlabelled int      `json:"unlabelled"`
	Split      *Split   `json:"split"`      // null: the tables have none
	Filled     int64    `json:"filled"`     // empty fields for which Missing stands
	LeftOut    int      `json:"left_out"`   // vertices that lack a feature
	EdgesGone  int64    `json:"edges_gone"` // edges of these vertices
	Skipped    int64    `json:"skipped"`    // edges and lists of features with an unknown id
	Sparse     bool     `json:"sparse"`     // features are features.npz, and their names columns.csv
	IDLike     []string `json:"id_like"`    // columns of features that hold something else in every line, as ids do
	Notes      []string `json:"notes"`      // what a user should see, one line each
}

// Split counts the vertices of the sets.
type Split struct {
	Train int `json:"train"`
	Val   int `json:"val"`
	Test  int `json:"test"`
}

// WriteCSV writes the tables as a CSV folder that Load reads: edges.csv, features.csv, labels.csv, and the split,
// with numbers in place of names, and ids.csv and classes.csv, whose line i behind the first is the name of vertex or
// class i. More than denseColumns features that are not all columns of numbers are written as a SciPy matrix,
// features.npz, those beside a matrix as features.npy, and their names as columns.csv. Vertices have the order of
// their lines. dir must be there and empty.
func (t *Tables) WriteCSV(dir string) (*Written, error) {
	w := &Written{Features: []string{}, Classes: []string{}, IDLike: []string{}, Notes: []string{}}
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.Nodes == "" {
		return w, t.writeEdges(dir, w, nil, "")
	}
	number, named, err := t.writeNodes(dir, w)
	if err != nil {
		return nil, err
	}
	return w, t.writeEdges(dir, w, number, named)
}

// check says what does not go together.
func (t *Tables) check() error {
	err := CheckMissing(t.Missing)
	if t.LabelSep != "" && t.Label == "" {
		err = errors.Join(err, errors.New("--label-sep splits the fields of --label COLUMN: give both"))
	}
	if t.Nodes != "" {
		return err
	}
	for _, f := range []struct {
		flag  string
		given bool
	}{{"--id", t.ID != ""}, {"--label", t.Label != ""}, {"--split-column", t.SplitColumn != ""}, {"--drop", t.Drop != nil}, {"--categorical", t.Categorical != nil},
		{"--lists", t.Lists != nil}, {"--features", t.Features != ""}, {"--missing", t.Missing != ""}} {
		if f.given {
			return fmt.Errorf("%s is about vertices: give their table, --nodes FILE", f.flag)
		}
	}
	return err
}
