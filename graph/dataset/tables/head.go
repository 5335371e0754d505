package tables

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"capgnn/graph/dataset/internal/fields"
)

// readHead reads the line of names, and the next two to see what the first leaves open.
func (in *tableIn) readHead() error {
	var lines []lineRead
	for range 3 {
		record, err := in.read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if ruler(record) {
			return in.fault("is a ruler, as psql, mysql and Markdown draw tables: write plain text (psql --csv, mysql --batch)")
		}
		lines = append(lines, lineRead{slices.Clone(record), in.line})
	}
	if lines == nil {
		return nil
	}
	first := lines[0]
	in.ahead = lines[1:]
	in.head = trimmed(slices.Clone(first.record))
	if !slices.ContainsFunc(in.head, func(name string) bool { return allNumbers([]string{name}) }) {
		in.first = slices.Clone(in.head)
	}
	for i, name := range in.head {
		in.head[i] = oneLine(name)
	}
	if names := in.commentNames(); len(names) == len(in.head) && (allNumbers(in.head) || areNames(names, in.head)) {
		in.note("the names of its columns are those of the comment above them: %s", listed(names))
		in.head, in.first, in.ahead = names, nil, lines
		return nil
	}
	if in.comments > 0 {
		in.note("lines that begin with # or %% above the names of columns are left out: %d, such as %.60q",
			in.comments, in.comment)
	}
	if in.rowNames(len(first.record)) {
		in.head, in.lineNames = append([]string{""}, in.head...), true
		in.note("lines have one field more than the line of names: their first field is taken for a row name, as R writes it")
	}
	return in.title()
}

// twoHeaders reports whether the second line names columns too, as pandas writes a MultiIndex: no field of it is a number, the names above it are there twice or
// both lines begin without one, and below it are numbers, or the name of the index alone.
func (in *tableIn) twoHeaders() bool {
	if len(in.ahead) < 2 || len(in.head) < 2 {
		return false
	}
	isNumber := func(field string) bool { _, ok := fields.Number(field); return ok }
	second, third := in.ahead[0].record, in.ahead[1].record
	words := slices.DeleteFunc(slices.Clone(second), func(field string) bool { return field == "" })
	names := slices.DeleteFunc(slices.Sorted(slices.Values(in.head[1:])), func(name string) bool { return name == "" || isNumber(name) })
	twice := len(slices.Compact(slices.Clone(names))) < len(names) || in.head[0] == "" && second[0] == ""
	below := slices.ContainsFunc(third[1:], isNumber) || len(trimmed(third)) == 1
	return twice && below && len(words) > 0 && !slices.ContainsFunc(words, isNumber)
}

// areNames reports whether a comment names the columns of a line below it that could be names too: that one holds a
// number, or the comment has names of ids or of ends, and the line has none.
func areNames(comment, line []string) bool {
	known := func(names []string) bool {
		c, err := fields.EdgesByName(names)
		return err == nil && c.Named || fields.IDColumn(names) >= 0
	}
	return len(line) > 1 && !known(line) &&
		(known(comment) || slices.ContainsFunc(line, func(name string) bool { return allNumbers([]string{name}) }))
}

// title refuses first lines that name no columns, and tables that are two in one.
func (in *tableIn) title() error {
	if len(in.head) == 1 && len(in.ahead) > 0 {
		for _, c := range "^~" {
			if n := strings.Count(in.head[0], string(c)); n > 0 && n == strings.Count(in.ahead[0].record[0], string(c)) {
				return fmt.Errorf("%s: has one column, %.40q: fields must be separated by commas, semicolons, tabs, bars or blanks",
					in.name, in.head[0])
			}
		}
	}
	switch {
	case in.twoHeaders():
		return fmt.Errorf("%s: its first two lines name the columns, as pandas writes a MultiIndex: make them one before to_csv, "+
			`df.columns = ["_".join(map(str, c)) for c in df.columns]`, in.name)
	case len(in.head) == 1 && len(in.ahead) > 0 && len(trimmed(in.ahead[0].record)) > 1:
		return fmt.Errorf("%s: its first line, %.40q, is one field, and the next has %d: if it is a title, delete it",
			in.name, in.head[0], len(trimmed(in.ahead[0].record)))
	case slices.Contains(in.head, "_id") && slices.Contains(in.head, "_start") && slices.Contains(in.head, "_end"):
		return fmt.Errorf("%s: holds vertices and edges, as Neo4j's APOC writes them: cut it in two, with its first line in both: "+
			"lines without _start are --nodes, the others are --links", in.name)
	}
	return nil
}

// ruler reports whether a line is drawn: only of such characters as stand between the names and lines of a table that is
// made to be looked at.
func ruler(record []string) bool {
	text := strings.Join(record, "")
	return strings.Trim(text, "-=+|: ─━═┼╪┿│┌┬┐├┤└┴┘╞╡") == "" &&
		(strings.Contains(text, "---") || strings.Contains(text, "===") || strings.ContainsAny(text, "─━═"))
}

// rowNames reports whether the lines behind names of so many columns have one field more, and the first of these
// counts lines or is text: R writes names of rows so.
func (in *tableIn) rowNames(columns int) bool {
	for i, line := range in.ahead {
		if len(line.record) != columns+1 || line.record[columns] == "" || len(in.head) != columns || strings.Contains(in.head[0], " ") && columns == 1 {
			return false
		}
		if _, number := fields.Number(line.record[0]); number && line.record[0] != fmt.Sprint(i+1) {
			return false
		}
	}
	return len(in.ahead) > 0
}

// zerosAndOnes reports whether a line has 0 or 1 in every column.
func (in *tableIn) zerosAndOnes(record []string) bool {
	return len(record) == len(in.head) && !slices.ContainsFunc(record, func(field string) bool {
		x, ok := fields.Number(field)
		return !ok || x != 0 && x != 1
	})
}

// isMatrix reports whether the names of columns are those of the lines.
func (in *tableIn) isMatrix() bool {
	least := 3 // columns, of which pandas may count two for edges, and one more for weights
	if countsColumns(in.head) {
		least = 5
	}
	return len(in.head) >= least && len(in.ahead) == 2 && in.ahead[0].record[0] == in.head[1] && in.ahead[1].record[0] == in.head[2]
}
