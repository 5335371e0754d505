package tables

import (
	"fmt"
	"slices"
	"strings"

	"capgnn/graph/dataset/internal/fields"
)

// fault is the error of all columns of features that hold something else, with what to do about each; nil if there
// are none.
func (s *survey) fault() error {
	var first *column
	var at sighting
	more := 0
	named := map[string][]string{} // columns by what to do
	for _, i := range s.c.of(roleFeature) {
		col := &s.c.all[i]
		wrong := col.wrong(col.kind, s.t.Missing != "")
		if wrong.line == 0 {
			continue
		}
		do := col.advice(s.lines)
		if do == adviseStray {
			wrong = col.stray
		}
		if more++; first == nil || wrong.line < at.line {
			first, at = col, wrong
		}
		if do == adviseDrop && !s.c.idByName && fields.SaysID(col.name) && col.known() > 0 {
			do = adviseID
		}
		named[do] = append(named[do], col.name)
	}
	switch {
	case first == nil:
		return nil
	case first.name == "":
		return fmt.Errorf("%s: line %d: column %d, which has no name, %s: give it a name, or take it out",
			s.t.Nodes, at.line, slices.IndexFunc(s.c.all, func(c column) bool { return c.name == "" && c.role == roleFeature })+1, first.what(at))
	}
	var advice []string
	for _, do := range []string{adviseID, adviseSplit, adviseStray, adviseSets, adviseNames, adviseLists, adviseMend, adviseEqual, adviseDrop, adviseMissing} {
		if names := named[do]; names != nil {
			advice = append(advice, fmt.Sprintf(do, strings.ReplaceAll(listed(names), ", ", ",")))
		}
	}
	what := first.what(at)
	if more > 1 {
		what += fmt.Sprintf(" (and %s)", counted(more-1, "other column"))
	}
	label := ", or --label COLUMN for the classes"
	if s.t.Label != "" {
		label = ""
	}
	return fmt.Errorf("%s: line %d: column %q %s: give %s%s", s.t.Nodes, at.line, first.name, what, strings.Join(advice, ", "), label)
}

// What to do about columns.
const (
	adviseID      = "--id %[1]s (if these are the ids; else --drop %[1]s)"
	adviseSplit   = "--split-column %s"
	adviseStray   = "train, val, test or nothing in every line of %[1]s, and --split-column %[1]s (or --drop %[1]s)"
	adviseSets    = "--drop %[1]s (or train, val, test in it, and --split-column %[1]s)"
	adviseNames   = "--categorical %s for names"
	adviseLists   = "--lists %s for lists"
	adviseMend    = "numbers in %s"
	adviseEqual   = "equally many numbers in each field of %s"
	adviseDrop    = "--drop %s"
	adviseMissing = "--missing mean, median, drop or a NUMBER for empty fields of %s"
)

// advice says what to do about a column that is no feature as it stands.
func (c *column) advice(lines int) string {
	text, truths, vectors := c.of[cellText].count, c.of[cellTruth].count, c.of[cellVector].count
	others := c.known() - c.of[c.kind].count // that are not as most
	word := c.of[cellText].field
	measured := clock.MatchString(word) || withUnit.MatchString(word) || percent.MatchString(word) ||
		text == c.known() && look("["+word+"]", false).kind == cellVector
	switch {
	case c.known() == 0:
		return adviseDrop
	case text > 0 && 2*c.splitWords > c.known():
		if c.stray.line > 0 {
			return adviseStray
		}
		return adviseSplit
	case others == 0 && c.kind == cellVector && c.odd.line > 0 && c.broken:
		return adviseEqual
	case others == 0 && c.kind == cellVector && c.odd.line > 0, 2*(c.lists+vectors) > c.known() && text > 0:
		return adviseLists
	case text == 0 && others == 0:
		return adviseMissing
	case c.gaps > 0 || measured:
		return adviseMend
	case text > 0 && slices.Contains(namesOfSplits, fields.NameKey(c.name)):
		return adviseSets
	case text+truths == c.known() && len(c.others) <= maxCategories && (2*len(c.others) <= lines || lines < likeIDs && len(c.others) < text+truths):
		return adviseNames
	case 2*c.of[c.kind].count > c.known():
		return adviseMend
	}
	return adviseDrop
}

// what says what is wrong with a field of a feature.
func (c *column) what(at sighting) string {
	switch {
	case at == c.odd:
		return fmt.Sprintf("holds %d numbers, the lines before it hold %d", at.count, c.vector)
	case c.known() == 0:
		return "is empty in every line"
	case at == c.stray && 2*c.splitWords > c.known():
		return fmt.Sprintf("holds %.20q, where most fields are train, val or test", at.field)
	case at.field == "":
		return "is empty"
	case fields.Unknown(at.field):
		return fmt.Sprintf("holds %.20q, which is no value", at.field)
	}
	return fmt.Sprintf("holds %.20q, %s", at.field, noNumber(at.field, c.kind))
}
