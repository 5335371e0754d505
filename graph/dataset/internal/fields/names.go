package fields

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/npy"
	"capgnn/internal/regular"
)

// Files of names beside a data set: a line that names the column, then a name in each line.
const (
	ClassesFile = "classes.csv" // of class 0, 1, …
	ColumnsFile = "columns.csv" // of the columns of the features
	IDsFile     = "ids.csv"     // ids of the vertices, which are any text
)

// maxNamesFile bounds classes.csv and columns.csv, in bytes.
const maxNamesFile = 1 << 30

// ReadNames takes the names of classes, columns and vertices from the folder of the data set, if it has them. Names that are not those
// of this data set are left alone, with a note. Classes that are named and that no vertex has stay.
func ReadNames(d *dataset.Dataset, dir string) error {
	if d.Classes > 0 {
		title, names, err := readNames(d, dir, ClassesFile, int(check.MaxClasses(d.Graph.Rows())), true)
		if err != nil {
			return err
		}
		where, above := filepath.Join(dir, ClassesFile), d.ClassNames
		if len(names) == d.Classes {
			if names, err = inOrderOf(above, names, where, "labels"); err != nil {
				return err
			}
		}
		switch {
		case names == nil:
		case !TakeClasses(d, where, names):
			d.Note("%s names %d of %d classes below its first line, the name of the column: left alone", where, len(names), d.Classes)
		default:
			noteTitle(d, where, title, "class", above != nil || IsLabel(title) || titlesLabels(dir, title))
			noteDoubtful(d, where)
		}
	}
	for _, f := range []struct {
		file string
		want int
		into *[]string
	}{{ColumnsFile, d.Features.Cols, &d.ColumnNames}, {IDsFile, d.Graph.Rows(), &d.VertexNames}} {
		if f.want == 0 {
			continue
		}
		title, names, err := readNames(d, dir, f.file, f.want, false)
		if err != nil {
			return err
		}
		switch {
		case names == nil:
		case len(names) != f.want:
			d.Note("%s: left alone", OtherNumber(filepath.Join(dir, f.file), len(names), f.want, strings.TrimSuffix(f.file, "s.csv")))
		default:
			usual := f.file == ColumnsFile && (*f.into != nil || slices.Contains(columnTitles, NameKey(title))) ||
				f.file == IDsFile && (IsID(title) || SaysID(title) || !AlikeButDigits(title, names[0]))
			noteTitle(d, filepath.Join(dir, f.file), title, strings.TrimSuffix(f.file, "s.csv"), usual)
			if *f.into, err = inOrderOf(*f.into, names, filepath.Join(dir, f.file), "features"); err != nil {
				return err
			}
		}
	}
	return nil
}

// OtherNumber says that a file of names has another number of them than it should. One fewer may be for want of a header, one.
func OtherNumber(where string, has, want int, one string) string {
	header, s := "", "s"
	if has == 1 {
		s = ""
	}
	if has == want-1 {
		header = fmt.Sprintf(" (if it names something, put the line %s above it)", one)
	}
	return fmt.Sprintf("%s has %d name%s below its first line, which is taken as the header%s, want %d", where, has, s, header, want)
}

// columnTitles are what the column of the names of columns is called.
var columnTitles = []string{"column", "columns", "name", "names", "columnname", "feature", "features", "featurename", "attribute", "attributes", "variable"}

// AlikeButDigits reports whether two texts differ in digits only, as ids do.
func AlikeButDigits(a, b string) bool {
	without := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) {
				return -1
			}
			return r
		}, text)
	}
	return a != without(a) && without(a) == without(b)
}

// noteTitle says how the first line of a file of names is read, where it is not called as such a column usually is.
func noteTitle(d *dataset.Dataset, where, title, one string, usual bool) {
	of := map[bool]string{true: "vertex", false: one}[one == "id"]
	if !usual {
		d.Note("%s: the first line, %.40q, is read as the name of the column; if it names %s 0, put the line %s above it", where, title, of, one)
	}
}

// titlesLabels reports whether a column of the labels of a folder is called so.
func titlesLabels(dir, title string) (is bool) {
	for _, end := range []string{".csv", ".csv.gz"} {
		_ = textfile.Open(filepath.Join(dir, "labels"+end), nil, func(t *textfile.Reader) error { // which was read before
			head, _, err := t.Head(1)
			is = is || err == nil && len(head) > 0 && slices.ContainsFunc(head[0], func(name string) bool {
				return name == textfile.HeadName(title) || name == strings.TrimSpace(title)
			})
			return nil
		})
	}
	return is
}

// noteDoubtful notes names of classes that look like missing values, in a file of names.
func noteDoubtful(d *dataset.Dataset, where string) {
	for y, name := range d.ClassNames {
		if !Unknown(name) && !slices.Contains(Doubtful(d.ClassNames), name) {
			continue
		}
		n := check.CountOf(d.Labels, int32(y))
		for i := y; i < len(d.Targets); i += d.Classes {
			n += int(d.Targets[i])
		}
		d.Note("%s: class %.40q looks like a missing value, of %d vertices; where the class is not known, the label is empty or -1", where, name, n)
	}
}

// inOrderOf returns the names in a file in the order of those that stand above the columns that they name, nil: of the file. It refuses
// others than those.
func inOrderOf(above, names []string, file, what string) ([]string, error) {
	if len(above) != len(names) {
		return names, nil
	}
	plain := func(name string) string { return strings.TrimSpace(strings.Map(printable, norm.NFC.String(name))) }
	of := make(map[string]string, len(names))
	for k, name := range names {
		of[plain(FeatureName(name, k))] = name
	}
	out := make([]string, len(above))
	for k, name := range above {
		name = plain(name)
		_, known := of[name]
		if k == 0 && !known {
			name = strings.TrimPrefix(name, "_") // before a first number, as textfile.Table writes it
		}
		if name, known = of[name]; !known {
			return nil, &dataset.FormatError{File: file, Offset: -1, Err: fmt.Errorf("names %.40q, and column %d of %s is called %.40q: keep one name", names[k], k, what, above[k])}
		}
		out[k] = name
	}
	return out, nil
}

// TakeClasses takes the names of classes, if there are as many; one class per vertex may have more. It notes names that are
// there twice.
func TakeClasses(d *dataset.Dataset, where string, names []string) bool {
	if len(names) < d.Classes || len(names) > d.Classes && d.Targets != nil {
		return false
	}
	for y, name := range names {
		if k := slices.Index(names[:y], name); k >= 0 {
			d.Note("%s: classes %d and %d are both called %.40q", where, k, y, name)
			break
		}
	}
	d.ClassNames, d.Classes = names, len(names)
	return true
}

// ReadNameArrays takes the names of vertices, columns and classes from the arrays that gnn-benchmark has for them. Notes say
// which are left alone: pickled ones, those of another number, and those of what has names.
func ReadNameArrays(d *dataset.Dataset, z *npy.Archive) error {
	named := d.VertexNames != nil || d.IDs != nil
	for _, f := range []struct {
		key  string
		want int
		free bool
		into *[]string
	}{{"node_names", d.Graph.Rows(), !named, &d.VertexNames},
		{"attr_names", d.Features.Cols, d.ColumnNames == nil, &d.ColumnNames},
		{"class_names", d.Classes, d.ClassNames == nil, nil}} {
		if !z.Has(f.key) {
			continue
		}
		a, err := z.Array(f.key)
		if err != nil {
			return err
		}
		kind, one := a.DType.Kind, len(a.Shape) == 1
		if f.key == "node_names" && !named && (kind == 'i' || kind == 'u') && one && a.Len() == f.want {
			if d.IDs, err = a.Int64(); err != nil {
				return err
			}
			continue
		}
		if kind != 'U' && kind != 'S' || !one || a.Len() > max(f.want, int(check.MaxClasses(0))) {
			cure := ""
			if kind == 'O' && one {
				cure = fmt.Sprintf(" (of Python objects, numpy.array(%s, dtype=str) makes texts)", f.key)
			}
			d.Note("%s: has type %v and shape %v, want %d texts: left alone%s", f.key, a.DType, a.Shape, f.want, cure)
			continue
		}
		names, err := a.Strings()
		if err != nil {
			return err
		}
		for i, name := range names {
			if names[i] = strings.ToValidUTF8(name, "\ufffd"); f.into == nil {
				names[i] = strings.Map(printable, names[i])
			}
		}
		switch {
		case !f.free:
			d.Note("%s: left alone, as ids are there", f.key)
		case f.into == nil && f.want > 0 && TakeClasses(d, f.key, names):
		case f.into != nil && f.want > 0 && len(names) == f.want:
			*f.into = names
		default:
			d.Note("%s: %d names for %d: left alone", f.key, len(names), f.want)
		}
	}
	return nil
}

// Names reads a file of names in a folder, of which no more than most+1; nil: there is no such file, or it is no table, which a note says.
func Names(d *dataset.Dataset, dir, file string, most int) ([]string, error) {
	_, names, err := readNames(d, dir, file, most, false)
	return names, err
}

// readNames reads the first line of a file of names and the names below it, of which no more than most+1; nil: there is no such file,
// or it is no table.
func readNames(d *dataset.Dataset, dir, file string, most int, shown bool) (title string, names []string, err error) {
	path := filepath.Join(dir, file)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	if file != IDsFile && info.Size() > maxNamesFile {
		d.Note("%s has %d bytes: too large for names, left alone", path, info.Size())
		return "", nil, nil
	}
	f, err := regular.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	r := csv.NewReader(bufio.NewReaderSize(f, 1<<16))
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	names = []string{}
	for line := 0; len(names) <= most; line++ {
		record, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			d.Note("%s: %v: left alone", path, err)
			return "", nil, nil
		}
		switch {
		case len(record) > 1:
			d.Note("%s: line %d has %d fields, want a name: left alone", path, line+1, len(record))
			return "", nil, nil
		case !utf8.ValidString(record[0]):
			return "", nil, &dataset.FormatError{File: path, Offset: -1, Err: fmt.Errorf("line %d: %.40q is no UTF-8 text: save the file as UTF-8", line+1, record[0])}
		}
		name := record[0]
		if shown {
			name = strings.Map(printable, name)
		}
		if line == 0 {
			title = strings.TrimPrefix(strings.Clone(name), "\ufeff")
			continue
		}
		names = append(names, strings.Clone(name))
	}
	return title, names, nil
}

// printable puts a space in place of what would move a terminal's cursor.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

// WriteNames writes the names of classes, columns and vertices that are known.
func WriteNames(d *dataset.Dataset, dir string) error {
	for _, f := range []struct {
		file, head string
		names      []string
	}{{ClassesFile, "class", d.ClassNames}, {ColumnsFile, "column", d.ColumnNames}, {IDsFile, "id", d.VertexNames}} {
		if f.names == nil {
			continue
		}
		out, err := textfile.CreateTable(dir, f.file, f.head)
		if err != nil {
			return err
		}
		for _, name := range f.names {
			if err = out.Line(name); err != nil {
				break
			}
		}
		if err = errors.Join(err, out.Close()); err != nil {
			return err
		}
	}
	return nil
}
