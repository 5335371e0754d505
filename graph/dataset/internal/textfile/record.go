package textfile

import (
	"fmt"
	"io"
)

// maxRecord bounds the bytes of one line of a table.
const maxRecord = 1 << 24

// Records ends the reading of a line of a table that takes too many bytes: whoever reads a table calls Begin before each.
type Records struct {
	r    io.Reader
	left int // bytes that the line may still take
}

// NewRecords returns a reader of the text of r.
func NewRecords(r io.Reader) *Records { return &Records{r, maxRecord} }

// Begin lets the next line take as many bytes as one may.
func (r *Records) Begin() { r.left = maxRecord }

func (r *Records) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("a line has more than %d bytes; is a quotation mark missing?", maxRecord)
	}
	n, err := r.r.Read(p)
	r.left -= n
	return n, err
}
