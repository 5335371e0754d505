package formats

import (
	"cmp"
	"slices"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/stores"
)

// minTold is from how many labelled vertices on a feature that tells every label is no chance.
const minTold = 20

// noteAnswers says which features may be what a model is to find: by their names, or because each value has one label.
func noteAnswers(d *dataset.Dataset) {
	f := d.Features
	if f.Dense == nil || len(d.ColumnNames) != f.Cols {
		return
	}
	var named, told []string
	for col, name := range d.ColumnNames {
		key := fields.NameKey(name)
		switch {
		case fields.IsLabel(name), strings.HasSuffix(key, "mask"), key == "split", key == "fold":
			named = append(named, name)
		case tells(d, col):
			told = append(told, name)
		}
	}
	if len(named) > 0 {
		d.Note("features: %s by name: if this is the label or the split, take it out", columnsAre(named, "a feature", "features"))
	}
	if len(told) > 0 {
		d.Note("features: %s enough to determine the label of every labelled vertex: if this is the label under another name, take it out", columnsAre(told, "alone", "each"))
	}
}

// noteSameColumns notes the first two columns of features that have one name.
func noteSameColumns(d *dataset.Dataset) {
	at := make(map[string]int, len(d.ColumnNames))
	for col, name := range d.ColumnNames {
		if first, twice := at[name]; twice {
			d.Note("features: columns %d and %d are both called %.40q: predict tells columns apart by their names", first+1, col+1, name)
			return
		}
		at[name] = col
	}
}

func columnsAre(names []string, one, several string) string {
	if len(names) == 1 {
		return "column " + fields.Quoted(names) + " is " + one
	}
	return "columns " + fields.Quoted(names) + " are " + several
}

// tells reports whether each value of a feature has one label, and half as many values as labelled vertices, or fewer, have.
func tells(d *dataset.Dataset, col int) bool {
	labelled := len(d.Labels) - check.CountOf(d.Labels, -1)
	if d.Classes < 2 || labelled < minTold {
		return false
	}
	of, seen := map[float32]int32{}, map[int32]bool{}
	for v, y := range d.Labels {
		if y < 0 {
			continue
		}
		x := d.Features.Dense[v*d.Features.Cols+col]
		if is, known := of[x]; known && is != y || len(of) > labelled/2 {
			return false
		}
		of[x], seen[y] = y, true
	}
	return len(seen) > 1 && len(of) <= labelled/2
}

// maxSeenIDs bounds the vertices whose ids are compared.
const maxSeenIDs = 1 << 20

// noteArrays says what is doubtful about labels and ids; about classes of a store or an .npz alone.
func noteArrays(d *dataset.Dataset) {
	switch d.Format {
	case stores.Format, "npz":
		noteClasses(d, d.Classes/2)
	case "gnn-benchmark", formatHeterophilous:
		noteClasses(d, 0)
		if unlabelled := check.CountOf(d.Labels, -1); unlabelled > 0 {
			d.Note("vertices without a label: %d", unlabelled)
		}
	}
	hot := d.Targets != nil && d.Classes > 1
	for v := 0; hot && v < d.Graph.Rows(); v++ {
		ones := 0
		for _, y := range d.Targets[v*d.Classes:][:d.Classes] {
			ones += int(y)
		}
		hot = ones == 1
	}
	if hot {
		d.Note("labels: every row has exactly one 1, and is read as several labels of a vertex; for one class per vertex save y.argmax(1)")
	}
	if again := repeated(d.IDs) + repeated(d.VertexNames); again > 0 {
		d.Note("ids: vertices with the id of another one: %d", again)
	}
}

// repeated returns how many ids are those of another one before, if they are not too many to be compared.
func repeated[T cmp.Ordered](ids []T) int {
	if len(ids) > maxSeenIDs {
		return 0
	}
	sorted := slices.Sorted(slices.Values(ids))
	return len(sorted) - len(slices.Compact(sorted))
}
