package report

import "fmt"

// strip is a picture of what each part held when: a row for each part, and time across.
type strip struct {
	ID, Title, Note string
	Down, Across    string // what rows are, and what is across
	Cells           []stripCell
	Heads           []head
	Height          float64 // of the picture, which is chartWidth wide
	Data            []held
}

// stripCell is what a part held for a while.
type stripCell struct {
	X, Y, Width, Height, Opacity float64
	Text, Inside                 string // what it says under the pointer, and in the picture where there is room
}

// held says that part i of c held chunk (i + Shift) mod c, and its own, in the epochs from From up to To and without it.
type held struct {
	Shift int `json:"shift"`
	From  int `json:"from"`
	To    int `json:"to"`
}

// Of a strip in its picture: where the cells begin, how high they are, and how much is drawn.
const (
	stripLeft, stripTop = 40.0, 22.0
	stripHigh           = 22.0
	stripTall           = 320.0 // of all cells together, at most
	stripLetters        = 11.0  // the least height of a cell that text stands in
	maxStripParts       = 40
	maxStripCells       = 4000
)

// stripOf draws what c parts held; nil where that are too many to be told apart.
func stripOf(s strip, c int, all []held) *strip {
	if c < 2 || c > maxStripParts || len(all) == 0 || c*len(all) > maxStripCells {
		return nil
	}
	first, last := all[0].From, all[len(all)-1].To
	high := min(stripHigh, stripTall/float64(c))
	wide := (chartWidth - stripLeft - marginRight) / float64(last-first)
	for _, h := range all {
		x, width := stripLeft+wide*float64(h.From-first), wide*float64(h.To-h.From)
		for part := range c {
			added := (part + h.Shift) % c
			cell := stripCell{X: x, Y: stripTop + high*float64(part), Width: width, Height: high, Opacity: 0.1 + 0.55*float64(added)/float64(c-1),
				Text: fmt.Sprintf("%s: part %d adds chunk %d", spanOf(h), part, added)}
			if text := fmt.Sprint(added); high >= stripLetters && float64(len(text))*matrixLetter+2 < width {
				cell.Inside = text
			}
			s.Cells = append(s.Cells, cell)
		}
	}
	for part := range c {
		if high >= stripLetters || part%5 == 0 {
			s.Heads = append(s.Heads, head{stripLeft - 10, stripTop + high*(float64(part)+0.5) + 4, fmt.Sprint(part)})
		}
	}
	below := stripTop + high*float64(c) + 14
	s.Heads = append(s.Heads, head{stripLeft + 4, below, fmt.Sprint(first)})
	if last-1 > first {
		s.Heads = append(s.Heads, head{chartWidth - marginRight - 8, below, fmt.Sprint(last - 1)})
	}
	s.Height, s.Data = below+6, all
	return &s
}

// spanOf names the epochs of h.
func spanOf(h held) string {
	if h.To == h.From+1 {
		return fmt.Sprintf("epoch %d", h.From)
	}
	return fmt.Sprintf("epochs %d to %d", h.From, h.To-1)
}

// Middle is where a text in the cell stands.
func (c stripCell) Middle() float64 { return c.X + c.Width/2 }

// Base is the line of a text in the cell.
func (c stripCell) Base() float64 { return c.Y + c.Height/2 + 3.5 }
