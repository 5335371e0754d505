package formats

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/internal/room"
)

// idNames are vertices whose ids are any text, numbered in the order in which they occur, or as a file of them says.
type idNames struct {
	names []string
	of    map[string]int32
	fixed bool  // there are no others
	bytes int64 // of the names
	again bool  // one of the first two occurred again
}

// bytesPerName is about what a name takes beside its bytes: in the map, in the list, in the allocator.
const bytesPerName = 80

// number returns the vertex of a name, a new one where it is not known.
func (w *idNames) number(name []byte) (int32, error) {
	if v, ok := w.of[string(name)]; ok {
		w.again = w.again || v < 2
		return v, nil
	}
	switch {
	case w.fixed:
		return 0, fmt.Errorf("%.40q is no vertex of %s", name, fields.IDsFile)
	case fields.Unknown(string(name)):
		return 0, fmt.Errorf("found %q, want the id of a vertex (lines without any field are left out by data tables)", name)
	case len(w.names) == check.MaxDim:
		return 0, fmt.Errorf("there are more than %d vertices", check.MaxDim)
	}
	if n := int64(len(w.names)); n >= 1<<16 && n&(n-1) == 0 {
		if err := room.For(n*bytesPerName + w.bytes); err != nil { // as much again
			return 0, err
		}
	}
	v := int32(len(w.names))
	text := string(name)
	w.names, w.of[text], w.bytes = append(w.names, text), v, w.bytes+int64(len(text))
	return v, nil
}

// givenNames are the names in a file of them, none twice.
func givenNames(names []string) (*idNames, error) {
	w := &idNames{names: names, of: make(map[string]int32, len(names)), fixed: true}
	for v, name := range names {
		if first, twice := w.of[name]; twice {
			return nil, fmt.Errorf("vertices %d and %d are both called %.40q: give each a name of its own", first, v, name)
		}
		w.of[name] = int32(v)
	}
	return w, nil
}

// noteOtherNumbers says that edges go by numbers of rows where they may mean the ids of vertices: these are whole numbers, not those of
// the rows, and each vertex of an edge is one of them.
func noteOtherNumbers(d *dataset.Dataset) {
	n, other := d.Graph.Rows(), -1
	isID := make([]bool, n)
	for v, name := range d.VertexNames {
		x, whole := fields.Whole(name)
		if !whole {
			return
		}
		if x >= 0 && x < int64(n) {
			isID[x] = true
		}
		if x != int64(v) && other < 0 {
			other = v
		}
	}
	if other < 0 || d.Graph.Edges() == 0 {
		return
	}
	for v := range n {
		row := d.Graph.Row(v)
		if len(row) > 0 && !isID[v] || slices.ContainsFunc(row, func(u graph.NodeID) bool { return !isID[u] }) {
			return
		}
	}
	d.Note("edges: their numbers are read as rows, from 0 on, and not as the ids in %s, where row %d has id %.40q; if they are these ids, put a letter before each in both files",
		fields.IDsFile, other, d.VertexNames[other])
}

// plan finds out by its first lines what the columns of a text hold, and whether ids are names.
func (l *edgeText) plan(d *dataset.Dataset) error {
	head, first, err := l.t.Head(2)
	if err != nil || len(head) == 0 {
		return err
	}
	names, maybe := head[0], false
	fault := func(err error) error {
		l.t.Next()
		return l.t.FaultHere("%w", err)
	}
	is, sure := isNumberHeader(names)
	is = is && first && l.t.Delimiter() != ' ' && len(names) > 1 && len(names) <= 3
	columns, found, wrong := edgeColumns(names)
	known := found.Named
	if wrong == nil && (known || len(names) > 2) {
		l.ends = [2]string{names[found.From], names[found.To]}
	}
	if isMatrix(head) {
		return fault(errors.New("looks like an adjacency matrix, whose columns are called as its vertices are: write a line for each edge (networkx.to_pandas_edgelist)"))
	}
	isEdge := slices.ContainsFunc(names, func(f string) bool { _, ok := fields.Number(f); return ok || strings.HasPrefix(f, "{") })
	named := isName(names[0]) || names[0] == "" && len(names) > 1 && isName(names[1])
	switch {
	case sure && wrong != nil:
		return fault(wrong)
	case sure && len(head) > 1 && head[1][0] == "":
		return fault(fmt.Errorf("this line and the next begin with an empty field: delete the first column"))
	case sure:
		l.head, l.columns, l.kind = true, columns, found.Kind
		d.Note("edges: the first line, %s, is a header as pandas writes it, and no edge", strings.Join(names, ","))
	case is && !l.told:
		d.Note("edges: the first line, %s, is read as an edge; if it is a header, as pandas writes for columns without names, delete it", strings.Join(names, ","))
	case !named || isEdge:
	case wrong != nil && (l.t.Delimiter() != ' ' || len(names) <= 3):
		return fault(wrong)
	case wrong != nil:
		d.Note("edges: the first line, %s, is skipped", fields.Quoted(names))
		l.head = true
	case len(head) > 1 && len(names) == 2 && (!known || len(fields.NameKey(names[0])) <= 2) && l.areNames(head[1], nil):
		maybe = true
	default:
		if note := found.Note(names); note != "" {
			d.Note("%s", note)
		}
		if found.TwoKinds(names) {
			d.Note("%q and %q are read as ids of the same vertices; if they are of two kinds, give them different ids, such as u1 and m1", names[0], names[1])
		}
		l.head, l.columns, l.kind = true, columns, found.Kind
		l.noteColumns(d, names)
	}
	if l.head && len(head) > 1 && namesRow(head[1], len(names)) {
		l.t.SkipLine()
		l.t.Next()
		return l.t.FaultHere("has a field more than the line of names: if the first is the name of the row, as R writes it, `capgnn data tables --links FILE --out NEW` reads the file")
	}
	edge := head[0]
	if l.head {
		edge = nil
		if len(head) > 1 {
			edge = head[1]
		}
	}
	if !l.areNames(edge, l.columns) {
		return nil
	}
	if odd := l.oddID(edge, head); odd != "" && !l.head && !maybe {
		l.t.Next()
		return l.t.FaultHere("%s: write lines such as 1 2, from one vertex to another", odd)
	}
	if !known {
		columns = nil
	}
	return l.takeNames(d, names, maybe, columns)
}

// isMatrix reports whether first lines are those of an adjacency matrix with names: the second one begins with the name
// of the first column behind an index, or all names differ in their digits only, as those of vertices do.
func isMatrix(head [][]string) bool {
	names := head[0]
	isText := func(f string) bool { _, ok := fields.Number(f); return !ok }
	if len(names) > 2 && len(head) > 1 && len(head[1]) == len(names) && head[1][0] == names[1] &&
		!slices.ContainsFunc(names[1:], func(name string) bool { return !isName(name) }) && !slices.ContainsFunc(head[1][1:], isText) {
		return true
	}
	if names[0] == "" {
		names = names[1:]
	}
	return len(names) > 2 && isName(names[0]) &&
		!slices.ContainsFunc(names[1:], func(name string) bool { return !fields.AlikeButDigits(name, names[0]) })
}

// namesRow reports whether the first field of a line below names of so many columns may be one more, the name of the row: 1, or text.
func namesRow(line []string, columns int) bool {
	_, number := fields.Number(line[0])
	return len(line) == columns+1 && line[columns] != "" && !strings.HasPrefix(line[columns], "{") && (line[0] == "1" || !number)
}

// oddID says what in the fields of an edge is no id, but a mark that other programs write around ids; "": nothing is.
func (l *edgeText) oddID(edge []string, head [][]string) string {
	isNumber := func(f string) bool { _, ok := fields.Whole(f); return ok }
	if len(edge) > 1 && l.t.Delimiter() != ',' && strings.HasSuffix(edge[0], ":") { // of an adjacency list
		return fmt.Sprintf("%.40q is no id", edge[0])
	}
	for _, f := range edge[:min(2, len(edge))] {
		marks := strings.TrimFunc(f, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) == ""
		if f != "" && marks || strings.Count(f, "(") != strings.Count(f, ")") || strings.Count(f, "[") != strings.Count(f, "]") {
			return fmt.Sprintf("%.40q is no id", f)
		}
	}
	if last := head[len(head)-1]; len(edge) == 3 && len(edge[0]) == 1 && isNumber(edge[1]) && isNumber(edge[2]) && len(head) > 1 && last[0] == edge[0] {
		return fmt.Sprintf("lines begin with %.40q, as DIMACS writes them", edge[0])
	}
	return ""
}

// areNames reports whether one of the ids in the fields of an edge is a name: more than digits, signs and separators.
func (l *edgeText) areNames(edge []string, columns []int) bool {
	for i, f := range edge {
		kind := colFrom + i
		if columns != nil {
			kind = colOther
			if i < len(columns) {
				kind = columns[i]
			}
		}
		if (kind == colFrom || kind == colTo) && strings.Trim(f, "0123456789+-.,; \t") != "" {
			return true
		}
	}
	return false
}

// noteColumns says which columns are not used, and where weights are.
func (l *edgeText) noteColumns(d *dataset.Dataset, names []string) {
	var left []string
	for i, kind := range l.columns {
		switch {
		case kind == colOther && names[i] != "":
			left = append(left, names[i])
		case kind == colWeight:
			l.weightAs = fmt.Sprintf("column %q", names[i])
		}
	}
	if len(left) == 0 {
		return
	}
	not := columnsAre(left, "not used", "not used")
	if l.weightAs == "" {
		not += "; if one holds weights, call it weight"
	}
	d.Note("edges: %s", not)
}

// takeNames numbers the names of vertices. maybe says that the first line, head, may be names of columns, which hold what columns says if they are known: it is if none of them occurs again.
func (l *edgeText) takeNames(d *dataset.Dataset, head []string, maybe bool, columns []int) error {
	var given []string
	if l.given != nil {
		var err error
		if given, err = l.given(); err != nil {
			return err
		}
	}
	if given != nil && (l.n < 0 || len(given) == l.n) {
		w, err := givenNames(given)
		if err != nil {
			return l.t.Whole("%s: %w", fields.IDsFile, err)
		}
		l.words, l.ids, l.n = w, nil, len(w.names)
		if maybe {
			_, one := w.of[head[0]]
			_, two := w.of[head[min(1, len(head)-1)]]
			if l.head = !one && !two; l.head {
				l.columns = columns
			}
		}
		return nil
	}
	if given != nil {
		return l.t.Whole("it has names for vertices, and %s", fields.OtherNumber(fields.IDsFile, len(given), l.n, "id"))
	}
	if l.n >= 0 {
		l.head = l.head || maybe
		return nil // the first id is an error
	}
	l.words, l.ids = &idNames{of: map[string]int32{}}, nil
	lines := 0
	if err := l.each(func(_, _ int64, _ float32) error { lines++; return nil }); err != nil {
		return err
	}
	w := l.words
	if maybe && lines > 1 && !w.again && len(head) > 1 && head[0] != head[1] {
		l.head, l.columns = true, columns
		if columns == nil {
			d.Note("edges: the first line, %s, is read as names of columns, since neither occurs again", fields.Quoted(head))
		}
		l.words = &idNames{of: map[string]int32{}}
		if err := l.each(func(_, _ int64, _ float32) error { return nil }); err != nil {
			return err
		}
		w = l.words
	}
	w.fixed = true
	d.VertexNames = make([]string, len(w.names))
	for v, name := range w.names {
		d.VertexNames[v] = strings.ToValidUTF8(name, "\ufffd")
	}
	d.Note("%d vertices are named: %s, numbered in the order in which they occur", len(w.names), fields.Quoted(w.names))
	w.noteDoubts(d)
	return nil
}

// noteDoubts says which names may not be meant as they stand.
func (w *idNames) noteDoubts(d *dataset.Dataset) {
	if i := slices.IndexFunc(w.names, fields.Rounded); i >= 0 {
		d.Note("%s", fields.NoteRounded(w.names[i]))
	}
	var like fields.LikeIDs
	marked, mark := 0, ""
	for v, name := range w.names {
		like.See(name, func(key string) bool { u, there := w.of[key]; return there && int(u) < v })
		if strings.HasPrefix(name, "//") {
			if marked++; marked == 1 {
				mark = name
			}
		}
	}
	if note := like.Note(); note != "" {
		d.Note("%s", strings.ToValidUTF8(note, "\ufffd"))
	}
	if marked > 0 && 2*marked < len(w.names) {
		d.Note("%.40q is an id like others; if its line is a comment, delete it", mark)
	}
}
