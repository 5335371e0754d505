package formats

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/room"
)

// textLabels are the labels of the lines read so far: one class per vertex, or 0 and 1 for each of several classes.
type textLabels struct {
	t     *textfile.Reader
	n     int // vertices, -1: as many as there are lines
	lines textfile.Lines
	words map[string]int32 // classes that are names; nil: classes are numbers
	fixed bool             // there are no other names

	first   float64 // in the first line, until it is known whether it is alone there
	labels  []int32 // nil: of several classes
	targets []uint8
	largest int32
	line    int64    // of the largest label
	seen    [2]bool  // the labels 0 and -1 occur
	names   []string // of columns; nil: unknown
	says    string   // rowsOfFeatures
}

// rowsOfFeatures says who told how many vertices there are; "": features did not.
func rowsOfFeatures(d *dataset.Dataset) string {
	if !d.Features.Present() {
		return ""
	}
	return ", as many as rows of features (if their columns are the vertices, save them transposed)"
}

// one takes the class of a vertex.
func (l *textLabels) one(y float64) error {
	switch {
	case math.IsNaN(y):
		y = -1
	case y == 0, y == -1:
		l.seen[int(-y)] = true
	}
	if y != math.Trunc(y) {
		return l.t.Fault("label %g is no class: classes are whole numbers from 0, or names; of a quantity make classes by its ranges, such as 0, 1, 2", y)
	}
	if y < -1 || y >= math.MaxInt32 {
		return l.t.Fault("label %g is no class from 0, and not -1 or nan (unlabelled)", y)
	}
	l.labels = append(l.labels, int32(y))
	if int32(y) > l.largest {
		l.largest, l.line = int32(y), l.t.TokenLine
	}
	return nil
}

// several takes whether a vertex is of class col.
func (l *textLabels) several(col int, y float64) error {
	if y != 0 && y != 1 {
		columns := ""
		if l.names != nil {
			columns = ", here " + fields.Quoted(l.names)
		}
		return l.t.Fault("class %d: %g is neither 0 nor 1, as labels of several columns must be%s; for one class per vertex keep one column, and call that of the vertices id", col, y, columns)
	}
	l.targets = append(l.targets, uint8(y))
	return nil
}

// cell takes a number of the text. The second one of the first line tells that classes are several; then the first one is of class 0.
func (l *textLabels) cell(row, col int, v float64) error {
	if err := atMost(l.t, row, l.n, "lines"); err != nil {
		return fmt.Errorf("%w%s", err, l.says)
	}
	switch {
	case row == 0 && col == 0:
		l.first = v
		return l.one(v)
	case row == 0 && col == 1:
		l.labels = nil
		if err := l.several(0, l.first); err != nil {
			return err
		}
		return l.several(1, v)
	case l.labels != nil:
		return l.one(v)
	case row == 1 && col == 0:
		all := min(l.lines.Rows*int64(len(l.targets)), (l.lines.Bytes+1)/2+1)
		if err := room.For(all); err != nil {
			return l.t.Fault("%d values: %w", all, err)
		}
		l.targets = append(make([]uint8, 0, max(all, int64(len(l.targets)))), l.targets...)
	}
	return l.several(col, v)
}

// read reads a label: a number, or a name, which is numbered.
func (l *textLabels) read() (float64, error) {
	if l.words == nil {
		return number(l.t, 64)
	}
	name, err := l.t.Text()
	if err != nil {
		return 0, err
	}
	name = norm.NFC.Bytes(name)
	y, known := l.words[string(name)]
	switch _, number := fields.Number(string(name)); {
	case known:
		return float64(y), nil
	case fields.Unknown(string(name)) || string(name) == "-1":
		return -1, nil
	case number:
		return 0, l.t.Fault("found the number %s, want the name of a class, as the labels before it are", name)
	case strings.Contains(string(name), "|"):
		return 0, l.t.Fault("found %.40q, want one class: several of a vertex are columns of 0 and 1, which `capgnn data tables` makes", name)
	case l.fixed:
		return 0, l.t.Fault("%.40q is no class of %s, whose first line is the name of its column", name, fields.ClassesFile)
	case len(l.words) == 1<<16:
		return 0, l.t.Fault("there are more than %d names of classes", 1<<16)
	}
	y = int32(len(l.words))
	l.words[string(name)] = y
	return float64(y), nil
}

// readTextLabels reads a line per vertex: one class, where -1 and nan mean unlabelled, or 0 and 1 for each of several
// classes. n -1: as many vertices as there are lines. named is that of readTextFeatures.
func readTextLabels(d *dataset.Dataset, t *textfile.Reader, named bool, n int) (rows int, err error) {
	r, err := rowsOf(t, named, false)
	if err != nil {
		return 0, err
	}
	return readLabelRows(d, r, n, nil)
}

// readLabelRows is readTextLabels of rows whose first lines were looked at. classes are the names of the classes, nil: those that occur, sorted.
func readLabelRows(d *dataset.Dataset, r *rowText, n int, classes []string) (rows int, err error) {
	t := r.t
	l := &textLabels{t: t, n: n, largest: -1, names: r.names, says: rowsOfFeatures(d)}
	if l.lines, err = t.Survey(); err != nil {
		return 0, err
	}
	if err := l.findNames(d, r, classes); err != nil {
		return 0, err
	}
	if held := l.lines.Rows - int64(toInt(r.head)); n >= 0 && held < int64(n) && held+l.lines.Empty == int64(n) {
		t.KeepEmpty = true
		d.Note("labels: empty lines are vertices without a label (%d)", l.lines.Empty)
	}
	rows, cols, err := r.each(1<<16, l.read, l.cell)
	if err != nil {
		return 0, err
	}
	if rows == 0 || n >= 0 && rows != n {
		return 0, t.Whole("has %d lines of labels, want %s%s; empty lines do not count, -1 stands for no label", rows, wantVertices(n), l.says)
	}
	if n < 0 && l.lines.Inner > 0 {
		return 0, t.Whole("has empty lines between its labels (%d): write -1 where a vertex has none, or take these lines out", l.lines.Inner)
	}
	if limit := check.MaxClasses(rows); int64(l.largest) >= limit {
		return 0, t.Whole("line %d: label %d is outside [-1, %d)", l.line, l.largest, limit)
	}
	order, err := r.order(d, "labels", rows)
	if err != nil {
		return 0, err
	}
	d.Labels, d.Targets, d.Classes = placed(l.labels, 1, order), placed(l.targets, cols, order), cols
	r.noteComments(d, "labels")
	if l.labels != nil {
		l.settle(d)
	} else if len(l.names) == cols {
		fields.TakeClasses(d, "labels", l.names)
	}
	return rows, l.compareNames(classes)
}

// compareNames refuses labels that are numbers of classes, and all of them names, but not of the same classes.
func (l *textLabels) compareNames(classes []string) error {
	if l.words != nil || l.labels == nil {
		return nil
	}
	other, number := -1, -1
	for y := range min(len(classes), int(l.largest)+1) {
		k := slices.Index(classes, fmt.Sprint(y))
		if k == y || !slices.Contains(l.labels, int32(y)) {
			continue
		}
		if k < 0 {
			return nil
		}
		if other < 0 {
			other, number = k, y
		}
	}
	if other < 0 {
		return nil
	}
	return l.t.Whole("label %d is class number %d, which %s calls %.40q, and %.40q is the name of class number %d: sort the names, or write names that are no numbers",
		number, number, fields.ClassesFile, classes[number], classes[other], other)
}

// settle numbers classes by sorted name and notes what is doubtful about one class per vertex.
func (l *textLabels) settle(d *dataset.Dataset) {
	d.Classes = int(l.largest) + 1
	if l.words != nil && !l.fixed {
		d.ClassNames = make([]string, len(l.words))
		for name, y := range l.words {
			d.ClassNames[y] = name
		}
		sorted := slices.Sorted(slices.Values(d.ClassNames))
		place := make([]int32, len(sorted))
		for y, name := range d.ClassNames {
			k, _ := slices.BinarySearch(sorted, name)
			place[y] = int32(k)
		}
		for v, y := range d.Labels {
			if y >= 0 {
				d.Labels[v] = place[y]
			}
		}
		for y, name := range sorted {
			sorted[y] = strings.ToValidUTF8(name, "\ufffd")
		}
		d.ClassNames = sorted
		noteClassNames(d)
	}
	noteUnlabelled(d, l.words == nil && l.largest == 1 && l.seen == [2]bool{false, true})
}

// noteClassNames says that classes are numbered by their names, which are sorted, and which of these may be meant otherwise.
func noteClassNames(d *dataset.Dataset) {
	sorted := d.ClassNames
	d.Note("labels: %d classes are numbered by their names: %s", len(sorted), fields.Quoted(sorted))
	if like := fields.Alike(sorted, func(a, b string) bool { return true }); like != "" {
		d.Note("labels: classes %s", like)
	}
	lines := make([]int, len(sorted)) // of each class
	for _, y := range d.Labels {
		if y >= 0 {
			lines[y]++
		}
	}
	if how, sep := fields.Several(sorted, func(k int) int { return lines[k] }); how != "" {
		d.Note("labels: fields such as %s are classes of their own; several classes of a vertex are columns of 0 and 1, which `capgnn data tables --label-sep '%s'` makes", how, sep)
	}
	for _, name := range fields.Doubtful(sorted) {
		d.Note("labels: class %.40q looks like a missing value, of %d vertices; "+
			"leave the field empty where the class is not known", name, lines[slices.Index(sorted, name)])
	}
}

// noteUnlabelled counts the vertices without a label. ones says that all labels are -1 or 1.
func noteUnlabelled(d *dataset.Dataset, ones bool) {
	switch unlabelled := check.CountOf(d.Labels, -1); {
	case unlabelled > 0 && ones:
		d.Note("labels: all are -1 or 1, and -1 is read as no label (of %d vertices); if it is a class, write 0 and 1", unlabelled)
	case unlabelled > 0:
		d.Note("vertices without a label: %d", unlabelled)
	}
}

// errDecided ends a reading that has found out what it wanted.
var errDecided = errors.New("decided")

// findNames finds out whether one column of labels is names, and whether the first line is one of them: if it occurs again, or if there are as many lines as vertices.
func (l *textLabels) findNames(d *dataset.Dataset, r *rowText, classes []string) error {
	head, _, err := l.t.Head(1)
	if err != nil || len(head) == 0 || len(r.names) > 1 || !r.head && !(len(head[0]) == 1 && fields.Unknown(head[0][0])) {
		return err
	}
	title, rest, again, names, decided := "", int64(0), int64(0), false, false
	if r.id < 0 {
		if title = strings.Join(head[0], " "); r.extra > 0 {
			title = r.names[0]
		}
		l.t.WholeLines()
	}
	_, _, err = r.each(1<<16, func() (float64, error) {
		name, err := l.t.Text()
		if err != nil {
			return 0, err
		}
		rest++
		text := string(name)
		if _, number := fields.Number(text); !decided && !fields.Unknown(text) {
			_, truth := trueOrFalse(text)
			if names, decided = !number && !truth, true; !names {
				return 0, errDecided
			}
		}
		if text == title && again == 0 {
			again = l.t.TokenLine
		}
		return 0, nil
	}, func(int, int, float64) error { return nil })
	if err != nil || !names {
		return nil // whoever reads it finds the fault
	}
	l.words = map[string]int32{}
	for y, name := range dataset.Composed(classes) {
		l.words[name], l.fixed = int32(y), true
	}
	switch {
	case r.id >= 0 || !r.head || r.numbers:
	case again > 0 && l.n < 0 && fields.IsLabel(title) && len(title) > 1:
		return l.t.Whole("line %d is the line of the name, %q, again: delete it", again, title)
	case again > 0:
		r.head = false
	case l.n >= 0 && rest+1 == int64(l.n) && !fields.IsLabel(title):
		r.head = false
		if !slices.Contains(classes, title) {
			d.Note("labels: the first line, %.40q, is read as the class of vertex 0", title)
		}
	case l.n < 0:
		d.Note("labels: the first line, %q, is read as the name of the column", title)
	}
	return nil
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// noteClasses says which classes no vertex has, if more than so many, and when classes are nearly as many as vertices.
func noteClasses(d *dataset.Dataset, most int) {
	if d.Labels == nil {
		return
	}
	used, labelled := make([]bool, d.Classes), 0
	for _, y := range d.Labels {
		if y >= 0 {
			used[y] = true
			labelled++
		}
	}
	var empty []string
	for y := range used {
		if used[y] {
			continue
		}
		name := fmt.Sprint(y)
		if d.ClassNames != nil {
			name = d.ClassNames[y]
		}
		empty = append(empty, name)
	}
	if len(empty) > most {
		d.Note("labels: no vertex has class %s", fields.Quoted(empty))
	}
	if n := d.Classes - len(empty); labelled > 20 && n > labelled/2 {
		d.Note("labels: there are %d classes for %d labelled vertices: are these ids, or a quantity?", n, labelled)
	}
}
