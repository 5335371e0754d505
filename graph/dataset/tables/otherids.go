package tables

import (
	"fmt"
	"path/filepath"
	"slices"

	"capgnn/graph/dataset/internal/check"
)

// fewLinked is how many vertices of edges another column may hold by chance.
const fewLinked = 10

// otherColumn is a column of Nodes beside that of the ids: which vertices of edges it has named so far.
type otherColumn struct {
	at      int
	named   []bool
	count   int  // of these
	strange int  // fields that name none
	differs bool // from the ids
}

// link remembers the vertices of an edge, where the user has not said which column has the ids.
func (r *linkReader) link(ends [2]int32) {
	if r.alone || r.t.ID != "" {
		return
	}
	if r.linked == nil {
		r.linked = make([]bool, r.w.Vertices)
	}
	r.linked[ends[0]], r.linked[ends[1]] = true, true
}

// otherIDs notes a column of Nodes that holds all ids of the edges too, each once, for other vertices: every edge may join the wrong
// ones. It refuses the table where that column, and not that of the ids, is called as an end of the edges is.
func (r *linkReader) otherIDs() error {
	if r.linked == nil {
		return nil
	}
	head, all, err := r.allLinked()
	if err != nil {
		return err
	}
	ends := []string{r.in.head[r.from], r.in.head[r.to]}
	for _, i := range all {
		if name := head[i]; slices.Contains(ends, name) && !slices.Contains(ends, r.named) {
			return fmt.Errorf("%s: which column has the ids? %q is taken, but %q, which names an end of the edges in %s, holds all of "+
				"them too: give --id %s or --id %s", r.t.Nodes, r.named, name, filepath.Base(r.t.Edges), name, r.named)
		}
	}
	if len(all) > 0 && check.CountTrue(r.linked) >= fewLinked {
		name := head[all[0]]
		r.in.note("its ids are looked up in column %q of %s; column %q holds all of them too, for other vertices; if it has the ids, give --id %s",
			r.named, filepath.Base(r.t.Nodes), name, name)
	}
	return nil
}

// allLinked returns the names of the columns of Nodes, and those that hold all ids of the edges too.
func (r *linkReader) allLinked() (head []string, all []int, err error) {
	want := check.CountTrue(r.linked)
	var others []*otherColumn
	err = r.t.each(func(in *tableIn, _ int, record []string) error {
		if head == nil {
			head = slices.Clone(in.head)
			for i, name := range head {
				if name != r.named {
					others = append(others, &otherColumn{at: i})
				}
			}
		}
		if len(record) != len(head) {
			return in.fault("the table has changed while it was read")
		}
		id := record[slices.Index(head, r.named)]
		others = slices.DeleteFunc(others, func(o *otherColumn) bool {
			field := record[o.at]
			o.differs = o.differs || field != id
			v, known := r.number[field]
			if !known || v < 0 || !r.linked[v] {
				o.strange++
				return o.strange > len(r.number)-want
			}
			if o.named == nil {
				o.named = make([]bool, len(r.linked))
			}
			twice := o.named[v]
			o.named[v], o.count = true, o.count+1
			return twice
		})
		return nil
	})
	for _, o := range others {
		if o.differs && o.count == want {
			all = append(all, o.at)
		}
	}
	return head, all, err
}
