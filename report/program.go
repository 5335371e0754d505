package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"capgnn/model"
)

// diagram is a picture of a program: a row for each node, in the order in which they run, and on its left a rail from
// each value down to the nodes that read it. Long programs go on in a further column.
type diagram struct {
	ID, Title, Note string
	Height          float64 // of a column
	Columns         []diagramColumn
	Legend          []diagramKey
}

// diagramColumn is a stretch of the rows.
type diagramColumn struct {
	Rails []rail
	Bands []band
	Dots  []dot
}

// rail is a value on its way, in the colour of its space.
type rail struct {
	Colour int
	Fixed  bool // it is computed once, and drawn dashed
	Path   string
}

// band marks a row at which parts meet.
type band struct {
	Y      float64
	Colour int
}

// dot is a node with its texts.
type dot struct {
	X, Y, Left        float64 // of the dot and its text
	Colour            int
	Fixed             bool
	Op, Detail, Right string
	Text              string // under the pointer
}

// diagramKey is an entry of the legend.
type diagramKey struct {
	Colour int
	Name   string
}

// Of a diagram: heights of a row and of a band, the widths of a lane, of all lanes and, about, of a letter, how many
// rows a further column is made for, how many columns lie beside each other, and how many rows are drawn.
const (
	rowHigh, bandHigh     = 17.0, 16.0
	laneWide, lanesWide   = 11.0, 110.0
	diagramLetter         = 5.9
	columnRows, maxBeside = 20, 3
	maxDiagramRows        = 240
)

// spaces are the colours of values.
var spaces = []diagramKey{{0, "rows of vertices"}, {1, "rows of edges"}, {2, "one for all"}}

func spaceOf(n *model.Node) int {
	switch n.Space {
	case model.Vertices:
		return 0
	case model.Global:
		return 2
	}
	return 1
}

// programSection draws the program of the model.
func (r *Run) programSection() (section, bool) {
	if r.Program == nil {
		return section{}, false
	}
	return sectionOf("Model", "", diagramOf(r.Program))
}

// diagramOf draws a program.
func diagramOf(p *model.Program) *diagram {
	reach, fixed, depth := p.Reach(), p.Fixed(), p.Depth()
	var rows []int // nodes that the logits depend on
	for i := p.Tensors; i < len(p.Nodes); i++ {
		if reach[i] >= 0 {
			rows = append(rows, i)
		}
	}
	d := &diagram{ID: "program", Title: "Program", Legend: spaces,
		Note: "Dashed and hollow: computed once, before training. Marked: parts exchange rows, or add up their sums."}
	if len(rows) > maxDiagramRows {
		d.Note = fmt.Sprintf("The first %d of %d nodes. ", maxDiagramRows, len(rows)) + d.Note
		rows = rows[:maxDiagramRows]
	}
	lanes, readers := lanesOf(p, rows)
	wide := min(laneWide, lanesWide/float64(slices.Max(lanes)+1))
	x := func(row int) float64 { return 8 + wide*float64(lanes[row]) }
	left := 8 + wide*float64(slices.Max(lanes)) + 12
	beside := min((len(rows)+columnRows-1)/columnRows, maxBeside)
	each := (len(rows) + beside - 1) / beside
	exchanges := map[int]int{} // their numbers, by depth
	d.Height = rowHigh*float64(each) + 6
	for first := 0; first < len(rows); first += each {
		y := func(row int) float64 { return 3 + rowHigh*(float64(row-first)+0.5) }
		end := min(first+each, len(rows))
		c := diagramColumn{}
		for row := range end {
			n := &p.Nodes[rows[row]]
			made := rail{Colour: spaceOf(n), Fixed: fixed[rows[row]]}
			made.Path = railOf(readers[row], row, first, end, x, y)
			if made.Path != "" {
				c.Rails = append(c.Rails, made)
			}
			if row < first {
				continue
			}
			i := rows[row]
			e := dot{X: x(row), Y: y(row), Left: left, Colour: made.Colour, Fixed: made.Fixed, Op: string(n.Op), Right: n.Line}
			switch {
			case made.Fixed && n.Op == model.Src:
				e.Right = "once"
			case made.Fixed:
			case n.Op == model.Src:
				if exchanges[depth[i]] == 0 {
					exchanges[depth[i]] = len(exchanges) + 1
				}
				e.Right = fmt.Sprintf("exchange %d", exchanges[depth[i]])
				c.Bands = append(c.Bands, band{e.Y - bandHigh/2, 1})
			case p.Reduces(i):
				e.Right = "sum over parts"
				c.Bands = append(c.Bands, band{e.Y - bandHigh/2, 2})
			}
			e.Detail, e.Text = detailOf(p, n), strings.TrimSpace(fmt.Sprintf("%s %v  %s", n.Name, n.Shape, n.Line))
			room := int((chartWidth-left)/diagramLetter) - len(e.Op) - utf8.RuneCountInString(e.Right) - 3
			e.Detail = shortened(e.Detail, room)
			c.Dots = append(c.Dots, e)
		}
		d.Columns = append(d.Columns, c)
	}
	return d
}

// lanesOf returns the lane of each row, where its rail goes down, and the rows that read it. A value takes the lane of
// the first input that nobody reads further down, else the first that is free.
func lanesOf(p *model.Program, rows []int) (lanes []int, readers [][]int) {
	at := map[int]int{} // rows of nodes
	lanes, readers = make([]int, len(rows)), make([][]int, len(rows))
	for row, i := range rows {
		at[i] = row
		for _, u := range p.Nodes[i].In {
			if r, is := at[u]; is && (len(readers[r]) == 0 || readers[r][len(readers[r])-1] != row) {
				readers[r] = append(readers[r], row)
			}
		}
	}
	var until []int // the row up to which a lane is taken
	for row, i := range rows {
		lane := -1
		for _, u := range p.Nodes[i].In {
			if r, is := at[u]; is && lane < 0 && until[lanes[r]] == row {
				lane = lanes[r]
			}
		}
		if lane < 0 {
			lane = slices.IndexFunc(until, func(end int) bool { return end <= row })
		}
		if lane < 0 {
			lane, until = len(until), append(until, 0)
		}
		end := row + 1 // of a value that nobody reads
		if n := len(readers[row]); n > 0 {
			end = readers[row][n-1]
		}
		lanes[row], until[lane] = lane, end
	}
	return lanes, readers
}

// railOf is the path from a row to its readers, as far as it lies in the rows from first up to end.
func railOf(readers []int, row, first, end int, x func(int) float64, y func(int) float64) string {
	var b strings.Builder
	top, x0 := y(max(row, first)), x(row)
	if row < first {
		top = 0
	}
	if row >= end {
		return ""
	}
	last := top
	for _, r := range readers {
		switch {
		case r < first:
		case r >= end:
			last = y(end-1) + rowHigh/2 + 3
		case x(r) == x0:
			last = y(r)
		default:
			last = max(0, y(r)-rowHigh*0.8)
			fmt.Fprintf(&b, "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x0, last, x0, y(r)-rowHigh*0.2, x(r), y(r)-rowHigh*0.6, x(r), y(r))
		}
	}
	if last > top {
		fmt.Fprintf(&b, "M%.1f %.1fV%.1f", x0, top, last)
	}
	return b.String()
}

// detailOf says what a node reads of tensors, and what it is told.
func detailOf(p *model.Program, n *model.Node) string {
	said := []string{n.What, n.How}
	switch n.Op {
	case model.Const:
		if n.What == model.Number {
			said = []string{fmt.Sprintf("%.4g", n.Value)}
		}
	case model.Dropout:
		said = append(said, fmt.Sprintf("%.4g", n.P))
	case model.Add:
		if slices.ContainsFunc(n.Coef, func(c float64) bool { return c != 1 }) {
			said = append(said, strings.Trim(fmt.Sprintf("%.3g", n.Coef), "[]"))
		}
	}
	for _, i := range n.In {
		said = append(said, p.Nodes[i].Name)
		if i >= p.Tensors {
			said[len(said)-1] = ""
		}
	}
	return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), " ")
}

// shortened leaves the end of a text that is longer than room, where names of tensors differ.
func shortened(text string, room int) string {
	letters := []rune(text)
	if over := len(letters) - max(room, 1); over > 0 {
		return "…" + string(letters[cmp.Or(min(over+1, len(letters)), 1):])
	}
	return text
}
