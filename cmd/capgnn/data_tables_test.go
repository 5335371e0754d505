package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset/tables"
)

// Tables as people have them: a split, unknown classes, weights before the ends of edges.
func TestDataTables(t *testing.T) {
	s := newSandbox(t)
	s.writeFiles("in", map[string]string{
		"nodes.csv": "Unnamed: 0,id,x,joined,split,cls\n0,a,1,2024-01-31,train,p\n1,b,,2024-02-01,train,NA\n2,c,3,,val,q\n3,d,4,2024-02-02,test,p\n",
		"links.csv": "weight,source,target\n2,a,b\n3,b,c\n5,c,d\n",
		"code.csv":  "id,agegroup,cls\na,20_29,p\nb,30_39,q\nc,20_29,p\n",
	})
	args := []string{"data", "tables", "--nodes", "in/nodes.csv", "--links", "in/links.csv", "--label", "cls", "--weight", "weight", "--missing", "mean", "--json", "--out", "out"}
	stdout, stderr, code := s.run(args...)
	var w tables.Written
	if err := json.Unmarshal([]byte(stdout), &w); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v, %s", code, err, stderr)
	}
	if w.Vertices != 4 || w.Edges != 3 || !slices.Equal(w.Features, []string{"x", "joined"}) || !slices.Equal(w.Classes, []string{"p", "q"}) || w.Unlabelled != 1 || w.Filled != 2 ||
		w.Split == nil || *w.Split != (tables.Split{Train: 2, Val: 1, Test: 1}) {
		t.Errorf("written %+v", w)
	}
	for _, want := range []string{`counts lines and is left out`, `"joined" holds dates`, `"split" is read as the split`, "not known where it is NA", `from column "source"`} {
		if !slices.ContainsFunc(w.Notes, func(note string) bool { return strings.Contains(note, want) }) {
			t.Errorf("no note says %q: %q", want, w.Notes)
		}
	}
	for name, want := range map[string]string{
		"edges.csv": "from,to,weight\n0,1,2\n1,2,3\n2,3,5\n", "features.csv": "x,joined\n1,19753\n2.6666666666666665,19754\n3,19754\n4,19755\n",
		"train.csv": "train\n1\n1\n0\n0\n", "labels.csv": "cls\n0\n-1\n1\n0\n",
	} {
		if got, err := os.ReadFile(s.path("out/" + name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	s.fails(term.ExitUsage, []string{`code.csv: line 2: column "agegroup" holds "20_29", which is no number: give --categorical agegroup`}, "data", "tables", "--nodes", "in/code.csv", "--links", "in/links.csv", "--label", "cls", "--out", "new")
	s.fails(term.ExitUsage, []string{"--categorical: "}, "data", "tables", "--nodes", "in/code.csv", "--links", "in/links.csv", "--categorical", `"x`, "--out", "new")
	if term.Exists(s.path("new")) {
		t.Error("a table that is wrong left a folder")
	}
}

// Edges alone make a data set without labels, on which nothing is trained.
func TestDataTablesOfEdges(t *testing.T) {
	s := newSandbox(t)
	var links strings.Builder
	links.WriteString("source,target\n")
	for v := range 30 {
		fmt.Fprintf(&links, "p%d,p%d\n", v, (v+1)%30)
	}
	s.writeFiles("in", map[string]string{"links.csv": links.String()})
	if text := s.must("data", "tables", "--links", "in/links.csv", "--out", "out"); !strings.Contains(text, "training needs labels: --nodes and --label") || strings.Contains(text, "--features degree") {
		t.Errorf("the summary is\n%s", text)
	}
	if text := strings.Join(strings.Fields(s.must("data", "info", "out", "--quiet")), " "); !strings.Contains(text, "vertices 30") {
		t.Errorf("info says\n%s", text)
	}
	s.fails(term.ExitUsage, []string{"--label is about vertices"}, "data", "tables", "--links", "in/links.csv", "--label", "y", "--out", "new")
}
