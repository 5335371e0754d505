package tables

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/regular"
)

// maxRecord bounds the bytes of one line of a table.
const maxRecord = 1 << 24

// tableIn reads a table line by line. Lines without any field, as spreadsheets write them (;;;), are left out.
type tableIn struct {
	name   string
	file   *os.File
	csv    *csv.Reader
	source *recordReader
	comma  rune // between fields

	above    int        // lines above those that csv reads
	comments int        // of them, those that begin with #
	comment  string     // the last of them
	line     int        // where the line that was read last begins, from 1
	ahead    []lineRead // lines behind the names that were read to understand them

	head      []string // names of columns; nil: the file is empty
	lineNames bool     // the first column has none, as R writes names of lines
	notes     []string // doubts about the names
}

// lineRead is a line that was read before its time.
type lineRead struct {
	record []string
	line   int
}

// openTable opens a table and reads the names of its columns.
func openTable(path string, watch dataset.Watch) (*tableIn, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	in := &tableIn{name: path, file: f}
	if err := in.open(watch); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return in, nil
}

func (in *tableIn) open(watch dataset.Watch) error {
	info, err := in.file.Stat()
	if err != nil {
		return err
	}
	watched := &textfile.Watched{File: in.file, Name: filepath.Base(in.name), Total: info.Size(), Watch: watch}
	text, err := textfile.Unpacked(in.name, watched, info.Size())
	if err != nil {
		return err
	}
	in.source = &recordReader{r: &lineEnds{r: text}, left: maxRecord}
	r := bufio.NewReaderSize(in.source, 1<<16)
	if err := in.encoding(r); err != nil {
		return err
	}
	if err := in.top(r); err != nil {
		return err
	}
	if in.csv = csv.NewReader(r); in.comma == 0 {
		in.comma = separator(r)
	}
	in.csv.FieldsPerRecord, in.csv.ReuseRecord, in.csv.Comma = -1, true, in.comma
	in.csv.TrimLeadingSpace = in.comma != '\t' // else two tabs would be one
	return in.readHead()
}

// readHead reads the line of names, and the next one to see what the first leaves open.
func (in *tableIn) readHead() error {
	first, err := in.read()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	whole := lineRead{slices.Clone(first), in.line}
	next, err := in.read()
	if err != nil && err != io.EOF {
		return err
	}
	if err == nil {
		in.ahead = []lineRead{{slices.Clone(next), in.line}}
	}
	in.head = trimmed(slices.Clone(whole.record))
	for i, name := range in.head {
		in.head[i] = oneLine(name)
	}
	if names := in.commentNames(); allNumbers(in.head) && len(names) == len(in.head) {
		in.note("the names of its columns are those of the comment above them: %s", listed(names))
		in.head, in.ahead = names, append([]lineRead{whole}, in.ahead...)
		return nil
	}
	if in.comments > 0 {
		in.note("lines that begin with # above the names of columns are left out: %d, such as %.60q",
			in.comments, in.comment)
	}
	if n := len(in.head); err == nil && n == len(whole.record) && len(next) == n+1 && next[n] != "" {
		in.head, in.lineNames = append([]string{""}, in.head...), true
		in.note("lines have a field more than the first: theirs is a name, as R writes it")
	}
	return nil
}

func (in *tableIn) note(format string, args ...any) {
	in.notes = append(in.notes, filepath.Base(in.name)+": "+oneLine(fmt.Sprintf(format, args...)))
}

// trimmed returns fields without empty ones at the end, as spreadsheets write them.
func trimmed(fields []string) []string {
	n := len(fields)
	for n > 1 && fields[n-1] == "" {
		n--
	}
	return fields[:n]
}

// read returns the next line that has a field, without blanks around its fields. What it returns is good until the
// next call.
func (in *tableIn) read() ([]string, error) {
	for {
		in.source.left = maxRecord
		record, err := in.csv.Read()
		if err == io.EOF {
			return nil, io.EOF
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			return nil, fmt.Errorf("%s: line %d, column %d: %w", in.name, parse.Line+in.above, parse.Column, parse.Err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.name, textfile.Truncated(err))
		}
		line, _ := in.csv.FieldPos(0)
		in.line = line + in.above
		empty := true
		for i, field := range record {
			if !utf8.ValidString(field) {
				return nil, in.fault("%.40q is no UTF-8 text: save the table as UTF-8, or iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW",
					field)
			}
			record[i] = strings.TrimSpace(field)
			empty = empty && record[i] == ""
		}
		if !empty {
			return record, nil
		}
	}
}

// next returns the next line behind the names, without fields that are empty and stand behind all columns.
func (in *tableIn) next() (record []string, err error) {
	if len(in.ahead) > 0 {
		record, in.line = in.ahead[0].record, in.ahead[0].line
		in.ahead = in.ahead[1:]
	} else if record, err = in.read(); err != nil {
		return nil, err
	}
	n := len(in.head)
	for i := n; i < len(record); i++ {
		if record[i] != "" {
			return nil, in.fault("%d fields, the first line has %d", len(trimmed(record)), n)
		}
	}
	return record[:min(n, len(record))], nil
}

// fault is an error in the line that was read last.
func (in *tableIn) fault(format string, args ...any) error {
	return in.faultAt(in.line, format, args...)
}

func (in *tableIn) faultAt(line int, format string, args ...any) error {
	return fmt.Errorf("%s: line %d: %w", in.name, line, fmt.Errorf(format, args...))
}

func (in *tableIn) close() { in.file.Close() }

// recordReader ends the reading of a line that takes too many bytes.
type recordReader struct {
	r    io.Reader
	left int // bytes that the line may still take
}

func (r *recordReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("a line has more than %d bytes; is a quotation mark missing?", maxRecord)
	}
	n, err := r.r.Read(p)
	r.left -= n
	return n, err
}
