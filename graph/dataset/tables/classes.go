package tables

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"capgnn/graph/dataset/internal/fields"
)

// classes are the classes of a column of labels.
type classes struct {
	file, column string
	sep          string // between several classes of a vertex; "": it has one
	seen         map[string]*classSeen
	fields       int            // that are known
	several      int            // of them, those that sep splits
	words        map[string]int // that stand for a class that is not known
	rows         classRows

	named  []string         // the name of each class
	number map[string]int32 // class of each field, or of each part of one; -1: not known
}

// classSeen says where the text of a class was.
type classSeen struct{ count, line int }

// parts splits a field into the classes in it, in Unicode's form NFC.
func (c *classes) parts(field string) []string {
	return fields.Classes(norm.NFC.String(field), c.sep)
}

// classRows tells whether the fields of a column are rows of 0 and 1, one for each class: equally many in each, and
// not the same two, once each, in the same order everywhere.
type classRows struct {
	first      []string
	differ, no bool
	twice      string // the first 0 or 1 that is there again in a field
}

func (r *classRows) see(parts []string) {
	if r.first == nil {
		r.first = slices.Clone(parts)
	}
	r.no = r.no || len(parts) != len(r.first) || len(parts) < 2
	for k, part := range parts {
		_, bit := fields.Truth(part)
		if bit && r.twice == "" && slices.Contains(parts[:k], part) {
			r.twice = strings.Clone(part)
		}
		r.no = r.no || !bit
		r.differ = r.differ || k > 1 || part != r.first[min(k, len(r.first)-1)] || k == 1 && part == parts[0]
	}
}

func (r *classRows) are() bool { return r.first != nil && r.differ && !r.no }

// see takes note of a field.
func (c *classes) see(field string, line int) error {
	known, parts := false, c.parts(field)
	for _, part := range parts {
		if err := fields.Printed(part); err != nil && (c.sep != "" || part != "...") {
			return err
		}
		if s := c.seen[part]; s != nil {
			s.count++
		} else {
			c.seen[strings.Clone(part)] = &classSeen{1, line}
		}
		known = known || !fields.Unknown(part)
	}
	if !known {
		return nil
	}
	c.fields++
	c.rows.see(parts)
	c.several += b2i(c.sep != "" && strings.Contains(field, c.sep))
	return nil
}

// conclude numbers the classes: whole numbers by value, other names by their text.
func (c *classes) conclude(in *tableIn, commas bool) error {
	var all []string // that are known
	c.words, c.number = map[string]int{}, map[string]int32{}
	for text, s := range c.seen {
		if fields.Unknown(text) {
			c.words[text], c.number[text] = s.count, -1
		} else {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	if c.rows.are() {
		for k := range c.rows.first {
			c.named = append(c.named, strconv.Itoa(k))
		}
		in.note("column %q: its fields are rows of 0 and 1 for each of %d classes", c.column, len(c.named))
		return nil
	}
	if err := c.refuse(all, commas); err != nil {
		return err
	}
	if values := wholeNumbers(all, commas); values != nil {
		c.byValue(in, all, values)
	} else {
		for i, text := range all {
			c.number[text] = int32(i)
		}
		c.named = all
		for _, text := range fields.Doubtful(all) {
			in.note("column %q: class %.40q looks like a missing value and is in %s; "+
				"leave the field empty where the class is not known", c.column, text, counted(c.seen[text].count, "line"))
		}
	}
	if n, words := count(c.words); n > 0 {
		in.note("column %q: the class is not known where it is %s (%s)", c.column, words, counted(n, "line"))
	}
	if twice := c.rows.twice; twice != "" {
		in.note("column %q: class %.40q is there twice in a field and counts once; if fields are rows of 0 and 1, "+
			"write equally many in each", c.column, twice)
	}
	c.hint(in, all)
	if like := fields.Alike(all, func(a, b string) bool { return c.number[a] != c.number[b] }); like != "" {
		in.note("column %q: classes %s", c.column, like)
	}
	if c.sep == "" && len(c.named) == 1 {
		in.note("column %q: all vertices whose class is known are of class %.40q", c.column, c.named[0])
	}
	if c.sep != "" && len(c.named) < 2 {
		return fmt.Errorf("%s: column %q: --label-sep %q splits it into fewer than two classes (%d): give the text that stands between classes, or drop --label-sep",
			c.file, c.column, c.sep, len(c.named))
	}
	return nil
}

// hint says how a column is read that seems to hold several classes in a field, or one in each against --label-sep.
func (c *classes) hint(in *tableIn, all []string) {
	if c.sep != "" {
		if c.several == 0 {
			in.note("column %q: --label-sep %q is in no field", c.column, c.sep)
		}
		return
	}
	if how, sep := fields.Several(all, func(k int) int { return c.seen[all[k]].count }); how != "" {
		in.note("column %q: fields such as %s are classes of their own; if they are several classes of a vertex, give --label-sep '%s'",
			c.column, how, sep)
	}
}

// few is how many different texts any column of labels may hold.
const few = 20

// decimals shows d the classes with a comma, if all that are known are numbers.
func (c *classes) decimals(d *decimals) {
	with := map[string]int{} // lines
	for text, s := range c.seen {
		found := look(text, d.may)
		if found.kind != cellNumber && found.kind != cellMissing {
			return
		}
		if found.comma {
			with[text] = s.line
		}
	}
	for _, text := range slices.Sorted(maps.Keys(with)) {
		d.see(text, true, with[text])
	}
}

// refuse refuses columns that are no classes.
func (c *classes) refuse(all []string, commas bool) error {
	numbers, broken := len(all) > 0, ""
	for _, text := range all {
		found := look(text, commas)
		numbers = numbers && found.kind == cellNumber
		if _, whole := fields.Whole(plainNumber(text, commas)); numbers && !whole && (broken == "" || c.seen[text].line < c.seen[broken].line) {
			broken = text
		}
	}
	if numbers && broken != "" {
		several := ""
		if strings.Contains(broken, ",") {
			several = ", or, if these are several classes of a vertex, give --label-sep ','"
		}
		return fmt.Errorf("%s: line %d: column %q holds %.20q: classes are names or whole numbers, not values to predict (regression); make classes of its ranges, or choose another --label%s",
			c.file, c.seen[broken].line, c.column, broken, several)
	}
	if len(all) > few && 2*len(all) > c.fields {
		return fmt.Errorf("%s: column %q holds %d different texts in %d lines, too many for classes: if they are values to predict (regression), make classes of ranges of them; if they are ids, choose another --label",
			c.file, c.column, len(all), c.fields)
	}
	return nil
}

// wholeNumbers returns texts as whole numbers; nil: they are not, or are codes such as 007.
func wholeNumbers(all []string, commas bool) []int64 {
	var values []int64
	for _, text := range all {
		x, ok := fields.Whole(plainNumber(text, commas))
		if !ok || leadingZero(text) {
			return nil
		}
		values = append(values, x)
	}
	return values
}

// byValue numbers classes that are whole numbers: class k is number k, if they begin near 0 and few are left out,
// else by value.
func (c *classes) byValue(in *tableIn, all []string, values []int64) {
	different := slices.Compact(slices.Sorted(slices.Values(values)))
	if c.unknownMinus(different) {
		different = different[1:]
		for i, text := range all {
			if values[i] == -1 {
				c.words[text], c.number[text] = c.seen[text].count, -1
			}
		}
	}
	if len(different) == 0 {
		return
	}
	if n := len(different); n > few && 10*n > c.fields {
		in.note("column %q holds %d different whole numbers, each of which is a class; if they are values to predict (regression), make classes of ranges of them",
			c.column, n)
	}
	least, largest := different[0], different[len(different)-1]
	keep := least >= 0 && largest <= 2*int64(len(different))
	if keep {
		for k := range largest + 1 {
			c.named = append(c.named, strconv.FormatInt(k, 10))
		}
	} else {
		for _, x := range different {
			c.named = append(c.named, strconv.FormatInt(x, 10))
		}
		in.note("column %q: its classes are not 0, 1, 2, … and get these numbers in the order of their values; %s is class 0",
			c.column, c.named[0])
	}
	for i, text := range all {
		if _, known := c.number[text]; known {
			continue
		}
		k := values[i]
		if !keep {
			at, _ := slices.BinarySearch(different, k)
			k = int64(at)
		}
		c.number[text] = int32(k)
	}
}

// unknownMinus reports whether -1 stands for a class that is not known: beside other whole numbers, of which none is
// below it, and not beside 1 alone.
func (c *classes) unknownMinus(different []int64) bool {
	return len(different) > 0 && different[0] == -1 && !slices.Equal(different, []int64{-1, 1})
}

// of returns the classes in a field, and whether one is known.
func (c *classes) of(field string) (numbers []int32, known bool) {
	for k, part := range c.parts(field) {
		if yes, _ := fields.Truth(part); yes && c.rows.are() {
			numbers = append(numbers, int32(k))
			continue
		}
		if k, ok := c.number[part]; ok && k >= 0 {
			numbers = append(numbers, k)
		}
	}
	slices.SortFunc(numbers, cmp.Compare)
	return slices.Compact(numbers), len(numbers) > 0
}
