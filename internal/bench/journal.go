package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"capgnn/internal/regular"
)

// maxLine bounds a line; the longest that experiments write, the trace of an adjustment, has some hundred kilobytes.
const maxLine = 64 << 20

// Journal is a file of lines, one JSON object each. A cell that stands in it twice counts as the later one.
type Journal struct {
	path  string
	file  *os.File
	lines map[string]*Line
}

// Open reads the journal at path, or begins one. What a killed writer left of a last line is cut off; any other line that
// does not read is an error, which names it.
func Open(path string) (*Journal, error) {
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{path: path, file: f, lines: map[string]*Line{}}
	end, err := j.read()
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// read takes the lines in and returns where the last whole one ends.
func (j *Journal) read() (end int64, err error) {
	r := bufio.NewReader(j.file)
	for number := 1; ; number++ {
		text, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return end, nil // text is what a killed writer left
		}
		if err != nil {
			return 0, fmt.Errorf("%s: line %d: %w", j.path, number, err)
		}
		l := new(Line)
		if err := json.Unmarshal(text, l); err != nil || len(l.Cell) == 0 {
			return 0, fmt.Errorf("%s: line %d at byte %d is not a cell's result: move the file away to begin anew", j.path, number, end)
		}
		j.lines[l.Cell.Key()] = l
		end += int64(len(text))
	}
}

// readLine returns the next line with its end; io.EOF: there is none that has one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > maxLine {
			return nil, fmt.Errorf("has more than %d bytes", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Find returns the line of a cell, nil if there is none yet.
func (j *Journal) Find(c Cell) *Line { return j.lines[c.Key()] }

// Append adds a line and waits until it is on disk.
func (j *Journal) Append(l *Line) error {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(l); err != nil {
		return fmt.Errorf("%s: %w", j.path, err)
	}
	if _, err := j.file.Write(b.Bytes()); err != nil {
		return fmt.Errorf("append to journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("append to journal: %w", err)
	}
	j.lines[l.Cell.Key()] = l
	return nil
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
