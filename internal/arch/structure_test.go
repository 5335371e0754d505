package arch

import (
	"flag"
	"fmt"
	"html"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw docs/figures/structure.svg anew, with dot of Graphviz")

// The picture of docs/architecture.md has the folders of its table and what they import, as docs/layers.txt says. An arrow is left
// out where others lead the same way.
func TestStructure(t *testing.T) {
	boxes := structure(t)
	var edges []string
	for from, to := range boxes {
		for _, box := range slices.Sorted(maps.Keys(to)) {
			if !to[box] {
				edges = append(edges, from+"->"+box)
			}
		}
	}
	slices.Sort(edges)
	path := filepath.Join(root, "docs", "figures", "structure.svg")
	if *update {
		draw(t, path, slices.Sorted(maps.Keys(boxes)), edges)
	}
	picture, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var drawn []string
	for _, m := range regexp.MustCompile(`<title>(.*)</title>`).FindAllStringSubmatch(string(picture), -1) {
		if title := html.UnescapeString(m[1]); title != "structure" {
			drawn = append(drawn, title)
		}
	}
	slices.Sort(drawn)
	want := slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(boxes)), edges...)))
	if !slices.Equal(drawn, want) {
		t.Errorf("docs/figures/structure.svg is not what packages import: go test ./internal/arch -run TestStructure -update\nit has %q\nwant %q", drawn, want)
	}
}

// structure returns by folder which folders it imports, itself or through packages that are not in the table, and whether a longer way
// leads there too.
func structure(t *testing.T) map[string]map[string]bool {
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(text), "\n## ")
	imports := map[string]map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|").FindAllStringSubmatch(table, -1) {
		for f := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			imports[f] = map[string]bool{}
		}
	}
	if len(imports) < 20 {
		t.Fatalf("only %d folders are in the table of docs/architecture.md", len(imports))
	}
	text, err = os.ReadFile(filepath.Join(root, "docs", "layers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := readTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var follow func(pkg string, found map[string]bool)
	follow = func(pkg string, found map[string]bool) {
		list := layers.allowed[pkg]
		if slices.Contains(list, "*") {
			list = slices.Collect(maps.Keys(layers.allowed))
		}
		for _, p := range list {
			if slices.Contains([]string{"gpu/gputest", "gpu/faulty", "tensors", pkg}, p) {
				continue // for tests, and for Go callers: the program has none of them
			}
			if imports[p] != nil {
				found[p] = false
			} else {
				follow(p, found)
			}
		}
	}
	for folder, found := range imports {
		follow(folder, found)
	}
	var below func(folder string) map[string]bool // all that it reaches
	below = func(folder string) map[string]bool {
		all := map[string]bool{}
		for p := range imports[folder] {
			all[p] = true
			maps.Copy(all, below(p))
		}
		return all
	}
	for _, found := range imports {
		for p := range found {
			for next := range found {
				found[p] = found[p] || below(next)[p]
			}
		}
	}
	return imports
}

// draw writes the picture. Its lines and letters have the colours of those of the other figures, in the dark too.
func draw(t *testing.T, path string, boxes, edges []string) {
	var dot strings.Builder
	dot.WriteString("digraph structure { bgcolor=transparent; rankdir=TB; nodesep=0.15; ranksep=0.35; node [shape=box, fontname=\"DejaVu Sans\", fontsize=11, height=0.3, margin=\"0.08,0.03\"]; edge [arrowsize=0.6];\n")
	for _, b := range boxes {
		fmt.Fprintf(&dot, "%q [label=%q];\n", b, strings.Replace(b, "cmd/capgnn/internal/", "…/", 1))
	}
	for _, e := range edges {
		from, to, _ := strings.Cut(e, "->")
		fmt.Fprintf(&dot, "%q -> %q;\n", from, to)
	}
	dot.WriteString("}\n")
	cmd := exec.Command("dot", "-Tsvg")
	cmd.Stdin, cmd.Stderr = strings.NewReader(dot.String()), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("dot of Graphviz: %v", err)
	}
	svg := string(out)
	svg = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*"`).ReplaceAllString(svg, `<svg role="img" aria-label="Which folders import which."`)
	svg = regexp.MustCompile(`<!--.*?-->\n`).ReplaceAllString(svg, "")
	svg = strings.Replace(svg, "<g id=", `<style>text { fill: #1c2430 } polygon, path { stroke: #5b6675 } .node polygon { fill: #f6f8fa } .edge polygon { fill: #5b6675 }
@media (prefers-color-scheme: dark) { text { fill: #e4e9ef } .node polygon { fill: #19212a } }</style>
<g id=`, 1)
	if err := os.WriteFile(path, []byte(svg), 0o644); err != nil {
		t.Fatal(err)
	}
}
