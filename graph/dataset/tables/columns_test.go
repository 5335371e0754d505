package tables

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/graph/dataset/internal/check"
)

// reading is a pair of tables and what is written of them.
type reading struct {
	name, nodes, links string
	change             func(*Tables)
	want               map[string]string // text of files; "": there is none
	notes              []string          // parts of notes, each in another one; there are no more notes
	fault              string            // part of the error; "" none
}

// read tries readings. Links are such that the ids a, b and c are all there are.
func (r *reading) try(t *testing.T) {
	t.Helper()
	links := r.links
	if links == "" {
		links = "source,target\na,b\n"
	}
	dir, w, err := tablesOf(t, r.nodes, links, func(s *Tables) {
		if s.Label = ""; r.change != nil {
			r.change(s)
		}
	})
	if r.fault != "" {
		if err == nil || !strings.Contains(err.Error(), r.fault) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %q", err, r.fault)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range r.want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if string(got) != want || err != nil && (want != "" || !errors.Is(err, fs.ErrNotExist)) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if len(w.Notes) != len(r.notes) {
		t.Errorf("notes %q, want %q", w.Notes, r.notes)
		return
	}
	for i, note := range r.notes {
		if !strings.Contains(w.Notes[i], note) {
			t.Errorf("note %d is %q, want %q", i, w.Notes[i], note)
		}
	}
	d, err := formats.Load(dir, dataset.Options{SetsAsGiven: true, AllowOverlap: true})
	if err != nil {
		t.Fatalf("what was written is not read: %v", err)
	}
	defer d.Close()
	if d.Graph.Rows() != w.Vertices || len(d.Unread) != 0 {
		t.Errorf("%d vertices of %d were read; not read: %v", d.Graph.Rows(), w.Vertices, d.Unread)
	}
	if w.Split != nil && (check.CountTrue(d.Train) != w.Split.Train || check.CountTrue(d.Val) != w.Split.Val || check.CountTrue(d.Test) != w.Split.Test) {
		t.Errorf("split %+v was read as %d, %d, %d", w.Split, check.CountTrue(d.Train), check.CountTrue(d.Val), check.CountTrue(d.Test))
	}
}

func try(t *testing.T, readings []reading) {
	for _, r := range readings {
		t.Run(r.name, r.try)
	}
}

func features(text string) map[string]string { return map[string]string{"features.csv": text} }

// The text of a table, as programs write it.
func TestText(t *testing.T) {
	plain := features("x\n1\n2\n3\n")
	try(t, []reading{
		{name: "Excel", nodes: "sep=;\r\nid;x;;\r\na;1;;\r\n\r\nb;2;;\r\nc;3;;\r\n;;;\r\n", want: plain},
		{name: "Mac", nodes: "id,x\ra,1\rb,2\rc,3\r", links: "source,target\ra,b\r", want: plain},
		{name: "comments", nodes: "# people\n\nid,x\na,1\nb,2\nc,3\n", want: plain, notes: []string{`begin with # or % above the names of columns are left out: 1, such as "# people"`}},
		{name: "named by a comment", nodes: "# of SNAP\n# Id\tx\n1\t1\n2\t2\n3\t3\n", links: "# FromNodeId\tToNodeId\n1\t2\n", want: plain,
			notes: []string{"comment above them: Id, x", "comment above them: FromNodeId, ToNodeId"}},
		{name: "number sign as name", nodes: "#,x\na,1\nb,2\nc,3\n", want: plain},
		{name: "R", nodes: "\"x\" \"y z\"\n\"a\" 1 0\n\"b\" 2 0\n\"c\" 3 0\n", links: "\"from\" \"to\"\n\"1\" \"a\" \"b\"\n", want: features("x,y z\n1,0\n2,0\n3,0\n"),
			notes: []string{"one field more than the line of names", "no column is called id", "one field more than the line of names", "from"}},
		{name: "bars", nodes: "id|x\na|1\nb|2\nc|3\n", want: plain},
		{name: "tabs", nodes: "id\tx\ty\na\t\t1\nb\t2\t3\nc\t4\t\n", change: func(s *Tables) { s.Missing = "7" }, want: features("x,y\n7,1\n2,3\n4,7\n")},
		{name: "German", nodes: "id;x;y\na;1,5;1\nb;12,250;2\nc;-,5;3\n", links: "source;target;w\na;b;0,5\n", change: func(s *Tables) { s.Weight = "w" },
			want:  map[string]string{"features.csv": "x,y\n1.5,1\n12.250,2\n-.5,3\n", "edges.csv": "from,to,weight\n0,1,0.5\n"},
			notes: []string{"a decimal point: 1,5 in line 2 is 1.5", "a decimal point: 0,5 in line 2 is 0.5"}},
		{name: "comma and point", nodes: "id;x;y\na;1,5;1\nb;2;2.5\n", fault: `line 2 holds "1,5", line 3 "2.5": decimals follow a comma or a point, not both`},
		{name: "comma between thousands", nodes: "id;x\na;1,500\nb;2,000\n", fault: `line 2 holds "1,500": is its comma a decimal one or between thousands?`},
		{name: "weights between thousands", nodes: "id\na\nb\n", links: "source;target;w\na;b;1,000\n", change: func(s *Tables) { s.Weight = "w" }, fault: "between thousands?"},
		{name: "UTF-16", nodes: "\xff\xfei\x00d\x00", fault: "is UTF-16 text (Unicode text of Excel, or of PowerShell), not a table of text: save it as CSV UTF-8"},
		{name: "UTF-16 without a mark", nodes: "i\x00d\x00", fault: "holds zero bytes, which no text has"},
		{name: "SQL of MySQL", nodes: "\ufeff-- MySQL dump 10.13\r\n/*!40101 SET x = 1 */;\r\n\r\nDROP TABLE IF EXISTS `u`;\r\n", fault: "nodes.csv: is an SQL dump, and no table: write each table of the database: mysql --batch"},
		{name: "SQL of PostgreSQL", nodes: "--\n-- PostgreSQL database dump\n--\n\nSET statement_timeout = 0;\nCOPY public.u (id, x) FROM stdin;\n", fault: "is an SQL dump"},
		{name: "SQL of SQLite", nodes: "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE u(id, x);\n", fault: "is an SQL dump"},
		{name: "names that are words of SQL", nodes: "create time,set x,use\na,1,2\nb,2,3\n", want: features("set x,use\n1,2\n2,3\n")},
		{name: "JSON", nodes: "[\n  {\"id\": 1}\n]\n", fault: `nodes.csv: is JSON, and no table: pandas.read_json("`},
		{name: "lines of JSON", nodes: "{\"id\": 1}\n{\"id\": 2}\n", fault: `nodes.csv", lines=True).to_csv("NEW.csv", index=False)`},
		{name: "JSON graph", nodes: "{\"directed\": true, \"nodes\": [{\"id\": 1}]}", fault: "is a JSON graph, and no table: `capgnn data import "},
		{name: "spreadsheet", nodes: "PK\x03\x04", fault: "save the sheet as CSV UTF-8"},
		{name: "Latin 1", nodes: "id,x\na,1\nM\xfcller,2\n", fault: `line 3: "M\xfcller" is no UTF-8 text`},
		{name: "quotation mark", nodes: "# a\nid,x\na,1\nb,2\"3\n", fault: `nodes.csv: line 4, column 4: a quotation mark stands inside a field: put the field in quotation marks and write those in it twice (5" disk becomes "5"" disk"), or`},
		{name: "broken name", nodes: "id,\"x\n y\"\na,1\n", links: "source,target\na,a\n", want: features("x y\n1\n")},
		{name: "too many fields", nodes: "id,x\na,1\nb,2,3\n", fault: "line 3: 3 fields, the first line has 2"},
		{name: "same names", nodes: "id,x,x\na,1,2\n", fault: `columns 2 and 3 are both called "x"`},
		{name: "same names in Unicode", nodes: "id,\u00e9,e\u0301\na,1,2\n", fault: "columns 2 and 3 are both called"},
		{name: "no names", nodes: "id,,,x\na,1,2,3\n", fault: "columns 2 and 3 have no name"},
		{name: "vertex as names", nodes: "a,1.5\nb,2\n", links: "source,target\nb,b\n", want: features("_1.5\n2\n"), notes: []string{`names a column "1.5"; if that line is a vertex`}},
		{name: "vertex as names, with edges", nodes: "a,1.5\nb,2\n", links: "source,target\na,b\n", fault: `"a" is not an id in nodes.csv, but stands in its first line`},
		{name: "numbers as names", nodes: "5,7\n1,2\n", fault: "its first line holds numbers only (5, 7); it must name the columns"},
	})
}

// Which column holds the ids.
func TestIDColumn(t *testing.T) {
	try(t, []reading{
		{name: "pandas index and id", nodes: ",x,id\n0,1,a\n1,2,b\n2,3,c\n", want: map[string]string{"features.csv": "x\n1\n2\n3\n", "ids.csv": "id\na\nb\nc\n"},
			notes: []string{`its ids are in column "id"`, `column 1, "", counts lines`}},
		{name: "filtered index", nodes: "Unnamed: 0,id,x\n3,a,1\n9,b,2\n", want: features("x\n1\n2\n"), notes: []string{`ids are in column "id"`, `column 1, "Unnamed: 0", counts lines`}},
		{name: "index by name", nodes: "id,index\na,5\nb,2\n", want: features("feature index\n5\n2\n")},
		{name: "pandas index alone", nodes: ",x\n0,1\n1,2\n", links: ",source,target\n0,0,1\n", want: map[string]string{"features.csv": "x\n1\n2\n", "ids.csv": "id\n0\n1\n", "edges.csv": "from,to\n0,1\n"},
			notes: []string{"no column is called id", `from column "source" to column "target"`}},
		{name: "pandas numbers", nodes: ",0,1\n7,1.5,2\n8,1,3\n", links: ",0,1\n0,7,8\n", want: map[string]string{"features.csv": "_0,1\n1.5,2\n1,3\n", "edges.csv": "from,to\n0,1\n"},
			notes: []string{"counts the columns, as pandas does", "no column is called id", "by their places"}},
		{name: "Neo4j", nodes: "personId:ID(P),age:int,note:IGNORE\na,1,hm\nb,2,ho\n", links: ":START_ID(P),:END_ID(P),:TYPE\na,b,X\n", want: features("age:int\n1\n2\n"), notes: []string{`"note:IGNORE" is left out`}},
		{name: "Neo4j by plain name", nodes: "personId:ID,age:int,x\na,1,2\nb,2,3\n", change: func(s *Tables) { s.Drop = []string{"age"} }, want: features("x\n2\n3\n")},
		{name: "repeats", nodes: "city,x,user_id\nr,1,a\nr,2,b\nq,3,c\n", fault: `line 3: the id "r" is there twice; column "user_id" has nothing twice: --id user_id`},
		{name: "repeats everywhere", nodes: "city,x,user_id\nr,1,a\nr,2,a\nq,3,c\n", fault: `line 3: the id "r" is there twice`},
	})
}

// What a field of a feature means.
func TestFeatures(t *testing.T) {
	missing := func(how string) func(*Tables) { return func(s *Tables) { s.Missing = how } }
	try(t, []reading{
		{name: "codes", nodes: "id,agegroup\na,20_29\nb,30_39\nc,20_29\n", fault: `line 2: column "agegroup" holds "20_29", which is no number: give --categorical agegroup`},
		{name: "true and false", nodes: "id,x,y\na,True,t\nb,False,1\nc,TRUE,f\n", want: features("x,y\n1,1\n0,1\n1,0\n")},
		{name: "digits stay", nodes: "id,t,c\na,1706659200.25,u\nb,3e9,v\n", change: func(s *Tables) { s.Categorical = []string{"c"} }, want: features("t,c=u,c=v\n1706659200.25,1,0\n3e9,0,1\n")},
		{name: "close to one another", nodes: "id,t\na,1706659200\nb,1706659201\n", want: features("t\n1706659200\n1706659201\n"), notes: []string{`column "t": float32 does not tell its values apart`}},
		{name: "many digits", nodes: "id,x\na,0." + strings.Repeat("3", 80) + "\nb,1\n", want: features("x\n0.3333333333333333\n1\n")},
		{name: "dates", nodes: "id,d\na,1970-01-02\nb,2024-01-31 12:00:00\nc,1970-01-01T06:00:00Z\n", want: features("d\n1\n19753.5\n0.25\n"), notes: []string{"days since 1970-01-01"}},
		{name: "no date", nodes: "id,d\na,1970-01-02\nb,2024-02-30\nc,1970-01-02\n", fault: `line 3: column "d" holds "2024-02-30", which is no date`},
		{name: "dates otherwise", nodes: "id,d\na,31.1.2024\nb,1/2/2024\n", fault: `holds "31.1.2024", which is no number (dates are written as 2024-01-31)`},
		{name: "vectors", nodes: "id,e,x\na,\"[0.5, 2]\",1\nb,\"[1.\n 3]\",2\n", want: features("e_0,e_1,x\n0.5,2,1\n1,3,2\n"), notes: []string{"2 numbers in each field: they become 2 features"}},
		{name: "vectors in semicolons", nodes: "id,e\na,0.5;2\nb,\nc,1;3\n", change: missing("mean"), want: features("e_0,e_1\n0.5,2\n0.75,2.5\n1,3\n"), notes: []string{"2 features"}},
		{name: "vectors of other lengths", nodes: "id,e\na,0.5 2\nb,1 2 3\n", fault: `line 3: column "e" holds 3 numbers, the lines before it hold 2: give equally many numbers in each field of e`},
		{name: "lists of other lengths", nodes: "id,e\na,5 2\nb,1 2 3\n", fault: `line 3: column "e" holds 3 numbers, the lines before it hold 2: give --lists e`},
		{name: "shortened", nodes: "id,e\na,[1 ... 2]\nb,[1 ... 3]\n", fault: "NumPy has shortened"},
		{name: "blanks between thousands", nodes: "id,e\na,1 234\nb,2 000\n", fault: "which is no number (take out what stands between thousands"},
		{name: "codes with zeros", nodes: "id,zip\na,01234\nb,10\n", want: features("zip\n01234\n10\n"), notes: []string{`holds "01234": if these are codes, not numbers, give --categorical`}},
		{name: "negative in brackets", nodes: "id,e\na,(12)\nb,(13)\n", fault: `holds "(12)", which is no number`},
		{name: "empty column", nodes: "id,timeset,e\na,,1\nb,,2\n", fault: `column "timeset" is empty in every line: give --drop timeset`},
		{name: "percent", nodes: "id,e\na,1%\nb,2%\n", fault: `holds "1%", which is no number (take the percent sign out)`},
		{name: "infinity", nodes: "id,e\na,-Infinity\nb,2\n", change: missing("0"), fault: `holds "-Infinity", which is infinite`},
		{name: "beyond float32", nodes: "id,e\na,1e39\nb,2\n", fault: `holds "1e39", which is beyond 3.4e+38`},
		{name: "one that is no number", nodes: "id,e\na,1\nb,2\nc,x\n", fault: `line 4: column "e" holds "x", which is no number: give numbers in e`},
		{name: "missing", nodes: "id,x\na,1\nb,NA\n", fault: `line 3: column "x" holds "NA", which is no value: give --missing mean, median, drop or a NUMBER for empty fields of x`},
		{name: "number", nodes: "id,x\na,1\nb,NaN\nc,\\N\n", change: missing("0.1"), want: features("x\n1\n0.1\n0.1\n")},
		{name: "mean", nodes: "id,x\na,1\nb,null\nc,4\n", change: missing("mean"), want: features("x\n1\n2.5\n4\n")},
		{name: "median", nodes: "id,x\na,9\nb,None\nc,1\nd,2\n", change: missing("median"), want: features("x\n9\n2\n1\n2\n")},
		{name: "median of an even number", nodes: "id,x\na,9\nb,\nc,1\nd,2\ne,4\n", change: missing("median"), want: features("x\n9\n3\n1\n2\n4\n")},
		{name: "no mean", nodes: "id,x\na,\nb,\n", change: missing("mean"), fault: `column "x" has no field that is known, and so no mean`},
		{name: "drop", nodes: "id,x,y\na,1,p\nb,,q\nc,3,p\n", links: "source,target\na,b\nc,a\n", change: func(s *Tables) { s.Missing, s.Label = "drop", "y" },
			want:  map[string]string{"features.csv": "x\n1\n3\n", "ids.csv": "id\na\nc\n", "edges.csv": "from,to\n1,0\n", "labels.csv": "y\n0\n0\n", "classes.csv": "y\np\nq\n"},
			notes: []string{"no vertex is of class q"}},
		{name: "drop all", nodes: "id,x\na,\n", change: missing("drop"), fault: "every vertex lacks a feature"},
		{name: "unknown way", nodes: "id,x\na,1\n", change: missing("mode"), fault: `--missing: "mode" is not a number, and not mean, median or drop`},
		{name: "names that are none", nodes: "id,c\na,x\nb,NA\nc,\n", change: func(s *Tables) { s.Categorical = []string{"c"} }, want: features("c=x\n1\n0\n0\n"), notes: []string{"read like empty ones: NA (1 field)"}},
	})
}

// Columns that are the split are no features.
func TestSplit(t *testing.T) {
	sets := func(train, val, test string) map[string]string {
		return map[string]string{"features.csv": "x\n1\n2\n3\n4\n", "train.csv": train, "val.csv": val, "test.csv": test}
	}
	try(t, []reading{
		{name: "masks", nodes: "id,x,train_mask,val_mask,test_mask\na,1,1,0,0\nb,2,1,0,0\nc,3,0,1,0\nd,4,0,0,1\n", want: sets("train\n1\n1\n0\n0\n", "val\n0\n0\n1\n0\n", "test\n0\n0\n0\n1\n"), notes: []string{"read as the split"}},
		{name: "masks in words", nodes: "id,trainMask,x,test_mask\na,True,1,False\nb,False,2,True\nc,False,3,\nd,True,4,False\n", want: sets("train\n1\n0\n0\n1\n", "", "test\n0\n1\n0\n0\n"), notes: []string{"read as the split"}},
		{name: "by name", nodes: "id,x,Split\na,1,train\nb,2,VALID\nc,3,Test\nd,4,unlabeled\n", want: sets("train\n1\n0\n0\n0\n", "val\n0\n1\n0\n0\n", "test\n0\n0\n1\n0\n"), notes: []string{`"Split" is read as the split`}},
		{name: "by flag", nodes: "id,x,s,train_mask\na,1,train,1\nb,2,dev,1\nc,3,none,1\nd,4,,1\n", change: func(s *Tables) { s.SplitColumn = "s" }, want: sets("train\n1\n0\n0\n0\n", "val\n0\n1\n0\n0\n", ""), notes: []string{`"train_mask" is left out`}},
		{name: "dropped", nodes: "id,x,train_mask\na,1,1\nb,2,0\nc,3,0\nd,4,0\n", change: func(s *Tables) { s.Drop = []string{"train_mask"} }, want: sets("", "", "")},
		{name: "a number", nodes: "id,split\na,1\nb,2\n", want: features("split\n1\n2\n"), notes: []string{`"split" is a feature; if it says who is in which set`}},
		{name: "nobody", nodes: "id,s\na,\nb,\n", change: func(s *Tables) { s.SplitColumn = "s" }, want: map[string]string{"train.csv": "", "features.csv": ""}, notes: []string{"no vertex is in a set"}},
		{name: "overlap", nodes: "id,x,train_mask,test_mask\na,1,1,0\nb,2,1,1\n", fault: "line 3: train_mask and test_mask are both 1"},
		{name: "same set", nodes: "id,x,val_mask,valid_mask\na,1,1,0\n", fault: `"val_mask" and "valid_mask" are masks of the same set`},
		{name: "several splits", nodes: "id,x,train_mask_0,train_mask_1\na,1,1,0\n", fault: `"train_mask_0" is the mask of one of several splits`},
		{name: "no mask", nodes: "id,x,train_mask\na,1,2\n", fault: `line 2: column "train_mask" holds "2", want 0 or 1`},
		{name: "no set", nodes: "id,x,s\na,1,train\nb,2,tset\n", change: func(s *Tables) { s.SplitColumn = "s" }, fault: `line 3: column "s" holds "tset", want train, val, test`},
		{name: "advice", nodes: "id,x,s\na,1,train\nb,2,test\n", fault: "give --split-column s, or --label COLUMN for the classes"},
		{name: "a slip", nodes: "id,x,split\na,1,train\nb,2,trian\nc,3,test\n", change: func(s *Tables) { s.Label = "x" },
			fault: `line 3: column "split" holds "trian", where most fields are train, val or test: give train, val, test or nothing in every line of split, and --split-column split (or --drop split)`},
		{name: "two of them", nodes: "id,x,split,train_mask\na,1,train,1\n", fault: "there are masks too"},
		{name: "label", nodes: "id,x,s\na,1,train\n", change: func(s *Tables) { s.SplitColumn, s.Label = "s", "s" }, fault: `both --split-column and --label name column "s"`},
		{name: "ids", nodes: "id,x\na,1\n", change: func(s *Tables) { s.Label = "id" }, fault: `column "id" has the ids, and --label names it`},
	})
}
