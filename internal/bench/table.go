package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table is text in rows and columns; the first column names the row.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
	Note    string // below the table
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// markdown writes the table; all columns but those of text are flush right.
func (t *Table) markdown(b *strings.Builder) {
	if t.Title != "" {
		fmt.Fprintf(b, "### %s\n\n", t.Title)
	}
	row := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	row(escaped(t.Columns))
	rule := make([]string, len(t.Columns))
	for i := range rule {
		if rule[i] = "---"; t.numeric(i) {
			rule[i] = "---:"
		}
	}
	row(rule)
	for _, r := range t.Rows {
		row(escaped(r))
	}
	if t.Note != "" {
		fmt.Fprintf(b, "\n%s\n", t.Note)
	}
	b.WriteString("\n")
}

func escaped(cells []string) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	return out
}

// numeric reports whether every cell of a column begins like a number or is empty.
func (t *Table) numeric(column int) bool {
	for _, r := range t.Rows {
		if column < len(r) && r[column] != "" && !strings.ContainsRune("0123456789+-−.", []rune(r[column])[0]) {
			return false
		}
	}
	return column > 0
}

// csv returns tables one below the other, each after a line with its title.
func csvOf(tables []Table) (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	for i := range tables {
		t := &tables[i]
		if err := w.Write(append([]string{"table"}, t.Columns...)); err != nil {
			return "", err
		}
		for _, r := range t.Rows {
			if err := w.Write(append([]string{t.Title}, r...)); err != nil {
				return "", err
			}
		}
	}
	w.Flush()
	return b.String(), w.Error()
}

// Print writes the tables of a section as text in columns.
func (s *Section) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", s.Title)
	for i := range s.Tables {
		t := &s.Tables[i]
		if t.Title != "" {
			fmt.Fprintf(w, "%s\n", t.Title)
		}
		out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, r := range append([][]string{t.Columns}, t.Rows...) {
			fmt.Fprintln(out, strings.Join(r, "\t"))
		}
		if err := out.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}
