package tables

import (
	"fmt"
	"strings"
	"testing"
)

// Numbers with a point before three digits are noted where semicolons separate.
func TestPointsBetweenThousands(t *testing.T) {
	weight := func(s *Tables) { s.Weight = "w" }
	try(t, []reading{
		{name: "all of a column", nodes: "id;x;y\na;138.580;0.500\nb;2.500;1.25\nc;7;2.5\n", links: "source;target\na;b\n", want: features("x,y\n138.580,0.500\n2.500,1.25\n7,2.5\n"),
			notes: []string{`column "x": 138.580 is read as 138.58; if its point stands between thousands, take it out`}},
		{name: "one value", nodes: "id;x\na;1.500\nb;1.500\n", links: "source;target\na;b\n"},
		{name: "commas", nodes: "id,x\na,1.500\nb,2.500\n"},
		{name: "weights", nodes: "id\na\nb\n", links: "source;target;w\na;b;1.500\nb;a;2.750\n", change: weight, want: map[string]string{"edges.csv": "from,to,weight\n0,1,1.500\n1,0,2.750\n"},
			notes: []string{`column "w": 1.500 is read as 1.5`}},
	})
}

// A number that repeats and lies far from all others may stand for none.
func TestNumbersThatStandForNone(t *testing.T) {
	column := func(values ...string) string {
		text := "id,x\n"
		for v, x := range values {
			text += fmt.Sprintf("v%d,%s\n", v, x)
		}
		return text
	}
	try(t, []reading{
		{name: "below", nodes: column("1.5", "-9999", "3000", "-9999"), links: "source,target\nv0,v1\n", notes: []string{`column "x" holds -9999 in 2 lines, far from all other numbers; if it stands for what is not known, leave these fields empty and give --missing`}},
		{name: "above", nodes: column("20", "77", "999", "999"), links: "source,target\nv0,v1\n", notes: []string{"holds 999 in 2 lines"}},
		{name: "as pandas writes them", nodes: column("20", "-999.0", "99", "77", "99", "-999.0"), links: "source,target\nv0,v1\n", notes: []string{"holds -999 in 2 lines"}},
		{name: "far from 0", nodes: column("2020", "2024", "99", "99"), links: "source,target\nv0,v1\n", notes: []string{"holds 99 in 2 lines"}},
		{name: "once", nodes: column("20", "77", "999"), links: "source,target\nv0,v1\n"},
		{name: "near", nodes: column("0", "77", "99", "99"), links: "source,target\nv0,v1\n"},
		{name: "two values", nodes: column("0", "999", "999"), links: "source,target\nv0,v1\n"},
		{name: "the largest repeats", nodes: column("0", "1", "9", "9"), links: "source,target\nv0,v1\n"},
	})
}

// Several classes in a field are noted, and --label-sep that splits nothing.
func TestSeveralClasses(t *testing.T) {
	label := func(sep string) func(s *Tables) { return func(s *Tables) { s.Label, s.LabelSep = "y", sep } }
	try(t, []reading{
		{name: "commas", nodes: "id,y\na,\"a, b\"\nb,a\nc,\"b, c\"\nd,c\n", change: label(""), notes: []string{"fields such as A, B are classes of their own; if they are several classes of a vertex, give --label-sep ','"}},
		{name: "names with commas", nodes: "id,y\na,\"Rome, Italy\"\nb,\"Oslo, Norway\"\n", change: label("")},
		{name: "lists", nodes: "id,y\na,\"['a', 'b']\"\nb,['a']\nc,[]\n", change: label(""), notes: []string{"fields such as ['A', 'B'] are classes of their own; if they are several classes of a vertex, give --label-sep ','"}},
		{name: "one part alone", nodes: "id,y\na,P;A\nb,P\nc,P\nd,Q\n", change: label(""), notes: []string{"such as A;B are classes of their own; if they are several classes of a vertex, give --label-sep ';'"}},
		{name: "Neo4j", nodes: "id,y\na,:P:A\nb,:P\n", change: label(""), notes: []string{"such as :A:B are classes of their own; if they are several classes of a vertex, give --label-sep ':'"}},
		{name: "PostgreSQL", nodes: "id,y\na,\"{P,A}\"\nb,{P}\n", change: label(""), notes: []string{"such as {A,B} are classes of their own; if they are several classes of a vertex, give --label-sep ','"}},
		{name: "braces split", nodes: "id,y\na,\"{P,A}\"\nb,{P}\n", change: label(","), want: map[string]string{"labels.csv": "A,P\n1,1\n0,1\n"}},
		{name: "slashes", nodes: "id,y\na,P/A\nb,A\n", change: label(""), notes: []string{"give --label-sep '/'"}},
		{name: "languages", nodes: "id,y\na,C\nb,C++\nc,I/O\n", change: label("")},
		{name: "bars", nodes: "id,y\na,a|b\nb,a\nc,b\n", change: label(""), notes: []string{"give --label-sep '|'"}},
		{name: "another separator", nodes: "id,y\na,a|b\nb,c\n", change: label(";"), want: map[string]string{"classes.csv": "y\na|b\nc\n"}, notes: []string{`--label-sep ";" is in no field`}},
	})
}

// Columns that may say who is trained on are noted.
func TestColumnsLikeSplits(t *testing.T) {
	for _, name := range []string{"training", "validation", "holdout", "trainset", "in_train", "train_split", "test_idx", "cv", "y_train", "isTrainSet", "TRAIN", "istest", "kfold", "mask"} {
		try(t, []reading{{name: name, nodes: "id," + name + "\na,1\nb,0\nc,1\n", notes: []string{`column "` + name + `" is a feature; if it says who is in which set`}}})
	}
	names := func(columns ...string) func(*Tables) {
		return func(s *Tables) { s.Categorical = columns }
	}
	try(t, []reading{
		{name: "words", nodes: "id,train\na,yes\nb,no\n", notes: []string{"is a feature; if it says who"}},
		{name: "sets as names", nodes: "id,s\na,Train\nb,\nc,valid\n", change: names("s"), notes: []string{`"s" is a feature; if it says who`}},
		{name: "masks as names", nodes: "id,test_mask\na,0\nb,1\n", change: names("test_mask"), notes: []string{`"test_mask" is a feature; if it says who`}},
		{name: "names", nodes: "id,split,test\na,train,pcr\nb,plane,\n", change: names("split", "test")},
		{name: "values", nodes: "id,test\na,0.5\nb,1\n"},
		{name: "many", nodes: "id,training_hours\na,300\nb,20\n"},
		{name: "another word", nodes: "id,latest,contest\na,1,0\nb,0,1\n"},
		{name: "other words", nodes: "id,split\na,tr\nb,te\nc,tr\n", fault: "give --drop split (or train, val, test in it, and --split-column split), or"},
	})
}

// What to do about a column of names, times and lists.
func TestAdvice(t *testing.T) {
	column := func(values ...string) string {
		var all strings.Builder
		all.WriteString("id,c\n")
		for v := range 100 {
			fmt.Fprintf(&all, "v%d,%s\n", v, values[v%len(values)])
		}
		return all.String()
	}
	try(t, []reading{
		{name: "M and F", nodes: column("M", "F"), fault: `holds "M", which is no number: give --categorical c for names`},
		{name: "yes, no and more", nodes: column("No phone service", "No", "No", "Yes", "Yes"), fault: "give --categorical c for names"},
		{name: "times", nodes: column("12:30", "1:05"), fault: `holds "12:30", which is a time (write seconds, or hours): give numbers in c`},
		{name: "gaps in lists", nodes: column(`"[1.5, nan]"`), fault: `holds "[1.5, nan]", in which a number is not known (fill it in): give numbers in c`},
		{name: "F alone", nodes: "id,c\na,F\nb,F\n", want: features("c\n0\n0\n"), notes: []string{`column "c" holds nothing but F, which is read as 0`}},
	})
}

// A column is for one thing.
func TestFlagsThatContradict(t *testing.T) {
	nodes := "id,a,c\na,x,k\nb,y,j\n"
	one, other := []string{"a"}, []string{"c", "a"}
	try(t, []reading{
		{name: "label and drop", nodes: nodes, change: func(s *Tables) { s.Label, s.Drop = "c", other }, fault: `nodes.csv: both --label and --drop name column "c": name it in one of them`},
		{name: "categorical and drop", nodes: nodes, change: func(s *Tables) { s.Categorical, s.Drop = other, one }, fault: `both --categorical and --drop name column "a"`},
		{name: "categorical and lists", nodes: nodes, change: func(s *Tables) { s.Categorical, s.Lists = other, one }, fault: `both --categorical and --lists name column "a"`},
		{name: "ids", nodes: nodes, change: func(s *Tables) { s.Categorical = []string{"id", "a"} }, fault: `column "id" has the ids, and --categorical names it`},
		{name: "ids dropped", nodes: nodes, change: func(s *Tables) { s.Drop = []string{"id", "a", "c"} }},
	})
}

// Smaller doubts, each with its line.
func TestSmallDoubts(t *testing.T) {
	label := func(s *Tables) { s.Label = "y" }
	try(t, []reading{
		{name: "Neo4j's label", nodes: "personId:ID,age:int,:LABEL\na,3,A\nb,4,B\n", change: func(s *Tables) { s.Label = "LABEL" }, want: map[string]string{"labels.csv": "_:LABEL\n0\n1\n"}},
		{name: "spacer", nodes: "id,x,,y\na,1,,2\nb,2,,3\n", want: features("x,y\n1,2\n2,3\n")},
		{name: "no name", nodes: "id,x,,y\na,1,p,2\nb,2,q,3\n", fault: `line 2: column 3, which has no name, holds "p", which is no number: give it a name, or take it out`},
		{name: "bzip2", nodes: "BZh91AY", fault: "is packed by bzip2, not a table of text: unpack it, or pack it by gzip"},
		{name: "classes of pandas", nodes: "id;x;y\na;1,5;0,0\nb;2,5;1,0\n", links: "source;target\na;b\n", change: label, want: map[string]string{"labels.csv": "y\n0\n1\n"}, notes: []string{"a decimal point"}},
		{name: "currency", nodes: "id,x\na,$5\nb,$6\n", fault: "which is no number (take the unit or the currency out): give numbers in x"},
		{name: "unit", nodes: "id,x\na,1.5 kg\nb,2 kg\n", fault: "(take the unit or the currency out)"},
		{name: "one class", nodes: "id,y\na,a\nb,a\n", change: label, notes: []string{`are of class "a"`}},
		{name: "a number for a date", nodes: "id,d\na,2024-01-01\nb,\n", change: func(s *Tables) { s.Missing = "0" }, notes: []string{"days since 1970-01-01", "0 stands for dates that are empty"}},
		{name: "features of another kind", nodes: "id\na\nb\n", change: func(s *Tables) { s.Features = "f.CSV" }, fault: "f.CSV: --features takes .json or .npy, not .csv"},
		{name: "question mark", nodes: "id,x\na,1\nb,2\nc,?\n", fault: `"?", which is no number, nor empty (leave the field empty, or write NA, and give --missing): give numbers in x`},
		{name: "lists without brackets", nodes: "id,e\na,\"0.1, 0.2\"\nb,\"1, 2\"\n", fault: "(several stand in brackets: [0.1, 0.2]): give numbers in e"},
		{name: "pandas without a date", nodes: "id,d\na,2024-01-01\nb,NaT\n", change: func(s *Tables) { s.Missing = "mean" }, want: features("d\n19723\n19723\n"), notes: []string{"holds dates"}},
		{name: "errors of Excel", nodes: "id,y\na,p\nb,#NV\n", change: label, notes: []string{`class "#NV" looks like a missing value`}},
		{name: "many columns of a kind", nodes: "id,a,b,c,d,e\np,01,02,03,04,05\nq,01,02,03,04,05\n", links: "source,target\np,q\n", notes: []string{`"a"`, `"b"`, `"c"`, "2 columns more hold numbers that begin with 0, as codes do"}},
		{name: "training without a class", nodes: "id,x,split,y\na,1,train,p\nb,2,train,\nc,3,test,q\n", change: label, notes: []string{"read as the split", "1 of 2 training vertices have no class"}},
		{name: "frames joined and reset", nodes: "index,id,x\n0,a,1\n1,b,2\n0,c,3\n", want: features("x\n1\n2\n3\n"), notes: []string{"its ids are in", `column 1, "index", counts lines and is left out`}},
		{name: "frames reset twice", nodes: "level_0,index,id,x\n0,0,a,1\n1,1,b,2\n2,0,c,3\n", want: features("x\n1\n2\n3\n"), notes: []string{"its ids are in", `column 1, "level_0", counts lines`, `column 2, "index", counts lines`}},
		{name: "frames written twice", nodes: ",Unnamed: 0,id,x\n0,0,a,1\n1,1,b,2\n2,0,c,3\n", want: features("x\n1\n2\n3\n"), notes: []string{"its ids are in", `column 1, "", counts`, `column 2, "Unnamed: 0", counts lines`}},
		{name: "an index of another kind", nodes: "index,id,x\n3,a,1\n1,b,2\n3,c,3\n", want: features("feature index,x\n3,1\n1,2\n3,3\n"), notes: []string{"its ids are in"}},
		{name: "frames that pandas joined", nodes: ",id,x\n0,a,1\n1,b,2\n0,c,3\n", want: features("x\n1\n2\n3\n"), notes: []string{"its ids are in", `column 1, "", counts lines and is left out`}},
		{name: "values without a name", nodes: ",id,x\n0.5,a,1\n1,b,2\n", want: features("column 1,x\n0.5,1\n1,2\n"), notes: []string{"its ids are in"}},
		{name: "GDF", nodes: "nodedef>name VARCHAR,label VARCHAR\na,x\n", fault: "is a GDF graph, and no table: `capgnn data import"},
		{name: "features of one name", nodes: "id,e,e_0\na,\"[1,2]\",5\nb,\"[3,4]\",6\n", fault: `two features would be called "e_0": rename a column`},
		{name: "number as name", nodes: "id,2020,age\na,9,1\nb,8,2\n", want: map[string]string{"features.csv": "_2020,age\n9,1\n8,2\n", "columns.csv": "column\n2020\nage\n"}},
	})
}

// A feature that tells the class is noted.
func TestAnswer(t *testing.T) {
	var same, almost strings.Builder
	same.WriteString("id,club_id,x,y\n")
	almost.WriteString("id,club_id,x,y\n")
	for v := range 12 {
		fmt.Fprintf(&same, "v%d,%d,%d,c%d\n", v, v%3, v, v%3%2)
		fmt.Fprintf(&almost, "v%d,%d,%d,c%d\n", v, v%3, v, max(v, 1)%3%2)
	}
	spelled := func(name, classes string, fields ...string) string {
		text := "id,y,x," + name + "\n"
		for v := range 24 {
			text += fmt.Sprintf("v%d,%c,%d,%s\n", v, classes[v%4], v, fields[v%4])
		}
		return text
	}
	label := func(s *Tables) { s.Label = "y" }
	links := "source,target\nv1,v2\n"
	try(t, []reading{
		{name: "same", nodes: same.String(), links: links, change: label, notes: []string{`column "club_id" alone determines the class of every vertex`}},
		{name: "a category", nodes: same.String(), links: links, change: func(s *Tables) { s.Label, s.Categorical = "y", []string{"club_id"} }, notes: []string{`column "club_id" alone determines`}},
		{name: "yes and no", nodes: spelled("old", "abab", "Yes", "1", "No", "false"), links: links, change: label},
		{name: "numbers", nodes: spelled("old", "abab", "1", "1.0", "2", "2.0"), links: links, change: label},
		{name: "spelled sets", nodes: spelled("split", "abab", "Train", "TRAIN", "Val", "val"), links: links, change: label, notes: []string{`column "split" is read as the split, not as a feature`}},
		{name: "sets", nodes: spelled("split", "aaab", "Train", "TRAIN", "train", "val"), links: links, change: label,
			notes: []string{`column "split" is read as the split, not as a feature`, `column "split" alone tells the class of every vertex, and the set of each: the sets are of different classes`}},
		{name: "almost", nodes: almost.String(), links: links, change: label},
		{name: "few", nodes: "id,x,y\na,1,p\nb,2,q\n", change: label},
	})
}
