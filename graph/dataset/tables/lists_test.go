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
		{name: "JSON without numbers", nodes: "id,g\na,\"{\"\"x\"\": \"\"no\"\"}\"\n", change: lists, fault: `nodes.csv: line 2: column "g": "\"no\"", behind "x", is no finite number`},
		{name: "lists of lists", nodes: "id,g\na,\"[{'id': 1}]\"\n", change: lists, fault: "is a list of lists"},
		{name: "not a number", nodes: "id,g\na,2:nan\n", change: lists, fault: `column "g": "nan", behind "2", is no finite number`},
		{name: "beyond float32", nodes: "id,g\na,4:1e39\n", change: lists, fault: `"1e39", behind "4", is no finite number`},
	})
}
