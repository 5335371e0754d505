package tables

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/graph/dataset/internal/datatest"
)

// A data set in the shape of SNAP's MUSAE ones: edges.csv, features.json, target.csv, plain or packed.
func TestTablesOfMUSAE(t *testing.T) {
	files := map[string]string{
		"edges.csv":     "id_1,id_2\n0,2\n2,1\n",
		"features.json": `{"0": [7, 300, 7], "2": [], "1": [0]}`,
		"target.csv":    "id,facebook_id,page_name,page_type\n0,145,\"A, b\",tvshow\n1,119,C,politician\n2,177,D,tvshow\n",
	}
	for _, packed := range []bool{false, true} {
		in, out := datatest.PutText(t, files), t.TempDir()
		if packed {
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(in, name), []byte(datatest.Gzip(t, text)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		tables := Tables{Nodes: filepath.Join(in, "target.csv"), Edges: filepath.Join(in, "edges.csv"), Features: filepath.Join(in, "features.json"),
			Label: "page_type", Drop: []string{"facebook_id", "page_name"}}
		w, err := tables.WriteCSV(out)
		if err != nil {
			t.Fatal(err)
		}
		if w.Vertices != 3 || w.Edges != 2 || len(w.Features) != 301 || !w.Sparse || w.Features[300] != "300" || !slices.Equal(w.Classes, []string{"politician", "tvshow"}) {
			t.Errorf("written %+v", w)
		}
		d, err := formats.Load(out, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f := d.Features; f.Cols != 301 || !slices.Equal(f.Indptr, []int64{0, 2, 3, 3}) || !slices.Equal(f.Indices, []int32{7, 300, 0}) || !slices.Equal(f.Data, []float32{1, 1, 1}) {
			t.Errorf("features %+v", f)
		}
		if !slices.Equal(d.Labels, []int32{1, 0, 1}) || len(d.Unread) != 0 || d.Graph.Edges() != 2 {
			t.Errorf("labels %v, not read %v", d.Labels, d.Unread)
		}
	}
}

// Names and lists become columns in the order of columns, numbers and names; few of them are text, many a sparse matrix.
func TestTablesOfNames(t *testing.T) {
	nodes := "id,age,city,tags\na,31,Rome,drama|10:0.5\nb,0,,9 10:2 10:1\nc,7.5,Bari,\"['drama']\"\n"
	change := func(s *Tables) { s.Label, s.Categorical, s.Lists = "", []string{"city"}, []string{"tags"} }
	dir, w, err := tablesOf(t, nodes, "from,to\na,b\n", change)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"age", "city=Bari", "city=Rome", "tags=9", "tags=10", "tags=drama"}; !slices.Equal(w.Features, want) || w.Sparse {
		t.Errorf("features %q, want %q", w.Features, want)
	}
	got, err := os.ReadFile(filepath.Join(dir, "features.csv"))
	if want := "age,city=Bari,city=Rome,tags=9,tags=10,tags=drama\n31,0,1,0,0.5,1\n0,0,0,1,3,0\n7.5,1,0,0,0,1\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	var many strings.Builder
	many.WriteString("id,age,city,tags\n")
	for v := range 300 {
		fmt.Fprintf(&many, "v%d,%d,c%d,t\n", v, v, v)
	}
	dir, w, err = tablesOf(t, many.String(), "from,to\nv0,v1\n", change)
	if err != nil || !w.Sparse || len(w.Features) != 302 || w.Features[1] != "city=c0" {
		t.Fatalf("%v, %d features, sparse %v", err, len(w.Features), w.Sparse)
	}
	columns, err := os.ReadFile(filepath.Join(dir, "columns.csv"))
	if lines := strings.Split(string(columns), "\n"); err != nil || lines[1] != "age" || lines[302] != "tags=t" {
		t.Errorf("columns.csv %.60q, %v", columns, err)
	}
	if d, err := formats.Load(dir, dataset.Options{}); err != nil || d.Features.Cols != 302 || len(d.Features.Data) != 899 || len(d.Unread) != 0 {
		t.Errorf("%v, %d columns, %d values, not read %v", err, d.Features.Cols, len(d.Features.Data), d.Unread)
	}
}

// All columns that are no numbers are one error, which says what each may be.
func TestTablesBadColumns(t *testing.T) {
	var nodes strings.Builder
	nodes.WriteString("id,name,city,age,tags,team\n")
	for v := range 100 {
		fmt.Fprintf(&nodes, "v%d,Ann %d,%s,%s,%d:1 %d:2,red\n", v, v, []string{"Rome", "Bari"}[v%2], []string{"", "31"}[v%2], v, v+1)
	}
	_, _, err := tablesOf(t, nodes.String(), "from,to\nv0,v1\n", nil)
	for _, want := range []string{`nodes.csv: line 2: column "name" holds "Ann 0"`, "(and 3 other columns)", "--categorical city", "--drop name", "--lists tags", "--missing mean, median, drop or a NUMBER for empty fields of age"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "--label") {
		t.Errorf("--label was given: %v", err)
	}
	if err != nil && len(filepath.Base(err.Error())) > 300 {
		t.Errorf("%d characters: %v", len(err.Error()), err)
	}
}

// A column of features that holds another whole number in every line is pointed out.
func TestTablesIDLike(t *testing.T) {
	var nodes strings.Builder
	nodes.WriteString("id,number,count,ratio,team\n")
	for v := range 40 {
		fmt.Fprintf(&nodes, "v%d,%d,%d,%d.5,red\n", v, 1000+7*v, v%39, v)
	}
	_, w, err := tablesOf(t, nodes.String(), "from,to\nv0,v1\n", nil)
	if err != nil || !slices.Equal(w.IDLike, []string{"number"}) {
		t.Errorf("%v, like ids are %v", err, w.IDLike)
	}
}

func TestTablesFeatureFaults(t *testing.T) {
	nodes, edges := "id,x,team\na,1,red\nb,2,\n", "from,to\na,b\n"
	lists := filepath.Join(t.TempDir(), "features.json")
	for _, tc := range []struct{ json, want string }{
		{`{"a": [1], "z": [2]}`, `"z" is not an id in nodes.csv: correct it, or skip such lists with --skip-unknown`},
		{`{"a": [1], "a": [2]}`, `"a" has two lists`},
		{`{"a": [-1]}`, "feature -1 is outside [0, 16777216)"},
		{`{"a": [16777216]}`, "is outside [0, 16777216)"},
		{`{"a": [1.5]}`, "not whole"},
		{`{"a": 1}`, "want '['"},
		{`{"a": ["x"]}`, "want a whole number"},
		{`{"a": [1]`, "truncated"},
		{`{"a": [30.0, 2.0], "b": [41.0, 7.0]}`, "its lists are equally long and do not ascend, as rows of values do"},
		{`{"a": [0, 1, 0], "b": [1, 0, 0]}`, "its lists are equally long and repeat numbers, as rows of values do: they hold the numbers of the columns that are 1"},
		{`[[1]]`, "want '{'"},
		{`{"a": [1]} x`, "want the end of the file"},
		{`{"\q": [1]}`, "no JSON text"},
		{`{"` + strings.Repeat("x", 5000) + `": [1]}`, "at most 4096 bytes"},
		{datatest.Gzip(t, `{"a": [1]}`)[:20], "the file ends here"},
	} {
		if err := os.WriteFile(lists, []byte(tc.json), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := tablesOf(t, nodes, edges, func(s *Tables) { s.Features = lists })
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "features.json") {
			t.Errorf("%.40s: got %.200v, want %q", tc.json, err, tc.want)
		}
	}
	if err := os.WriteFile(lists, []byte(`{"z": [1, 5], "\u0061": [2]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, w, err := tablesOf(t, nodes, edges, func(s *Tables) { s.Features, s.SkipUnknown = lists, true }); err != nil || w.Skipped != 1 || len(w.Features) < 4 {
		t.Errorf("%v, %+v", err, w)
	}
	if _, _, err := tablesOf(t, nodes, edges, func(s *Tables) { s.Lists, s.Categorical = []string{"x", "no"}, []string{"neither"} }); err == nil || !strings.Contains(err.Error(), `no column "neither", "no"`) {
		t.Errorf("got %v", err)
	}
}

// Whatever the tables hold, they are an error or a data set that Load reads.
func FuzzTablesFeatures(f *testing.F) {
	f.Add([]byte("id,x,team\na,1,red\nb,2:3|z,\n"), []byte(`{"a": [1, 300], "b": []}`), []byte("from,to\na,b\n"), "0")
	f.Add([]byte("id\tx\na\tRome\n"), []byte(datatest.Gzip(f, `{"a": [1]}`)), []byte("from\tto\na\ta\n"), "drop")
	f.Add([]byte("id,x\n0,\"[1, 2]\"\n"), []byte(`{}`), []byte("a,b\n"), "mean")
	f.Add([]byte("id,l,c,e,d,t\n0,a,b,\"[1, 2]\",2024-01-31,True\n1,,,,,\n"), []byte{}, []byte("source,target\n0,1\n"), "median")
	f.Add([]byte("id;l;c;x\na;;;1,5\nb;;;NA\n"), []byte("\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }                                                          \n12345678"), []byte("u;v\na;b\n"), "drop")
	f.Fuzz(func(t *testing.T, nodes, beside, edges []byte, missing string) {
		in := datatest.PutText(t, map[string]string{"n": string(nodes), "f": string(beside), "f.npy": string(beside), "e": string(edges)})
		head, _, _ := strings.Cut(string(nodes), "\n")
		names := strings.FieldsFunc(strings.TrimSpace(head), func(r rune) bool { return strings.ContainsRune(",;\t", r) })
		tables := Tables{Nodes: filepath.Join(in, "n"), Edges: filepath.Join(in, "e"), SkipUnknown: true, Missing: missing}
		switch {
		case bytes.HasPrefix(beside, []byte("\x93NUMPY")):
			tables.Features = filepath.Join(in, "f.npy")
		case len(beside) > 0:
			tables.Features = filepath.Join(in, "f")
		}
		if len(names) > 1 {
			tables.Lists = names[1:2]
		}
		if len(names) > 2 {
			tables.Categorical = names[2:3]
		}
		out := t.TempDir()
		w, err := tables.WriteCSV(out)
		if err != nil {
			return
		}
		d, err := formats.Load(out, dataset.Options{})
		if err != nil {
			if w.Edges > 0 {
				t.Fatalf("what was written is not read: %v", err)
			}
			return
		}
		defer d.Close()
		if d.Graph.Rows() != w.Vertices || d.Features.Cols != len(w.Features) || len(d.Unread) != 0 {
			t.Errorf("%d vertices and %d features of %+v, not read %v", d.Graph.Rows(), d.Features.Cols, w, d.Unread)
		}
	})
}
