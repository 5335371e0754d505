package tables

import "testing"

// What the first lines say, or do not.
func TestHead(t *testing.T) {
	alone := func(s *Tables) { s.Nodes = "" }
	edges := func(text string) map[string]string { return map[string]string{"edges.csv": text} }
	multi := `its first two lines name the columns, as pandas writes a MultiIndex: make them one before to_csv, df.columns = ["_".join(map(str, c)) for c in df.columns]`
	ruled := "is a ruler, as psql, mysql and Markdown draw tables"
	try(t, []reading{
		{name: "Markdown", links: "| source | target |\n|--------|--------|\n| a1 | a2 |\n", change: alone, fault: "edges.csv: line 2: " + ruled},
		{name: "psql", nodes: " id | age\n----+----\n a1 | 30\n(1 row)\n", fault: "nodes.csv: line 2: " + ruled},
		{name: "mysql", nodes: "+----+-----+\n| id | age |\n+----+-----+\n| a1 |  30 |\n", fault: "nodes.csv: line 1: " + ruled},
		{name: "box", nodes: "┌────┬─────┐\n│ id │ age │\n", fault: "nodes.csv: line 1: " + ruled},
		{name: "placeholders", nodes: "id,x\na,-\n", fault: `column "x" holds "-"`},
		{name: "title", nodes: "Report of 2024\n\nid,x\n1,2\n2,3\n", fault: `nodes.csv: its first line, "Report of 2024", is one field, and the next has 2: if it is a title, delete it`},
		{name: "title of one word", nodes: "Report\nid,x,y\n1,2,3\n", fault: `its first line, "Report", is one field, and the next has 3`},
		{name: "one column of R", nodes: "x\na,1\nb,2\n", want: features("x\n1\n2\n"), notes: []string{"one field more than the line of names", "no column is called id"}},
		{name: "two lines of names", nodes: ",age,vis\n,m,s\np,1,3\n", fault: "nodes.csv: " + multi},
		{name: "two lines of names and that of the index", nodes: "\ufeff,a,a,b\r\n,x,y,x\r\nid,,,\r\n1,0.1,0.2,0.3\r\n", fault: multi},
		{name: "levels that have names", nodes: "kind;a;a\npart;x;y\nid;;\n1;0.1;0.2\n", fault: multi},
		{name: "two lines of names without an index", nodes: "k,a,a\nn,x,y\n1,0.2,0.3\n", fault: multi},
		{name: "two lines of names of edges", links: ",source,target,w,w\n,,,in,out\n0,a,b,1,2\n", change: alone, fault: "edges.csv: " + multi},
		{name: "second line of names alone", nodes: ",age,vis\n,m,s\np,x,y\n", fault: `line 2: the id (column "") is empty; if that line is a second one of names (pandas MultiIndex), join the two`},
		{name: "comma in a field", nodes: "id,x,name\n1,2,Smith, John\n2,3,Doe\n", fault: "nodes.csv: line 2: 4 fields, the first line has 3"},
		{name: "weights without a name", links: "source,target\n10,20,0.5\n20,30,0.7\n", change: alone, fault: "edges.csv: line 2: 3 fields, the first line has 2"},
		{name: "weights that begin at 1", links: "source,target\n3,2,1\n2,3,1\n", change: alone, fault: "edges.csv: line 2: 3 fields, the first line has 2"},
		{name: "row names of R", links: "source,target\n1,x,y\n2,y,z\n", change: alone, want: edges("from,to\n0,1\n1,2\n"), notes: []string{"their first field is taken for a row name", "edges go from"}},
		{name: "KONECT", nodes: "% people\nid x\na 1\nb 2\n", want: features("x\n1\n2\n"), notes: []string{`begin with # or % above the names of columns are left out: 1, such as "% people"`}},
		{name: "KONECT without names", links: "% sym unweighted\n% 3 3 3\n1 2\n2 3\n", change: alone, fault: `its first line is an edge ("1" is an id)`},
		{name: "percent sign as name", nodes: "% of votes,x\na,1\nb,2\n", want: features("x\n1\n2\n")},
		{name: "matrix", links: ",a,b,c\na,0,1,0\nb,1,0,1\nc,0,1,0\n", change: alone, fault: "edges.csv: looks like an adjacency matrix"},
		{name: "matrix of numbers", links: ",0,1,2,3\n0,0,1,0,0\n1,1,0,0,0\n2,0,0,0,1\n3,0,0,1,0\n", change: alone, fault: "looks like an adjacency matrix"},
		{name: "edges under numbers", links: ",0,1\n0,5,6\n1,6,7\n", change: alone, want: edges("from,to\n0,1\n1,2\n"), notes: []string{"by their places"}},
		{name: "list in an end", links: "source,targets\n1,2;3\n2,3\n", change: alone, notes: []string{"by their places", `"2;3" is one vertex; if it is a list`}},
		{name: "list between commas", links: "source,target\n1,\"2,3\"\n2,3\n", change: alone, notes: []string{`"2,3" is one vertex`}},
		{name: "APOC", nodes: "_id,_labels,age,_start,_end,_type\n1,:P,3,,,\n,,,1,2,K\n", fault: "holds vertices and edges, as Neo4j's APOC writes them: cut it in two"},
		{name: "mark inside a field", nodes: "id\tname\tx\n1\t5\" disk\t2\n", fault: `nodes.csv: line 2, column 4: a quotation mark stands inside a field: put the field in quotation marks and write those in it twice`},
		{name: "backslash", nodes: "id,name,x\n1,\"it\\\"s\",2\n", fault: `line 2, column 7: the quotation mark that ends a field has text behind it`},
		{name: "open field", nodes: "id,name,x\n1,\"open,2\n2,b,3\n", fault: "nodes.csv: line 2: a field that begins with a quotation mark does not end with one before line 3"},
	})
}

// A comment above may hold the names of columns.
func TestNamesInComments(t *testing.T) {
	alone := func(s *Tables) { s.Nodes = "" }
	named := "the names of its columns are those of the comment above them: "
	try(t, []reading{
		{name: "ids that are text", nodes: "#id,x\np1,3\np2,4\n", links: "source,target\np1,p2\n", want: features("x\n3\n4\n"), notes: []string{named + "id, x"}},
		{name: "ends that are text", links: "#node1\tnode2\ng1\tg2\ng3\tg4\n", change: alone, want: map[string]string{"ids.csv": "id\ng1\ng2\ng3\ng4\n"}, notes: []string{named + "node1, node2"}},
		{name: "names below", nodes: "# people, 2024\nid,x\na,1\nb,2\n", want: features("x\n1\n2\n"), notes: []string{"are left out: 1"}},
		{name: "names below that are numbers", nodes: "# of, years\nid,2020\na,1\nb,2\n", notes: []string{"are left out: 1"}},
		{name: "one column", nodes: "id^x\n1^2\n", fault: `has one column, "id^x": fields must be separated by`},
	})
}

// The line of names again, as cat writes it, is refused.
func TestNamesAgain(t *testing.T) {
	label := func(s *Tables) { s.Label, s.Categorical = "y", []string{"x"} }
	try(t, []reading{
		{name: "vertices", nodes: "id,x,y\na,b,c\nid,x,y\nd,e,f\n", links: "source,target\na,d\n", change: label, fault: "nodes.csv: line 3: is the line of names again: delete it"},
		{name: "edges", nodes: "id\na\nb\n", links: "source,target\na,b\nsource,target\n", change: func(s *Tables) { s.SkipUnknown = true }, fault: "edges.csv: line 3: is the line of names again: delete it"},
	})
}
