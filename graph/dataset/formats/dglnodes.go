package formats

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/adjacency"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	num "capgnn/internal/number"
	"capgnn/internal/room"
)

// dglIDs are the ids of the vertices in ascending order: whole numbers, or else text.
type dglIDs struct {
	n       int
	lines   int64
	bytes   int64                   // of the table of vertices
	numbers *adjacency.IDs          // nil: the ids are text
	names   []string                // nil: they are numbers
	number  map[string]graph.NodeID // of each name
}

// place returns the vertex of an id.
func (i *dglIDs) place(field string) (graph.NodeID, bool) {
	if i.numbers == nil {
		v, ok := i.number[field]
		return v, ok
	}
	id, ok := fields.Whole(field)
	if !ok {
		return 0, false
	}
	return i.numbers.Place(id)
}

// errText ends the reading of ids as numbers.
var errText = errors.New("an id is text")

// readDGLIDs reads the ids of the vertices.
func readDGLIDs(meta *dglMeta, opt dataset.Options) (*dglIDs, error) {
	t := &meta.Nodes[0]
	ids := &dglIDs{numbers: &adjacency.IDs{}}
	column := 0
	head := func(s *sheet) (err error) { column, err = s.need(t.NodeID); return err }
	each := func(add func(s *sheet, id string) error) error {
		ids.lines = 0
		return meta.read(t, opt.Watch, head, func(s *sheet) error {
			ids.lines++
			ids.bytes = s.csv.InputOffset()
			if ids.lines > check.MaxDim {
				return s.fault(column, "there are more than %d vertices", check.MaxDim)
			}
			return add(s, s.record[column])
		})
	}
	err := each(func(s *sheet, id string) error {
		v, ok := fields.Whole(id)
		if !ok || v < 0 {
			return errText
		}
		return ids.numbers.Add(v)
	})
	if errors.Is(err, errText) {
		ids.numbers = nil
		err = each(func(s *sheet, id string) error {
			if id == "" {
				return s.fault(column, "a vertex has no id")
			}
			ids.names = append(ids.names, strings.Clone(id))
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	return ids, ids.arrange(filepath.Join(meta.dir, t.File))
}

// arrange sorts the ids. Repeats are found when their lines are read again.
func (i *dglIDs) arrange(path string) error {
	if i.numbers != nil {
		if err := i.numbers.Finish(); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		i.n = len(i.numbers.Sorted)
	} else {
		slices.Sort(i.names)
		i.names = slices.Compact(i.names)
		i.n, i.number = len(i.names), make(map[string]graph.NodeID, len(i.names))
		for v, name := range i.names {
			i.number[name] = graph.NodeID(v)
		}
	}
	if i.n == 0 {
		return fmt.Errorf("%s: lists no vertices", path)
	}
	return nil
}

// dglNodes is the table of vertices, read for the second time.
type dglNodes struct {
	ids             *dglIDs
	id, feat, label int // columns; -1: there is none
	masks           [3]int
	into            [3][]bool
	seen            []bool
	cols            int // of feat
	dense           []float32
	labels          []int32 // by vertex, numbers of names; nil: none, or several labels
	names           map[string]int32
	classes         int // of several labels
	targets         []uint8
	odd             error // says that the first label that is no whole number is no class
}

// readDGLNodes reads the table of vertices: ids first, since they say where everything belongs, then the other columns.
func readDGLNodes(d *dataset.Dataset, meta *dglMeta, opt dataset.Options) (*dglIDs, error) {
	ids, err := readDGLIDs(meta, opt)
	if err != nil {
		return nil, err
	}
	if err := room.For(int64(ids.n)); err != nil {
		return nil, fmt.Errorf("%s: %d vertices: %w", meta.dir, ids.n, err)
	}
	t := &meta.Nodes[0]
	l := &dglNodes{ids: ids, seen: make([]bool, ids.n)}
	var last *sheet
	err = meta.read(t, opt.Watch, func(s *sheet) (err error) {
		last = s
		l.id, err = s.need(t.NodeID)
		l.feat, l.label = s.column("feat"), s.column("label")
		used := []string{t.NodeID, "feat", "label"}
		for i := range l.masks {
			l.masks[i] = -1
			for _, key := range fields.SetKeys(i, "_mask") {
				at := s.column(key)
				if at >= 0 && l.masks[i] >= 0 {
					return s.fault(at, "%s and another column are masks of the same set: keep one", key)
				}
				l.masks[i] = max(l.masks[i], at)
				used = append(used, key)
			}
			if l.masks[i] >= 0 {
				l.into[i] = make([]bool, ids.n)
			}
		}
		meta.noteUnused(d, s, t, used...)
		return err
	}, l.line)
	if err != nil {
		return nil, err
	}
	for i, m := range d.Masks() {
		*m.Of = l.into[i]
	}
	if l.cols > 0 {
		d.Features = dataset.Features{Cols: l.cols, Dense: l.dense}
	}
	switch {
	case ids.numbers == nil:
		d.VertexNames = ids.names
	case ids.numbers.Sorted[ids.n-1] != int64(ids.n-1):
		d.IDs = ids.numbers.Sorted
	}
	return ids, l.settleLabels(d, last)
}

// line takes the fields of a vertex.
func (l *dglNodes) line(s *sheet) error {
	v, known := l.ids.place(s.record[l.id])
	if !known {
		return s.fault(l.id, "the file changed while it was read")
	}
	if l.seen[v] {
		return s.fault(l.id, "vertex %.60q is there twice", s.record[l.id])
	}
	l.seen[v] = true
	for i, c := range l.masks {
		if c < 0 {
			continue
		}
		in, ok := fields.Truth(s.record[c])
		if !ok {
			return s.fault(c, "found %.60q, want 0 or 1, or True or False", s.record[c])
		}
		l.into[i][v] = in
	}
	if l.feat >= 0 {
		if err := l.takeFeatures(s, int(v)); err != nil {
			return err
		}
	}
	if l.label >= 0 {
		return l.takeLabel(s, int(v))
	}
	return nil
}

// listed returns the items of a field such as "1, 2" or "[1, 2]".
func listed(field string) []string {
	for _, ends := range []string{"[]", "()"} {
		if len(field) > 1 && field[0] == ends[0] && field[len(field)-1] == ends[1] {
			field = strings.TrimSuffix(strings.TrimSpace(field[1:len(field)-1]), ",")
		}
	}
	items := strings.Split(field, ",")
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
	}
	return items
}

// takeFeatures takes the row of features of a vertex. The first one says how long all are.
func (l *dglNodes) takeFeatures(s *sheet, v int) error {
	items := listed(s.record[l.feat])
	if l.dense == nil {
		// A value has a character and one behind it.
		all := int64(l.ids.n) * int64(len(items))
		if len(items) > check.MaxCols || all > l.ids.bytes {
			return s.fault(l.feat, "has %d values, more than each of %d lines can have", len(items), l.ids.n)
		}
		if err := room.For(4 * all); err != nil {
			return s.fault(l.feat, "%d values: %w", all, err)
		}
		l.cols, l.dense = len(items), make([]float32, all)
	}
	if len(items) != l.cols {
		return s.fault(l.feat, "has %s, those before it have %d", num.Counted(len(items), "value"), l.cols)
	}
	for k, item := range items {
		x, err := finite(s, l.feat, item)
		if err != nil {
			return err
		}
		l.dense[v*l.cols+k] = x
	}
	return nil
}

// takeLabel takes the label of a vertex: a name, which may be a number, or a list of 0 and 1. The first one says which.
func (l *dglNodes) takeLabel(s *sheet, v int) error {
	field := s.record[l.label]
	if l.labels == nil && l.targets == nil {
		if err := l.beginLabels(s, field); err != nil {
			return err
		}
	}
	if l.targets != nil {
		items := listed(field)
		if len(items) != l.classes {
			return s.fault(l.label, "has %s, those before it have %d", num.Counted(len(items), "value"), l.classes)
		}
		for k, item := range items {
			yes, ok := fields.Truth(item)
			if !ok {
				return s.fault(l.label, "found %.60q, want 0 or 1 for each class", item)
			}
			if yes {
				l.targets[v*l.classes+k] = 1
			}
		}
		return nil
	}
	if fields.Unknown(field) {
		l.labels[v] = -1
		return nil
	}
	field = norm.NFC.String(field)
	k, ok := l.names[field]
	if !ok {
		k = int32(len(l.names))
		if int64(k) >= check.MaxClasses(l.ids.n) {
			return s.fault(l.label, "there are more than %d different labels", k)
		}
		if strings.Contains(field, ",") && !slices.ContainsFunc(listed(field), func(item string) bool { _, ok := fields.Truth(item); return !ok }) {
			return s.fault(l.label, "found %.60q, 0 or 1 for each class, where the first vertex has none of these: write them in every line", field)
		}
		l.names[strings.Clone(field)] = k
		if _, whole := fields.Whole(field); !whole && l.odd == nil {
			l.odd = s.fault(l.label, "%.60q is no class: give whole numbers or names, or rename the column", field)
		}
	}
	l.labels[v] = k
	return nil
}

// beginLabels makes room for labels of the kind of the first one.
func (l *dglNodes) beginLabels(s *sheet, field string) error {
	if !strings.Contains(field, ",") {
		if err := room.For(4 * int64(l.ids.n)); err != nil {
			return s.fault(l.label, "%d labels: %w", l.ids.n, err)
		}
		l.labels, l.names = make([]int32, l.ids.n), map[string]int32{}
		return nil
	}
	l.classes = len(listed(field))
	all := int64(l.ids.n) * int64(l.classes)
	if l.classes > 1<<16 || all > l.ids.bytes {
		return s.fault(l.label, "has %d values, more than each of %d lines can have", l.classes, l.ids.n)
	}
	if err := room.For(all); err != nil {
		return s.fault(l.label, "%d values: %w", all, err)
	}
	l.targets = make([]uint8, all)
	return nil
}

// settleLabels makes classes of the names of labels: whole numbers are classes themselves, other names are sorted.
func (l *dglNodes) settleLabels(d *dataset.Dataset, s *sheet) error {
	if l.targets != nil {
		d.Targets, d.Classes = l.targets, l.classes
		return nil
	}
	if l.labels == nil {
		return nil
	}
	names := make([]string, 0, len(l.names))
	numbers := 0
	for name := range l.names {
		names = append(names, name)
		if _, ok := fields.Number(name); ok {
			numbers++
		}
	}
	slices.Sort(names)
	class := make([]int32, len(names)) // of each number of a name
	if numbers == len(names) {         // none is text
		for _, name := range names {
			y, whole := fields.Whole(name)
			limit := check.MaxClasses(l.ids.n)
			if !whole {
				return l.odd
			}
			if y < -1 || y >= limit {
				return s.whole(fmt.Errorf("column label: class %d is outside [-1, %d)", y, limit))
			}
			class[l.names[name]], d.Classes = int32(y), max(d.Classes, int(y)+1)
		}
	} else {
		for i, name := range names {
			class[l.names[name]] = int32(i)
		}
		d.ClassNames, d.Classes = names, len(names)
	}
	for v, k := range l.labels {
		if k >= 0 {
			l.labels[v] = class[k]
		}
	}
	d.Labels = l.labels
	if d.ClassNames != nil {
		noteClassNames(d)
	}
	minus := slices.ContainsFunc(names, func(name string) bool { y, whole := fields.Whole(name); return whole && y == -1 })
	noteUnlabelled(d, d.Classes == 2 && minus && !slices.Contains(d.Labels, 0))
	noteClasses(d, 0)
	return nil
}
