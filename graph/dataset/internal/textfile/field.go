package textfile

import (
	"bytes"
	"capgnn/internal/number"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// maxText bounds the bytes of a field of text.
const maxText = 1 << 12

// between says what stands between fields.
var between = map[byte]string{',': "commas", ';': "semicolons", ' ': "blanks or tabs"}

// Separator reads what stands between two fields and reports whether the line goes on.
func (t *Reader) Separator() (more bool, err error) {
	c := t.peek()
	if c != ' ' && c != '\t' && c != '\r' && c != ',' && c != ';' && c != '\n' {
		hint := ""
		if c == 'e' || c == 'E' {
			hint = " (of a number such as 2e+06 write all digits)"
		}
		return false, t.Unexpected("a comma, a blank or the end of the line" + hint)
	}
	at := t.at()
	t.blanks()
	sep := byte(' ')
	switch c = t.peek(); c {
	case ',', ';':
		at, sep = t.at(), c
		t.pos++
		t.blanks()
	case '\n':
		return false, nil
	}
	if t.sep != 0 && t.sep != sep {
		return false, t.FaultAt(at, t.line, "fields stand between %s and between %s in one line: write decimal commas as points, and put one character between all fields (of a table whose first line names the columns, data tables reads decimal commas)",
			between[t.sep], between[sep])
	}
	t.sep = sep
	return true, nil
}

// AtSeparator reports whether a comma or a semicolon comes next.
func (t *Reader) AtSeparator() bool { c := t.peek(); return c == ',' || c == ';' }

// ID reads a whole number from 0, which may be written as 1.0 or "1".
func (t *Reader) ID(want string) (v int64, err error) {
	t.TokenAt, t.TokenLine = t.at(), t.line
	quoted := t.peek() == '"'
	if quoted {
		t.pos++
	}
	count, first := 0, t.peek()
	for {
		c := t.peek() - '0'
		if c > 9 {
			break
		}
		if count++; count > MaxDigits {
			return 0, t.Fault("found a number of more than %d digits, want %s", MaxDigits, want)
		}
		v = 10*v + int64(c)
		t.pos++
	}
	if count == 0 {
		return 0, t.Unexpected(want)
	}
	if first == '0' && count > 1 && t.Padded == "" {
		t.Padded = fmt.Sprintf("%0*d", count, v)
	}
	if t.peek() == '.' {
		t.pos++
		for t.peek() == '0' {
			t.pos++
		}
		if c := t.peek() - '0'; c <= 9 {
			return 0, t.Fault("found a number that is not whole, want %s", want)
		}
	}
	if quoted {
		if t.peek() != '"' {
			return 0, t.Unexpected("the quote after a number")
		}
		t.pos++
	}
	return v, nil
}

// field reads what stands up to the next separator or line end, or to the quote that closes it, into t.tok: n characters; plain ones occur in decimal numbers.
func (t *Reader) field() (n int, plain bool, err error) {
	t.TokenAt, t.TokenLine = t.at(), t.line
	quoted := t.peek() == '"'
	if quoted {
		t.pos++
	}
	for plain = true; ; n++ {
		c := t.peek()
		switch {
		case quoted && c == '"':
			t.pos++
			return n, plain, nil
		case quoted && c == '\n':
			return 0, false, t.Fault("found a quote that is not closed in its line")
		case !quoted && (c == ' ' || c == '\t' || c == '\r' || c == ',' || c == ';' || c == '\n'):
			return n, plain, nil
		case n == maxToken:
			return 0, false, t.Fault("found a field of more than %d characters, want a number", maxToken)
		}
		if !(c >= '0' && c <= '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			plain = false
		}
		t.tok[n] = c
		t.pos++
	}
}

// Cell reads a decimal number, rounded to 32 or 64 bits; Exact is rounded to 64. What is no number is returned as word, which is valid until the next call and may
// be empty; nil: it is a number.
func (t *Reader) Cell(bits int) (v float64, word []byte, err error) {
	n, plain, err := t.field()
	if err != nil {
		return 0, nil, err
	}
	tok := t.tok[:n]
	switch {
	case n == 1 && tok[0]-'0' <= 9: // bags of words and multi-label rows are mostly this
		t.Exact = float64(tok[0] - '0')
		return t.Exact, nil, nil
	case n == 0 || !plain:
		return 0, append(tok[:0], bytes.TrimSpace(tok)...), nil
	}
	if v, err = strconv.ParseFloat(string(tok), 64); err == nil {
		t.Exact = v
		// The middle between two float32 may have been rounded to once already.
		const dropped, middle = 1<<29 - 1, 1 << 28
		if single := math.Float64bits(v)&dropped != middle && math.Abs(v) >= 0x1p-126; bits == 32 && single && math.Abs(v) < math.MaxFloat32 {
			return float64(float32(v)), nil, nil
		}
	}
	if err == nil && bits == 32 {
		v, err = strconv.ParseFloat(string(tok), 32)
	}
	if errors.Is(err, strconv.ErrRange) {
		return 0, nil, t.Fault("value %s does not fit float%d", tok, bits)
	}
	if err != nil {
		return 0, tok, nil
	}
	return v, nil, nil
}

// Number reads a decimal number, rounded to 32 or 64 bits, or nan in any case of letters.
func (t *Reader) Number(bits int) (float64, error) {
	v, word, err := t.Cell(bits)
	switch {
	case err != nil || word == nil:
		return v, err
	case bytes.EqualFold(word, []byte("nan")):
		t.Exact = math.NaN()
		return t.Exact, nil
	}
	return 0, t.NoNumber(word)
}

// NoNumber is the error of a word of Cell that stands for nothing.
func (t *Reader) NoNumber(word []byte) error {
	switch {
	case len(word) == 0 && t.at() == t.TokenAt:
		return t.Unexpected("a number")
	case !utf8.Valid(word):
		return t.notUTF8(word)
	case len(bytes.Trim(word, "0123456789,+-")) == 0 && bytes.Count(word, []byte{','}) == 1:
		return t.Fault("found %q, want a number: write decimal commas as points", word)
	}
	hint := ""
	if bytes.ContainsAny(word, "|:") {
		hint = ", fields stand between commas, semicolons, tabs or blanks"
	}
	return t.Fault("found %q, want a number; names and dates become numbers with data tables%s", word, hint)
}

// Text reads a field of UTF-8 text up to what separates the fields of the first line, which Head must have seen, without quotes and blanks around it. It is valid until the next call.
func (t *Reader) Text() ([]byte, error) {
	text, err := t.anyText()
	if err == nil && !utf8.Valid(text) {
		err = t.notUTF8(text)
	}
	return text, err
}

func (t *Reader) notUTF8(text []byte) error {
	return t.Fault("%.40q is no UTF-8 text: save the file as UTF-8, or iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW", text)
}

func (t *Reader) anyText() ([]byte, error) {
	t.TokenAt, t.TokenLine = t.at(), t.line
	t.text = t.text[:0]
	if t.peek() == '"' {
		t.pos++
		return t.quoted()
	}
	for {
		c := t.peek()
		if c == '\n' || c == t.delim || t.delim == ' ' && (c == '\t' || c == '\r') {
			return bytes.TrimRight(t.text, " \t\r"), nil
		}
		if len(t.text) == maxText {
			return nil, t.Fault("found a field of more than %d characters", maxText)
		}
		t.text = append(t.text, c)
		t.pos++
	}
}

// quoted reads the rest of a quoted field; a quote in it is doubled.
func (t *Reader) quoted() ([]byte, error) {
	for {
		c := t.peek()
		switch {
		case c == '\n':
			return nil, t.Fault("found a quote that is not closed in its line")
		case len(t.text) == maxText:
			return nil, t.Fault("found a field of more than %d characters", maxText)
		case c == '"':
			if t.pos++; t.peek() != '"' {
				return bytes.TrimSpace(t.text), nil
			}
		}
		t.text = append(t.text, c)
		t.pos++
	}
}

// Rest reads to the end of the line. It is valid until the next call.
func (t *Reader) Rest(most int) ([]byte, error) {
	t.TokenAt, t.TokenLine = t.at(), t.line
	t.text = t.text[:0]
	for c := t.peek(); c != '\n'; c = t.peek() {
		if len(t.text) == most {
			return nil, t.Fault("found a field of more than %d characters", most)
		}
		t.text = append(t.text, c)
		t.pos++
	}
	return bytes.TrimRight(t.text, " \t\r"), nil
}

// Table is TableBy where every field is a number of so many bits.
func (t *Reader) Table(bits, limit int, cell func(row, col int, v float64) error) (rows, cols int, err error) {
	return t.TableBy(limit, func(int) (float64, error) { return t.Number(bits) }, cell)
}

// TableBy calls cell for every field of the lines that are left, which read reads, and returns rows and columns; every row must have as many
// fields as the first, at most limit.
func (t *Reader) TableBy(limit int, read func(col int) (float64, error), cell func(row, col int, v float64) error) (rows, cols int, err error) {
	for ; t.Next(); rows++ {
		col, more := 0, true
		for ; more; col++ {
			v, err := read(col)
			if err != nil {
				return 0, 0, err
			}
			if rows > 0 && col == cols || col == limit {
				return 0, 0, t.Fault("row %d has more than %s", rows, number.Counted(col, "column"))
			}
			if err := cell(rows, col, v); err != nil {
				return 0, 0, err
			}
			if more, err = t.Separator(); err != nil {
				return 0, 0, err
			}
		}
		if rows == 0 {
			cols = col
		}
		if col != cols {
			return 0, 0, t.FaultAt(t.at(), t.line, "row %d has %d columns, those before it have %d", rows, col, cols)
		}
	}
	return rows, cols, t.Finish()
}
