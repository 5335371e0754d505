package tables

import (
	"fmt"
	"strings"
	"testing"
)

// What a label is, and which number a class has.
func TestClasses(t *testing.T) {
	label := func(s *Tables) { s.Label = "y" }
	several := func(sep string) func(s *Tables) { return func(s *Tables) { s.Label, s.LabelSep = "y", sep } }
	files := func(labels, classes string) map[string]string {
		return map[string]string{"labels.csv": labels, "classes.csv": classes}
	}
	for _, unknown := range []string{"", "NA", "nan", "None", "null", "<NA>", `\N`} {
		var notes []string
		if unknown != "" {
			notes = []string{"the class is not known where it is " + unknown + " (1 line)"}
		}
		try(t, []reading{{name: "unknown " + unknown, nodes: "id,y\na,red\nb," + unknown + "\nc,green\n", change: label, want: files("y\n1\n-1\n0\n", "y\ngreen\nred\n"), notes: notes}})
	}
	try(t, []reading{
		{name: "minus one", nodes: "id,y\na,1\nb,-1\nc,0\n", change: label, want: files("y\n1\n-1\n0\n", "y\n0\n1\n"), notes: []string{"where it is -1 (1 line)"}},
		{name: "minus one among names", nodes: "id,y\na,red\nb,-1\n", change: label, want: files("y\n1\n0\n", "y\n-1\nred\n"), notes: []string{`class "-1" looks like a missing value and is in 1 line`}},
		{name: "minus one and one", nodes: "id,y\na,1\nb,-1\n", change: label, want: files("y\n1\n0\n", "y\n-1\n1\n"), notes: []string{"-1 is class 0"}},
		{name: "below minus one", nodes: "id,y\na,1\nb,-1\nc,-2\n", change: label, want: files("y\n2\n1\n0\n", "y\n-2\n-1\n1\n"), notes: []string{"-2 is class 0"}},
		{name: "by value", nodes: "id,y\na,10\nb,9\nc,2\nd,0\ne,5\n", change: label, want: files("y\n10\n9\n2\n0\n5\n", "y\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"), notes: []string{"no vertex is of class 1, 3, 4, 6, 7, 8"}},
		{name: "from one", nodes: "id,y\na,1\nb,2\nc,3\n", change: label, want: files("y\n1\n2\n3\n", "y\n0\n1\n2\n3\n"), notes: []string{"no vertex is of class 0"}},
		{name: "far from zero", nodes: "id,y\na,2020\nb,999\n", change: label, want: files("y\n1\n0\n", "y\n999\n2020\n"), notes: []string{"999 is class 0"}},
		{name: "floats of pandas", nodes: "id,y\na,1.0\nb,\nc,0.0\nd,1\n", change: label, want: files("y\n1\n-1\n0\n1\n", "y\n0\n1\n")},
		{name: "codes", nodes: "id,y\na,010\nb,9\n", change: label, want: files("y\n0\n1\n", "y\n010\n9\n")},
		{name: "words that stand for none", nodes: "id,y\na,red\nb,NUL\nc,(none)\nd,green\ne,unknown\nf,99\ng,unknown\nh,-99\n", change: label, want: files("y\n5\n3\n0\n4\n6\n2\n6\n1\n", "y\n(none)\n-99\n99\nNUL\ngreen\nred\nunknown\n"),
			notes: []string{`class "(none)" looks`, `class "-99" looks`, `class "99" looks`, `class "NUL" looks like a missing value and is in 1 line`, `column "y": class "unknown" looks like a missing value and is in 2 lines; leave the field empty where the class is not known`}},
		{name: "pandas' words", nodes: "id,y\na,red\nb,#NA\nc,-1.#IND\nd,#N/A N/A\ne,green\n", change: label, want: files("y\n1\n-1\n-1\n-1\n0\n", "y\ngreen\nred\n"), notes: []string{"(3 lines)"}},
		{name: "numbers among words", nodes: "id,y\na,1\nb,2\nc,3a\n", change: label},
		{name: "question mark", nodes: "id,y\na,?\nb,1\n", change: label, want: files("y\n1\n0\n", "y\n1\n?\n"), notes: []string{`class "?" looks like a missing value and is in 1 line`}},
		{name: "case of letters", nodes: "id,y\na,Red\nb,red\n", change: label, want: files("y\n0\n1\n", "y\nRed\nred\n"), notes: []string{`"Red" and "red" differ in the case of letters only`}},
		{name: "Unicode", nodes: "id,y\na,\u00c5\nb,A\u030a\nc,\u00c5\u200b\n", change: label, want: files("y\n0\n0\n1\n", "y\n\u00c5\n\u00c5\u200b\n"),
			notes: []string{"look the same (Unicode NFC and NFD, or invisible characters); if they mean the same, write one of them"}},
		{name: "quotes", nodes: "id,y\na,'red'\nb,red\n", change: label, notes: []string{`column "y": classes "'red'" and "red" are nearly the same; if`}},
		{name: "the same number", nodes: "id,y\na,0\nb,1.0\nc,1\n", change: label, want: files("y\n0\n1\n1\n", "y\n0\n1\n")},
		{name: "values", nodes: "id,y\na,1\nb,0.5\n", change: label, fault: `nodes.csv: line 3: column "y" holds "0.5": classes are names or whole numbers, not values to predict (regression)`},
		{name: "values with commas", nodes: "id;y\na;1,5\nb;10,5\n", links: "source,target\na,b\n", change: label, fault: `nodes.csv: line 2: column "y" holds "1,5": classes are names or whole numbers, not values to predict (regression); make classes of its ranges, or choose another --label, or, if these are several classes of a vertex, give --label-sep ','`},
		{name: "whole with commas", nodes: "id;y;x\na;1,0;2\nb;0,0;3\nc;;4\n", links: "source,target\na,b\n", change: label, want: files("y\n1\n0\n-1\n", "y\n0\n1\n"), notes: []string{"the comma in numbers is read as a decimal point: 0,0 in line 3 is 0.0"}},
		{name: "thousands", nodes: "id;y\na;1,500\nb;2,500\n", links: "source,target\na,b\n", change: label, fault: `line 2 holds "1,500": is its comma a decimal one or between thousands?`},
		{name: "names and commas", nodes: "id;y\na;1,5\nb;B\n", links: "source,target\na,b\n", change: label, want: files("y\n0\n1\n", "y\n\"1,5\"\nB\n")},
		{name: "minus one and several", nodes: "id,y\na,0|1\nb,1\nc,-1\n", change: several("|"), want: files("_0,1\n1,1\n0,1\n0,0\n", "y\n0\n1\n"), notes: []string{"where it is -1 (1 line)", "vertices without a label"}},
		{name: "several", nodes: "id,y\na,B|A\nb,\nc,B | B\n", change: several("|"), want: files("A,B\n1,1\n0,0\n0,1\n", "y\nA\nB\n"), notes: []string{"vertices without a label count as being of no class: 1 of 3"}},
		{name: "lists of Python", nodes: "id,y\na,\"['x', 'y']\"\nb,[]\nc,['z']\n", change: several(","), want: files("x,y,z\n1,1,0\n0,0,0\n0,0,1\n", "y\nx\ny\nz\n"), notes: []string{"vertices without a label"}},
		{name: "several numbers", nodes: "id,y\na,10;2\nb,1\nc,3;4;5;6;7;8;9;0\n", change: several(";"), want: files("_0,1,2,3,4,5,6,7,8,9,10\n0,0,1,0,0,0,0,0,0,0,1\n0,1,0,0,0,0,0,0,0,0,0\n1,0,0,1,1,1,1,1,1,1,0\n", "y\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n")},
		{name: "several without the flag", nodes: "id,y\na,A|B\nb,B\nc,A\n", change: label, want: files("y\n1\n2\n0\n", "y\nA\nA|B\nB\n"), notes: []string{"give --label-sep '|'"}},
		{name: "several with odd names", nodes: "id,y\na,\"\u00c5\tb|true\"\nb,\"user_id|x \"\"q\"\" y|z\"\n", change: several("|")},
		{name: "rows of 0 and 1", nodes: "id,y\na,\"[1, 0, 0]\"\nb,\"[0, 1, 1]\"\nc,\n", change: several(","), want: files("_0,1,2\n1,0,0\n0,1,1\n0,0,0\n", "y\n0\n1\n2\n"), notes: []string{"rows of 0 and 1 for each of 3 classes", "vertices without a label"}},
		{name: "rows for two classes", nodes: "id,y\na,\"[1, 0]\"\nb,\"[0, 1]\"\n", change: several(","), want: files("_0,1\n1,0\n0,1\n", "y\n0\n1\n"), notes: []string{"rows of 0 and 1 for each of 2 classes"}},
		{name: "rows of truth", nodes: "id,y\na,True;False;True\nb,True;False;False\n", change: several(";"), want: files("_0,1,2\n1,0,1\n1,0,0\n", "y\n0\n1\n2\n"), notes: []string{"rows of 0 and 1", "no vertex is of class 1"}},
		{name: "both classes", nodes: "id,y\na,\"[0, 1]\"\nb,\"[0, 1]\"\n", change: several(","), want: files("_0,1\n1,1\n1,1\n", "y\n0\n1\n")},
		{name: "rows with a gap", nodes: "id,y\na,\"[0, 1, 1]\"\nb,\"[1, 0]\"\n", change: several(","), notes: []string{`column "y": class "1" is there twice in a field and counts once; if fields are rows of 0 and 1, write equally many in each`}},
		{name: "escapes of JSON", nodes: "id,y\na,caf\\u00e9\n", change: label, fault: `"caf\\u00e9" is written in escapes of JSON`},
		{name: "unequal rows", nodes: "id,y\na,\"[0, 1]\"\nb,[1]\n", change: several(","), want: files("_0,1\n1,1\n0,1\n", "y\n0\n1\n")},
		{name: "commas in quotes", nodes: "id,y\na,\"['Drama, war', 'b']\"\nb,\"['b', \"\"O'x, y\"\"]\"\nc,set()\n", change: several(","), want: files("\"Drama, war\",\"O'x, y\",b\n1,0,1\n0,1,1\n0,0,0\n", "y\n\"Drama, war\"\n\"O'x, y\"\nb\n"), notes: []string{"vertices without a label"}},
		{name: "NumPy", nodes: "id,y\na,['New York' 'x']\nb,['x']\n", change: several(" "), want: files("New York,x\n1,1\n0,1\n", "y\nNew York\nx\n")},
		{name: "shortened by NumPy", nodes: "id,y\na,['p' ... 'x']\n", change: several(" "), fault: `line 2: column "y": holds ..., in place`},
		{name: "printed", nodes: "id,y\na,np.str_('p')\n", change: label, fault: `line 2: column "y": "np.str_('p')" is what Python prints`},
		{name: "truth beside numbers", nodes: "id,y\na,True\nb,0\nc,1\n", change: label, notes: []string{`classes "1" and "True" are nearly the same; if they mean the same, write one of them`}},
		{name: "letters beside numbers", nodes: "id,y\na,T\nb,F\nc,1\nd,x\n", change: label, notes: []string{`class "1" looks`}},
		{name: "several of one", nodes: "id,y\na,A\nb,A\n", change: several("|"), fault: "splits it into fewer than two classes (1)"},
		{name: "no column", nodes: "id,y\na,A\n", change: func(s *Tables) { s.LabelSep = "|" }, fault: "give both"},
	})
	var ids strings.Builder
	ids.WriteString("id,y\n")
	for v := range 40 {
		fmt.Fprintf(&ids, "v%d,n%d\n", v, v*7%30)
	}
	var ages strings.Builder
	ages.WriteString("id,y\n")
	for v := range 100 {
		fmt.Fprintf(&ages, "v%d,%d\n", v, v*7%30)
	}
	try(t, []reading{{name: "ages", nodes: ages.String(), links: "source,target\nv1,v2\n", change: label, notes: []string{"holds 30 different whole numbers, each of which is a class; if they are values to predict"}}})
	try(t, []reading{{name: "ids", nodes: ids.String(), change: label, fault: `column "y" holds 30 different texts in 40 lines, too many for classes`}})
}

// Values of --categorical that are different texts and may be meant as the same are noted.
func TestLikeCategories(t *testing.T) {
	city := func(s *Tables) { s.Label, s.Categorical = "", []string{"city"} }
	try(t, []reading{
		{name: "case of letters", nodes: "id,city\na,Rom\nb,ROM\n", change: city, notes: []string{`column "city": values "ROM" and "Rom" differ in the case of letters only; if`}},
		{name: "no width", nodes: "id,city\na,Rom\nb,Rom\u200b\n", change: city, notes: []string{`column "city": values "Rom" and "Rom\u200b" look the same`}},
		{name: "no-break space", nodes: "id,city\na,La Paz\nb,La\u00a0Paz\n", change: city, notes: []string{`column "city": values "La Paz" and "La\u00a0Paz" differ in blanks or dashes only`}},
		{name: "two blanks", nodes: "id,city\na,La  Paz\nb,La Paz\n", change: city, notes: []string{`column "city": values "La Paz" and "La Paz" differ in blanks or dashes only`}},
		{name: "dashes", nodes: "id,city\na,U-Bahn\nb,U\u2010Bahn\n", change: city, notes: []string{`column "city": values "U-Bahn" and "U‐Bahn" differ in blanks or dashes only`}},
		{name: "numbers", nodes: "id,city\na,1\nb,1.0\n", change: city, notes: []string{`column "city": values "1" and "1.0" are nearly the same`}},
		{name: "different", nodes: "id,city\na,1\nb,10\n", change: city},
	})
}
