package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"unicode/utf8"

	"capgnn/internal/npy"
	"capgnn/internal/regular"
)

const (
	bufferSize = 1 << 18 // bytes
	// maxToken bounds the characters of a number.
	maxToken = 64
)

// Reader reads numbers from lines of text, plain or gzip, from a stream: nothing in it grows with the file or with a line.
// Fields are separated by blanks, or by one comma or semicolon and blanks, the same in all of a line, and may be quoted. A line ends with a line feed, a carriage
// return or both. Empty lines and lines that begin with '#' or '%' are skipped. Offsets are those of the inflated text.
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
	held      bool  // a carriage return is before the next byte to be read: what follows says whether it ends a line
	begin     bool  // nothing of this line was read
	KeepEmpty bool  // Next stops at empty lines too, which have one empty field
	sep       byte  // between the fields of this line so far: comma, semicolon or ' ' for blanks; 0: unknown
	delim     byte  // between the fields of the first line, as Head saw it; what Text ends at
	tok       [maxToken]byte
	text      []byte  // the last Text
	Exact     float64 // the last number before it was rounded to 32 bits
	TokenAt   int64   // where the last number began
	TokenLine int64
	Padded    string      // the first number of ID that begins with a 0, as codes do; "": none
	width     int         // fields of the last line that Head saw
	data      bool        // a line was read
	above     string      // the last comment before that
	comments  [2]Comments // before that, and behind it
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
	t.line, t.told, t.held, t.sep, t.begin = 1, 0, false, 0, true
	t.data, t.above, t.comments = false, "", [2]Comments{}
	t.pos, t.end, t.base, t.err = 0, 0, 0, nil
	t.raw = &counted{r: io.NewSectionReader(t.from, 0, t.size)}
	if t.r, err = Unpacked(t.file, t.raw, t.size); err != nil {
		return err
	}
	// Spreadsheets write a byte order mark.
	t.fill()
	switch begin := t.buf[:t.end]; {
	case bytes.HasPrefix(begin, []byte("\xef\xbb\xbf")):
		t.pos = 3
	case bytes.HasPrefix(begin, []byte("\xff\xfe")), bytes.HasPrefix(begin, []byte("\xfe\xff")):
		return &npy.FormatError{File: t.file, Offset: 0, Err: errors.New("is text of UTF-16: save it as UTF-8 (in Excel as \"CSV UTF-8\")")}
	}
	if begin := t.buf[t.pos:t.end]; len(begin) > 5 && bytes.HasPrefix(begin, []byte("sep=")) && bytes.IndexByte(begin[:min(len(begin), 7)], '\n') >= 5 {
		t.skip() // Excel's
		t.pos, t.line = t.pos+1, t.line+1
	}
	return nil
}

// Lines says how much text there is.
type Lines struct {
	Rows  int64 // lines that have a field
	Empty int64 // lines without one that are no comments
	Inner int64 // of these, before the last row
	Bytes int64
}

// Survey reads to the end, then goes back to the first byte. What cannot be read is not counted; whoever reads it finds the fault.
func (t *Reader) Survey() (s Lines, err error) {
	for {
		t.blanks()
		switch c := t.peek(); {
		case c == '#' || c == '%':
			t.skip()
		case c != '\n':
			s.Rows, s.Inner = s.Rows+1, s.Empty
			t.skip()
		case t.pos < t.end:
			s.Empty++
		}
		if t.pos == t.end {
			s.Bytes = t.at()
			return s, t.Restart()
		}
		t.pos++
	}
}

// fill reads more text, once all of buf has been used.
func (t *Reader) fill() bool {
	if t.err != nil {
		return false
	}
	t.base += int64(t.end)
	t.pos, t.end = 0, 0
	for range 100 {
		from := 0
		if t.held {
			t.buf[0], from, t.held = '\r', 1, false
		}
		n, err := t.r.Read(t.buf[from:])
		t.end, t.err = from+n, err
		if t.err == nil || t.err == io.EOF {
			t.tell()
		}
		t.endLines()
		if t.end > 0 || t.err != nil {
			return t.end > 0
		}
	}
	t.err = io.ErrNoProgress
	return false
}

// endLines puts a line feed in place of a carriage return that ends a line alone, and ends the text before a zero byte.
func (t *Reader) endLines() {
	if t.end > 0 && t.err == nil && t.buf[t.end-1] == '\r' {
		t.end, t.held = t.end-1, true
	}
	b := t.buf[:t.end]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		t.end, t.err, t.held = i, errors.New("found a zero byte, which no text has: save text of UTF-16 as UTF-8"), false
		b = b[:i]
	}
	for i := 0; ; i++ {
		k := bytes.IndexByte(b[i:], '\r')
		if k < 0 {
			return
		}
		if i += k; i+1 < len(b) && b[i+1] != '\n' && b[i+1] != '\r' {
			b[i] = '\n'
		}
	}
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

// FaultAt is an error at a byte; where the text could not be read to its end, it is that.
func (t *Reader) FaultAt(at, line int64, format string, args ...any) error {
	if t.pos == t.end && t.err != nil && t.err != io.EOF {
		return &npy.FormatError{File: t.file, Offset: t.at(), Err: fmt.Errorf("line %d: %w", t.line, Truncated(t.err))}
	}
	return &npy.FormatError{File: t.file, Offset: at, Err: fmt.Errorf("line %d: %w", line, fmt.Errorf(format, args...))}
}

// FaultHere is an error at the next byte.
func (t *Reader) FaultHere(format string, args ...any) error {
	return t.FaultAt(t.at(), t.line, format, args...)
}

// Whole is an error that lies at no one place.
func (t *Reader) Whole(format string, args ...any) error {
	return &npy.FormatError{File: t.file, Offset: -1, Err: fmt.Errorf(format, args...)}
}

// Unexpected is the error of finding something else than want here.
func (t *Reader) Unexpected(want string) error {
	c := t.peek()
	if t.end > t.pos && c != '\n' {
		r, size := utf8.DecodeRune(t.buf[t.pos:t.end])
		if size == 1 {
			r = rune(c)
		}
		return t.FaultAt(t.at(), t.line, "found %q, want %s", r, want)
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
	for t.sep = 0; ; {
		t.blanks()
		if c := t.peek(); c == '#' || c == '%' {
			t.begin = false
			t.comment()
		}
		if t.peek() != '\n' || t.KeepEmpty && t.begin && t.pos < t.end {
			t.begin, t.data = false, true
			return true
		}
		if t.pos == t.end {
			return false
		}
		t.pos++
		t.line++
		t.begin = true
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
