package tables

import (
	"fmt"
	"strings"
	"testing"
)

// Ids that are different texts and may be meant as the same are noted.
func TestLikeIDs(t *testing.T) {
	alone := func(s *Tables) { s.Nodes = "" }
	try(t, []reading{
		{name: "floats of pandas", links: "source,target\n1.0,2\n2.0,3\n3.0,1\n", change: alone, want: map[string]string{"ids.csv": "id\n1.0\n2\n2.0\n3\n3.0\n1\n"},
			notes: []string{"ids 2 and 2.0 are two vertices (and so 2 more); if they mean the same, write one of them"}},
		{name: "zeros", links: "source,target\n007,7\n", change: alone, notes: []string{"ids 007 and 7 are two vertices; if"}},
		{name: "both odd", links: "source,target\n007,7.0\n", change: alone, notes: []string{"ids 007 and 7.0 are two vertices; if"}},
		{name: "rounded", links: "source,target\n1.23457E+12,2\n", change: alone, notes: []string{`ids such as "1.23457E+12" are names, and not the numbers they stand for, of which several may be one now`}},
		{name: "rounded vertices", nodes: "id\n1e+05\n1e+05\n", links: "source,target\n1,2\n", fault: `the id "1e+05" is there twice; a spreadsheet may have cut its digits: write all of them`},
		{name: "case of letters", links: "source,target\nAnna,anna\n", change: alone, notes: []string{"ids Anna and anna are two"}},
		{name: "Unicode", links: "source,target\n\u00c5sa,A\u030asa\n", change: alone, notes: []string{"of characters that look the same"}},
		{name: "blanks", links: "source,target\nA\u00a0b,A b\n", change: alone, notes: []string{"are two vertices, which differ in blanks or dashes only; if"}},
		{name: "vertices", nodes: "id\na\nA\n", links: "source,target\na,A\n", notes: []string{"ids a and A are two vertices"}},
		{name: "different numbers", links: "source,target\n10,100\n1e3,7\n", change: alone},
		{name: "comment among edges", links: "source,target\n1,2\n# 3,4\n", change: alone, notes: []string{`line 3: "# 3" is an id like others; if that line is a comment, delete it`}},
		{name: "comment among vertices", nodes: "id\na\n#b\nc\n", links: "source,target\na,c\n", notes: []string{`line 3: "#b" is an id like others`}},
		{name: "sums", nodes: "id;x\nu1;10\nu2;20\nSumme:;30\n", links: "source;target\nu1;u2\n", notes: []string{`line 4: "Summe:", the last id, is a vertex like others; if that line holds sums`}},
		{name: "sums in the middle", nodes: "id\nTotal\nShell\n", links: "source,target\nTotal,Shell\n"},
		{name: "ids with marks", nodes: "id\n#a\n#b\nc\n", links: "source,target\n#a,c\n"},
	})
}

// An id that is not there and may mean another one says so.
func TestUnknownIDs(t *testing.T) {
	skip := func(s *Tables) { s.SkipUnknown = true }
	try(t, []reading{
		{name: "zeros", nodes: "id\n007\n8\n", links: "source,target\n7,8\n", fault: `"7" is not an id in nodes.csv, but 007 is, and ids are compared as text`},
		{name: "case of letters", nodes: "id\nAnna\nBob\n", links: "source,target\nanna,bob\n", fault: `but Anna is, and`},
		{name: "quotes", nodes: "id\n'a1'\n'a2'\n", links: "source,target\na1,a2\n", fault: `but 'a1' is, and`},
		{name: "Unicode", nodes: "id\n\u00c5sa\nB\n", links: "source,target\nA\u030asa,B\n", fault: "but one that looks the same is, of other characters (Unicode NFC and NFD, or invisible ones)"},
		{name: "no width", nodes: "id\n\u200b1\n2\n", links: "source,target\n1,2\n", fault: "but one that looks the same is"},
		{name: "skipped", nodes: "id\n1\n2\n", links: "source,target\n1.0,2\n", change: skip, want: map[string]string{"edges.csv": "from,to\n"},
			notes: []string{"it has no edges", `line 2: the edge is left out: "1.0" is not an id in nodes.csv, but 1 is`}},
		{name: "skipped without one like it", nodes: "id\n1\n2\n", links: "source,target\n3,2\n1,2\n", change: skip},
	})
}

// Another column than the first may hold the ids.
func TestOtherIDs(t *testing.T) {
	label := func(s *Tables) { s.Label = "city" }
	try(t, []reading{
		{name: "numbers", nodes: "age,user_id,city\n3,1,a\n4,2,b\n5,3,b\n", links: "source,target\n3,4\n", change: label,
			notes: []string{`ids are what the first column, "age", holds; if they are in column "user_id", give --id user_id`}},
		{name: "text", nodes: "age,user_id\n3,u1\n4,u2\n5,u3\n", links: "source,target\nu1,u2\n", fault: "give --id user_id (if these are the ids; else --drop user_id), or"},
		{name: "of something else", nodes: "person,team_id\np,1\nq,1\n", links: "source,target\np,q\n"},
		{name: "unknown id in another column", nodes: "id,name\n1,anna\n2,bob\n", links: "source,target\nanna,bob\n", change: func(s *Tables) { s.Drop = []string{"name"} },
			fault: `"anna" is not an id in nodes.csv, but column "name" has it: --id name: correct it`},
	})
}

// A second column that holds all ids of the edges, for other vertices, is noted, and refused where it is called as an end is.
func TestSecondColumnOfIDs(t *testing.T) {
	nodes, same, links := "", "", ""
	for v := range 12 {
		nodes += fmt.Sprintf("%d,%d,%d\n", v, 11-v, v%2)
		same += fmt.Sprintf("%d,%d,%d\n", v, v, v%2)
		links += fmt.Sprintf("%d,%d\n", v, (v+1)%12)
	}
	note := `its ids are looked up in column "id" of nodes.csv; column "user_id" holds all of them too, for other vertices; if it has the ids, give --id user_id`
	named := func(s *Tables) { s.ID = "id" }
	try(t, []reading{
		{name: "noted", nodes: "id,user_id,x\n" + nodes, links: "source,target\n" + links, notes: []string{note}},
		{name: "named by the user", nodes: "id,user_id,x\n" + nodes, links: "user_id,friend_id\n" + links, change: named, notes: []string{`edges go from`, "ids of the same vertices"}},
		{name: "refused", nodes: "id,user_id,x\n" + nodes, links: "user_id,friend_id\n" + links,
			fault: `nodes.csv: which column has the ids? "id" is taken, but "user_id", which names an end of the edges in edges.csv, holds all of them too: give --id user_id or --id id`},
		{name: "ids are an end too", nodes: "id,user_id,x\n" + nodes, links: "id,user_id\n" + links, notes: []string{`edges go from`, note}},
		{name: "the same in each line", nodes: "id,user_id,x\n" + same, links: "source,target\n" + links},
		{name: "not all", nodes: "id,user_id,x\n" + strings.Replace(nodes, "0,11,0", "0,12,0", 1), links: "source,target\n" + links},
		{name: "twice", nodes: "id,user_id,x\n" + nodes + "12,11,0\n", links: "source,target\n" + links},
		{name: "few", nodes: "id,rank\n1,3\n2,1\n3,2\n", links: "source,target\n1,2\n2,3\n"},
	})
}
