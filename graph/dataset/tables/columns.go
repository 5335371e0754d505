package tables

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
)

// role says what becomes of a column of Nodes.
type role int

const (
	roleNone    role = iota // left out
	roleID                  // names the vertices
	roleLabel               // their classes
	roleFeature             // one feature, or several where its fields are vectors
	roleNames               // Categorical
	roleLists               // Lists
	roleMask                // 1 in one set of the split
	roleSplit               // names the set
)

// column is a column of Nodes: what becomes of it, and what was seen of it.
type column struct {
	name  string
	role  role
	set   int      // of a mask: 0 train, 1 val, 2 test
	kind  cellKind // of a feature, when all lines have been seen
	width int      // numbers in a field of a feature
	fills []string // what stands for a missing field, number by number
	columnWatch
}

// tableColumns are the columns of Nodes.
type tableColumns struct {
	file      string
	all       []column
	id, label int // label -1: none
	split     int // -1: none
	idByName  bool
}

// of lists the columns of a role.
func (c *tableColumns) of(r role) []int {
	var out []int
	for i := range c.all {
		if c.all[i].role == r {
			out = append(out, i)
		}
	}
	return out
}

// find returns the column of a name as the user wrote it; in another case of letters, or without Neo4j's type, if
// that is one only.
func find(head []string, name string) int {
	name = oneLine(name)
	if i := slices.Index(head, name); i >= 0 {
		return i
	}
	found := -1
	for i, h := range head {
		plain, kind, _ := strings.Cut(h, ":")
		if strings.EqualFold(h, name) || strings.EqualFold(cmp.Or(plain, kind), name) && name != "" {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// columns says what the columns of a table of vertices are. All names that it lacks are one error.
func (t *Tables) columns(in *tableIn) (*tableColumns, error) {
	if err := in.checkNames(); err != nil {
		return nil, err
	}
	c := &tableColumns{file: in.name, all: make([]column, len(in.head)), label: -1, split: -1}
	for i, name := range in.head {
		c.all[i].name, c.all[i].role = name, roleFeature
	}
	var missing []string
	column := func(name string) int {
		i := find(in.head, name)
		if i < 0 {
			missing = append(missing, strconv.Quote(name))
		}
		return max(i, 0)
	}
	c.id = t.idColumn(in, c, column)
	if t.Label != "" {
		c.label = max(find(in.head, t.Label), 0)
	}
	if t.SplitColumn != "" {
		c.split = max(find(in.head, t.SplitColumn), 0)
	}
	var err error
	claims := map[int]string{} // flags by columns
	for _, list := range []struct {
		flag  string
		names []string
		role  role
	}{{"--split-column", given(t.SplitColumn), roleFeature}, {"--label", given(t.Label), roleFeature},
		{"--categorical", t.Categorical, roleNames}, {"--lists", t.Lists, roleLists}, {"--drop", t.Drop, roleNone}} {
		for _, name := range list.names {
			i := column(name)
			if other := claims[i]; other != "" && other != list.flag {
				err = cmp.Or(err, fmt.Errorf("%s: both %s and %s name column %q: name it in one of them", t.Nodes, other, list.flag, c.all[i].name))
			}
			if i == c.id && list.role != roleNone && missing == nil {
				err = cmp.Or(err, fmt.Errorf("%s: column %q has the ids, and %s names it too: give another column there, or to --id",
					t.Nodes, c.all[i].name, list.flag))
			}
			claims[i], c.all[i].role = list.flag, list.role
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("%s: has no column %s; it has %s", t.Nodes, strings.Join(missing, ", "), listed(quoted(in.head)))
	}
	if err != nil {
		return nil, err
	}
	return c, t.roles(in, c)
}

// given is the list of a name; none of "".
func given(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// idColumn returns the column of ids: the one that the user named, the one that is called so, else the first.
func (t *Tables) idColumn(in *tableIn, c *tableColumns, column func(name string) int) int {
	if t.ID != "" {
		c.idByName = true
		return column(t.ID)
	}
	if i := fields.IDColumn(in.head); i >= 0 {
		if c.idByName = true; i > 0 {
			in.note("its ids are in column %q (--id names another)", in.head[i])
		}
		return i
	}
	if fields.CountsRows(in.head[0]) {
		in.note("no column is called id: ids are what the first column, %q, holds (--id names another)", in.head[0])
	}
	return 0
}

// roles gives the columns that are no features their roles.
func (t *Tables) roles(in *tableIn, c *tableColumns) error {
	if c.split >= 0 {
		c.all[c.split].role = roleSplit
	}
	if c.label >= 0 {
		c.all[c.label].role = roleLabel
	}
	c.all[c.id].role = roleID
	return t.masks(in, c)
}

// masks takes columns out of the features that are masks of sets by their names, or that Neo4j is told to ignore.
func (t *Tables) masks(in *tableIn, c *tableColumns) error {
	var found []string
	for i := range c.all {
		col := &c.all[i]
		if col.role != roleFeature {
			continue
		}
		if strings.EqualFold(col.name[strings.LastIndexByte(col.name, ':')+1:], "ignore") && strings.Contains(col.name, ":") {
			col.role = roleNone
			in.note("column %q is left out, as its name says", col.name)
			continue
		}
		set, ok, several := maskName(col.name)
		if several {
			return fmt.Errorf("%s: column %q is the mask of one of several splits: call the one to use train_mask (val_mask, test_mask), and leave others out with --drop",
				t.Nodes, col.name)
		}
		if !ok {
			continue
		}
		if c.split >= 0 {
			col.role = roleNone
			in.note("column %q is left out: --split-column says what the sets are", col.name)
			continue
		}
		for j := range c.all[:i] {
			if c.all[j].role == roleMask && c.all[j].set == set {
				return fmt.Errorf("%s: columns %q and %q are masks of the same set: leave one out with --drop",
					t.Nodes, c.all[j].name, col.name)
			}
		}
		col.role, col.set = roleMask, set
		found = append(found, col.name)
	}
	if found != nil {
		in.note("%s: read as the split, not as features (--drop leaves columns out)", strings.Join(found, ", "))
	}
	return nil
}

// checkNames refuses names of columns that are numbers of a vertex, or are there twice.
func (in *tableIn) checkNames() error {
	if allNumbers(in.head) && len(in.head) > 1 || len(in.head) > 2 && in.head[0] == "" && allNumbers(in.head[1:]) {
		if !countsColumns(in.head) {
			return fmt.Errorf("%s: its first line holds numbers only (%s); it must name the columns",
				in.name, listed(in.head))
		}
		in.note("its first line counts the columns, as pandas does: these numbers are their names")
	}
	seen := map[string]int{}
	for i, name := range dataset.Composed(in.head) {
		if first, twice := seen[name]; twice {
			if name == "" {
				return fmt.Errorf("%s: columns %d and %d have no name in the first line; give them names, or take them out",
					in.name, first+1, i+1)
			}
			if _, number := fields.Number(name); number {
				return fmt.Errorf("%s: columns %d and %d are both called %q: if its first line is a vertex, put a line of names before it",
					in.name, first+1, i+1, name)
			}
			return fmt.Errorf("%s: columns %d and %d are both called %q: rename one", in.name, first+1, i+1, name)
		}
		seen[name] = i
	}
	return nil
}

// decide says what the features are, when all lines have been seen.
func (c *tableColumns) decide(in *tableIn, splitGiven bool) error {
	first := true // all columns so far count lines
	for i := range c.all {
		col := &c.all[i]
		if col.role != roleFeature {
			first = false
			continue
		}
		switch {
		case col.name == "" && col.known() == 0:
			col.role = roleNone // between others, as spreadsheets have them
		case fields.NameKey(col.name) == "split" && col.splitWords > 0 && col.splitWords == col.known() && !splitGiven:
			if len(c.of(roleMask)) > 0 {
				return fmt.Errorf("%s: column %q names the sets, and there are masks too: leave one out with --drop",
					c.file, col.name)
			}
			col.role, c.split = roleSplit, i
			in.note("column %q is read as the split, not as a feature (--drop leaves it out)", col.name)
		case c.idByName && fields.CountsRows(col.name) && col.of[cellNumber].count == col.known() &&
			(col.counting || col.name != "index" && !col.repeated || first && col.isIndex()):
			col.role = roleNone
			in.note("column %d, %q, counts lines and is left out", i+1, col.name)
		default:
			if col.kind, col.width = col.most(), 1; col.kind == cellVector {
				col.width = col.vector
			}
		}
		first = first && col.role == roleNone
	}
	return nil
}

// remark notes what a user may not expect of the columns.
func (c *tableColumns) remark(in *tableIn) {
	kinds := map[string]int{} // columns by what is said of them
	said := func(kind string) bool {
		kinds[kind]++
		return kinds[kind] > 3
	}
	for i := range c.all {
		col := &c.all[i]
		if n, words := count(col.words); n > 0 && (col.role == roleNames || col.role == roleLists) {
			in.note("column %q: fields that are read like empty ones: %s (%s)", col.name, words, counted(n, "field"))
		}
		if col.role == roleNames {
			if like := fields.Alike(slices.Sorted(maps.Keys(col.names)), func(a, b string) bool { return true }); like != "" {
				in.note("column %q: values %s", col.name, like)
			}
		}
		named := col.role == roleNames || col.role == roleLists
		if (named || col.role == roleFeature) && col.likeSplit() {
			in.note("column %q is a feature; if it says who is in which set of the split, give --split-column (train, val, test), or call it train_mask (0, 1)",
				col.name)
		}
		if col.role != roleFeature {
			continue
		}
		col.points.remark(in, col.name)
		if col.kind == cellTruth && col.bits == 0 && col.least == col.largest {
			in.note("column %q holds nothing but %s, which is read as %g", col.name, col.of[cellTruth].field, col.least)
		}
		for _, x := range slices.Sorted(maps.Keys(col.nines)) {
			n := col.nines[x]
			if n > 1 && col.kind == cellNumber && col.farOff(x) && !said(kindFar) {
				in.note("column %q holds %g in %s, far from all other numbers; if it stands for what is not known, leave these fields empty and give --missing",
					col.name, x, counted(n, "line"))
			}
		}
		switch {
		case col.kind == cellNumber && col.code != "" && said(kindCodes):
		case col.kind == cellDate && said(kindDates):
		case col.kind == cellNumber && col.code != "":
			in.note("column %q holds %.20q: if these are codes, not numbers, give --categorical", col.name, col.code)
		case col.kind == cellVector:
			in.note("column %q holds %d numbers in each field: they become %d features", col.name, col.width, col.width)
		case col.kind == cellDate:
			in.note("column %q holds dates: they become days since 1970-01-01", col.name)
		}
		if spread := col.largest - col.least; col.rounding > maxRounding*spread && spread > 0 {
			if col.coarse = true; said(kindCoarse) {
				continue
			}
			in.note("column %q: float32 does not tell its values apart: they lie between %g and %g and are rounded by up to %g; give --standardize train where the data is used, or subtract the smallest",
				col.name, col.least, col.largest, col.rounding)
		}
	}
	for _, kind := range []string{kindCodes, kindDates, kindCoarse, kindFar} {
		if more := kinds[kind] - 3; more > 0 {
			in.note("%s more %s", counted(more, "column"), kind)
		}
	}
}

// farOff reports whether a number is farther from the others, which differ, than these are from each other.
func (w *columnWatch) farOff(x float64) bool {
	return w.plain != nil && w.plain[0] < w.plain[1] && max(x-w.plain[1], w.plain[0]-x) > w.plain[1]-w.plain[0]
}

// What is said of the first columns of a kind, and then of all others at once.
const (
	kindCodes  = "hold numbers that begin with 0, as codes do"
	kindDates  = "hold dates"
	kindCoarse = "hold values that float32 does not tell apart"
	kindFar    = "hold a number in several lines that is far from all others"
)

// maxRounding is by how much float32 may move values, as a part of what they spread over, before a note says so.
const maxRounding = 1e-4

// count adds up how often words were seen, and lists them.
func count(words map[string]int) (n int, list string) {
	var all []string
	for word, k := range words {
		if word != "" {
			n += k
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return n, strings.Join(all, ", ")
}
