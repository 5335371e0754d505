package formats

import (
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
)

// edgesOf is a folder of edges alone.
func edgesOf(text string) map[string]string { return map[string]string{"edges.csv": text} }

// Columns of edges are taken by their names, in any order and case.
func TestEdgeColumns(t *testing.T) {
	runCSV(t, []csvCase{
		{"turned", edgesOf("target,source\n1,0\n2,0\n3,0\n"), nil, "n4 0>1 0>2 0>3", nil, false},
		{"weight first", edgesOf("weight,source,target\n5,0,1\n5,0,2\n"), nil, "n3 0>1*5 0>2*5", []string{`the column "weight" is read as weights of edges`}, false},
		{"Gephi", edgesOf("Id;Source;Target;Type\n7;0;1;Undirected\n8;1;2;\"a; b\"\n"), nil, "n3 0>1 1>2", []string{`edges: columns "Id", "Type" are not used; if one holds weights, call it weight`, "a column says Undirected for 1 of 2 edges: give --edges symmetric"}, false},
		{"more text", edgesOf("from,to,name of it\n0,1,a b c\n1,2,\n"), nil, "n3 0>1 1>2", []string{`edges: column "name of it" is not used`}, false},
		{"synonyms", edgesOf("Id_2\tW\tid_1\n1\t0.5\t0\n"), nil, "n2 0>1*0.5", nil, false},
		{"letters", edgesOf("v,u\n1,0\n"), nil, "n2 0>1", nil, false},
		{"a letter alone says nothing", edgesOf("v,w\n1,0\n"), nil, "n2 1>0", nil, false},
		{"index of pandas", edgesOf(",source,target\n0,2,1\n1,0,1\n"), nil, "n3 0>1 2>1", []string{`edges go from column "source" to column "target"`}, false},
		{"unknown names", edgesOf("a,b\n0,1\n"), nil, "n2 0>1", nil, false},
		{"unknown names and weights", edgesOf("a,b,c\n0,1,3\n"), nil, "n2 0>1*3", []string{`the column "c" is read as weights of edges (the first is 3; --ignore-weights leaves them out)`}, false},
		{"unknown names behind an id", edgesOf("edge_id,a,b\n9,0,1\n"), nil, "n2 0>1", []string{`edges go from column "a" to column "b", by their places`}, false},
		{"too many unknown names", edgesOf("a,b,c,d\n0,1,3,4\n"), nil, `edges.csv: byte 0: line 1: the columns are called "a", "b", "c", "d", which does not say where the ends of edges are: name them source, target and weight`, nil, false},
		{"a title", edgesOf("Edges of my graph\n0 1\n"), nil, "n2 0>1", []string{`edges: the first line, "Edges", "of", "my", "graph", is skipped`}, false},
		{"an id, or a number of rows", edgesOf("id,a,b\n9,0,1\n"), nil, `edges.csv: byte 0: line 1: which columns are the ends of edges? It has "id", "a", "b": call two of them source and target`, nil, false},
		{"one end against its place", edgesOf("target,x\n0,1\n"), nil, "which columns are the ends of edges?", nil, false},
		{"known names", edgesOf("citing,cited,year\n0,1,1999\n"), nil, "n2 0>1", []string{`edges: column "year" is not used`}, false},
		{"unknown names and a time", edgesOf("a,b,Timestamp\n0,1,1999\n"), nil, "n2 0>1", []string{`edges: column "Timestamp" is not used`}, false},
		{"a matrix", edgesOf(",Anna,Bob\nAnna,0,4\nBob,4,0\n"), nil, "edges.csv: byte 0: line 1: looks like an adjacency matrix", nil, false},
		{"a matrix without an index", edgesOf("v1;v2;v3\n0;1;0\n1;0;1\n0;1;0\n"), nil, "edges.csv: byte 0: line 1: looks like an adjacency matrix", nil, false},
		{"no matrix", edgesOf("a b 3\nb c 2\n"), nil, `n3 0>1*3 1>2*2 ids["a" "b" "c"]`, nil, false},
		{"an end twice", edgesOf("source,target,source\n0,1,2\n"), nil, `columns 1 and 3 are both called "source": rename one`, nil, false},
		{"a weight is missing", edgesOf("0 1 2\n1 2\n"), nil, "edges.csv: byte 8: line 2: this edge has no weight, those before it have a weight", nil, false},
		{"a weight too many", edgesOf("0 1\n1 2 2\n"), nil, "edges.csv: byte 8: line 2: this edge has a weight, those before it have no weight", nil, false},
		{"an empty weight", edgesOf("u,v,w\n0,1,2\n1,2,\n"), nil, `edges.csv: byte 16: line 3: the edge has no weight: found ""`, nil, false},
		{"a named weight is missing", edgesOf("source,target,weight\n0,1,2\n1,2\n"), nil, "edges.csv: byte 30: line 3: the line ends here, want the weight of the edge", nil, false},
		{"names of rows", edgesOf("\"from\" \"to\"\r\n\"1\" 5 2\r\n\"2\" 2 3\r\n"), nil, "edges.csv: byte 13: line 2: has a field more than the line of names: if the first is the name of the row, as R writes it, `capgnn data tables --links FILE --out NEW` reads the file", nil, false},
		{"names of rows that are text", edgesOf("from\tto\tweight\nr1\ta\tb\t2\n"), nil, "line 2: has a field more than the line of names", nil, false},
		{"a row without a field", edgesOf("a;b\nx;y\n;\nz;x\n"), nil, `line 3: found "", want the id of a vertex (lines without any field are left out by data tables)`, nil, false},
		{"ids in exponents", edgesOf("from,to\n1e+05,2\n2,1e+05\n"), nil, `n2 1>0 0>1 ids["1e+05" "2"]`, []string{`ids such as "1e+05" are names, and not the numbers they stand for, of which several may be one now: if ids are numbers, write all their digits (R: options(scipen = 99))`}, false},
		{"ids in exponents with a comma", edgesOf("from;to\n1,23457E+12;2\n2;3\n"), nil, `n3 0>1 1>2 ids["1,23457E+12" "2" "3"]`, []string{`ids such as "1,23457E+12" are names`}, false},
		{"codes", edgesOf("1 007\n7 1\n"), nil, `n3 2>0 0>1 ids["1" "007" "7"]`, []string{"ids 007 and 7 are two vertices; if they mean the same, write one of them", `ids such as "007" are names, since they begin with a 0`}, false},
		{"codes with weights", edgesOf("from,to,weight\n7,8,2\n07,8,3\n"), nil, `n3 0>1*2 2>1*3 ids["7" "8" "07"]`, nil, false},
		{"numbers of rows", map[string]string{"edges.csv": "00,01\n", "labels.csv": "0\n1\n"}, nil, "n2 0>1 y2[0 1]", []string{"edges: ids are numbers of rows: 00 is vertex 0"}, false},
		{"ids in comments", edgesOf("a,b\nb,c\n#d,a\n # e,a\n# a line of text\n"), nil, `n3 0>1 1>2 ids["a" "b" "c"]`, []string{`2 of them look like edges, such as "#d,a" in line 3; if they are, put their first ids in quotation marks, or let ` + "`capgnn data tables`" + ` read the file`}, false},
		{"names in a comment", edgesOf("% a graph\n# target source\n0 1\n"), nil, "n2 0>1", []string{`a comment above them names columns, "target", "source", and they are read from the first column to the second`}, false},
		{"a number of the line in a comment", edgesOf("#,from,to\n1,5,6\n"), nil, "n6 1>5*6", []string{`a comment above them names columns, "", "from", "to"`}, false},
		{"names in a comment as they stand", edgesOf("#source,target\r\n0,1\r\n"), nil, "n2 0>1", nil, false},
		{"like ids", edgesOf("Anna,b\nb,anna\n//x,b\n"), nil, `n4 0>1 3>1 1>2 ids["Anna" "b" "anna" "//x"]`, []string{"ids Anna and anna are two vertices", `"//x" is an id like others; if its line is a comment, delete it`}, false},
		{"ids in quoted marks", edgesOf("a,b\n\"#d\",a\n"), nil, `n3 2>0 0>1 ids["a" "b" "#d"]`, nil, false},
		{"ids in the first comments", edgesOf("#a b\n%c d\ne f\nf e\n"), nil, `n2 1>0 0>1 ids["e" "f"]`, []string{`2 of them look like edges, such as "#a b" in line 1`}, false},
		{"nothing but comments", edgesOf("#a b\n#c d\ne f\n"), nil, "holds no edges; lines that begin with # or % are comments, such as line 1", nil, false},
		{"classes in comments", map[string]string{"edges.csv": "0,1\n", "labels.csv": "y\nA\n#B\nC\n# a line of text\n"}, nil, `n2 0>1 y2[0 1] classes["A" "C"]`, []string{`labels: lines that begin with # or % are comments, and no vertices: 1, such as "#B" in line 3`}, false},
		{"rows in comments", map[string]string{"edges.csv": "1,0\n", "features.csv": "p,q\n1,2\n#3,4\n5,6\n"}, nil, "n2 1>0 x2[1 2 5 6] columns[p q]", []string{`features: lines that begin with # or % are comments, and no vertices: 1, such as "#3,4" in line 3`}, false},
		{"more fields than names", edgesOf("source,target\n0,1,2\n"), nil, "edges.csv: byte 18: line 2: found '2', want the end of the line after 2 fields, as many as columns are named", nil, false},
		{"four columns", edgesOf("0,1,5,1407\n"), nil, "found '1', want the end of the line after from, to and weight; a first line may name more columns: from,to,weight,time", nil, false},
		{"four columns, named", edgesOf("from,to,weight,time\n0,1,5,1407\n"), nil, "n2 0>1*5", []string{`edges: column "time" is not used`}, false},
		{"times", edgesOf("0 1 1082040961\n1 2 1082155839\n"), nil, "n3 0>1*1.082041e+09 1>2*1.0821558e+09", []string{"the third column is read as weights of edges (the first is 1082040961; float32 rounds them: if they are times or ids, give --ignore-weights)"}, false},
		{"two kinds of ids", edgesOf("userId,movieId\n0,1\n"), nil, "n2 0>1", []string{`edges go from column "userId" to column "movieId", by their places`, `"userId" and "movieId" are read as ids of the same vertices; if they are of two kinds`}, false},
		{"two ID spaces", edgesOf(":START_ID(User),:END_ID(Movie)\n0,1\n"), nil, `edges.csv: byte 0: line 1: columns ":START_ID(User)" and ":END_ID(Movie)" hold ids of two kinds, and one id may be of both: put a prefix before the ids of each`, nil, false},
		{"one ID space", edgesOf(":START_ID(User),:END_ID(User)\n0,1\n"), nil, "n2 0>1", nil, false},
		{"repeats", edgesOf("source,target,weight\n0,1,2\n0,1,3\n"), nil, "n2 0>1*5", []string{"weights of repeated edges are added up (1)"}, false},
		{"a line that counts", edgesOf("3 3\n1 2\n2 3\n3 1\n"), nil, "n4 3>1 1>2 2>3 3>3", []string{"the first line, 3 3, is read as an edge; if it counts vertices and edges, delete it"}, false},
		{"a line that counts ids from 0", edgesOf("3 2\n0 1\n1 2\n"), nil, "n4 0>1 1>2 3>2", []string{"the first line, 3 2, is read as an edge"}, false},
		{"a line that counts both ends", edgesOf("3 3 3\n1 2 1\n2 3 1\n3 1 1\n"), nil, "n4 3>1 1>2 2>3 3>3*3", []string{"the first line, 3 3, is read as an edge", "the third column"}, false},
		{"an empty column at the end", edgesOf("0,1,\n1,2,\n"), nil, "n3 0>1 1>2", nil, true},
		{"a weight behind an empty column", edgesOf("0,1,\n1,2,3\n"), nil, "line 2: this edge has a weight, those before it have no weight", nil, false},
		{"colons", edgesOf("0: 1 2\n1: 2\n"), nil, `line 1: "0:" is no id: write lines such as 1 2, from one vertex to another`, nil, false},
		{"a line that counts nothing", edgesOf("0 1\n1 2\n"), nil, "n3 0>1 1>2", nil, true},
		{"networkx", edgesOf("0 1 {}\n1 2 {}\n"), nil, "n3 0>1 1>2", nil, false},
		{"networkx with weights", edgesOf("0 1 {'weight': 2.0, 'colour': 'a, {b}'}\n1 2 {\"x\": [1, {2: 3}], 'weight': 3}\n"), nil, "n3 0>1*2 1>2*3", []string{`of the attributes of edges only weight is used, not "colour"`, "the attribute weight is read as weights"}, false},
		{"tiny weights", edgesOf("from,to,weight\n0,1,1e-50\n1,0,0\n2,0,2\n"), nil, "n3 1>0*0 2>0*2 0>1*0", []string{`the column "weight": float32 rounds 1 of the weights to 0, as they are below 1e-45`}, false},
		{"networkx with commas", edgesOf("0,1,{'weight': 2.0}\n"), nil, "n2 0>1*2", nil, false},
		{"networkx with a weight missing", edgesOf("0 1 {'weight': 2.0}\n1 2 {}\n"), nil, "line 2: this edge has no weight", nil, false},
		{"networkx with a word as weight", edgesOf("0 1 {'weight': None}\n"), nil, `line 1: the edge has the weight "None"; weights must be finite numbers`, nil, false},
		{"no dict", edgesOf("0 1 {'weight'}\n"), nil, `line 1: found "{'weight'}" after the ids, want a weight or a dict as networkx writes it`, nil, false},
		{"comments of KONECT", edgesOf("% asym positive\n% 2 3 3\n1 2\n2 0\n"), nil, "n3 2>0 1>2", nil, false},
		{"MatrixMarket", edgesOf("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 1\n"), nil, "edges.csv: is a MatrixMarket matrix: let its name end in .mtx", nil, false},
		{"floats", edgesOf("u,v\n0.0,1.0\n2.,1.00\n"), nil, "n3 0>1 2>1", nil, false},
		{"decimal commas", edgesOf("0 1 0,5\n"), nil, "edges.csv: byte 5: line 1: fields stand between blanks or tabs and between commas in one line", nil, false},
	})
	folder := func(edges string) map[string]string {
		return map[string]string{"edges.csv": edges, "features.csv": "x\n5\n6\n7\n", "ids.csv": "name\nAnn\nBob\nCid\n"}
	}
	named := ` x1[5 6 7] columns[x] ids["Ann" "Bob" "Cid"]`
	runCSV(t, []csvCase{
		{"names", edgesOf("source,target\nCid,Ann\nAnn,Bob\nBob,7\n"), nil, `n4 0>1 1>2 2>3 ids["Cid" "Ann" "Bob" "7"]`, []string{`4 vertices are named: "Cid", "Ann", "Bob", "7", numbered in the order in which they occur`}, false},
		{"names of columns again", edgesOf("source,target\nCid,Ann\nsource,target\nBob,Ann\n"), nil, `edges.csv: byte 29: line 3: the line "source", "target" is the first one again: delete it`, nil, false},
		{"names of columns by place again", edgesOf("p,q,weight\nCid,Ann,1\np,q,2\n"), nil, `line 3: the line "p", "q" is the first one again: delete it`, nil, false},
		{"letters again", edgesOf("u,v\nCid,Ann\nu,v\nBob,Ann\n"), nil, `line 3: the line "u", "v" is the first one again: delete it`, nil, false},
		{"names with blanks and weights", edgesOf("to;from;w\nNew York;\"St; Ives\";2\n"), nil, `n2 1>0*2 ids["New York" "St; Ives"]`, nil, false},
		{"arrows", edgesOf("1 -> 2\n2 -> 3\n"), nil, `edges.csv: byte 0: line 1: "->" is no id: write lines such as 1 2, from one vertex to another`, nil, false},
		{"tuples", edgesOf("(1, 2)\n(2, 3)\n"), nil, `line 1: "(1" is no id`, nil, false},
		{"lines of DIMACS", edgesOf("e 1 2\ne 2 3\n"), nil, `line 1: lines begin with "e", as DIMACS writes them`, nil, false},
		{"a name of one letter with weights", edgesOf("e 1 2\nf 2 3\n"), nil, `n4 0>1*2 2>3*3 ids["e" "1" "f" "2"]`, nil, true},
		{"names with brackets", edgesOf("Ann_(x) *B\nAnn_(x) C\n"), nil, `n3 0>1 0>2 ids["Ann_(x)" "*B" "C"]`, nil, true},
		{"names without a header", edgesOf("n1 n2\nn2 n3\n"), nil, `n3 0>1 1>2 ids["n1" "n2" "n3"]`, nil, true},
		{"names below unknown names", edgesOf("person friend\nn1 n2\nn2 n3\n"), nil, `n3 0>1 1>2 ids["n1" "n2" "n3"]`, []string{`edges: the first line, "person", "friend", is read as names of columns, since neither occurs again`}, false},
		{"names with dicts", edgesOf("Ann Bob {}\nBob Cid {'a': 1}\n"), nil, `n3 0>1 1>2 ids["Ann" "Bob" "Cid"]`, nil, true},
		{"names below three unknown names", edgesOf("person,friend,calls\nAnn,Bob,2\n"), nil, `n2 0>1*2 ids["Ann" "Bob"]`, nil, true},
		{"names that could be columns", edgesOf("u v\nv w\n"), nil, `n3 0>1 1>2 ids["u" "v" "w"]`, nil, true},
		{"names with weights", edgesOf("source target 1\ntarget z 2\n"), nil, `n3 0>1 1>2*2 ids["source" "target" "z"]`, nil, true},
		{"numbers and names", edgesOf("12,n5\nn5,7\n"), nil, `n3 0>1 1>2 ids["12" "n5" "7"]`, nil, true},
		{"a name far below numbers", edgesOf("1,2\n2,3\nn5,7\n"), nil, "edges.csv: byte 8: line 3: found 'n', want a vertex id (a number from 0 on", nil, false},
		{"an id is missing", edgesOf("source,target\na,b\n,c\n"), nil, `edges.csv: byte 18: line 3: found "", want the id of a vertex`, nil, false},
		{"no second id", edgesOf("a b\nc\n"), nil, `line 2: the line ends here, want the id of the vertex where the edge ends`, nil, false},
		{"given names", folder("source,target\nCid,Ann\n"), nil, "n3 2>0" + named, nil, false},
		{"given names without a header", folder("Cid,Ann\nAnn,Bob\n"), nil, "n3 2>0 0>1" + named, nil, false},
		{"given names below unknown ones", folder("p,q\nCid,Ann\n"), nil, "n3 2>0" + named, nil, false},
		{"another name", folder("source,target\nCid,Dan\n"), nil, `edges.csv: byte 18: line 2: "Dan" is no vertex of ids.csv`, nil, false},
		{"numbers beside names", folder("source,target\n2,0\n"), nil, "n3 2>0" + named, nil, false},
		{"names beside features", map[string]string{"edges.csv": "source,target\nCid,Ann\n", "features.csv": "x\n5\n"}, nil, "edges.csv: byte 14: line 2: found 'C', want a vertex id (a number from 0 on; names become numbers with data tables)", nil, false},
		{"ids without a header", map[string]string{"edges.csv": "source,target\np0,p1\n", "features.csv": "1\n2\n", "ids.csv": "p0\np1\n"}, nil, `edges.csv: it has names for vertices, and ids.csv has 1 name below its first line, which is taken as the header (if it names something, put the line id above it), want 2`, nil, false},
		{"other ids in rows", map[string]string{"edges.csv": "source,target\n0,1\n", "features.csv": "x\n5\n6\n7\n", "ids.csv": "id\n2\n0\n1\n"}, nil, `n3 0>1 x1[5 6 7] columns[x] ids["2" "0" "1"]`,
			[]string{"edges: their numbers are read as rows, from 0 on, and not as the ids in ids.csv, where row 0 has id \"2\"; if they are these ids, put a letter before each in both files"}, false},
		{"ids that edges have not", map[string]string{"edges.csv": "source,target\n0,1\n", "features.csv": "x\n5\n6\n7\n", "ids.csv": "id\n2\n0\n7\n"}, nil, `n3 0>1 x1[5 6 7] columns[x] ids["2" "0" "7"]`, nil, false},
		{"ids as rows", map[string]string{"edges.csv": "source,target\n0,1\n", "features.csv": "x\n5\n6\n7\n", "ids.csv": "id\n0\n1\n2\n"}, nil, `n3 0>1 x1[5 6 7] columns[x] ids["0" "1" "2"]`, nil, false},
		{"names given twice", map[string]string{"edges.csv": "source,target\nAnn,Ann\n", "ids.csv": "name\nAnn\nAnn\n"}, nil, `edges.csv: ids.csv: vertices 0 and 1 are both called "Ann"`, nil, false},
		{"names and a mask", map[string]string{"edges.csv": "source,target\nAnn,Bob\n", "train.csv": "0\n"}, nil, "edges.csv names vertices, and train.csv counts them", nil, false},
	})
}

// What pythonValue cuts off, whatever the text is.
func FuzzAttributes(f *testing.F) {
	for _, s := range []string{"{}", "{'weight': 2.0}", "{'a': [1, (2, 3)], \"b\": 'x\\'y', 'weight': -1e3 }", "{'a'", "{'a': }", "{,}", "{'a': 1,}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		weight, others, err := attributes(text)
		if err == nil && (!strings.HasPrefix(text, "{") || !strings.Contains(text, weight) || len(others) > 8) {
			t.Errorf("%q: %q, %q", text, weight, others)
		}
	})
}

// Edges that weigh differently in their two directions keep their weights, with a note.
func TestUnequalWeights(t *testing.T) {
	dir := datatest.Put(t, map[string][]byte{"edges.csv": []byte("source,target,weight\n0,1,2\n1,0,4\n1,2,3\n")})
	const note = "edges that weigh differently in their two directions keep both weights: 1 (0 → 1: 2, 1 → 0: 4)"
	for kind, want := range map[string]bool{dataset.Symmetric: true, dataset.Directed: false} {
		d, err := Load(dir, dataset.Options{Edges: kind})
		if err != nil || slices.Contains(d.Notes, note) != want {
			t.Errorf("%s: notes %q, %v", kind, d.Notes, err)
		}
	}
}

// Weights that are missing are no fault where weights are ignored.
func TestIgnoredWeights(t *testing.T) {
	for _, text := range []string{"u,v,w\n0,1,2\n1,2,\n", "u,v,w\n0,1,2\n1,2,NA\n", "0 1 2\n1 2\n", "0 1 {'weight': 3}\n1 2 {}\n"} {
		dir := datatest.Put(t, map[string][]byte{"edges.csv": []byte(text)})
		if d, err := Load(dir, dataset.Options{IgnoreWeights: true}); err != nil || shown(d) != "n3 0>1 1>2" {
			t.Errorf("%q: %v, %v", text, d, err)
		}
		if _, err := Load(dir, dataset.Options{}); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
