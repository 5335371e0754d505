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

// tableIn reads a table line by line. Lines without any field, as spreadsheets write them (;;;), are left out.
type tableIn struct {
	name   string
	file   *os.File
	csv    *csv.Reader
	source *textfile.Records
	comma  rune // between fields

	above    int        // lines above those that csv reads
	comments int        // of them, those that begin with #
	comment  string     // the last of them
	line     int        // where the line that was read last begins, from 1
	ahead    []lineRead // lines behind the names that were read to understand them

	head      []string // names of columns; nil: the file is empty
	first     []string // the line of them, where no name is a number
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
	in.source = textfile.NewRecords(&lineEnds{r: text})
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
		in.source.Begin()
		record, err := in.csv.Read()
		if err == io.EOF {
			return nil, io.EOF
		}
		var parse *csv.ParseError
		if errors.As(err, &parse) {
			return nil, in.quotes(parse)
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

// quotes is the error of quotation marks that are not as they must be.
func (in *tableIn) quotes(e *csv.ParseError) error {
	what := `a quotation mark stands inside a field: put the field in quotation marks and write those in it twice (5" disk becomes "5"" disk"), or take it out`
	switch {
	case !errors.Is(e.Err, csv.ErrQuote):
	case e.StartLine < e.Line:
		return in.faultAt(e.StartLine+in.above, "a field that begins with a quotation mark does not end with one before line %d, column %d: add it, or write marks inside a field twice",
			e.Line+in.above, e.Column)
	default:
		what = `the quotation mark that ends a field has text behind it: write marks inside a field twice ("", not \")`
	}
	return fmt.Errorf("%s: line %d, column %d: %s", in.name, e.Line+in.above, e.Column, what)
}

// next returns the next line behind the names, without fields that are empty and stand behind all columns.
func (in *tableIn) next() (record []string, err error) {
	if len(in.ahead) > 0 {
		record, in.line = in.ahead[0].record, in.ahead[0].line
		in.ahead = in.ahead[1:]
	} else if record, err = in.read(); err != nil {
		return nil, err
	}
	if len(in.first) > 0 && slices.Equal(trimmed(record), in.first) {
		return nil, in.fault("is the line of names again: delete it")
	}
	n := len(in.head)
	for i := n; i < len(record); i++ {
		if record[i] != "" {
			return nil, in.fault("%s, the first line has %d", counted(len(trimmed(record)), "field"), n)
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
