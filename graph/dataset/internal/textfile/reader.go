package textfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"capgnn/internal/npy"
	"capgnn/internal/regular"
)

const (
	bufferSize = 1 << 18 // bytes
	// maxToken bounds the characters of a number.
	maxToken = 64
)

// Reader reads numbers from lines of text, plain or gzip, from a stream: nothing in it grows with the file or with a line.
// Fields are separated by blanks, or by one comma and blanks; a carriage return counts as a blank. Empty lines and lines
// that begin with '#' are skipped. Offsets are those of the inflated text.
type Reader struct {
	file      string
	from      io.ReaderAt
	raw       *counted
	r         io.Reader
	size      int64     // bytes of the file
	watch     npy.Watch // nil: nobody wants to know
	told      int64     // bytes of the file when watch was last called
	buf       []byte
	pos       int   // next byte of buf
	end       int   // bytes in buf
	base      int64 // bytes before buf
	line      int64 // of the next byte, from 1
	err       error // of the last read; io.EOF at the end
	tok       [maxToken]byte
	TokenAt   int64 // where the last number began
	TokenLine int64
}

// counted counts the bytes that were read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Open hands the text file at path to parse. What is read is reported to watch.
func Open(path string, watch npy.Watch, parse func(t *Reader) error) error {
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	t, err := NewReader(path, f, info.Size())
	if err != nil {
		return err
	}
	t.watch = watch
	return parse(t)
}

// NewReader reads the text of r, which has size bytes; gzip is told by its first bytes.
func NewReader(file string, r io.ReaderAt, size int64) (*Reader, error) {
	t := &Reader{file: file, from: r, size: size, buf: make([]byte, bufferSize)}
	return t, t.Restart()
}

// Restart goes back to the first byte.
func (t *Reader) Restart() (err error) {
	t.line, t.told = 1, 0
	t.pos, t.end, t.base, t.err = 0, 0, 0, nil
	t.raw = &counted{r: io.NewSectionReader(t.from, 0, t.size)}
	if t.r, err = Unpacked(t.file, t.raw, t.size); err != nil {
		return err
	}
	// Spreadsheets write a byte order mark.
	if t.fill(); bytes.HasPrefix(t.buf[:t.end], []byte("\xef\xbb\xbf")) {
		t.pos = 3
	}
	return nil
}

// Extent reads to the end and returns how many lines and characters there are, line ends not counted, then goes back to the
// first byte. What cannot be read is not counted; whoever reads it finds the fault.
func (t *Reader) Extent() (lines, chars int64, err error) {
	for more := true; more; more = t.fill() {
		n := int64(bytes.Count(t.buf[:t.end], []byte{'\n'}))
		lines, chars = lines+n, chars+int64(t.end)-n
		t.pos = t.end
	}
	return lines + 1, chars, t.Restart()
}

// fill reads more text, once all of buf has been used.
func (t *Reader) fill() bool {
	if t.err != nil {
		return false
	}
	t.base += int64(t.end)
	t.pos, t.end = 0, 0
	for range 100 {
		t.end, t.err = t.r.Read(t.buf)
		if t.err == nil || t.err == io.EOF {
			t.tell()
		}
		if t.end > 0 || t.err != nil {
			return t.end > 0
		}
	}
	t.err = io.ErrNoProgress
	return false
}

// tell reports to watch, whose error ends the reading.
func (t *Reader) tell() {
	if t.watch == nil || t.raw.n-t.told < WatchBytes && t.err == nil {
		return
	}
	t.told = t.raw.n
	if err := t.watch(filepath.Base(t.file), t.raw.n, t.size); err != nil {
		t.end, t.err = 0, err
	}
}

func (t *Reader) at() int64 { return t.base + int64(t.pos) }

// peek returns the next byte; '\n' at the end.
func (t *Reader) peek() byte {
	if t.pos == t.end && !t.fill() {
		return '\n'
	}
	return t.buf[t.pos]
}

// Fault is an error at the last number.
func (t *Reader) Fault(format string, args ...any) error {
	return t.FaultAt(t.TokenAt, t.TokenLine, format, args...)
}

func (t *Reader) FaultAt(at, line int64, format string, args ...any) error {
	return &npy.FormatError{File: t.file, Offset: at, Err: fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...))}
}

// Whole is an error that lies at no one place.
func (t *Reader) Whole(format string, args ...any) error {
	return &npy.FormatError{File: t.file, Offset: -1, Err: fmt.Errorf(format, args...)}
}

// Unexpected is the error of finding something else than want here.
func (t *Reader) Unexpected(want string) error {
	c := t.peek()
	switch {
	case t.end > t.pos && c != '\n':
		return t.FaultAt(t.at(), t.line, "found %q, want %s", rune(c), want)
	case t.err != nil && t.err != io.EOF:
		return t.FaultAt(t.at(), t.line, "%w", Truncated(t.err))
	}
	return t.FaultAt(t.at(), t.line, "the line ends here, want %s", want)
}

// Finish reports an error of reading that looked like the end of the file.
func (t *Reader) Finish() error {
	if t.err == nil || t.err == io.EOF {
		return nil
	}
	return t.FaultAt(t.at(), t.line, "%w", Truncated(t.err))
}

func (t *Reader) blanks() {
	for c := t.peek(); c == ' ' || c == '\t' || c == '\r'; c = t.peek() {
		t.pos++
	}
}

// Next goes to the first field of the next line that has one; false at the end of the file.
func (t *Reader) Next() bool {
	for {
		t.blanks()
		if t.peek() == '#' {
			t.skip()
		}
		if t.peek() != '\n' {
			return true
		}
		if t.pos == t.end {
			return false
		}
		t.pos++
		t.line++
	}
}

// skip goes to the end of the line.
func (t *Reader) skip() {
	for {
		if i := bytes.IndexByte(t.buf[t.pos:t.end], '\n'); i >= 0 {
			t.pos += i
			return
		}
		if t.pos = t.end; !t.fill() {
			return
		}
	}
}

// maxHeader bounds the bytes of a line of names.
const maxHeader = 1 << 28

// Header skips the first line if it begins like a name, not like a number, and returns the names in it.
func (t *Reader) Header() (names []string) {
	if !t.Next() {
		return nil
	}
	c := t.peek()
	letter := c|0x20 >= 'a' && c|0x20 <= 'z' && !bytes.EqualFold(t.buf[t.pos:min(t.end, t.pos+3)], []byte("nan"))
	if !letter && c != '_' && c != '"' {
		return nil
	}
	var line []byte
	for {
		i := bytes.IndexByte(t.buf[t.pos:t.end], '\n')
		if i >= 0 {
			line = append(line, t.buf[t.pos:t.pos+i]...)
			t.pos += i
			return namesIn(line)
		}
		line = append(line, t.buf[t.pos:t.end]...)
		if t.pos = t.end; len(line) > maxHeader {
			t.skip()
			return nil
		}
		if !t.fill() {
			return namesIn(line)
		}
	}
}

// namesIn splits a line of names, which may be quoted, at what stands between them.
func namesIn(line []byte) []string {
	r := csv.NewReader(bytes.NewReader(line))
	r.TrimLeadingSpace = true
	switch {
	case bytes.IndexByte(line, ',') >= 0:
	case bytes.IndexByte(line, '\t') >= 0:
		r.Comma = '\t'
	default:
		r.Comma = ' '
	}
	names, err := r.Read()
	if err != nil {
		return nil
	}
	for i, name := range names {
		names[i] = strings.TrimSpace(strings.ToValidUTF8(name, "\ufffd"))
	}
	return names
}

// Separator reads what stands between two fields and reports whether the line goes on.
func (t *Reader) Separator() (more bool, err error) {
	c := t.peek()
	if c != ' ' && c != '\t' && c != '\r' && c != ',' && c != '\n' {
		return false, t.Unexpected("a comma, a blank or the end of the line")
	}
	t.blanks()
	if t.peek() == ',' {
		t.pos++
		t.blanks()
		return true, nil
	}
	return t.peek() != '\n', nil
}

// ID reads a whole number from 0.
func (t *Reader) ID(want string) (v int64, err error) {
	t.TokenAt, t.TokenLine = t.at(), t.line
	count := 0
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
	return v, nil
}

// field reads what stands up to the next separator or line end into t.tok: n characters; plain ones occur in decimal numbers.
func (t *Reader) field() (n int, plain bool, err error) {
	t.TokenAt, t.TokenLine = t.at(), t.line
	for plain = true; ; n++ {
		c := t.peek()
		if c == ' ' || c == '\t' || c == '\r' || c == ',' || c == '\n' {
			return n, plain, nil
		}
		if n == maxToken {
			return 0, false, t.Fault("found a field of more than %d characters, want a number", maxToken)
		}
		if !(c >= '0' && c <= '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			plain = false
		}
		t.tok[n] = c
		t.pos++
	}
}

// Number reads a decimal number, rounded to 32 or 64 bits, or nan in any case of letters.
func (t *Reader) Number(bits int) (float64, error) {
	n, plain, err := t.field()
	if err != nil {
		return 0, err
	}
	tok := t.tok[:n]
	switch {
	case n == 0:
		return 0, t.Unexpected("a number")
	case bytes.EqualFold(tok, []byte("nan")):
		return math.NaN(), nil
	case !plain:
		return 0, t.Fault("found %q, want a number; names become numbers with data tables, fields stand between commas, tabs or blanks", tok)
	case n == 1 && tok[0]-'0' <= 9: // bags of words and multi-label rows are mostly this
		return float64(tok[0] - '0'), nil
	}
	v, err := strconv.ParseFloat(string(tok), bits)
	if errors.Is(err, strconv.ErrRange) {
		return 0, t.Fault("value %s does not fit float%d", tok, bits)
	}
	if err != nil {
		return 0, t.Fault("found %q, want a number; names must become numbers, and fields stand between commas, tabs or blanks", tok)
	}
	return v, nil
}

// Table calls cell for every number of the lines that are left and returns rows and columns; every row must have as many
// numbers as the first, at most limit.
func (t *Reader) Table(bits, limit int, cell func(row, col int, v float64) error) (rows, cols int, err error) {
	for ; t.Next(); rows++ {
		col, more := 0, true
		for ; more; col++ {
			v, err := t.Number(bits)
			if err != nil {
				return 0, 0, err
			}
			if rows > 0 && col == cols || col == limit {
				return 0, 0, t.Fault("row %d has more than %d columns", rows, col)
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
