package dataset

import (
	"bufio"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tableOut writes a table.
type tableOut struct {
	file *os.File
	buf  *bufio.Writer
	csv  *csv.Writer
}

// createTable begins a file with the names of its columns, such that the readers of text see that it is names.
func createTable(dir, name string, head ...string) (*tableOut, error) {
	head = slices.Clone(head)
	for i, h := range head {
		h = strings.Join(strings.Fields(h), " ")
		if i == 0 && (h == "" || !asciiLetter(h[0]) || strings.HasPrefix(strings.ToLower(h), "nan")) {
			h = "_" + h
		}
		head[i] = h
	}
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	buf := bufio.NewWriterSize(f, 1<<16)
	out := &tableOut{f, buf, csv.NewWriter(buf)}
	return out, out.Line(head...)
}

func asciiLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func (out *tableOut) Line(fields ...string) error { return out.csv.Write(fields) }

func (out *tableOut) Close() error {
	out.csv.Flush()
	return errors.Join(out.csv.Error(), out.buf.Flush(), out.file.Close())
}

// Name returns the path of the file.
func (out *tableOut) Name() string { return out.file.Name() }
