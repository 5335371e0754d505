package tables

import "testing"

// What separates the items of a list.
func TestLists(t *testing.T) {
	lists := func(s *Tables) { s.Lists = []string{"g"} }
	try(t, []reading{
		{name: "Python", nodes: "id,g\na,\"['New York', 'LA']\"\nb,['LA']\nc,[]\n", change: lists, want: features("g=LA,g=New York\n1,1\n1,0\n0,0\n")},
		{name: "NumPy", nodes: "id,g\na,['New York' 'LA']\nb,['LA']\n", change: lists, want: features("g=LA,g=New York\n1,1\n1,0\n")},
		{name: "apostrophes", nodes: "id,g\na,\"[\"\"O'Brien\"\", 'x']\"\nb,O'Brien\n", change: lists, want: features("g=O'Brien,g=x\n1,1\n1,0\n")},
		{name: "comma in quotes", nodes: "id,g\na,\"['x, y', 'z']\"\nb,[]\n", change: lists, want: features("\"g=x, y\",g=z\n1,1\n0,0\n")},
		{name: "bars", nodes: "id,g\na,Science Fiction|Drama\nb,Science Fiction\n", change: lists, want: features("g=Drama,g=Science Fiction\n1,1\n0,1\n")},
		{name: "brackets in names", nodes: "id,g\na,Alien (1979); Up\nb,\n", change: lists, want: features("g=Alien (1979),g=Up\n1,1\n0,0\n")},
		{name: "blanks alone", nodes: "id,g\na,x y\nb,y:2 z\n", change: lists, want: features("g=x,g=y,g=z\n1,1,0\n0,2,1\n")},
		{name: "values with names", nodes: "id,g\na,New York:2|x\nb,x: 3\n", change: lists, want: features("g=New York,g=x\n2,1\n0,3\n")},
		{name: "JSON", nodes: "id,g\na,\"{\"\"x\"\": 1, \"\"y z\"\": 2}\"\nb,{}\n", change: lists, want: features("g=x,g=y z\n1,2\n0,0\n")},
		{name: "JSON without numbers", nodes: "id,g\na,\"{\"\"x\"\": \"\"no\"\"}\"\n", change: lists, fault: `nodes.csv: line 2: column "g": "\"no\"", after "x", is not a finite number`},
		{name: "lists of lists", nodes: "id,g\na,\"[{'id': 1}]\"\n", change: lists, fault: "is a list of lists"},
		{name: "intervals", nodes: "id,g\na,\nb,\"(20, 30]\"\n", change: lists, fault: `nodes.csv: line 3: column "g": "(20, 30]" is an interval, and no list: give it in --categorical`},
		{name: "intervals of dates", nodes: "id,g\na,\"[2020-01-01, 2020-02-01)\"\n", change: lists, fault: `is an interval`},
		{name: "intervals open at the right", nodes: "id,g\na,\"[-inf, 3.5)\"\nb,\"[3.5, inf)\"\nc,\"[3.5, inf)\"\n", fault: `holds "[-inf, 3.5)", which is no number: give --categorical g for names`},
		{name: "vectors of NumPy", nodes: "id,g\na,[67 27.67]\nb,[1 2]\n", change: lists, fault: `nodes.csv: line 2: column "g" holds "[67 27.67]", numbers where --lists wants names: leave it out of --lists, and each number is a feature (if they are names, write ['1', '2'])`},
		{name: "over lines", nodes: "id,g\na,[]\nb,\"[ 1.  2.\n 3.]\"\n", change: lists, fault: "line 3: column \"g\" holds \"[ 1.  2.\\n 3.]\", numbers"},
		{name: "whole numbers", nodes: "id,g\na,\"[1, 2, 3]\"\nb,\"[3, 4, nan]\"\n", change: lists, fault: `line 2: column "g" holds "[1, 2, 3]", numbers`},
		{name: "shortened by NumPy", nodes: "id,g\na,[0 1 ... 8 9]\n", change: lists, fault: `nodes.csv: line 2: column "g": holds ..., in place of what NumPy has left out: write whole lists (a.tolist())`},
		{name: "semicolons", nodes: "id,g\na,(1.0; 2.0)\nb,(1; 2)\n", change: lists, fault: `holds "(1.0; 2.0)", numbers`},
		{name: "without brackets", nodes: "id,g\na,-1;2\nb,3\n", change: lists, fault: `holds "-1;2", numbers`},
		{name: "ids", nodes: "id,g\na,\"[1, 2]\"\nb,[12]\n", change: lists, want: features("g=1,g=2,g=12\n1,1,0\n0,0,1\n")},
		{name: "equally many ids", nodes: "id,g\na,1|2\nb,2|3\n", change: lists, want: features("g=1,g=2,g=3\n1,1,0\n0,1,1\n")},
		{name: "ids in quotes", nodes: "id,g\na,\"['1', '2']\"\nb,\"['2', '3.5']\"\n", change: lists, want: features("g=1,g=2,g=3.5\n1,1,0\n0,1,1\n")},
		{name: "a number among names", nodes: "id,g\na,[1.5]\nb,[x]\n", change: lists, want: features("g=1.5,g=x\n1,0\n0,1\n")},
		{name: "vectors as categories", nodes: "id,g\na,[67 27.67]\nb,[1 2]\n", change: func(s *Tables) { s.Categorical = []string{"g"} }, fault: `nodes.csv: line 2: column "g" holds "[67 27.67]", numbers where --categorical wants names: leave it out of --categorical, and each number is a feature`},
		{name: "pairs as categories", nodes: "id,g\na,[0 1]\nb,[1 1]\n", change: func(s *Tables) { s.Categorical = []string{"g"} }, want: features("g=[0 1],g=[1 1]\n1,0\n0,1\n")},
		{name: "numbers as categories", nodes: "id,g\na,2.5\nb,-1\n", change: func(s *Tables) { s.Categorical = []string{"g"} }, want: features("g=-1,g=2.5\n0,1\n1,0\n")},
		{name: "times", nodes: "id,g\na,12:30:00|11:00:00\n", change: lists, fault: `line 2: column "g": "12:30:00" is a time, and not NAME:VALUE: put times in quotation marks (['12:30:00']), or give the column in --categorical`},
		{name: "times behind dates", nodes: "id,g\na,x\nb,2024-01-31T12:30Z\n", change: lists, fault: `line 3: column "g": "2024-01-31T12:30Z" is a time`},
		{name: "times without seconds", nodes: "id,g\na,12:30\nb,9:45|x\n", change: lists, want: features("g=9,g=12,g=x\n0,30,0\n45,0,1\n"), notes: []string{`column "g": "12:30" is read as "12" with the value 30; if it is a time, put such names in quotation marks`}},
		{name: "times in quotes", nodes: "id,g\na,'12:30'|'9:45:00'\nb,\n", change: lists, want: features("g=12:30,g=9:45:00\n1,1\n0,0\n")},
		{name: "names with colons", nodes: "id,g\na,\"0a:1b,0a:22\"\nb,\n", change: lists, want: features("g=0a,g=0a:1b\n22,1\n0,0\n"), notes: []string{`"0a:22" is read as "0a" with the value 22; if it is one name, as "0a:1b" is, put`}},
		{name: "values like times", nodes: "id,g\na,2:17 3:5\nb,\n", change: lists, want: features("g=2,g=3\n17,5\n0,0\n")},
		{name: "not a number", nodes: "id,g\na,2:nan\n", change: lists, fault: `column "g": "nan", after "2", is not a finite number`},
		{name: "beyond float32", nodes: "id,g\na,4:1e39\n", change: lists, fault: `"1e39", after "4", is not a finite number`},
	})
}

// Lists as Python prints them, and decimal commas in them.
func TestPrintedLists(t *testing.T) {
	lists := func(s *Tables) { s.Lists = []string{"g"} }
	const links = "source,target\na,b\n"
	try(t, []reading{
		{name: "sets", nodes: "id,g\na,set()\nb,\"{'x', 'y'}\"\nc,frozenset({'x'})\nd,frozenset()\n", change: lists, want: features("g=x,g=y\n0,0\n1,1\n1,0\n0,0\n")},
		{name: "arrays", nodes: "id,g\na,\"array(['x'], dtype=object)\"\n", change: lists, fault: `nodes.csv: line 2: column "g": "array(['x']" is what Python prints of an array or one of its values: write lists (a.tolist())`},
		{name: "scalars", nodes: "id,g\na,[np.str_('x')]\n", change: lists, fault: `"np.str_('x')" is what Python prints`},
		{name: "shortened names", nodes: "id,g\na,['x' ... 'y']\nb,\n", change: lists, fault: "in place of what NumPy has left out"},
		{name: "not known", nodes: "id,g\na,\"['x', None]\"\nb,\"[nan, 'None']\"\n", change: lists, want: features("g=None,g=x\n0,1\n1,0\n"), notes: []string{`column "g": fields that are read like empty ones: None, nan (2 fields)`}},
		{name: "escapes", nodes: "id,g\na,\"[\"\"caf\\u00e9 \\ud83d\\ude00\"\", \"\"q \\\"\", x\"\"]\"\nb,\"['a\\xa0b', 'o\\'\"\", z', 'C:\\\\']\"\n", change: lists, want: features("g=C:\\,g=a b,g=caf\u00e9 \U0001f600,\"g=o'\"\", z\",\"g=q \"\", x\"\n0,0,1,0,1\n1,1,0,1,0\n")},
		{name: "decimal commas", nodes: "id;g\na;x:0,5|y:1,5\n", links: links, change: lists, fault: `nodes.csv: line 2: column "g": "x:0,5|y:1,5" has a comma that may be a decimal one: write decimal points, and names with commas in quotation marks`},
		{name: "one decimal comma", nodes: "id\tg\na\tx:0,5\n", links: links, change: lists, fault: `"x:0,5" has a comma that may be`},
		{name: "points", nodes: "id;g\na;x:0.5|y:1.5\nb;x, y\n", links: links, change: lists, want: features("g=x,g=y\n0.5,1.5\n1,1\n")},
		{name: "vectors with decimal commas", nodes: "id\tg\na\t[0,1; 0,2]\n", links: links, fault: `column "g" holds "[0,1; 0,2]", whose commas may be decimal ones (write points): give numbers in g`},
		{name: "vectors", nodes: "id\tg\na\t[0,1, 2]\nb\t(1; 2; 3)\n", links: links, want: features("g_0,g_1,g_2\n0,1,2\n1,2,3\n"), notes: []string{"3 features"}},
	})
}
