package report

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/interpreter/programs"
	"capgnn/model"
)

// A chain is one straight rail; what a residual skips lies beside it. What is computed once is dashed, exchanges are
// numbered without it, names of tensors and lines of the user stand beside, and a page escapes them.
func TestDiagram(t *testing.T) {
	p, err := model.Parse([]byte(`{"capgnn_model": 1, "features": 3, "outputs": 2, "graphs": {"g": {}},
		"tensors": {"<W>": [2, 3], "V": [2, 2]}, "nodes": [
		["x", "input"], ["s", "src", ["x"], {"graph": "g"}], ["a", "sum_in", ["s"], {"graph": "g"}], ["h", "linear", ["a", "<W>"]],
		["d", "dropout", ["h"], {"p": 0.25}], ["e", "src", ["d"], {"graph": "g"}], ["b", "sum_in", ["e"], {"graph": "g"}], ["l", "linear", ["b", "V"]],
		["o", "add", ["h", "l"], {"coef": [1, 0.5]}], ["unused", "relu", ["h"]]], "logits": "o", "line": {"h": "net.py:12"}}`))
	if err != nil {
		t.Fatal(err)
	}
	d := diagramOf(p)
	if len(d.Columns) != 1 || len(d.Columns[0].Dots) != 9 || len(d.Columns[0].Bands) != 1 || len(d.Columns[0].Rails) != 8 {
		t.Fatalf("%+v", d)
	}
	var got []string
	for _, e := range d.Columns[0].Dots {
		lane := int((e.X - 8) / laneWide)
		got = append(got, strings.TrimSpace(fmt.Sprint(lane, " ", map[bool]string{true: "once "}[e.Fixed], e.Op, " ", e.Detail, " ", e.Right)))
	}
	want := []string{"0 once input", "0 once src  once", "0 once sum_in", "0 linear <W> net.py:12", "1 dropout 0.25", "1 src  exchange 1", "1 sum_in", "1 linear V", "0 add 1 0.5"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var page bytes.Buffer
	if err := WriteRun(&page, Run{Name: "run", Program: p}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`data-diagram`, html.EscapeString("<W>"), `class="hollow s0"`, "curve s0 dash"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// Every value of a drawn program that the logits depend on has a dot, every reader a rail that ends at it, and no two
// rails go down one lane at once, also where columns break.
func TestDiagramsOfDrawnPrograms(t *testing.T) {
	number := regexp.MustCompile(`[-0-9.]+`)
	for seed := range uint64(60) {
		p, err := model.Parse([]byte(programs.Draw(seed, 6, 3)))
		if err != nil {
			t.Fatal(err)
		}
		var rows []int
		for i, r := range p.Reach() {
			if i >= p.Tensors && r >= 0 {
				rows = append(rows, i)
			}
		}
		lanes, readers := lanesOf(p, rows)
		for row, lane := range lanes {
			for other := row + 1; other < len(rows) && len(readers[row]) > 0 && other < readers[row][len(readers[row])-1]; other++ {
				if lanes[other] == lane {
					t.Fatalf("seed %d: rows %d and %d go down lane %d", seed, row, other, lane)
				}
			}
		}
		d, dots := diagramOf(p), 0
		for _, c := range d.Columns {
			dots += len(c.Dots)
			for _, r := range c.Rails {
				for _, x := range number.FindAllString(r.Path, -1) {
					var v float64
					if _, err := fmt.Sscan(x, &v); err != nil || v < 0 || v > d.Height {
						t.Fatalf("seed %d: rail %q leaves a picture of %g", seed, r.Path, d.Height)
					}
				}
			}
		}
		if dots != len(rows) {
			t.Errorf("seed %d: %d dots of %d nodes", seed, dots, len(rows))
		}
	}
}
