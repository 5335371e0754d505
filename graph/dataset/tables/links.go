package tables

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
)

// linkReader copies edges.
type linkReader struct {
	t        *Tables
	in       *tableIn
	w        *Written
	number   map[string]int32 // vertex of each id, -1: it was left out
	ids      []string         // of vertices, where Nodes does not say who they are
	alone    bool             // that is so
	named    string           // the column of ids in Nodes
	from, to int              // columns
	weight   int              // column of the weight, -1 none
	kind     int              // column that says whether an edge is directed, -1 none
	d        decimals
	likely   int   // column that is called as weights are, but not asked for, -1 none
	weighted bool  // it holds something else than 1
	both     int   // edges that are said to be undirected
	largest  int32 // vertex of an edge, -1 none
	points   pointGroups
	byPlace  bool // from and to are the first columns
	lines    int
	square   bool    // they may be those of an adjacency matrix: each field is 0 or 1
	sides    []uint8 // of vertices, 1 from, 2 to, where they are
	linked   []bool  // vertices that have an edge
	notIDs   [2]noIDs
	watch    idWatch
	skipped  string // the first id that is not known, in line skipLine
	skipLine int
}

// writeEdges writes edges between the vertices of ids, which stand in a column of Nodes that is named so; nil: whatever ids are there
// are vertices, and are written too.
func (t *Tables) writeEdges(dir string, w *Written, number map[string]int32, named string) error {
	in, err := openTable(t.Edges, t.Watch)
	if err != nil {
		return err
	}
	defer in.close()
	r := &linkReader{
		t: t, in: in, w: w, number: number, alone: number == nil, named: named, weight: -1, kind: -1, likely: -1, largest: -1,
		d: decimals{may: in.comma == ';' || in.comma == '\t'},
	}
	if r.alone {
		r.number = map[string]int32{}
	}
	if err := r.columns(); err != nil {
		return err
	}
	names := []string{"from", "to"}
	if r.weight >= 0 {
		names = append(names, "weight")
	}
	out, err := textfile.CreateTable(dir, "edges.csv", names...)
	if err != nil {
		return err
	}
	if err := errors.Join(r.copy(out), out.Close()); err != nil {
		return err
	}
	return r.finish(dir)
}

// noMatrix refuses what is no list of edges.
func (r *linkReader) noMatrix(why string) error {
	return fmt.Errorf("%s: looks like an adjacency matrix, %s: write a line for each edge (networkx.to_pandas_edgelist)",
		r.t.Edges, why)
}

// columns finds what is used.
func (r *linkReader) columns() error {
	if r.in.isMatrix() {
		return r.noMatrix("whose columns and lines have the same names")
	}
	found, err := r.in.ends()
	if err != nil {
		return err
	}
	head := r.in.head
	r.from, r.to = found.From, found.To
	for _, i := range []int{r.from, r.to} {
		if err := fields.SameSpace(r.named, head[i]); err != nil {
			return fmt.Errorf("%s: %w", r.t.Edges, err)
		}
		_, known := r.number[head[i]]
		_, digits := fields.Number(head[i])
		if !found.Named && !r.in.isHeader() && (known || r.alone && digits) {
			return fmt.Errorf("%s: its first line is an edge (%q is an id); it must name the columns, such as source,target",
				r.t.Edges, head[i])
		}
	}
	r.byPlace, r.square = !found.Named, !found.Named && len(head) > 2
	if r.kind = found.Kind; r.kind < 0 {
		r.kind = slices.IndexFunc(head, func(name string) bool { return strings.EqualFold(name, "directed") })
	}
	if r.t.Weight == "" {
		r.likely = found.Weight
		return nil
	}
	if r.weight = find(head, r.t.Weight); r.weight < 0 {
		return fmt.Errorf("%s: has no column %q; it has %s", r.t.Edges, r.t.Weight, listed(quoted(head)))
	}
	if r.weight == r.from || r.weight == r.to {
		return fmt.Errorf("%s: column %q is an end of the edges, and --weight names it", r.t.Edges, head[r.weight])
	}
	if k := slices.Index(head[r.weight+1:], head[r.weight]); k >= 0 {
		return fmt.Errorf("%s: columns %d and %d are both called %q: rename one",
			r.t.Edges, r.weight+1, r.weight+k+2, head[r.weight])
	}
	return nil
}

// copy copies the edges.
func (r *linkReader) copy(out *textfile.Table) error {
	for {
		record, err := r.in.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		r.square = r.square && r.in.zerosAndOnes(record)
		r.lines++
		line, err := r.edge(record)
		if err == nil && line != nil {
			r.w.Edges++
			err = out.Line(line...)
		}
		if err != nil {
			return err
		}
	}
}

// edge returns what is written of a line; nil: nothing.
func (r *linkReader) edge(record []string) ([]string, error) {
	if len(record) <= max(r.from, r.to) {
		return nil, r.in.fault("%s, want two ids", counted(len(record), "field"))
	}
	var ends [2]int32
	for k, i := range []int{r.from, r.to} {
		if r.alone {
			r.notIDs[k].see(record[i])
		}
		v, known, err := r.vertex(record[i])
		if err != nil {
			return nil, err
		}
		if !known {
			r.w.Skipped++
			return nil, nil
		}
		ends[k] = v
	}
	if min(ends[0], ends[1]) < 0 {
		r.w.EdgesGone++
		return nil, nil
	}
	r.side(ends)
	r.link(ends)
	r.largest = max(r.largest, ends[0], ends[1])
	line := []string{strconv.Itoa(int(ends[0])), strconv.Itoa(int(ends[1]))}
	if r.kind >= 0 && r.kind < len(record) {
		yes, ok := fields.Truth(record[r.kind])
		isFalse := ok && !yes && strings.EqualFold(r.in.head[r.kind], "directed")
		r.both += b2i(isFalse || strings.EqualFold(record[r.kind], "undirected"))
	}
	if r.likely >= 0 && r.likely < len(record) {
		x, ok := fields.Number(record[r.likely])
		r.weighted = r.weighted || !ok || x != 1
	}
	if r.weight < 0 {
		return line, nil
	}
	x, err := r.weightOf(record)
	return append(line, x), err
}

// vertex returns the vertex of an id; known is false for one that is skipped.
func (r *linkReader) vertex(id string) (v int32, known bool, err error) {
	v, known = r.number[id]
	switch {
	case known && id != "":
		return v, true, nil
	case r.alone && id != "":
		if len(r.ids) == check.MaxDim {
			return 0, false, r.in.fault("there are more than %d vertices", check.MaxDim)
		}
		id = strings.Clone(id)
		v = int32(len(r.ids))
		r.watch.see(id, r.in.line, r.number)
		r.ids, r.number[id] = append(r.ids, id), v
		return v, true, nil
	case r.t.SkipUnknown:
		if r.skipLine == 0 {
			r.skipped, r.skipLine = strings.Clone(id), r.in.line
		}
		return 0, false, nil
	case r.alone:
		return 0, false, r.in.fault("an end of the edge is empty: correct it, or skip such edges with --skip-unknown")
	}
	return 0, false, r.in.fault("%.40q is not an id in %s%s: correct it, or skip such edges with --skip-unknown",
		id, filepath.Base(r.t.Nodes), r.hint(id))
}

// hint says which id may be meant by one that is not there.
func (r *linkReader) hint(id string) string {
	if id == "" {
		return ""
	}
	other := like(id, r.number)
	switch {
	case id == r.named:
		return ", but stands in its first line, which must name the columns"
	case other != "" && fields.Visible(other) == fields.Visible(id):
		return ", but one that looks the same is, of other characters (Unicode NFC and NFD, or invisible ones)"
	case other != "":
		return fmt.Sprintf(", but %.40s is, and ids are compared as text", oneLine(other))
	}
	if name := r.t.columnWith(id); name != "" {
		return fmt.Sprintf(", but column %q has it: --id %s", name, name)
	}
	return ""
}

// columnWith returns the first column of Nodes that is called as ids may be and holds a text; "" none.
func (t *Tables) columnWith(text string) (name string) {
	err := t.each(func(in *tableIn, _ int, record []string) error {
		for i, field := range record {
			if field == text && likeIDName(in.head[i]) {
				name = in.head[i]
				return io.EOF
			}
		}
		return nil
	})
	if err != io.EOF {
		return ""
	}
	return name
}

// weightOf returns the weight in a line.
func (r *linkReader) weightOf(record []string) (string, error) {
	name, text := r.in.head[r.weight], ""
	if r.weight < len(record) {
		text = record[r.weight]
	}
	found := look(text, r.d.may)
	switch {
	case text == "":
		return "", r.in.fault("column %q is empty: this edge has no weight, and others have one; give it one", name)
	case found.kind != cellNumber && (fields.Unknown(text) || unknownLike(text)):
		return "", r.in.fault("column %q holds %.20q: this edge has no weight, and others have one; give it one", name, text)
	case found.kind != cellNumber:
		return "", r.in.fault("column %q holds %.40q, %s: weights are finite numbers", name, text, noNumber(text, cellNumber))
	}
	r.d.see(text, found.comma, r.in.line)
	r.points.see(text)
	return found.texts(text, cellNumber)[0], nil
}

// finish says what a user may not expect, and writes the ids.
func (r *linkReader) finish(dir string) error {
	if r.square && r.lines == len(r.in.head) {
		return r.noMatrix("with as many lines as columns, of nothing but 0 and 1")
	}
	note, err := r.d.verdict(r.in.name)
	if err != nil {
		return err
	}
	if note != "" {
		r.in.note("%s", note)
	}
	r.noteApart()
	if err := r.otherIDs(); err != nil {
		return err
	}
	if r.weight >= 0 {
		r.points.remark(r.in, r.in.head[r.weight])
	}
	if r.w.Edges == 0 {
		r.in.note("it has no edges")
	}
	if hint := r.hint(r.skipped); hint != "" {
		r.in.note("line %d: the edge is left out: %.40q is not an id in %s%s", r.skipLine, r.skipped, filepath.Base(r.t.Nodes), hint)
	}
	if r.weighted {
		name := r.in.head[r.likely]
		r.in.note("column %q: weights are not used unless --weight %s is given", name, name)
	}
	if r.both > 0 {
		r.in.note("column %q says Undirected in %d of %d edges; give --edges symmetric to train, data info and data import",
			r.in.head[r.kind], r.both, r.w.Edges)
	}
	if r.alone {
		if err := r.writeIDs(dir); err != nil {
			return err
		}
	}
	r.w.Notes = append(r.w.Notes, r.in.notes...)
	if int(r.largest) < r.w.Vertices-1 && len(r.w.Features)+len(r.w.Classes)+r.w.Unlabelled == 0 {
		return r.t.writeNoLabels(dir, r.w.Vertices)
	}
	return nil
}

// writeNoLabels writes labels that are not known, which say how many vertices there are where nothing else does.
func (t *Tables) writeNoLabels(dir string, vertices int) error {
	labels, err := textfile.CreateTable(dir, "labels.csv", "label")
	if err != nil {
		return err
	}
	for range vertices {
		if err = labels.Line("-1"); err != nil {
			break
		}
	}
	return errors.Join(err, labels.Close())
}

func (r *linkReader) writeIDs(dir string) error {
	if len(r.ids) == 0 {
		return fmt.Errorf("%s: has no edge", r.t.Edges)
	}
	if err := r.refuseEnds(); err != nil {
		return err
	}
	for _, i := range []int{r.from, r.to} {
		if _, id := r.number[r.in.head[i]]; id && !r.in.isHeader() {
			return fmt.Errorf("%s: its first line is an edge (%q is an id); it must name the columns, such as source,target",
				r.t.Edges, r.in.head[i])
		}
	}
	r.watch.remark(r.in)
	r.noteList()
	for _, id := range r.ids {
		if fields.Unknown(id) {
			r.in.note("%q is a vertex like others; if it says that an end is not known, take such edges out", id)
		}
	}
	r.w.Vertices = len(r.ids)
	return writeNames(dir, fields.IDsFile, "id", r.ids)
}
