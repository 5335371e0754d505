package tables

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/regular"
)

// maxRecord bounds the bytes of one line of a table.
const maxRecord = 1 << 24

// tableIn reads a table line by line.
type tableIn struct {
	name   string
	file   *os.File
	csv    *csv.Reader
	source *recordReader
}

func openTable(path string, watch dataset.Watch) (*tableIn, error) {
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
	source := &recordReader{r: text, left: maxRecord}
	r := bufio.NewReader(source)
	if mark, _ := r.Peek(3); string(mark) == "\xef\xbb\xbf" {
		if _, err := r.Discard(3); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	in := &tableIn{path, f, csv.NewReader(r), source}
	in.csv.FieldsPerRecord, in.csv.ReuseRecord, in.csv.TrimLeadingSpace, in.csv.Comma = -1, true, true, comma(r)
	return in, nil
}

// comma returns what stands between the fields of the first line.
func comma(r *bufio.Reader) rune {
	start, _ := r.Peek(r.Size())
	line, _, _ := strings.Cut(string(start), "\n")
	best := ','
	for _, c := range ";\t" {
		if strings.Count(line, string(c)) > strings.Count(line, string(best)) {
			best = c
		}
	}
	return best
}

// next returns the next line, without blanks around its fields. What it returns is good until the next call.
func (in *tableIn) next() ([]string, error) {
	in.source.left = maxRecord
	record, err := in.csv.Read()
	if err == io.EOF {
		return nil, io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.name, textfile.Truncated(err))
	}
	for i, field := range record {
		record[i] = strings.TrimSpace(field)
	}
	return record, nil
}

// fault is an error in the line that was read last.
func (in *tableIn) fault(format string, args ...any) error {
	return fmt.Errorf("%s: line %d: %w", in.name, in.lineNumber(), fmt.Errorf(format, args...))
}

// lineNumber is where the line that was read last begins, from 1.
func (in *tableIn) lineNumber() int {
	line, _ := in.csv.FieldPos(0)
	return line
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
