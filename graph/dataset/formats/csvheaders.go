package formats

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
)

// csvFiles are the files of a CSV folder; "" for those that are not there.
type csvFiles struct {
	dir                     string
	opt                     dataset.Options
	edges, features, labels string
	masks                   [3]string // train, val, test
	classes                 []string  // names of classes, in the file of them; nil: there are none

	// numbers says of which text files the first line is 0,1,2,… and a header, as pandas writes it for columns without names.
	numbers map[string]bool
	told    bool // the rows of other files say that a first line 0,1 of the edges is no header
}

func findFiles(dir string) (*csvFiles, error) {
	f := &csvFiles{dir: dir, numbers: map[string]bool{}}
	for _, one := range []struct {
		stem string
		ends []string
		into *string
	}{
		{"edges", textEnds, &f.edges}, {"features", featureEnds, &f.features}, {"labels", columnEnds, &f.labels},
	} {
		path, err := findFile(dir, one.stem, one.ends...)
		if err != nil {
			return nil, err
		}
		*one.into = path
	}
	for k, names := range fields.SetNames {
		for _, stem := range names {
			path, err := findFile(dir, stem, columnEnds...)
			if err != nil {
				return nil, err
			}
			if path != "" && f.masks[k] != "" {
				return nil, fmt.Errorf("%s: there are both %s and %s; keep one", dir, filepath.Base(f.masks[k]), filepath.Base(path))
			}
			if path != "" {
				f.masks[k] = path
			}
		}
	}
	return f, nil
}

// begin is what the first lines of a text tell.
type begin struct {
	numbers, sure bool // 0,1,2,…; surely a header
	ascending     bool // several whole numbers, each larger than the one before, such as years
	named         bool // names of columns
	classes       bool // the second line is a name too
	text          string
	lines         int64 // that have a field; only where they were asked for
	fraction      bool  // the first line is whole numbers, and the second one has a decimal point in every field
	cols          int
}

// ascending reports whether a line is several whole numbers, each larger than the one before.
func ascending(line []string) bool {
	before := int64(math.MinInt64)
	for _, f := range line {
		v, ok := fields.Whole(f)
		if !ok || v <= before {
			return false
		}
		before = v
	}
	return len(line) > 1
}

// begin looks at the first lines of a text; "" has none.
func (f *csvFiles) begin(path string) (b begin, err error) {
	if path == "" || !suffix(textEnds...)(path) {
		return b, nil
	}
	err = textfile.Open(path, f.opt.Watch, func(t *textfile.Reader) error {
		head, first, err := t.Head(2)
		if err != nil || len(head) == 0 {
			return err
		}
		b.numbers, b.sure = isNumberHeader(head[0])
		b.numbers, b.ascending = b.numbers && first, first && ascending(head[0])
		b.named = isName(head[0][0]) || head[0][0] == "" && len(head[0]) > 1 && isName(head[0][1])
		b.text, b.cols = strings.Join(head[0], ","), len(head[0])
		b.fraction, b.classes = len(head) == 2, len(head) == 2 && isName(head[1][0])
		for _, v := range head[len(head)-1] {
			b.fraction = b.fraction && strings.ContainsAny(v, ".eE")
		}
		return nil
	})
	return b, err
}

// lines counts the lines of a text that have a field.
func (f *csvFiles) lines(path string) (n int64, err error) {
	err = textfile.Open(path, f.opt.Watch, func(t *textfile.Reader) error {
		lines, err := t.Survey()
		n = lines.Rows
		return err
	})
	return n, err
}

// vertexNames returns the names in ids.csv, nil if there are none.
func (f *csvFiles) vertexNames() ([]string, error) {
	return fields.Names(&dataset.Dataset{}, f.dir, fields.IDsFile, check.MaxDim)
}

// tellHeaders finds out which first lines 0,1,2,… are headers, and notes it. Where it cannot be told it says so: in an error where rows would be those of other vertices, else in a note.
//
// Method: a file of rows has a header if it has one line more than there are vertices, which arrays, names and files with another first line tell. If all files of
// rows begin so, the edges tell: a line more than vertices, while the other files have headers too, or fractions below whole numbers.
// The header of another file says nothing of edges and masks: their first line is data.
func (f *csvFiles) tellHeaders(d *dataset.Dataset) (err error) {
	if f.classes, err = fields.Names(&dataset.Dataset{}, f.dir, fields.ClassesFile, int(check.MaxClasses(0))); err != nil {
		return err
	}
	edges, err := f.begin(f.edges)
	if err != nil {
		return err
	}
	var rows [2]begin
	for i, path := range []string{f.features, f.labels} {
		if rows[i], err = f.begin(path); err != nil {
			return err
		}
	}
	return f.rowsHaveHeaders(d, rows, edges)
}

// rowsHaveHeaders finds out which files of rows have a header of numbers.
func (f *csvFiles) rowsHaveHeaders(d *dataset.Dataset, rows [2]begin, edges begin) error {
	paths := [2]string{f.features, f.labels}
	suspects, doubtful := []int{}, false
	for i, b := range rows {
		text := paths[i] != "" && suffix(textEnds...)(paths[i])
		if b.numbers && !b.sure {
			suspects = append(suspects, i)
		}
		doubtful = doubtful || b.numbers || b.sure || b.ascending
		f.told = f.told || text && !b.numbers && !b.named && (!b.ascending || f.labels != "")
	}
	if !doubtful {
		return nil
	}
	n, err := f.countVertices(paths, &rows)
	if err != nil {
		return err
	}
	if len(suspects) == 0 {
		return f.noteAscending(d, rows[0], n)
	}
	unsure := false
	if n < 0 {
		if n, unsure, err = f.byEdges(rows, suspects, edges); err != nil {
			return err
		}
	}
	for _, i := range suspects {
		switch path := paths[i]; rows[i].lines - n {
		case 1:
			f.numbers[path] = true
			d.Note("%s: the first line, %.40s, is a header as pandas writes it, and no row: it is skipped", filepath.Base(path), rows[i].text)
		case 0:
			f.told = true
			if unsure {
				d.Note("%s: the first line, %.40s, is read as the row of vertex 0; if it is a header, as pandas writes for columns without names, delete it", filepath.Base(path), rows[i].text)
			}
		}
	}
	return nil
}

// countVertices counts the lines of the texts among the files of rows, and returns how many vertices those say whose first line is no riddle; -1: none does.
func (f *csvFiles) countVertices(paths [2]string, rows *[2]begin) (n int64, err error) {
	n = -1
	for i, path := range paths {
		switch b := &rows[i]; {
		case path == "" || suffix(listEnds...)(path):
		case filepath.Ext(path) == ".npy":
			if a, err := fields.OpenArray(f.opt, path); err == nil && len(a.Shape) > 0 {
				n = int64(a.Shape[0]) // whoever reads it finds faults
			}
		case filepath.Ext(path) == ".npz":
			if z, err := fields.OpenArchive(f.opt, path); err == nil {
				if rows, _, err := fields.ReadShape(z, "shape"); err == nil {
					n = int64(rows)
				}
				z.Close()
			}
		default:
			if b.lines, err = f.lines(path); err != nil {
				return 0, err
			}
			switch {
			case b.named && b.classes && i == 1: // the first line may be one
			case b.named || b.sure:
				n = b.lines - 1
			case !b.numbers && (!b.ascending || f.labels != ""):
				n = b.lines
			}
		}
	}
	if n >= 0 {
		return n, nil
	}
	names, err := f.vertexNames()
	if names != nil {
		n = int64(len(names))
	}
	return n, err
}

// noteAscending says how a first line such as 2019,2020 of features was read, if it makes one vertex more than the edges have.
func (f *csvFiles) noteAscending(d *dataset.Dataset, b begin, n int64) error {
	if !b.ascending || n >= 0 {
		return nil
	}
	largest, err := f.largestID()
	if err == nil && largest+2 == b.lines {
		d.Note("features.csv: the first line, %.40s, is read as the row of vertex 0; if it is names of columns, write them as x2019 or delete the line", b.text)
	}
	return err
}

// byEdges tells the number of vertices where all files of rows begin with 0,1,2,…; unsure says that a note is due.
func (f *csvFiles) byEdges(rows [2]begin, suspects []int, edges begin) (n int64, unsure bool, err error) {
	largest, err := f.largestID()
	wide, fraction, lines := false, false, int64(0)
	for _, i := range suspects {
		lines = max(lines, rows[i].lines)
		wide, fraction = wide || rows[i].cols > 1, fraction || rows[i].fraction
	}
	used := largest + 1
	switch {
	case err != nil:
		return 0, false, err
	case used >= lines:
		return lines, false, nil
	case fraction, used == lines-1 && (wide || len(suspects) > 1) && (edges.numbers || edges.named):
		return lines - 1, false, nil
	case !edges.numbers && !edges.named:
		return lines, true, nil
	}
	path := []string{f.features, f.labels}[suspects[0]]
	err = fmt.Errorf("line 1: %.40s is a header as pandas writes it, or the row of vertex 0, which the largest id in the edges, %d, and %d lines do not tell: name the columns, or delete the header",
		rows[suspects[0]].text, largest, lines)
	return 0, false, &dataset.FormatError{File: path, Offset: 0, Err: err}
}

// largestID returns the largest id in the edges, -1 where they have none or names; who reads them finds what is wrong.
func (f *csvFiles) largestID() (largest int64, err error) {
	largest = -1
	err = textfile.Open(f.edges, f.opt.Watch, func(t *textfile.Reader) error {
		l := &edgeText{t: t, n: -1, largest: -1, told: true, ignore: true}
		if err := l.plan(&dataset.Dataset{}); err == nil && l.words == nil {
			_ = l.each(func(_, _ int64, _ float32) error { return nil })
			largest = l.largest
		}
		return nil
	})
	return largest, err
}

// masksHaveHeaders finds out which texts of masks of n vertices begin with a header 0: lists that begin so together, or that have it twice, and masks with a line
// more than vertices.
func (f *csvFiles) masksHaveHeaders(d *dataset.Dataset, n int) error {
	var begins [3]begin
	zeros, others := 0, 0
	for i, path := range f.masks {
		b, err := f.begin(path)
		if err != nil {
			return err
		}
		switch begins[i] = b; {
		case b.text == "" || b.named || b.sure:
		case b.numbers && b.cols == 1:
			zeros++
		default:
			others++
		}
	}
	for i, path := range f.masks {
		b := begins[i]
		if !b.numbers || b.sure || b.cols > 1 {
			continue
		}
		isMask, again, err := f.zerosAndOnes(path)
		if err != nil {
			return err
		}
		if b.lines, err = f.lines(path); err != nil {
			return err
		}
		isMask = isMask && b.lines >= int64(n)
		header := others == 0 && (zeros > 1 || again && !f.told)
		if isMask {
			header = b.lines == int64(n)+1 && !f.told
		}
		switch name := filepath.Base(path); {
		case header:
			f.numbers[path] = true
			d.Note("%s: the first line, 0, is a header as pandas writes it, and no vertex: it is skipped", name)
		case !isMask && others == 0:
			d.Note("%s: the first line, 0, is read as vertex 0; if it is a header, as pandas writes for columns without names, delete it", name)
		}
	}
	return nil
}

// zerosAndOnes reports whether a text of one column is nothing else, and whether a 0 stands in another line than the first.
func (f *csvFiles) zerosAndOnes(path string) (is, again bool, err error) {
	is = true
	err = textfile.Open(path, f.opt.Watch, func(t *textfile.Reader) error {
		_, _, _ = t.Table(64, 1, func(row, _ int, v float64) error {
			is, again = is && (v == 0 || v == 1), again || row > 0 && v == 0
			return nil
		})
		return nil
	})
	return is, again, err
}
