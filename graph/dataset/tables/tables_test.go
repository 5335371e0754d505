package tables

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/graph/dataset/internal/check"
)

// tablesOf writes the texts as files and converts them.
func tablesOf(t testing.TB, nodes, edges string, change func(*Tables)) (string, *Written, error) {
	t.Helper()
	in, out := t.TempDir(), t.TempDir()
	tables := Tables{Nodes: filepath.Join(in, "nodes.csv"), Edges: filepath.Join(in, "edges.csv"), Label: "team"}
	if err := errors.Join(os.WriteFile(tables.Nodes, []byte(nodes), 0o600), os.WriteFile(tables.Edges, []byte(edges), 0o600)); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&tables)
	}
	w, err := tables.WriteCSV(out)
	return out, w, err
}

const (
	someNodes = "\xef\xbb\xbfname;2 age;team;note\r\n\"Ann; the first\";31;red;x\r\nBob; 4.5e1 ;;\"two\nlines\"\r\n\r\n#3;7;blue;\r\n"
	someEdges = "who\tknows\tsince\nBob\t#3\t1999\n#3\tAnn; the first\t2001\n"
)

// Ids and classes of any text become numbers in the order of lines and of names, and Load reads the result.
func TestTables(t *testing.T) {
	dir, w, err := tablesOf(t, someNodes, someEdges, func(s *Tables) { s.Drop = []string{"note"} })
	if err != nil {
		t.Fatal(err)
	}
	if w.Vertices != 3 || w.Edges != 2 || !slices.Equal(w.Features, []string{"2 age"}) || !slices.Equal(w.Classes, []string{"blue", "red"}) || w.Unlabelled != 1 {
		t.Errorf("written %+v", w)
	}
	for name, want := range map[string]string{
		"edges.csv": "from,to\n1,2\n2,0\n", "features.csv": "_2 age\n31\n4.5e1\n7\n", "labels.csv": "team\n1\n-1\n0\n",
		"ids.csv": "name\nAnn; the first\nBob\n#3\n", "classes.csv": "team\nblue\nred\n",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	d, err := formats.Load(dir, dataset.Options{SetsAsGiven: true, AllowOverlap: true})
	if err != nil {
		t.Fatal(err)
	}
	if d.Format != "csv" || d.Graph.Rows() != 3 || d.Graph.Edges() != 2 || !slices.Equal(d.Labels, []int32{1, -1, 0}) || !slices.Equal(d.Features.Dense, []float32{31, 45, 7}) {
		t.Errorf("%+v", d)
	}
}

// A column of the edges becomes their weights.
func TestTablesWeights(t *testing.T) {
	dir, _, err := tablesOf(t, someNodes, someEdges, func(s *Tables) { s.Drop, s.Weight = []string{"note"}, "since" })
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "edges.csv")); err != nil || string(got) != "from,to,weight\n1,2,1999\n2,0,2001\n" {
		t.Errorf("edges.csv: %q, %v", got, err)
	}
	if d, err := formats.Load(dir, dataset.Options{SetsAsGiven: true, AllowOverlap: true}); err != nil || !slices.Equal(d.Graph.Weights, []float32{2001, 1999}) {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestTablesWithoutLabelsOrFeatures(t *testing.T) {
	dir, w, err := tablesOf(t, "id\na\nb\n", "from,to\nb,a\n", func(s *Tables) { s.Label = "" })
	if err != nil || w.Vertices != 2 || len(w.Features)+len(w.Classes) != 0 {
		t.Fatalf("%+v, %v", w, err)
	}
	if d, err := formats.Load(dir, dataset.Options{SetsAsGiven: true, AllowOverlap: true}); err != nil || d.Features.Present() || d.Labels != nil || d.Graph.Rows() != 2 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestTablesFaults(t *testing.T) {
	nodes, edges := "id,x,team\na,1,red\nb,2,\n", "from,to\na,b\n"
	for _, tc := range []struct {
		nodes, edges, want string
		change             func(*Tables)
	}{
		{nodes: "", edges: edges, want: "is empty"},
		{nodes: "id,x,team\n", edges: edges, want: "no lines after the line of column names"},
		{nodes: nodes, edges: "", want: "its first line is empty; it names columns, such as source,target"},
		{nodes: nodes, edges: "a,b\n", want: "its first line is an edge"},
		{nodes: nodes, edges: edges + "a,c\n", want: `line 3: "c" is not an id in nodes.csv: correct it, or skip such edges with --skip-unknown`},
		{nodes: nodes, edges: edges + "a\n", want: "line 3: 1 field, want two ids"},
		{nodes: nodes + "a,1,\n", edges: edges, want: `line 4: the id "a" is there twice`},
		{nodes: nodes + ",1,\n", edges: edges, want: "line 4: the id (column \"id\") is empty"},
		{nodes: nodes + "c,1\n", edges: edges, want: "line 4: 2 fields, the first line has 3"},
		{nodes: nodes + "c,,\n", edges: edges, want: `line 4: column "x" is empty`},
		{nodes: nodes + "c,tall,\n", edges: edges, want: `line 4: column "x" holds "tall"`},
		{nodes: nodes + "c,NaN,\n", edges: edges, want: `column "x" holds "NaN"`},
		{nodes: nodes + "c,inf,\n", edges: edges, want: `column "x" holds "inf"`, change: func(s *Tables) { s.Missing = "0" }},
		{nodes: nodes, edges: edges, want: `has no column "height"; it has "id", "x", "team"`, change: func(s *Tables) { s.Label = "height" }},
		{nodes: nodes, edges: edges, want: `has no column "height"`, change: func(s *Tables) { s.ID = "height" }},
		{nodes: nodes, edges: edges, want: `edges.csv: has no column "height"; it has "from", "to"`, change: func(s *Tables) { s.Weight = "height" }},
		{nodes: nodes, edges: "from,to,w\na,b,nan\n", want: `line 2: column "w" holds "nan": this edge has no weight`, change: func(s *Tables) { s.Weight = "w" }},
		{nodes: nodes, edges: "from,to,w\na,b,1e39\n", want: `column "w" holds "1e39", which is beyond 3.4e+38`, change: func(s *Tables) { s.Weight = "w" }},
		{nodes: nodes, edges: "from,to,w\na,b\n", want: `line 2: column "w" is empty`, change: func(s *Tables) { s.Weight = "w" }},
		{nodes: nodes, edges: edges, want: `has no column "height"`, change: func(s *Tables) { s.Drop = []string{"height"} }},
		{nodes: nodes + "c,\"1,\n", edges: edges, want: "line"},
		{nodes: nodes + "c,\"" + strings.Repeat("1", 2<<24), edges: edges, want: "is a quotation mark missing?"},
		{nodes: nodes, edges: edges, want: "no such file", change: func(s *Tables) { s.Edges += "x" }},
		{nodes: nodes, edges: edges, want: "is not a file", change: func(s *Tables) { s.Nodes = filepath.Dir(s.Nodes) }},
	} {
		if _, _, err := tablesOf(t, tc.nodes, tc.edges, tc.change); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %.200v, want %q", err, tc.want)
		}
	}
	_, w, err := tablesOf(t, nodes+"c,,\n", edges+"a,z\nz,a\nc,a\n", func(s *Tables) { s.Missing, s.SkipUnknown = "0", true })
	if err != nil || w.Filled != 1 || w.Skipped != 2 || w.Edges != 2 {
		t.Errorf("%+v, %v", w, err)
	}
}

// Whatever the tables hold: an error, or a folder that can be read and has what was said.
func FuzzTables(f *testing.F) {
	f.Add(someNodes, someEdges, true, "", "")
	f.Add("id,x,team\na,1,red\nb,,\n", "from,to\na,b\nb,q\n", true, "", "")
	f.Add("id,0,team\n\"a\"\"\",0x1p4,nan\n", "f;t\na\";a\"\n", false, "", "")
	f.Add("id,x,team,train_mask,split\na,1,r|b,1,train\nb,2,b,0,test\n", "weight,target,source\n1,a,b\n", true, "|", "split")
	f.Add("sep=;\rid;team;split\ra;1;val\rb;-1;\r", "# x\n\"a\" \"b\"\n1 a b\n", false, "", "")
	f.Add("", "source\ttarget\na\tb\n", true, "", "")
	f.Fuzz(func(t *testing.T, nodes, edges string, lenient bool, sep, split string) {
		dir, w, err := tablesOf(t, nodes, edges, func(s *Tables) {
			if s.LabelSep, s.SplitColumn = sep, split; lenient {
				s.Missing, s.SkipUnknown = "0", true
			}
			if nodes == "" {
				s.Nodes, s.Label, s.LabelSep, s.SplitColumn, s.Missing = "", "", "", "", ""
			}
		})
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !utf8.ValidString(err.Error()) {
				t.Errorf("error %q", err)
			}
			return
		}
		d, err := formats.Load(dir, dataset.Options{SetsAsGiven: true, AllowOverlap: true})
		if err != nil {
			if w.Edges > 0 && len(w.Classes) <= int(check.MaxClasses(w.Vertices)) {
				t.Fatalf("%+v: %v", w, err)
			}
			return
		}
		defer d.Close()
		if d.Graph.Rows() != w.Vertices || d.Graph.Edges() > w.Edges || d.Features.Present() != (len(w.Features) > 0) {
			t.Fatalf("%+v was read as %d vertices, %d edges", w, d.Graph.Rows(), d.Graph.Edges())
		}
		if d.Targets == nil && len(w.Classes) > 0 && check.CountOf(d.Labels, -1) != w.Unlabelled {
			t.Fatalf("%+v was read with %d vertices without a label", w, check.CountOf(d.Labels, -1))
		}
		// Without vertices to train on, those in no other set train.
		if s := w.Split; s != nil && (s.Train > 0 && check.CountTrue(d.Train) != s.Train || check.CountTrue(d.Val) != s.Val || check.CountTrue(d.Test) != s.Test) {
			t.Fatalf("split %+v was read as %v %v %v", s, d.Train, d.Val, d.Test)
		}
	})
}
