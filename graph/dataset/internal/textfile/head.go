package textfile

import (
	"bytes"
	"encoding/csv"
	"strings"
)

// maxHead bounds the bytes of a line that is split: its fields take some 20 times as much.
const maxHead = 1 << 22

// Cut stands in Head for all fields but the first of a line that is too long to be split.
const Cut = "…"

// Head returns the fields of the first lines that have any, at most so many, and goes back to the first byte. first says whether the
// first of them is the first line of the text. What cannot be read is not there; whoever reads it finds the fault.
func (t *Reader) Head(lines int) (head [][]string, first bool, err error) {
	for len(head) < lines && t.Next() {
		if len(head) == 0 {
			first = t.line == 1
		}
		line := []byte{}
		for more := true; more; {
			k := bytes.IndexByte(t.buf[t.pos:t.end], '\n')
			if more = k < 0; more {
				k = t.end - t.pos
			}
			line = append(line, t.buf[t.pos:t.pos+k]...)
			if t.pos += k; more {
				more = len(line) <= maxHead && t.fill()
			}
		}
		if len(head) == 0 {
			t.delim = delimiter(line)
		}
		if len(line) > maxHead {
			first := line[:1+bytes.IndexAny(line[1:1<<10], ",; \t")]
			head = append(head, append(split(first), Cut))
			t.skip()
			continue
		}
		fields := split(line)
		if len(fields) == 0 {
			fields = []string{""}
		}
		head = append(head, fields)
		t.skip()
	}
	if len(head) > 0 {
		t.width = len(head[len(head)-1])
	}
	return head, first, t.Restart()
}

// Delimiter is what stands between the fields of the first line, as Head saw it: a comma, semicolon or tab, or ' ' for blanks.
func (t *Reader) Delimiter() byte { return t.delim }

// Blanks makes Text end at blanks, whatever Head saw.
func (t *Reader) Blanks() { t.delim = ' ' }

// WholeLines makes Text end at blanks no longer, where Head saw nothing else between fields.
func (t *Reader) WholeLines() {
	if t.delim == ' ' {
		t.delim = '\n'
	}
}

// SkipLine skips the next line that has a field.
func (t *Reader) SkipLine() {
	if t.Next() {
		t.skip()
	}
}

// delimiter returns what stands between the fields of a line: the comma or the semicolon of which there are more outside quotes, else a tab, else ' '. What
// stands in braces, as networkx writes it behind an edge, does not count.
func delimiter(line []byte) byte {
	var count [256]int
	quoted := false
	for _, c := range line {
		if c == '{' && !quoted {
			break
		}
		if c == '"' {
			quoted = !quoted
		}
		if !quoted {
			count[c]++
		}
	}
	switch {
	case count[';'] > count[',']:
		return ';'
	case count[','] > 0:
		return ','
	case count['\t'] > 0:
		return '\t'
	}
	return ' '
}

// split returns the fields of a line, without quotes and blanks around them; what begins with a brace is the last one.
func split(line []byte) []string {
	delim := delimiter(line)
	if i := bytes.IndexByte(line, '{'); i > 0 && bytes.IndexByte(line[:i], '"') < 0 {
		before := bytes.TrimRight(line[:i], " \t,;")
		return append(split(before), string(bytes.TrimSpace(line[i:])))
	}
	if delim == ' ' && bytes.IndexByte(line, '"') < 0 {
		return strings.Fields(strings.ToValidUTF8(string(line), "\ufffd"))
	}
	if delim == ' ' {
		line = bytes.TrimSpace(line)
	}
	r := csv.NewReader(bytes.NewReader(line))
	r.Comma, r.LazyQuotes, r.TrimLeadingSpace = rune(delim), true, delim != '\t'
	names, err := r.Read()
	if err != nil {
		return nil
	}
	for i, name := range names {
		names[i] = strings.TrimSpace(strings.ToValidUTF8(name, "\ufffd"))
	}
	return names
}
