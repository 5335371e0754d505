package report

import (
	"cmp"
	"fmt"
	"unicode/utf8"
)

// matrix is a picture of a number for each pair of parts, or of ranks: the more, the darker.
type matrix struct {
	ID, Title, Note string
	Down, Across    string                                      // what the numbers before the rows and above the columns are of
	Says            string                                      // of a pair: %d row, %s number, %d column
	says            func(row, column int, number string) string // the same; nil: Says
	labels          []string                                    // of rows and columns; nil: their numbers
	rows            []float64                                   // what cells of each row are shares of; nil: all of the largest cell
	texts           int                                         // numbers are written into the cells of up to so many; 0: matrixTextParts
	Cells           []cell
	Heads           []head
	Height          float64 // of the picture, which is chartWidth wide
	Data            any     // the rows
}

// cell is one pair.
type cell struct {
	X, Y, Size, Opacity float64
	Text, Inside        string // what it says under the pointer, and in the picture where there is room
}

// head is the number of a part or rank, above its column or before its row.
type head struct {
	X, Y float64
	Text string
}

// Of a matrix in its picture: where the cells begin, and the largest one.
const (
	matrixLeft, matrixTop = 60.0, 40.0
	matrixCell            = 52.0
	matrixLetter          = 5.4 // about the width of a character in a cell
	matrixTextParts       = 8   // numbers are written into the cells of up to so many parts
	matrixHeadParts       = 20  // and parts are numbered up to so many
)

// matrixOf draws rows[i][j]; nil where they are no matrix of two parts or more, or nothing but zeros.
func matrixOf[N int | int64 | float64](m matrix, q quantity, rows [][]N) *matrix {
	n, most := len(rows), 0.0
	for _, row := range rows {
		if len(row) != n {
			return nil
		}
		for _, cell := range row {
			x := float64(cell)
			if !(x >= 0 && x <= largest) {
				return nil
			}
			most = max(most, x)
		}
	}
	if n < 2 || n > maxPartBars || most == 0 {
		return nil
	}
	size := min(matrixCell, (chartWidth-matrixLeft-marginRight)/float64(n))
	m.texts = cmp.Or(m.texts, matrixTextParts)
	if m.says == nil {
		m.says = func(i, j int, number string) string { return fmt.Sprintf(m.Says, i, number, j) }
	}
	for i, row := range rows {
		middle, label := (float64(i)+0.5)*size, fmt.Sprint(i)
		if m.labels != nil {
			label = m.labels[i]
		}
		if m.rows != nil {
			most = max(m.rows[i], 1)
		}
		if n <= matrixHeadParts {
			m.Heads = append(m.Heads, head{matrixLeft + middle, matrixTop - 6, label}, head{matrixLeft - 12, matrixTop + middle + 4, label})
		}
		for j, number := range row {
			x := float64(number)
			c := cell{X: matrixLeft + float64(j)*size, Y: matrixTop + float64(i)*size, Size: size, Opacity: min(0.65, 0.65*x/most), Text: m.says(i, j, written(q, x))}
			if text := written(q, x); n <= m.texts && (x > 0 || i != j && m.rows == nil) && float64(utf8.RuneCountInString(text))*matrixLetter < size {
				c.Inside = text
			}
			m.Cells = append(m.Cells, c)
		}
	}
	m.Height, m.Data = matrixTop+float64(n)*size+6, rows
	return &m
}

// Middle is where a text in the cell stands.
func (c cell) Middle() float64 { return c.X + c.Size/2 }

// Base is the line of a text in the cell.
func (c cell) Base() float64 { return c.Y + c.Size/2 + 4 }

// pairMatrix draws the rows that parts read of each other.
func (r *Run) pairMatrix() *matrix {
	if r.Result == nil {
		return nil
	}
	return matrixOf(matrix{ID: "part-pairs", Title: "Halo rows from part to part", Note: "row: the part that reads; column: the part that owns them",
		Down: "read by", Across: "owned by part", Says: "part %d reads %s of part %d"}, count, r.Result.HaloPairs)
}
