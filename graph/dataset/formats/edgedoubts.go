package formats

import (
	"slices"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
)

// noteDoubts says what edges may not be, or how they may be meant.
func (l *edgeText) noteDoubts(d *dataset.Dataset) {
	counts, edges := l.first, l.lines-1
	square := l.weighed && counts[0] == counts[1] && l.weightOf == float64(edges) // as above a sparse matrix
	if !l.head && l.words == nil && edges > 0 && (square || !l.weighed && counts[1] == edges) &&
		counts[0] >= l.most && counts[0] <= l.most+1 {
		d.Note("the first line, %d %d, is read as an edge; if it counts vertices and edges, delete it", counts[0], counts[1])
	}
	if names := l.t.Above(); !l.head && slices.ContainsFunc(names, isName) {
		if c, err := fields.EdgesByName(names); err == nil && c.Named && (c.From > 0 || c.To != 1) {
			d.Note("edges: a comment above them names columns, %s, and they are read from the first column to the second: "+
				"delete its # to have them by name", fields.Quoted(names))
		}
	}
	if v, _ := fields.Whole(l.t.Padded); l.t.Padded != "" && l.words == nil {
		d.Note("edges: ids are numbers of rows: %s is vertex %d", l.t.Padded, v)
	}
	if c := l.t.Comments(); c.Count > 0 {
		d.Note("lines that begin with # or %% are comments; %d of them look like edges, such as %.60q in line %d; "+
			"if they are, put their first ids in quotation marks, or let `capgnn data tables` read the file",
			c.Count, c.First, c.Line)
	}
	if l.both > 0 {
		d.Note("a column says Undirected for %d of %d edges: give --edges symmetric", l.both, l.lines)
	}
}
