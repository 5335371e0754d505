package tables

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/fields"
)

// isList reports whether a field is a list for sure, and no text with blanks.
func isList(field string) bool {
	if clock.MatchString(field) || interval.MatchString(field) {
		return false
	}
	if strings.HasPrefix(field, "[") || strings.Contains(field, "|") {
		return true
	}
	all, err := items(field, true)
	return err == nil && len(all) > 0 && !slices.ContainsFunc(all, func(i item) bool { return !i.valued })
}

// bareNumbers is what was seen of numbers without names in a column of Lists or Categorical.
type bareNumbers struct {
	first  sighting // the first field of nothing else; its count is that of its numbers
	broken bool     // a number has a point or a sign, as names that are numbers have not
	named  bool     // a field is something else
	uneven bool     // a field holds another count of numbers
	open   bool     // a field has no brackets
}

func (b *bareNumbers) see(field string, all []item, line int) {
	b.uneven = b.uneven || len(all) == 0 || b.first.line > 0 && b.first.count != len(all)
	for _, i := range all {
		_, number := fields.Number(i.name)
		b.named = b.named || !i.bare || !number && !fields.Unknown(i.name)
		b.broken = b.broken || number && strings.Trim(i.name, "0123456789") != ""
	}
	b.open = b.open || !strings.ContainsAny(field, "[(")
	if b.first.line == 0 && len(all) > 0 {
		b.first = sighting{len(all), line, strings.Clone(field)}
	}
}

// vectorFault is the error of a column that holds vectors of numbers: with a point or a sign, or, of lists, in brackets and
// equally many.
func (c *column) vectorFault(file string) error {
	b, flag, names := &c.bare, "--lists", " (if they are names, write ['1', '2'])"
	if c.role == roleNames {
		flag, names = "--categorical", ""
	}
	if b.first.line == 0 || b.named || !b.broken && (names == "" || b.open || b.uneven || b.first.count < 2) {
		return nil
	}
	return fmt.Errorf("%s: line %d: column %q holds %.40q, numbers where %[5]s wants names: "+
		"leave it out of %[5]s, and each number is a feature%s", file, b.first.line, c.name, b.first.field, flag, names)
}

// learn gives names in a field of Categorical or Lists their features, in the order in which they come up.
func (w *columnWatch) learn(field string, list bool, line int) error {
	if fields.Unknown(field) {
		w.unknown(field)
		return nil
	}
	if w.names == nil {
		w.names = map[string]int32{}
	}
	if !list {
		all := []item{{name: field}}
		if look(field, false).kind == cellVector && strings.ContainsAny(field[:1], "[({") {
			all, _ = items(field, false)
		}
		w.bare.see(field, all, line)
		return w.name(field)
	}
	all, err := items(field, w.blanks)
	w.bare.see(field, all, line)
	for k := 0; k < len(all) && err == nil; k++ {
		if w.colons.see(all[k]); all[k].unknown() {
			w.unknown(all[k].name)
			continue
		}
		err = w.name(all[k].name)
	}
	return err
}

func (w *columnWatch) name(name string) error {
	if _, known := w.names[name]; !known {
		if len(w.names) == check.MaxCols {
			return fmt.Errorf("there are more than %d features", check.MaxCols)
		}
		w.names[strings.Clone(name)] = int32(len(w.names))
	}
	return nil
}

// item is one of a list: NAME, or NAME:VALUE.
type item struct {
	name   string
	value  float32 // 1 unless it is valued
	valued bool
	bare   bool   // without quotation marks and value
	text   string // without quotation marks and with a colon, as it stands
}

// unknown reports whether an item is none, but says that one is not known.
func (i *item) unknown() bool { return i.bare && fields.Unknown(i.name) }

// interval is a range that is open at one end, as pandas.cut writes it.
var interval = regexp.MustCompile(`^(\([^][(){},]+,[^][(){},]+\]|\[[^][(){},]+,[^][(){},]+\))$`)

// betweenItems are what stands between items; blanks do only in columns that have none of these, and no quotation marks.
const betweenItems = ",;|"

// hasSeparators reports whether a field says itself where its items end.
func hasSeparators(field string) bool {
	first := strings.TrimLeft(field, "[( ")
	return strings.ContainsAny(field, betweenItems) || first != "" && strings.Contains(`'"{`, first[:1])
}

// blanksInLists finds the columns of Lists in which blanks separate.
func (t *Tables) blanksInLists(c *tableColumns) error {
	lists := c.of(roleLists)
	for _, i := range lists {
		c.all[i].blanks = true
	}
	if lists == nil {
		return nil
	}
	return t.each(func(_ *tableIn, _ int, record []string) error {
		for _, i := range lists {
			c.all[i].blanks = c.all[i].blanks && (i >= len(record) || !hasSeparators(record[i]))
		}
		return nil
	})
}

// items splits a field that is a list. Nothing separates between quotation marks around an item.
func items(field string, blanks bool) (all []item, err error) {
	between := betweenItems + "\t\n"
	if blanks || strings.Trim(field, "0123456789:.+- []()") == "" { // no name of numbers has a blank
		between += " "
	}
	rest := fields.OfSet(strings.TrimSpace(field))
	if !strings.ContainsAny(field, `'"`) && hasDecimalComma(field) {
		return nil, fmt.Errorf("%.40q has a comma that may be a decimal one: write decimal points, "+
			"and names with commas in quotation marks", field)
	}
	if interval.MatchString(rest) {
		return nil, fmt.Errorf("%.40q is an interval, and no list: give it in --categorical", rest)
	}
	if n := len(rest); n > 1 && strings.Contains("[] () {}", rest[:1]+rest[n-1:]) {
		if rest = strings.TrimSpace(rest[1 : n-1]); rest != "" && strings.Contains("[({", rest[:1]) {
			return nil, fmt.Errorf("%.40q is a list of lists: write its names between commas", field)
		}
	}
	for {
		if rest = strings.TrimLeft(rest, between+" "); rest == "" {
			return all, nil
		}
		name, behind, quoted := quotedItem(rest)
		text := ""
		if rest = behind; !quoted || strings.HasPrefix(behind, ":") {
			text, rest = cutAny(behind, between)
		}
		if text = strings.TrimSpace(text); !quoted {
			err = fields.Printed(text)
		}
		i, fault := itemOf(name, text, quoted)
		if err = cmp.Or(err, fault); err != nil {
			return nil, err
		}
		if i.name != "" {
			all = append(all, i)
		}
	}
}

// quotedItem returns the name between quotation marks that a list begins with, and what is behind it; quoted is false where
// there is none.
func quotedItem(list string) (name, behind string, quoted bool) {
	name, behind, quoted = fields.CutQuoted(list, betweenItems+" \t\n:")
	if value, is := strings.CutPrefix(strings.TrimLeft(behind, " "), ":"); is && quoted {
		behind = ":" + strings.TrimLeft(value, " ")
	}
	return name, behind, quoted
}

// cutAny cuts a text before the first of some characters.
func cutAny(text, chars string) (before, rest string) {
	if i := strings.IndexAny(text, chars); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}

// itemOf reads what stands between two separators: NAME or NAME:VALUE; of a quoted name, what is behind it.
func itemOf(name, text string, quoted bool) (item, error) {
	k := strings.LastIndexByte(text, ':')
	switch {
	case !quoted:
		name = text
	case text == "":
		return item{name: name, value: 1}, nil
	}
	if !quoted && dayTime.MatchString(text) {
		return item{}, fmt.Errorf("%.40q is a time, and not NAME:VALUE: put times in quotation marks (['12:30:00']), "+
			"or give the column in --categorical", text)
	}
	if k < 0 || k == 0 && !quoted {
		return item{name: name, value: 1, bare: !quoted}, nil
	}
	value := strings.TrimSpace(text[k+1:])
	if x, ok := number(value); ok {
		if !quoted {
			name = strings.TrimSpace(text[:k])
		}
		return item{name: name, value: float32(x), valued: true, text: text}, nil
	}
	x, err := strconv.ParseFloat(value, 64)
	if quoted || err == nil && !check.Finite(float32(x)) || errors.Is(err, strconv.ErrRange) {
		return item{}, fmt.Errorf("%.20q, after %.40q, is not a finite number", value, strings.TrimSuffix(name, ":"+value))
	}
	return item{name: name, value: 1, text: text}, nil
}

// dayTime is a time with seconds, or behind a date.
var dayTime = regexp.MustCompile(`^([0-9./-]+[ T]\d{1,2}:\d{2}|\d{1,2}:\d{2}:\d{2})(:\d{2})?([.,]\d+)?(Z|[+-][0-9:]+)?$`)

// colons is what was seen of items of Lists with a colon that stand in no quotation marks.
type colons struct {
	valued, named item // the first that is NAME:VALUE, and the first that is a name
	others        bool // one of the former is no time of a day
}

func (c *colons) see(i item) {
	switch {
	case i.text == "":
	case !i.valued && c.named.text == "":
		c.named = i
	case i.valued:
		if c.others = c.others || !clock.MatchString(i.text); c.valued.text == "" {
			c.valued = i
		}
	}
}

// remark notes items that may be names as a whole.
func (c *colons) remark(in *tableIn, column string) {
	why := "if it is a time"
	switch {
	case c.valued.text == "" || c.others && c.named.text == "":
		return
	case c.named.text != "":
		why = fmt.Sprintf("if it is one name, as %.40q is", c.named.text)
	}
	in.note("column %q: %.40q is read as %.40q with the value %g; %s, put such names in quotation marks",
		column, c.valued.text, c.valued.name, c.valued.value, why)
}
