package tables

import "testing"

// A first line that may be a vertex is noted.
func TestFirstLine(t *testing.T) {
	links := "source,target\np2,p3\n"
	label := func(s *Tables) { s.Label = "a" }
	try(t, []reading{
		{name: "whole numbers", nodes: "p1,3,2\np2,4,5\np3,1,1\n", links: links, want: features("_3,2\n4,5\n1,1\n"), notes: []string{`names a column "p1", as its ids are written; if that line is a vertex`}},
		{name: "whole numbers beside other ids", nodes: "ann,3,2\np2,4,5\np3,1,1\n", links: links, notes: []string{`names a column "3"; if that line is a vertex`}},
		{name: "name of a category", nodes: "ann,blue\np2,red\np3,blue\n", links: links, change: func(s *Tables) { s.Categorical = []string{"blue"} }, notes: []string{`names a column "blue", which also stands in that column`}},
		{name: "name of a class", nodes: "ann,a\np2,b\np3,a\n", links: links, change: label, notes: []string{`names a column "a", which also stands in that column`}},
		{name: "ids alone", nodes: "p1\np2\np3\n", links: links, notes: []string{`names a column "p1", as its ids are written`}},
		{name: "with a name of ids", nodes: "id,1990,2000\np2,4,5\np3,1,1\n", links: links, want: features("_1990,2000\n4,5\n1,1\n")},
		{name: "columns that count", nodes: "txn,1,2\np2,4,5\np3,1,1\n", links: links},
		{name: "same numbers", nodes: "ann,0.0,a,0.0\np2,0.5,b,1.0\n", links: links, fault: `columns 2 and 4 are both called "0.0": if its first line is a vertex, put a line of names before it`},
	})
}
