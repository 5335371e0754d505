package textfile

import (
	"bufio"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Table is a table that is being written, line by line.
type Table struct {
	file *os.File
	buf  *bufio.Writer
	csv  *csv.Writer
}

// CreateTable begins a file with the names of its columns, such that the readers of text see that it is names.
func CreateTable(dir, name string, head ...string) (*Table, error) {
	head = slices.Clone(head)
	for i, h := range head {
		if h = strings.Join(strings.Fields(h), " "); i == 0 {
			h = HeadName(h)
		}
		if head[i] = h; strings.ContainsAny(h, `,";{}`) { // readers might take these for what stands between fields
			head[i] = `"` + strings.ReplaceAll(h, `"`, `""`) + `"`
		}
	}
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	buf := bufio.NewWriterSize(f, 1<<16)
	out := &Table{f, buf, csv.NewWriter(buf)}
	_, err = buf.WriteString(strings.Join(head, ",") + "\n")
	return out, err
}

// HeadName returns how CreateTable writes the name of the first column.
func HeadName(h string) string {
	if h == "" || !asciiLetter(h[0]) || strings.HasPrefix(strings.ToLower(h), "nan") || slices.Contains(noNames, strings.ToLower(h)) {
		return "_" + h
	}
	return h
}

// noNames are words that stand for values, so that a line that begins with one might be no names.
var noNames = []string{"na", "n/a", "none", "null", "nil", "inf", "infinity", "true", "false"}

func asciiLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// Line writes the next line.
func (out *Table) Line(fields ...string) error {
	if len(fields) != 1 || fields[0] != "" {
		return out.csv.Write(fields)
	}
	out.csv.Flush() // which would write an empty line, that readers skip
	_, err := out.buf.WriteString("\"\"\n")
	return errors.Join(out.csv.Error(), err)
}

// Close ends the file, and says whether all of it was written.
func (out *Table) Close() error {
	out.csv.Flush()
	return errors.Join(out.csv.Error(), out.buf.Flush(), out.file.Close())
}

// Name returns the path of the file.
func (out *Table) Name() string { return out.file.Name() }
