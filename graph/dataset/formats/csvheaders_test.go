package formats

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
)

// csvCase is a folder, and what is read of it or why not.
type csvCase struct {
	name     string
	files    map[string]string
	arrays   map[string][]byte
	want     string // as shown, or a part of the error
	notes    []string
	noteless bool // no note tells of a first line
}

// shown is a data set in a line: edges with weights that are not 1, features by rows, labels, targets, masks, names.
func shown(d *dataset.Dataset) string {
	var s strings.Builder
	fmt.Fprintf(&s, "n%d", d.Graph.Rows())
	for v := range int32(d.Graph.Rows()) {
		for _, u := range d.Graph.Row(int(v)) {
			fmt.Fprintf(&s, " %d>%d", u, v)
			if w := d.Graph.Weight(u, v); w != 1 {
				fmt.Fprintf(&s, "*%g", w)
			}
		}
	}
	if d.Features.Present() {
		fmt.Fprintf(&s, " x%d%v", d.Features.Cols, d.Features.Dense)
	}
	if d.ColumnNames != nil {
		fmt.Fprintf(&s, " columns%v", d.ColumnNames)
	}
	if d.Labels != nil {
		fmt.Fprintf(&s, " y%d%v", d.Classes, d.Labels)
	}
	if d.Targets != nil {
		fmt.Fprintf(&s, " t%d%v", d.Classes, d.Targets)
	}
	if d.ClassNames != nil {
		fmt.Fprintf(&s, " classes%q", d.ClassNames)
	}
	if d.VertexNames != nil {
		fmt.Fprintf(&s, " ids%q", d.VertexNames)
	}
	for _, m := range d.Masks() {
		if *m.Of != nil {
			fmt.Fprintf(&s, " %s", m.Key[:2])
			for v, in := range *m.Of {
				if in {
					fmt.Fprintf(&s, " %d", v)
				}
			}
		}
	}
	return s.String()
}

func runCSV(t *testing.T, all []csvCase) {
	t.Helper()
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			files := map[string][]byte{}
			for name, text := range c.files {
				files[name] = []byte(text)
			}
			for name, b := range c.arrays {
				files[name] = b
			}
			dir := datatest.Put(t, files)
			d, err := Load(dir, dataset.Options{})
			if err != nil {
				if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), dir) || strings.Contains(err.Error(), "\n") || len(c.want) < 8 {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			defer d.Close()
			notes := strings.Join(d.Notes, "\n")
			if got := shown(d); got != c.want {
				t.Errorf("got  %s\nwant %s\nnotes %s", got, c.want, notes)
			}
			for _, note := range c.notes {
				if !strings.Contains(notes, note) {
					t.Errorf("notes %q, want %q", notes, note)
				}
			}
			if c.noteless && strings.Contains(notes, "first line") {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

const (
	skippedX = "features.csv: the first line, 0,1, is a header"
	skippedY = "labels.csv: the first line, 0, is a header"
	maybeE   = "edges: the first line, 0,1, is read as an edge; if it is a header"
	maybeY   = "labels.csv: the first line, 0, is read as the row of vertex 0; if it is a header"
)

// Headers as pandas writes them for columns without names are told from rows, or it is said that they cannot be.
func TestNumberHeaders(t *testing.T) {
	y3 := map[string][]byte{"labels.npy": array(t, nil, []int64{0, 1, 1})}
	runCSV(t, []csvCase{
		{"all files", map[string]string{"edges.csv": "0,1\n1,2\n2,0\n", "features.csv": "0,1\n5,6\n7,8\n9,9\n", "labels.csv": "0\n1\n0\n1\n"}, nil,
			"n3 2>0 0>1 1>2 x2[5 6 7 8 9 9] y2[1 0 1]", []string{skippedX, skippedY, maybeE}, false},
		{"all files are rows: the last vertex has an edge", map[string]string{"edges.csv": "0,1\n1,3\n", "features.csv": "0,1\n5,6\n7,8\n9,9\n", "labels.csv": "0\n1\n0\n1\n"}, nil,
			"n4 0>1 1>3 x2[0 1 5 6 7 8 9 9] y2[0 1 0 1]", nil, true},
		{"too few vertices have edges", map[string]string{"edges.csv": "0,1\n1,0\n", "features.csv": "0,1\n5,6\n7,8\n9,9\n", "labels.csv": "0\n1\n0\n1\n"}, nil,
			"features.csv: byte 0: line 1: 0,1 is a header as pandas writes it, or the row of vertex 0, which the largest id in the edges, 1, and 4 lines do not tell: name the columns, or delete the header", nil, false},
		{"fractions below whole numbers", map[string]string{"edges.csv": "0,1\n1,0\n", "features.csv": "0,1\n5.5,6.0\n7.1,8e3\n9.0,9.0\n"}, nil,
			"n3 1>0 0>1 x2[5.5 6 7.1 8000 9 9]", []string{skippedX, maybeE}, false},
		{"labels as an array", map[string]string{"edges.csv": "0,1\n1,0\n", "features.csv": "0,1\n5,6\n7,8\n9,9\n"}, y3,
			"n3 1>0 0>1 x2[5 6 7 8 9 9] y2[0 1 1]", []string{skippedX, maybeE}, false},
		{"labels as an array, no header", map[string]string{"edges.csv": "0,1\n1,0\n", "features.csv": "0,1\n5,6\n7,8\n"}, y3,
			"n3 1>0 0>1 x2[0 1 5 6 7 8] y2[0 1 1]", nil, true},
		{"only arrays beside", map[string]string{"edges.csv": "0,1\n1,0\n"}, y3, "n3 1>0 0>1 y2[0 1 1]", []string{maybeE}, false},
		{"only arrays beside, weights", map[string]string{"edges.csv": "0,1,2\n1,0,1\n"}, y3, "n3 1>0 0>1*2 y2[0 1 1]", []string{"edges: the first line, 0,1,2, is read as an edge"}, false},
		{"edges alone", map[string]string{"edges.csv": "0,1\n1,2\n"}, nil, "n3 0>1 1>2", []string{maybeE}, false},
		{"edges alone, blanks", map[string]string{"edges.csv": "0 1\n1 2\n"}, nil, "n3 0>1 1>2", nil, true},
		{"edges alone, another first line", map[string]string{"edges.csv": "0,2\n1,2\n"}, nil, "n3 0>2 1>2", nil, true},
		{"a comment before", map[string]string{"edges.csv": "# x\n0,1\n1,2\n"}, nil, "n3 0>1 1>2", nil, true},
		{"named features", map[string]string{"edges.csv": "0,1\n1,2\n", "features.csv": "a,b\n5,6\n7,8\n9,9\n", "labels.csv": "0\n1\n0\n1\n"}, nil,
			"n3 0>1 1>2 x2[5 6 7 8 9 9] columns[a b] y2[1 0 1]", []string{skippedY, maybeE}, false},
		{"named features, labels without header", map[string]string{"edges.csv": "0,1\n1,2\n", "features.csv": "a,b\n5,6\n7,8\n9,9\n", "labels.csv": "0\n1\n1\n"}, nil,
			"n3 0>1 1>2 x2[5 6 7 8 9 9] columns[a b] y2[0 1 1]", nil, true},
		{"labels alone", map[string]string{"edges.csv": "0,1\n1,2\n2,0\n", "labels.csv": "0\n1\n0\n1\n"}, nil, "labels.csv: byte 0: line 1: 0 is a header as pandas writes it, or", nil, false},
		{"classes beside", map[string]string{"edges.csv": "0,1\n1,2\n2,0\n", "features.csv": "0,1\n5,6\n7,8\n", "labels.csv": "cat\ndog\ncat\n"}, nil, `n3 2>0 0>1 1>2 x2[0 1 5 6 7 8] y2[0 1 0] classes["cat" "dog"]`, nil, true},
		{"ascending features beside labels", map[string]string{"edges.csv": "u,v\n0,1\n1,0\n", "features.csv": "1,2\n5,6\n7,8\n", "labels.csv": "0\n1\n0\n"}, nil, `n3 1>0 0>1 x2[1 2 5 6 7 8] y2[0 1 0]`, nil, true},
		{"years as names", map[string]string{"edges.csv": "0,1\n1,2\n", "features.csv": "2019,2020\n5,6\n7,8\n9,9\n"}, nil, "n4 0>1 1>2 x2[2019 2020 5 6 7 8 9 9]",
			[]string{"features.csv: the first line, 2019,2020, is read as the row of vertex 0; if it is names of columns, write them as x2019"}, false},
		{"years as names, labels beside", map[string]string{"edges.csv": "0,1\n1,2\n", "features.csv": "2019,2020\n5,6\n7,8\n9,9\n", "labels.csv": "y\n0\n1\n0\n"}, nil, "labels.csv: has 3 lines of labels, want 4 (vertices)", nil, false},
		{"labels alone, named edges", map[string]string{"edges.csv": "u,v\n1,2\n2,0\n", "labels.csv": "0\n1\n0\n1\n"}, nil, "labels.csv: byte 0: line 1: 0 is a header as pandas writes it, or", nil, false},
		{"labels alone, edges that begin otherwise", map[string]string{"edges.csv": "1,2\n2,0\n", "labels.csv": "0\n1\n0\n1\n"}, nil, "n4 2>0 1>2 y2[0 1 0 1]", []string{maybeY}, false},
		{"one column of features", map[string]string{"edges.csv": "0,1\n1,2\n2,0\n", "features.csv": "0\n4\n5\n6\n", "labels.csv": "0\n1\n0\n1\n"}, nil, "n3 2>0 0>1 1>2 x1[4 5 6] y2[1 0 1]", []string{"features.csv: the first line, 0, is a header", skippedY, maybeE}, false},
		{"names of vertices", map[string]string{"edges.csv": "0,1\n1,0\n", "features.csv": "0,1\n5,6\n7,8\n", "ids.csv": "id\na\nb\n"}, nil,
			"n2 1>0 0>1 x2[5 6 7 8] ids[\"a\" \"b\"]", []string{skippedX, maybeE}, false},
		{"index of pandas", map[string]string{"edges.csv": ",0,1\n0,1,2\n1,2,0\n", "features.csv": ",0,1\n0,5,6\n1,7,8\n2,9,9\n", "labels.csv": ",0\n0,1\n1,0\n2,1\n"}, nil,
			"n3 2>0 1>2 x2[5 6 7 8 9 9] y2[1 0 1]", []string{"features: the column without a name numbers the rows and is left out", "labels: the column without a name"}, false},
		{"index of pandas beside edges without", map[string]string{"edges.csv": "0,1\n1,2\n2,0\n", "features.csv": ",0,1\n0,5,6\n1,7,8\n2,9,9\n", "labels.csv": "0\n1\n0\n"}, nil,
			"n3 2>0 0>1 1>2 x2[5 6 7 8 9 9] y2[0 1 0]", nil, true},
		{"index of pandas beside edges and a list", map[string]string{"edges.csv": "0,1\n1,2\n2,0\n", "features.csv": ",0,1\n0,5,6\n1,7,8\n2,9,9\n", "train.csv": "0\n1\n"}, nil,
			"n3 2>0 0>1 1>2 x2[5 6 7 8 9 9] tr 0 1", []string{maybeE, "train.csv: the first line, 0, is read as vertex 0; if it is a header"}, false},
		{"masks", map[string]string{"edges.csv": "u,v\n1,2\n3,0\n", "features.csv": "x\n1\n2\n3\n4\n", "train.csv": "0\n1\n2\n", "test.csv": "0\n3\n"}, nil,
			"n4 3>0 1>2 x1[1 2 3 4] columns[x] tr 1 2 te 3", []string{"train.csv: the first line, 0, is a header", "test.csv: the first line, 0, is a header"}, false},
		{"one list", map[string]string{"edges.csv": "u,v\n1,2\n3,0\n", "features.csv": "x\n1\n2\n3\n4\n", "train.csv": "0\n1\n2\n"}, nil,
			"n4 3>0 1>2 x1[1 2 3 4] columns[x] tr 0 1 2", []string{"train.csv: the first line, 0, is read as vertex 0; if it is a header"}, false},
		{"lists of which one begins otherwise", map[string]string{"edges.csv": "u,v\n1,2\n3,0\n", "features.csv": "x\n1\n2\n3\n4\n", "train.csv": "0\n1\n2\n", "val.csv": "3\n"}, nil,
			"n4 3>0 1>2 x1[1 2 3 4] columns[x] tr 0 1 2 va 3", nil, true},
		{"a mask with a header", map[string]string{"edges.csv": "u,v\n1,2\n3,0\n", "features.csv": "x\n1\n2\n3\n4\n", "train.csv": "0\n1\n0\n1\n0\n"}, nil,
			"n4 3>0 1>2 x1[1 2 3 4] columns[x] tr 0 2", []string{"train.csv: the first line, 0, is a header"}, false},
		{"a mask without a header", map[string]string{"edges.csv": "u,v\n1,2\n3,0\n", "features.csv": "x\n1\n2\n3\n4\n", "train.csv": "0\n1\n0\n1\n"}, nil,
			"n4 3>0 1>2 x1[1 2 3 4] columns[x] tr 1 3", nil, true},
	})
}

// A column that says which vertex a row is of puts rows in their order; others are refused by the line that breaks it.
func TestIDColumns(t *testing.T) {
	edges := "u,v\n1,2\n"
	runCSV(t, []csvCase{
		{"in order", map[string]string{"edges.csv": edges, "features.csv": "id,x\n0,5\n1,6\n2,7\n"}, nil, "n3 1>2 x1[5 6 7] columns[x]", []string{`features: column "id" numbers the rows and is left out`}, false},
		{"permuted", map[string]string{"edges.csv": edges, "features.csv": "x,Node_ID,y\n5,2,50\n6,0,60\n7,1,70\n", "labels.csv": "node,label\n1,0\n2,1\n0,-1\n"}, nil,
			"n3 1>2 x2[6 60 7 70 5 50] columns[x y] y2[-1 0 1]", []string{`features: rows were put in the order of column "Node_ID"`, `labels: rows were put in the order of column "node"`}, false},
		{"ids of users", map[string]string{"edges.csv": edges, "features.csv": "x,user_id\n5,2\n6,0\n7,1\n", "labels.csv": "customer ID:int,y\n1,0\n2,1\n0,-1\n"}, nil,
			"n3 1>2 x1[6 7 5] columns[x] y2[-1 0 1]", []string{`features: rows were put in the order of column "user_id"`, `labels: rows were put in the order of column "customer ID:int"`}, false},
		{"an id beside others", map[string]string{"edges.csv": edges, "features.csv": "venueId,id,COVID\n5,2,0\n5,0,1\n7,1,1\n"}, nil,
			"n3 1>2 x2[5 1 7 1 5 0] columns[venueId COVID]", []string{`features: rows were put in the order of column "id"`}, false},
		{"ids of others", map[string]string{"edges.csv": edges, "features.csv": "x,venueID\n5,2\n6,0\n7,2\n"}, nil, `features.csv: line 4: vertex 2 is there twice in column "venueID", which must have each vertex once`, nil, false},
		{"two columns of ids", map[string]string{"edges.csv": edges, "features.csv": "venue_id,user_id\n5,2\n6,0\n7,1\n"}, nil, `columns "venue_id" and "user_id" both look like numbers of vertices: keep one`, nil, false},
		{"a feature that is called so", map[string]string{"edges.csv": edges, "features.csv": "feature user_id,x\n5,2\n6,0\n7,1\n"}, nil, "n3 1>2 x2[5 2 6 0 7 1] columns[feature user_id x]", nil, false},
		{"several labels", map[string]string{"edges.csv": edges, "labels.csv": "id,a,b\n2,0,1\n0,1,1\n1,0,0\n"}, nil, `n3 1>2 t2[1 1 0 0 0 1] classes["a" "b"]`, []string{"labels: rows were put"}, false},
		{"names in another order", map[string]string{"edges.csv": edges, "labels.csv": "b,a\n0,1\n1,1\n1,0\n", "classes.csv": "y\na\nb\n", "features.csv": "x,_7\n5,2\n6,0\n7,1\n", "columns.csv": "column\n_7\nx\n"}, nil,
			`n3 1>2 x2[5 2 6 0 7 1] columns[x _7] t2[0 1 1 1 1 0] classes["b" "a"]`, nil, true},
		{"other classes", map[string]string{"edges.csv": edges, "labels.csv": "b,a\n0,1\n1,1\n1,0\n", "classes.csv": "y\na\nc\n"}, nil, `classes.csv: names "a", and column 0 of labels is called "b": keep one name`, nil, false},
		{"other columns", map[string]string{"edges.csv": edges, "features.csv": "x,y\n5,2\n6,0\n7,1\n", "columns.csv": "column\nx\nz\n"}, nil, `columns.csv: names "z", and column 1 of features is called "y": keep one name`, nil, false},
		{"named labels", map[string]string{"edges.csv": edges, "labels.csv": "id,label\n2,dog\n0,cat\n1,dog\n"}, nil, `n3 1>2 y2[0 1 1] classes["cat" "dog"]`, nil, false},
		{"a mask", map[string]string{"edges.csv": edges, "features.csv": "x\n5\n6\n7\n", "train.csv": "id,train\n2,True\n0,False\n1,False\n"}, nil, "n3 1>2 x1[5 6 7] columns[x] tr 2", nil, false},
		{"a list with an index", map[string]string{"edges.csv": edges, "features.csv": "x\n5\n6\n7\n", "train.csv": ",v\n7,2\n9,0\n"}, nil, "n3 1>2 x1[5 6 7] columns[x] tr 0 2", []string{"train.csv: the column without a name"}, false},
		{"a list with ids", map[string]string{"edges.csv": edges, "features.csv": "x\n5\n6\n7\n", "train.csv": "id,v\n0,2\n1,0\n"}, nil, `train.csv: has 2 rows with a column "id", want 3 (vertices)`, nil, false},
		{"twice", map[string]string{"edges.csv": edges, "features.csv": "id,x\n0,5\n2,6\n2,7\n"}, nil, `features.csv: line 4: vertex 2 is there twice in column "id"`, nil, false},
		{"from 1", map[string]string{"edges.csv": edges, "features.csv": "id,x\n1,5\n2,6\n3,7\n"}, nil, `features.csv: line 4: vertex 3 is outside [0, 3) in column "id"`, nil, false},
		{"other ids", map[string]string{"edges.csv": edges, "features.csv": "id,x\n10,5\n2,6\n3,7\n"}, nil, `features.csv: line 2: vertex 10 is outside [0, 3)`, nil, false},
		{"names", map[string]string{"edges.csv": edges, "features.csv": "id,x\nAnn,5\nBob,6\n"}, nil, `features.csv: byte 5: line 2: column "id" does not number vertices here`, nil, false},
		{"missing", map[string]string{"edges.csv": edges, "features.csv": "id,x\n0,5\n,6\n"}, nil, `features.csv: byte 9: line 3: column "id" does not number vertices here`, nil, false},
		{"two of them", map[string]string{"edges.csv": edges, "features.csv": ",node,x\n0,2,5\n"}, nil, `features.csv: columns "" and "node" both look like numbers of vertices: keep one`, nil, false},
		{"names of rows, as R writes them", map[string]string{"edges.csv": edges, "features.csv": "\"x\" \"y\"\n\"1\" 5 6\n\"2\" 7 8\n\"3\" 9 9\n"}, nil, "n3 1>2 x2[5 6 7 8 9 9] columns[x y]", []string{"features: the column without a name numbers the rows and is left out (from 1, as R does; edges count from 0: if their ids are these numbers, subtract 1)"}, false},
		{"names of rows, with an empty name", map[string]string{"edges.csv": edges, "features.csv": "\"\",\"x\"\n\"1\",5\n\"2\",7\n\"3\",9\n"}, nil, "n3 1>2 x1[5 7 9] columns[x]", nil, false},
		{"decimal commas below one name", map[string]string{"edges.csv": edges, "features.csv": "x\n1,5\n4,5\n2,5\n"}, nil, "features.csv: line 2: 2 fields, the first line names 1 column: write decimal commas as points", nil, false},
		{"more fields than names", map[string]string{"edges.csv": edges, "features.csv": "x\n1,5,6\n"}, nil, "features.csv: byte 2: line 2: found 3 fields, and the first line names 1 column", nil, false},
		{"an id alone is a feature", map[string]string{"edges.csv": edges, "features.csv": "id\n7\n8\n9\n"}, nil, "n3 1>2 x1[7 8 9] columns[id]", nil, false},
	})
}

// What stands for a missing label or value, and classes by name.
func TestTextValues(t *testing.T) {
	edges := "u,v\n1,2\n"
	x := "x\n5\n6\n7\n"
	runCSV(t, []csvCase{
		{"unknown labels", map[string]string{"edges.csv": edges, "labels.csv": "y\n1\nNA\nNone\n2.0\n<NA>\n\"\"\n-1\n"}, nil, "n7 1>2 y3[1 -1 -1 2 -1 -1 -1]", []string{"vertices without a label: 5", "no vertex has class \"0\""}, false},
		{"truth", map[string]string{"edges.csv": edges, "labels.csv": "True\nFalse\nTRUE\n"}, nil, "n3 1>2 y2[1 0 1]", nil, true},
		{"truth below a name", map[string]string{"edges.csv": edges, "labels.csv": "y\nTrue\nFalse\nTRUE\n"}, nil, "n3 1>2 y2[1 0 1]", nil, true},
		{"names", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "kind\ndog\n\"big cat\"\nNA\n"}, nil, `n3 1>2 x1[5 6 7] columns[x] y2[1 0 -1] classes["big cat" "dog"]`,
			[]string{`labels: 2 classes are numbered by their names: "big cat", "dog"`, "vertices without a label: 1"}, true},
		{"names without a header", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "dog\ncat\nrat\n"}, nil, `n3 1>2 x1[5 6 7] columns[x] y3[1 0 2] classes["cat" "dog" "rat"]`, []string{`labels: the first line, "dog", is read as the class of vertex 0`}, false},
		{"names without a header, of a file", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "dog\ncat\nrat\n", "classes.csv": "class\ncat\ndog\nrat\n"}, nil, `n3 1>2 x1[5 6 7] columns[x] y3[1 0 2] classes["cat" "dog" "rat"]`, nil, true},
		{"a line of names too few", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "Class\ndog\ncat\n"}, nil, "labels.csv: has 2 lines of labels, want 3 (vertices)", nil, false},
		{"the last line of names is empty", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "label\ndog\ncat\n\n"}, nil, `n3 1>2 x1[5 6 7] columns[x] y2[1 0 -1] classes["cat" "dog"]`, []string{"labels: empty lines are vertices without a label (1)"}, false},
		{"names in two columns", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "y\n0\n1\n0\n", "classes.csv": "id,class\n1,b\n0,a\n"}, nil, `n3 1>2 x1[5 6 7] columns[x] y2[0 1 0]`, []string{"classes.csv: line 1 has 2 fields, want a name: left alone"}, false},
		{"labels as a mask", map[string]string{"edges.csv": edges, "features.csv": x, "train.csv": "id,label\n0,0\n1,1\n2,1\n"}, nil, `train.csv: has the columns "label"; want a list of vertices, or 0 or 1 for each`, nil, false},
		{"a table as a mask", map[string]string{"edges.csv": edges, "features.csv": x, "train.csv": "id,x,y\n0,5,0\n"}, nil, `train.csv: has the columns "x", "y"; want a list of vertices, or 0 or 1 for each`, nil, false},
		{"empty columns at the end", map[string]string{"edges.csv": "source,target,,\n1,2,,\n", "features.csv": "id,a,b,,\n1,1,2,,\n0,3,4,,\n2,5,6,,\n", "labels.csv": "y,,\n0,,\n1,,\n1,,\n", "train.csv": "v,\n1,\n"}, nil, "n3 1>2 x2[3 4 1 2 5 6] columns[a b] y2[0 1 1] tr 1", nil, false},
		{"names and empty columns at the end", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "y;;\nM;;\nF;;\nM;;\n"}, nil, `n3 1>2 x1[5 6 7] columns[x] y2[1 0 1] classes["F" "M"]`, nil, false},
		{"a value without a name", map[string]string{"edges.csv": edges, "features.csv": "a,b,\n1,2,\n3,4,7\n"}, nil, "features.csv: byte 14: line 3: column 3 has no name, and here a value", nil, false},
		{"sep of Excel", map[string]string{"edges.csv": "sep=;\r\nsource;target\r\n1;2\r\n", "features.csv": "sep=,\nx\n5\n6\n7\n", "labels.csv": "sep=;\n0\n1\n1\n"}, nil, "n3 1>2 x1[5 6 7] columns[x] y2[0 1 1]", nil, false},
		{"minus one as a class", map[string]string{"edges.csv": edges, "labels.csv": "y\n-1\n1\n-1\n"}, nil, "n3 1>2 y2[-1 1 -1]", []string{"labels: all are -1 or 1, and -1 is read as no label (of 2 vertices); if it is a class, write 0 and 1"}, false},
		{"a vertex too many", map[string]string{"edges.csv": edges, "features.csv": "x\n1\n2\n"}, nil, "edges.csv: byte 6: line 2: vertex 2 is outside [0, 2): features.csv has 2 vertices; ids count from 0", nil, false},
		{"classes of other ids", map[string]string{"edges.csv": edges, "labels.csv": "txId,class\n7,2\n8,1\n"}, nil, "labels.csv: line 2: vertex 7 is outside [0, 2) in column \"txId\", which must have each vertex once, from 0: `capgnn data tables` numbers other ids", nil, false},
		{"nobody in a set", map[string]string{"edges.csv": edges, "features.csv": x, "val.csv": ""}, nil, "n3 1>2 x1[5 6 7] columns[x] va", []string{"val.csv: no vertex is in it"}, false},
		{"labels of Windows-1252", map[string]string{"edges.csv": edges, "labels.csv": "y\nM\xfc\nM\xfc\nA\n"}, nil, `labels.csv: byte 2: line 2: "M\xfc" is no UTF-8 text: save the file as UTF-8`, nil, false},
		{"columns of Windows-1252", map[string]string{"edges.csv": edges, "features.csv": "M\xfc,x\n1,2\n"}, nil, "features.csv: line 1: the names of the columns are no UTF-8 text", nil, false},
		{"vertices of Windows-1252", map[string]string{"edges.csv": "M\xfc,A\nA,B\n"}, nil, `edges.csv: byte 0: line 1: "M\xfc" is no UTF-8 text`, nil, false},
		{"names of Windows-1252", map[string]string{"edges.csv": edges, "features.csv": x, "ids.csv": "id\nM\xfc\nA\nB\n"}, nil, `ids.csv: line 2: "M\xfc" is no UTF-8 text`, nil, false},
		{"a no-break space", map[string]string{"edges.csv": "u,v\n1,\u00a02\n"}, nil, `line 2: found '\u00a0', want a vertex id`, nil, false},
		{"names of classes that are other numbers", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "y\n0\n1\n0\n", "classes.csv": "class\n1\n0\n"}, nil, `labels.csv: label 0 is class number 0, which classes.csv calls "1", and "0" is the name of class number 1: sort the names`, nil, false},
		{"names of classes that are numbers", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "y\n0\n1\n0\n", "classes.csv": "class\n0\n1\n"}, nil, `n3 1>2 x1[5 6 7] columns[x] y2[0 1 0] classes["0" "1"]`, nil, false},
		{"a name of two classes", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "y\n0\n1\n0\n", "classes.csv": "class\na\na\n"}, nil, `n3 1>2 x1[5 6 7] columns[x] y2[0 1 0] classes["a" "a"]`, []string{`classes 0 and 1 are both called "a"`}, false},
		{"features of one name", map[string]string{"edges.csv": edges, "features.csv": "a,f,f\n1,2,3\n1,2,3\n1,2,3\n"}, nil, "n3 1>2 x3[1 2 3 1 2 3 1 2 3] columns[a f f]", []string{`features: columns 2 and 3 are both called "f": predict tells columns apart by their names`}, false},
		{"answers among features", map[string]string{"edges.csv": edges, "features.csv": "x,class,train_mask\n5,0,1\n6,1,0\n7,0,1\n"}, nil, `n3 1>2 x3[5 0 1 6 1 0 7 0 1] columns[x class train_mask]`, []string{`features: columns "class", "train_mask" are features by name: if this is the label or the split, take it out`}, false},
		{"names, the first of which occurs again", map[string]string{"edges.csv": edges, "labels.csv": "dog\ncat\ndog\n"}, nil, `n3 1>2 y2[1 0 1] classes["cat" "dog"]`, nil, true},
		{"names, the first of which does not", map[string]string{"edges.csv": edges, "labels.csv": "kind\ncat\ndog\ncat\n"}, nil, `n3 1>2 y2[0 1 0] classes["cat" "dog"]`, []string{`labels: the first line, "kind", is read as the name of the column`}, false},
		{"names behind an unknown one", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "NA\ncat\ndog\n"}, nil, `n3 1>2 x1[5 6 7] columns[x] y2[-1 0 1] classes["cat" "dog"]`, nil, true},
		{"names of a file", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "kind\ndog\ncat\ndog\n", "classes.csv": "class\ndog\nrat\ncat\n"}, nil, `n3 1>2 x1[5 6 7] columns[x] y3[0 2 0] classes["dog" "rat" "cat"]`, []string{`no vertex has class "rat"`}, false},
		{"names not in that file", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "kind\ndog\ncat\ndog\n", "classes.csv": "class\ndog\n"}, nil, `labels.csv: byte 9: line 3: "cat" is no class of classes.csv`, nil, false},
		{"a number among names", map[string]string{"edges.csv": edges, "labels.csv": "kind\ndog\n3\ndog\n"}, nil, `labels.csv: byte 9: line 3: found the number 3, want the name of a class`, nil, false},
		{"a name among numbers", map[string]string{"edges.csv": edges, "labels.csv": "kind\n3\ndog\n"}, nil, `labels.csv: byte 7: line 3: found "dog", want a number`, nil, false},
		{"several in a field", map[string]string{"edges.csv": edges, "labels.csv": "kind\ndog\ndog|cat\n"}, nil, `labels.csv: byte 9: line 3: found "dog|cat", want one class`, nil, false},
		{"a quantity", map[string]string{"edges.csv": edges, "labels.csv": "y\n1\n2.5\n"}, nil, `labels.csv: byte 4: line 3: label 2.5 is no class: classes are whole numbers from 0, or names; of a quantity make classes by its ranges`, nil, false},
		{"ids", map[string]string{"edges.csv": edges, "labels.csv": "y\n" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(slices.Collect(upTo(25))), "[]")), "\n")}, nil,
			"n25 1>2 y25" + fmt.Sprint(slices.Collect(upTo(25))), []string{"labels: there are 25 classes for 25 labelled vertices: are these ids, or a quantity?"}, false},
		{"empty lines that are vertices", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "y\n\n1\n\n"}, nil, "n3 1>2 x1[5 6 7] columns[x] y2[-1 1 -1]", []string{"labels: empty lines are vertices without a label (2)"}, false},
		{"empty lines that are not", map[string]string{"edges.csv": edges, "features.csv": x, "labels.csv": "y\n1\n\n0\n\n0\n\n\n"}, nil, "n3 1>2 x1[5 6 7] columns[x] y2[1 0 0]", nil, true},
		{"empty lines that may be", map[string]string{"edges.csv": edges, "labels.csv": "y\n1\n\n0\n"}, nil, "labels.csv: has empty lines between its labels (1): write -1 where a vertex has none", nil, false},
		{"empty lines at the end", map[string]string{"edges.csv": edges, "labels.csv": "y\n1\n0\n0\n\n\n"}, nil, "n3 1>2 y2[1 0 0]", nil, true},
		{"truth in features", map[string]string{"edges.csv": edges, "features.csv": "True,1\nFalse,2\nFalse,3\n"}, nil, "n3 1>2 x2[1 1 0 2 0 3]", nil, true},
		{"missing features", map[string]string{"edges.csv": edges, "features.csv": "x,y\n5,6\n,NA\n7,nan\n"}, nil, "features.csv: byte 8: line 3: the value in column 1 (\"x\") is missing (3 missing values in 2 rows); features must be finite: fill them in, or let `capgnn data tables --missing`", nil, false},
		{"an empty line of one column", map[string]string{"edges.csv": edges, "features.csv": "x\n5\n\n7\n"}, nil, "features.csv: has empty lines between its rows (1)", nil, false},
		{"a code", map[string]string{"edges.csv": edges, "features.csv": "20_29\n30_39\n"}, nil, `features.csv: byte 0: line 1: found "20_29", want a number`, nil, false},
		{"quoted, semicolons, lone carriage returns", map[string]string{"edges.csv": "\"u\";\"v\"\r\"1\";\"2\"\r", "features.csv": "\xef\xbb\xbf\"x\";\"y\"\r\n\"5\";\"6.5\"\r\n7;8\r\n9;9\r\n"}, nil, "n3 1>2 x2[5 6.5 7 8 9 9] columns[x y]", nil, true},
		{"decimal commas", map[string]string{"edges.csv": edges, "features.csv": "x;y\n1,5;2\n"}, nil, "features.csv: byte 7: line 2: fields stand between commas and between semicolons in one line: write decimal commas as points", nil, false},
		{"quoted decimal commas", map[string]string{"edges.csv": edges, "features.csv": "x,y\n\"1,5\",2\n"}, nil, `features.csv: byte 4: line 2: found "1,5", want a number: write decimal commas as points`, nil, false},
		{"UTF-16", map[string]string{"edges.csv": edges, "features.csv": "\xff\xfex\x00"}, nil, "features.csv: byte 0: is text of UTF-16: save it as UTF-8", nil, false},
		{"UTF-16 without a mark", map[string]string{"edges.csv": edges, "features.csv": "1\x00\n\x00"}, nil, "features.csv: byte 1: line 1: found a zero byte", nil, false},
		{"val beside valid", map[string]string{"edges.csv": edges, "features.csv": x, "val.csv": "1\n", "valid.csv": "2\n"}, nil, "there are both val.csv and valid.csv; keep one", nil, false},
	})
}

func upTo(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}
