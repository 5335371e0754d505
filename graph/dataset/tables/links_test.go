package tables

import (
	"fmt"
	"strings"
	"testing"
)

// Which columns are the ends of edges, and their weights.
func TestLinks(t *testing.T) {
	const nodes = "id\na\nb\nc\n"
	weight := func(name string) func(*Tables) { return func(s *Tables) { s.Weight = name } }
	edges := func(text string) map[string]string { return map[string]string{"edges.csv": text} }
	by := `edges go from column "`
	try(t, []reading{
		{name: "target first", nodes: nodes, links: "target,source\nb,a\nc,a\n", want: edges("from,to\n0,1\n0,2\n"), notes: []string{by + "source"}},
		{name: "weight first", nodes: nodes, links: "Weight,Source,Target\n5,a,b\n2.50,b,c\n", change: weight("Weight"), want: edges("from,to,weight\n0,1,5\n1,2,2.50\n"), notes: []string{by + "Source"}},
		{name: "weight by another case", nodes: nodes, links: "src,dst,Weight\na,b,5\n", change: weight("weight"), want: edges("from,to,weight\n0,1,5\n")},
		{name: "weight not asked for", nodes: nodes, links: "source,target,weight\na,b,5\n", want: edges("from,to\n0,1\n"), notes: []string{"weights are not used unless --weight weight is given"}},
		{name: "weights of one", nodes: nodes, links: "source,target,weight\na,b,1.0\n", want: edges("from,to\n0,1\n")},
		{name: "Gephi", nodes: nodes, links: "Source,Target,Type,Id,Label,timeset,Weight\na,b,Undirected,0,,,1.0\nb,c,Directed,1,,,1.0\n", want: edges("from,to\n0,1\n1,2\n"), notes: []string{"says Undirected in 1 of 2 edges; give --edges symmetric"}},
		{name: "two ID spaces", nodes: "id:ID(U)\na\n", links: ":START_ID(U),:END_ID(M)\na,a\n", fault: `edges.csv: columns ":START_ID(U)" and ":END_ID(M)" hold ids of two kinds, and one id may be of both: put a prefix before the ids of each, such as u1 and m1, and call the columns :ID, :START_ID and :END_ID`},
		{name: "another ID space", nodes: "id:ID(U)\na\n", links: ":START_ID(M),:END_ID(M)\na,a\n", fault: `columns "id:ID(U)" and ":START_ID(M)" hold ids of two kinds`},
		{name: "Neo4j", nodes: nodes, links: ":END_ID,:START_ID,since:int\na,b,5\n", want: edges("from,to\n1,0\n"), notes: []string{by + ":START_ID"}},
		{name: "SNAP", nodes: nodes, links: "id_2,id_1\na,b\n", want: edges("from,to\n1,0\n"), notes: []string{by + "id_1"}},
		{name: "names with ids", nodes: nodes, links: "x,to_node_id,FromNode\n9,b,a\n", want: edges("from,to\n0,1\n"), notes: []string{by + "FromNode"}},
		{name: "times", nodes: nodes, links: "p,q,start,end\na,b,2001,2002\n", want: edges("from,to\n0,1\n"), notes: []string{by + "p"}},
		{name: "pandas index", nodes: nodes, links: "index,p,q\n0,a,b\n", want: edges("from,to\n0,1\n"), notes: []string{by + "p"}},
		{name: "half named, by place", nodes: nodes, links: "source,friend\na,b\n", want: edges("from,to\n0,1\n"), notes: []string{by + "source"}},
		{name: "half named, against it", nodes: nodes, links: "friend,source\na,b\n", fault: "edges.csv: which columns are the ends of edges? It has \"friend\", \"source\": call two of them source and target"},
		{name: "target alone", nodes: nodes, links: "target,friend\na,b\n", fault: "which columns are the ends"},
		{name: "weight at an end", nodes: nodes, links: "w,p,q\n1,a,b\n", fault: "which columns are the ends"},
		{name: "ids of edges", nodes: nodes, links: "id,p,q\n1,a,b\n", fault: "which columns are the ends"},
		{name: "twice", nodes: nodes, links: "source,target,source\na,b,a\n", fault: `columns 1 and 3 are both called "source"`},
		{name: "weight twice", nodes: nodes, links: "source,target,w,w\na,b,1,2\n", change: weight("w"), fault: `columns 3 and 4 are both called "w"`},
		{name: "no weight", nodes: nodes, links: "source,target,w\na,b,1\nb,c\n", change: weight("w"), fault: `edges.csv: line 3: column "w" is empty`},
		{name: "code as weight", nodes: nodes, links: "source,target,w\na,b,1_5\n", change: weight("w"), fault: `line 2: column "w" holds "1_5", which is no number: weights are finite numbers`},
		{name: "infinite weight", nodes: nodes, links: "source,target,w\na,b,inf\n", change: weight("w"), fault: `column "w" holds "inf", which is infinite: weights`},
		{name: "thousands in a weight", nodes: nodes, links: "source;target;w\na;b;1.234,5\n", change: weight("w"), fault: "take out what stands between thousands"},
		{name: "unknown weight", nodes: nodes, links: "source,target,w\na,b,?\n", change: weight("w"), fault: `column "w" holds "?": this edge has no weight`},
		{name: "end as weight", nodes: nodes, links: "source,target\na,b\n", change: weight("target"), fault: "is an end of the edges"},
		{name: "floats", nodes: "id\n1\n2\n", links: "source,target\n1.0,2.0\n", fault: `"1.0" is not an id in nodes.csv, but 1 is`},
		{name: "ids as floats", nodes: "id\n1.0\n2.0\n", links: "source,target\n1,2\n", fault: `"1" is not an id in nodes.csv, but 1.0 is`},
		{name: "no edge", nodes: nodes, links: "source,target\n", want: edges("from,to\n"), notes: []string{"it has no edges"}},
		{name: "too many fields", nodes: nodes, links: "source,target\na,b,c\n", fault: "line 2: 3 fields, the first line has 2"},
	})
}

// Edges alone say which vertices there are.
func TestLinksAlone(t *testing.T) {
	alone := func(s *Tables) { s.Nodes = "" }
	try(t, []reading{
		{name: "plain", links: "source,target\nAnn,Bob\nBob,\"Cid, the third\"\nAnn,Cid\n", change: alone,
			want: map[string]string{"edges.csv": "from,to\n0,1\n1,2\n0,3\n", "ids.csv": "id\nAnn\nBob\n\"Cid, the third\"\nCid\n", "features.csv": "", "labels.csv": ""}},
		{name: "weighted", links: "source,target,w\nx,y,2\n", change: func(s *Tables) { s.Nodes, s.Weight = "", "w" }, want: map[string]string{"edges.csv": "from,to,weight\n0,1,2\n"}},
		{name: "by place", links: "p,q\nx,y\n", change: alone, want: map[string]string{"edges.csv": "from,to\n0,1\n"}, notes: []string{"by their places"}},
		{name: "no names", links: "x,y\ny,z\nx,z\n", change: alone, fault: `its first line is an edge ("x" is an id)`},
		{name: "numbers", links: "1,2\n2,3\n", change: alone, fault: `its first line is an edge ("1" is an id)`},
		{name: "unknown", links: "source,target\nx,NaN\n", change: alone, notes: []string{`"NaN" is a vertex like others`}},
		{name: "empty", links: "source,target\nx,\n", change: alone, fault: "line 2: an end of the edge is empty"},
		{name: "skipped", links: "source,target\nx,\nx,y\n", change: func(s *Tables) { s.Nodes, s.SkipUnknown = "", true }, want: map[string]string{"edges.csv": "from,to\n0,1\n"}},
		{name: "none", links: "source,target\n", change: alone, fault: "has no edge"},
		{name: "labels", links: "source,target\nx,y\n", change: func(s *Tables) { s.Nodes, s.Label = "", "y" }, fault: "--label is about vertices: give their table"},
	})
}

// Ends that may be of two kinds, and edges that are not directed, are noted.
func TestLinkDoubts(t *testing.T) {
	alone := func(s *Tables) { s.Nodes = "" }
	var apart, mixed strings.Builder
	for v := range 12 {
		fmt.Fprintf(&apart, "a%d,p%d\n", v, v)
		fmt.Fprintf(&mixed, "a%d,a%d\n", v, v*v)
	}
	try(t, []reading{
		{name: "two kinds", links: "author,paper\n" + apart.String(), change: alone, notes: []string{"by their places", `no id of column "author" stands in column "paper"`}},
		{name: "two kinds that share ids", links: "userId,movieId,rating\n1,1,4.0\n1,3,4.0\n2,2,5.0\n", change: alone,
			notes: []string{"by their places", `"userId" and "movieId" are read as ids of the same vertices; if they are of two kinds`}},
		{name: "two kinds that share none", links: "user_id,movie_id\nu1,m1\nu2,m1\n", change: alone, notes: []string{"by their places"}},
		{name: "one kind by place", links: "author,paper\n" + mixed.String(), change: alone, notes: []string{"by their places"}},
		{name: "dates", links: "p,q\n2024-01-01,2024-01-02\n2024-01-03,2024-01-04\n", change: alone,
			fault: `edges.csv: column "p", taken for an end of the edges, holds dates: call the two columns of the ends source and target`},
		{name: "distances", links: "p,q\na,1.5\nb,2\n", change: alone, fault: `column "q", taken for an end of the edges, holds numbers with fractions`},
		{name: "adjacency matrix", links: "a,b,c,d\n0,1,0,0\n1,0,1,0\n0,1,0,1\n0,0,1.0,0\n", change: alone, fault: "looks like an adjacency matrix, with as many lines as columns, of nothing but 0 and 1: write a line for each edge"},
		{name: "no matrix", links: "p,q,r\n0,1,0\n1,0,1\n0,1,0\n1,1,1\n", change: alone, notes: []string{"by their places"}},
		{name: "no matrix, by name", links: "source,target,r\n0,1,0\n1,0,1\n0,0,0\n", change: alone},
		{name: "floats that are whole", links: "p,q\n1.0,2.0\n2.0,3.0\n", change: alone, notes: []string{"by their places"}},
		{name: "one kind", links: "source_id,target_id\n1,2\n2,1\n", change: alone},
		{name: "not directed", links: "source,target,directed\n1,2,false\n2,3,true\n", change: alone, notes: []string{"says Undirected in 1 of 2 edges; give --edges symmetric to train, data info and data import"}},
	})
}
