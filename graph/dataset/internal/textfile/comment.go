package textfile

import "strings"

// Comments are lines that were skipped as comments, and that may be meant as lines of data.
type Comments struct {
	Count int
	Line  int64  // of the first
	First string // which is this
}

// Comments returns the comments so far that have as many fields as the last line that Head saw. Above the first line
// that was read one of them may name columns; there, and where lines have one field, one with a blank behind its mark
// is none of them.
func (t *Reader) Comments() Comments {
	above, below := t.comments[0], t.comments[1]
	if above.Count < 2 {
		return below
	}
	above.Count += below.Count
	return above
}

// Above returns the fields of the last comment above the first line that was read, without its mark; nil where they
// are not as many as those of the last line that Head saw.
func (t *Reader) Above() []string {
	if all := split([]byte(strings.TrimLeft(t.above, "#% \t"))); len(all) == t.width {
		return all
	}
	return nil
}

// comment skips a comment.
func (t *Reader) comment() {
	if t.width == 0 {
		t.skip()
		return
	}
	line, c := strings.TrimRight(t.Line(), " \t\r"), &t.comments[0]
	remark := len(line) < 2 || line[1] == ' ' || line[1] == '\t'
	if !t.data {
		t.above = line
	}
	switch {
	case t.width > 1 && (delimiter([]byte(line)) != t.delim || len(split([]byte(line))) != t.width):
		return
	case remark && (t.width == 1 || !t.data):
		return
	case t.data:
		c = &t.comments[1]
	}
	if c.Count++; c.Count == 1 {
		c.Line, c.First = t.line, line
	}
}
