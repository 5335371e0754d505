package formats

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
	"unicode"
	"unicode/utf8"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/regular"
)

// sheet is a table of named columns, whose fields may be quoted, read line by line.
type sheet struct {
	path    string
	file    *os.File
	source  *textfile.Records
	csv     *csv.Reader
	columns []string
	record  []string // of the line that was read last
}

// readSheet calls line for every line of a table behind its first one, which names the columns, and head before them.
func readSheet(path string, comma rune, watch dataset.Watch, head, line func(s *sheet) error) error {
	s, err := openSheet(path, comma, watch)
	if err != nil {
		return err
	}
	defer s.file.Close()
	if err := head(s); err != nil {
		return err
	}
	for {
		if err := s.next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := line(s); err != nil {
			return err
		}
	}
}

// openSheet opens a table, whose file the caller closes, and reads its first line.
func openSheet(path string, comma rune, watch dataset.Watch) (*sheet, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	text, err := textfile.Unpacked(path, &textfile.Watched{File: f, Name: filepath.Base(path), Total: info.Size(), Watch: watch}, info.Size())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	source := textfile.NewRecords(text)
	r := bufio.NewReader(source)
	if mark, _ := r.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = r.Discard(3) // which were peeked at
	}
	s := &sheet{path: path, file: f, source: source, csv: csv.NewReader(r)}
	s.csv.Comma, s.csv.ReuseRecord, s.csv.TrimLeadingSpace = comma, true, comma != '\t' && comma != ' '
	if err := s.next(); err != nil {
		if err == io.EOF {
			err = s.whole(errors.New("is empty, want a line that names its columns"))
		}
		return nil, errors.Join(err, f.Close())
	}
	s.columns = slices.Clone(s.record)
	for i, name := range s.columns {
		if first := slices.Index(s.columns, name); name != "" && first < i {
			err := s.whole(fmt.Errorf("line 1: columns %d and %d are both called %.60q: rename one", first+1, i+1, name))
			return nil, errors.Join(err, f.Close())
		}
	}
	return s, nil
}

// next reads a line; io.EOF: there is none.
func (s *sheet) next() (err error) {
	s.source.Begin()
	if s.record, err = s.csv.Read(); err == nil {
		for i, field := range s.record {
			field = strings.TrimSpace(field)
			if !utf8.ValidString(field) || strings.ContainsFunc(field, unicode.IsControl) {
				line, at := s.csv.FieldPos(i)
				return s.whole(fmt.Errorf("line %d, character %d: %.60q is not one line of UTF-8 text", line, at, field))
			}
			s.record[i] = field
		}
		if slices.Equal(s.record, s.columns) {
			line, _ := s.csv.FieldPos(0)
			return s.whole(fmt.Errorf("line %d is the line of names again: delete it", line))
		}
		return nil
	}
	if err == io.EOF {
		return err
	}
	return s.whole(textfile.Truncated(err))
}

// column returns the number of a column, -1 if there is none of this name.
func (s *sheet) column(name string) int { return slices.Index(s.columns, name) }

// need returns the number of a column that must be there.
func (s *sheet) need(name string) (int, error) {
	if i := s.column(name); i >= 0 {
		return i, nil
	}
	return 0, s.whole(fmt.Errorf("line 1: has no column %.60q; its columns are %.200q", name, s.columns))
}

// fault is an error in a field of the line that was read last.
func (s *sheet) fault(column int, format string, args ...any) error {
	line, at := s.csv.FieldPos(column)
	return s.whole(fmt.Errorf("line %d, character %d: column %.60q: %w", line, at, s.columns[column], fmt.Errorf(format, args...)))
}

// whole is an error in the table that says itself where.
func (s *sheet) whole(err error) error {
	return &dataset.FormatError{File: s.path, Offset: -1, Err: err}
}
