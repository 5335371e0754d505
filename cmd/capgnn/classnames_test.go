package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Names of classes, as data tables has kept them, stand wherever classes do.
func TestClassNamesAreShown(t *testing.T) {
	s := newSandbox(t)
	var nodes, links strings.Builder
	nodes.WriteString("id,a,b,team\n")
	links.WriteString("from,to\n")
	for v := range 60 {
		fmt.Fprintf(&nodes, "v%d,%d,%d,%s\n", v, v%2, v%3, []string{`"blue, dark"`, "red"}[v%2])
		fmt.Fprintf(&links, "v%d,v%d\nv%d,v%d\n", v, (v+2)%60, (v+2)%60, v)
	}
	for name, text := range map[string]string{"nodes.csv": nodes.String(), "links.csv": links.String()} {
		if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.must("data", "tables", "--quiet", "--nodes", "nodes.csv", "--links", "links.csv", "--label", "team", "--out", "teams")
	s.must("data", "import", "teams", "--quiet", "--out", "store")
	for _, data := range []string{"teams", "store"} {
		if text := strings.Join(strings.Fields(s.must("data", "info", data, "--quiet")), " "); !strings.Contains(text, "blue, dark 30 red 30") {
			t.Errorf("%s: info says\n%s", data, text)
		}
		table := s.must("train", "--quiet", "--dataset", data, "--hidden", "4", "--epochs", "2", "--devices", "cpu:threads=1", "--run-dir", data+"-run")
		if !strings.Contains(table, `2: "blue, dark", red`) {
			t.Errorf("%s: train says\n%s", data, table)
		}
		page, err := os.ReadFile(s.path(data + "-run/report.html"))
		if err != nil || !strings.Contains(string(page), "blue, dark, red") {
			t.Errorf("%s: the report does not name the classes: %v", data, err)
		}
		s.must("predict", "--quiet", "--run", data+"-run", "--what", "labels", "--out", data+".csv")
		text, err := os.ReadFile(s.path(data + ".csv"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(lines) != 61 || lines[0] != "vertex,id,split,label,class" {
			t.Fatalf("%s: %d lines, the first is %q", data, len(lines), lines[0])
		}
		for v, line := range lines[1:] {
			if !strings.HasPrefix(line, fmt.Sprintf("%d,v%d,", v, v)) {
				t.Fatalf("%s: vertex %d: %q", data, v, line)
			}
			if !strings.HasSuffix(line, `,0,"blue, dark"`) && !strings.HasSuffix(line, ",1,red") {
				t.Fatalf("%s: predicted %q", data, line)
			}
		}
	}
}
