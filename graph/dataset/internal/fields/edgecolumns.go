package fields

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Names that columns have, as NameKey leaves them.
var (
	// endNames are what the two ends of edges are called.
	endNames = [][2]string{
		{"source", "target"}, {"src", "dst"}, {"src", "dest"}, {"source", "destination"}, {"source", "dest"}, {"from", "to"},
		{"u", "v"}, {"v", "w"}, {"1", "2"}, {"n1", "n2"}, {"v1", "v2"}, {"head", "tail"}, {"start", "end"},
		{"sender", "receiver"}, {"citing", "cited"}, {"origin", "destination"}, {"origin", "dest"}, {"orig", "dest"},
		{"caller", "callee"}, {"payer", "payee"}, {"buyer", "seller"}, {"follower", "followee"}, {"parent", "child"},
	}
	// weightNames are what weights of edges are called, the plainest first.
	weightNames = []string{"weight", "weights", "edgeweight", "w", "strength", "value"}
	// aboutEdges are columns that are neither an end of an edge nor its weight.
	aboutEdges = []string{
		"edgeid", "eid", "edge", "type", "kind", "label", "class", "category", "relation", "relationship",
		"timestamp", "time", "ts", "date", "datetime", "year", "month", "day", "since",
	}
	// labelNames are what columns of labels are called.
	labelNames = []string{"label", "labels", "class", "classes", "y", "ytrue", "target", "targets", "category", "groundtruth"}
	// notEnds are names of columns that an end of edges does not have, though they may be weights.
	notEnds = []string{"amount", "age", "distance", "rating", "score", "count", "price", "createdat"}
	// idNames are what columns of ids of vertices are called, the plainest first.
	idNames = []string{"id", "nodeid", "vertexid", "nid", "vid", "node", "vertex"}
)

// NameKey returns what names of columns are compared by, where they are no user's: lower-case letters and digits. A
// type behind a colon, as Neo4j has it, does not count, unless it says what the column is: age:int is age,
// :START_ID(Person) is startid.
func NameKey(name string) string {
	name = strings.ToLower(name)
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		kind, _, _ := strings.Cut(name[i+1:], "(")
		switch kind {
		case "id", "start_id", "end_id", "label", "type", "ignore":
			name = kind
		default:
			if name = name[:i]; name == "" {
				name = kind
			}
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, name)
}

var idSpace = regexp.MustCompile(`(?i):(?:start_|end_)?id\(([^)]*)\)`)

// SameSpace refuses two columns of ids of different ID spaces, as Neo4j's headers name them: 5 in :START_ID(User) is not 5 in
// :END_ID(Movie).
func SameSpace(a, b string) error {
	x, y := idSpace.FindStringSubmatch(a), idSpace.FindStringSubmatch(b)
	if x == nil || y == nil || x[1] == y[1] {
		return nil
	}
	return fmt.Errorf("columns %.60q and %.60q hold ids of two kinds, and one id may be of both: put a prefix before the ids of each, such as u1 and m1, "+
		"and call the columns :ID, :START_ID and :END_ID", a, b)
}

// endKey is NameKey without what says that a column is of vertices: source_id, FromNodeId, node1.
func endKey(name string) string {
	key := NameKey(name)
	for _, affix := range []string{"id", "node", "vertex"} {
		if rest := strings.TrimSuffix(key, affix); rest != "" {
			key = rest
		}
		if rest := strings.TrimPrefix(key, affix); rest != "" {
			key = rest
		}
	}
	return key
}

// CountsRows reports whether a column is called as pandas and R call the one that numbers the rows.
func CountsRows(name string) bool {
	key := strings.TrimRight(NameKey(name), "0123456789")
	return name == "" || key == "index" || key == "unnamed" || key == "level" && strings.HasPrefix(name, "level_")
}

// IsID reports whether a column is called as ids of vertices are.
func IsID(name string) bool { return slices.Contains(idNames, NameKey(name)) }

var lastWordID = regexp.MustCompile(`[^\pL\pN][iI][dD]$|[\p{Ll}\pN]I[dD]$`)

// featurePrefix stands before names of features that would be read as ids.
const featurePrefix = "feature "

// SaysID reports whether the last word of a column's name is id: user_id, userId, customer ID.
func SaysID(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	return lastWordID.MatchString(name) && !strings.HasPrefix(name, featurePrefix)
}

// FeatureName returns what a feature is called, so that readers do not take it for an id; a column without a name is column i.
func FeatureName(name string, i int) string {
	switch {
	case name == "":
		return fmt.Sprintf("column %d", i+1)
	case IsID(name) || SaysID(name) || CountsRows(name):
		return featurePrefix + name
	}
	return name
}

// IsLabel reports whether a column is called as labels are.
func IsLabel(name string) bool { return slices.Contains(labelNames, NameKey(name)) }

// IDColumn returns the column of ids of vertices by its name, -1: none is called so.
func IDColumn(head []string) int { return named(head, idNames) }

// named returns the column with the first of the names that there is.
func named(head, names []string) int {
	for _, name := range names {
		if i := slices.IndexFunc(head, func(s string) bool { return NameKey(s) == name }); i >= 0 {
			return i
		}
	}
	return -1
}

// EdgeColumns are columns of a table of edges.
type EdgeColumns struct {
	From, To int
	Named    bool // they are called so; else they are the first two, behind one that numbers the rows
	Weight   int  // that is called so, -1: none
	Kind     int  // that may say Undirected, as Gephi writes it, -1: none
	Third    int  // the only one behind From and To where these are by place, if it may be a weight, -1: none
}

// EdgesByName finds the columns of a table of edges by their names, else by their places, if the names do not say something else.
func EdgesByName(head []string) (EdgeColumns, error) {
	c := EdgeColumns{To: 1, Weight: -1, Third: -1, Kind: -1}
	if len(head) == 0 || len(head) == 1 && head[0] == "" {
		return c, fmt.Errorf("its first line is empty; it names columns, such as source,target")
	}
	if len(head) < 2 {
		return c, fmt.Errorf("its first line names one column; name two at least, such as source,target")
	}
	first := 0
	if len(head) > 2 && (CountsRows(head[0]) || slices.Contains([]string{"edgeid", "eid", "edge"}, NameKey(head[0]))) {
		first = 1
	} else if head[0] == "" {
		return c, fmt.Errorf("its first line names one column and one that counts lines; name two at least, such as source,target")
	}
	pairs := endPairs(head)
	c.Named = len(pairs) > 0
	places := [2]int{first, first + 1}
	switch {
	case len(pairs) == 1:
		places = pairs[0]
	case len(pairs) > 1 && !slices.Contains(pairs, places), !c.Named && contradict(head, first):
		return c, fmt.Errorf("which columns are the ends of edges? It has %s: call two of them source and target", Quoted(head))
	}
	c.From, c.To = places[0], places[1]
	if err := SameSpace(head[c.From], head[c.To]); err != nil {
		return c, err
	}
	others := slices.Clone(head)
	others[c.From], others[c.To] = "", ""
	c.Weight, c.Kind = named(others, weightNames), named(others, []string{"type"})
	if third := first + 2; !c.Named && c.Weight < 0 && len(head) == third+1 && !slices.Contains(aboutEdges, NameKey(head[third])) {
		c.Third = third
	}
	for _, i := range []int{c.From, c.To, c.Weight} {
		if i < 0 || head[i] == "" {
			continue
		}
		if k := slices.Index(head[i+1:], head[i]); k >= 0 {
			return c, fmt.Errorf("columns %d and %d are both called %q: rename one", i+1, i+k+2, head[i])
		}
	}
	return c, nil
}

// Note says what is doubtful about the columns that were found; "": nothing is.
func (c EdgeColumns) Note(head []string) string {
	from, to := head[c.From], head[c.To]
	note := fmt.Sprintf("edges go from column %q to column %q", from, to)
	switch {
	case c.Named && c.From == 0 && c.To == 1:
		return ""
	case c.Named:
		return note
	}
	return note + ", by their places; to have others, call two columns source and target"
}

// TwoKinds reports whether the columns that were found are called as ids of two kinds: user_id, movieId.
func (c EdgeColumns) TwoKinds(head []string) bool {
	a, isA := strings.CutSuffix(NameKey(head[c.From]), "id")
	b, isB := strings.CutSuffix(NameKey(head[c.To]), "id")
	return !c.Named && isA && isB && a != b
}

// endPairs finds the columns of the ends of edges by their names. There may be several where names of ends stand beside another word,
// the same in both: to_account.
func endPairs(head []string) (pairs [][2]int) {
	keys := make([]string, len(head))
	for _, key := range []func(name string) string{NameKey, endKey} {
		for i, name := range head {
			if _, number := Number(name); !number { // which pandas numbers columns with
				keys[i] = key(name)
			}
		}
		for _, pair := range endNames {
			from, to := slices.Index(keys, pair[0]), slices.Index(keys, pair[1])
			if from < 0 || to < 0 || (max(from, to) > 1 || len(head) > 3) && strings.EqualFold(head[from], "start") { // times
				continue
			}
			return [][2]int{{from, to}}
		}
	}
	for from, key := range keys {
		for _, pair := range endNames {
			if len(pair[0]) < 3 || pair[0] == "start" { // as in start_date
				continue
			}
			before, isPrefix := strings.CutPrefix(key, pair[0])
			behind, isSuffix := strings.CutSuffix(key, pair[0])
			for to, other := range keys {
				if isPrefix && other == pair[1]+before || isSuffix && other == behind+pair[1] {
					pairs = append(pairs, [2]int{from, to})
				}
			}
		}
	}
	return pairs
}

// contradict reports whether the names of the columns first and first+1 say that they are not the ends of edges.
func contradict(head []string, first int) bool {
	from, to := head[first], head[first+1]
	for _, pair := range endNames {
		if len(pair[0]) > 2 && (endKey(from) == pair[1] || endKey(to) == pair[0]) {
			return true
		}
	}
	other := func(name string) bool {
		key := NameKey(name)
		return slices.Contains(aboutEdges, key) || slices.Contains(notEnds, key) || slices.Contains(weightNames, key) && key != "value"
	}
	others := 0
	for _, name := range head[first:] {
		if other(name) {
			others++
		}
	}
	return other(from) || other(to) || IsID(from) && len(head)-first-others > 2
}

// Quoted lists a few names.
func Quoted(names []string) string {
	const shown = 6
	var all []string
	for _, name := range names[:min(shown, len(names))] {
		all = append(all, fmt.Sprintf("%.40q", name))
	}
	if more := len(names) - shown; more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}
