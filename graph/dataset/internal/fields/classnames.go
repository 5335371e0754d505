package fields

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/regular"
)

// ClassesFile holds the names of the classes: a line of a name for the column, then that of class 0, 1, ….
const ClassesFile = "classes.csv"

// maxClassesFile bounds it, in bytes.
const maxClassesFile = 16 << 20

// ReadClassNames takes the names of the classes from the folder of the data set, if it has them. Names that are not those of its
// classes are left alone, with a note.
func ReadClassNames(d *dataset.Dataset, dir string) error {
	path := filepath.Join(dir, ClassesFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || d.Classes == 0) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Size() > maxClassesFile {
		d.Notes = append(d.Notes, fmt.Sprintf("%s has %d bytes: too large for names of classes, left alone", path, info.Size()))
		return nil
	}
	data, err := regular.ReadFile(path, maxClassesFile)
	if err != nil {
		return err
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil || len(lines)-1 < d.Classes {
		d.Notes = append(d.Notes, fmt.Sprintf("%s names %d of %d classes: left alone", path, max(0, len(lines)-1), d.Classes))
		return nil
	}
	for _, line := range lines[1 : 1+d.Classes] {
		d.ClassNames = append(d.ClassNames, strings.Map(printable, strings.ToValidUTF8(line[0], "\ufffd")))
	}
	return nil
}

// printable puts a space in place of what would move a terminal's cursor.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// WriteClassNames writes the names of the classes, if they have some.
func WriteClassNames(d *dataset.Dataset, dir string) error {
	if d.ClassNames == nil {
		return nil
	}
	out, err := textfile.CreateTable(dir, ClassesFile, "class")
	if err != nil {
		return err
	}
	for _, name := range d.ClassNames {
		err = errors.Join(err, out.Line(name))
	}
	return errors.Join(err, out.Close())
}
