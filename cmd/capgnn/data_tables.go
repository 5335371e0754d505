package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset/tables"
	"capgnn/internal/atomicfile"
)

func dataTablesCommand() *cli.Command {
	return &cli.Command{
		Name: "tables", UsageText: "capgnn data tables --nodes people.csv --links friends.csv --label city --out people", Usage: "convert tables with names into a CSV folder, which the other commands read",
		Description: "The first line of a table names its columns; every other line is a vertex, or an edge. Fields are separated by commas, semicolons, tabs, bars or blanks. Ids and classes may be any text; they become numbers, and DIR/ids.csv and DIR/classes.csv keep the names.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "nodes", Usage: "`FILE` with a line per vertex: id, features, label (default: the vertices are those of --links)"},
			&cli.StringFlag{Name: "links", Usage: "`FILE` with a line per edge: two ids, in columns such as source and target, else in the first two"},
			&cli.StringFlag{Name: "weight", Usage: "`COLUMN` of --links with the weights of edges (default: none)"},
			&cli.StringFlag{Name: "id", Usage: "`COLUMN` of --nodes with the ids (default: id, else the first column)"},
			&cli.StringFlag{Name: "label", Usage: "`COLUMN` of --nodes with the classes; unknown ones are empty, NA, nan, none, null or, among whole numbers, -1 (default: no labels)"},
			&cli.StringFlag{Name: "label-sep", Usage: "`TEXT` between the classes of a vertex, such as '|', if a vertex may have several"},
			&cli.StringFlag{Name: "split-column", Usage: "`COLUMN` of --nodes with the words train, val or test (default: split, or masks called train_mask, val_mask, test_mask)"},
			&cli.StringSliceFlag{Name: "drop", Usage: "`COLUMNS` of --nodes that do not become features, such as name,city"},
			&cli.StringSliceFlag{Name: "categorical", Usage: "`COLUMNS` of --nodes with names: each name becomes a feature, 0 or 1"},
			&cli.StringSliceFlag{Name: "lists", Usage: "`COLUMNS` of --nodes with lists of features, NAME or NAME:VALUE, separated by blanks, commas, semicolons or bars"},
			&cli.StringFlag{Name: "features", Usage: "`FILE` with more features than --nodes has: JSON with a list of feature numbers for each id, {\"ID\": [3, 17], …}, or .npy with a row for each line"},
			&cli.StringFlag{Name: "missing", Usage: "`VALUE` for empty fields of features: a number, mean or median of the column, or drop to leave the vertex out (default: an empty field is an error)"},
			&cli.BoolFlag{Name: "skip-unknown", Usage: "ignore edges with an id that --nodes lacks (default: they are an error)"},
			&cli.StringFlag{Name: "out", Usage: "new folder `DIR`"},
		},
		Action: withoutArguments("data tables", dataTablesAction),
	}
}

func dataTablesAction(c *cli.Context) error {
	k := term.NewConsole(c)
	t := tables.Tables{
		Nodes: c.String("nodes"), Edges: c.String("links"), ID: c.String("id"), Label: c.String("label"), LabelSep: c.String("label-sep"), SplitColumn: c.String("split-column"),
		Weight: c.String("weight"), Features: c.String("features"), Missing: c.String("missing"), SkipUnknown: c.Bool("skip-unknown"),
	}
	if t.Edges == "" {
		return term.Usagef("data tables: give --links, and --nodes if there is a table of vertices")
	}
	for flag, into := range map[string]*[]string{"drop": &t.Drop, "categorical": &t.Categorical, "lists": &t.Lists} {
		for _, list := range c.StringSlice(flag) { // a flag that is given again adds columns
			names, err := columnNames(list)
			if err != nil {
				return term.Usagef("--%s: %w", flag, err)
			}
			*into = append(*into, names...)
		}
	}
	out, err := freeFolder(c)
	if err != nil {
		return err
	}
	ctx, stop := term.Interruptible(c.Context, k, "as soon as possible")
	defer stop()
	watch := &term.DataWatch{Ctx: ctx, Console: k, Verb: "read"}
	t.Watch = watch.At
	written, err := writeTables(&t, out)
	watch.End()
	if err != nil {
		return term.Unreadable(err, "nothing was written")
	}
	for _, note := range written.Notes {
		k.Note("note: %s", note)
	}
	for _, name := range written.IDLike {
		k.Note("note: column %q has a different value in every line, as ids have: if it is an id, leave it out with --drop", name)
	}
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(written)
	}
	return tablesSummary(c, out, written)
}

// columnNames splits names at commas; a name with a comma stands in quotation marks.
func columnNames(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	r := csv.NewReader(strings.NewReader(list))
	r.TrimLeadingSpace = true
	return r.Read()
}

// writeTables makes the folder out, whole or not at all.
func writeTables(t *tables.Tables, out string) (written *tables.Written, err error) {
	var unread error // of the tables, which name themselves
	err = atomicfile.Folder(out, func(dir string) error {
		written, unread = t.WriteCSV(dir)
		return unread
	})
	if unread != nil {
		return nil, unread
	}
	return written, err
}

func tablesSummary(c *cli.Context, out string, w *tables.Written) error {
	k := term.NewConsole(c)
	t := tabwriter.NewWriter(k.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "vertices\t%s", term.Grouped(int64(w.Vertices)))
	if w.LeftOut > 0 {
		fmt.Fprintf(t, "  (%s left out: a feature is missing)", term.Grouped(w.LeftOut))
	}
	fmt.Fprintf(t, "\nedges\t%s", term.Grouped(w.Edges))
	if w.EdgesGone > 0 {
		fmt.Fprintf(t, "  (%s left out with their vertices)", term.Grouped(w.EdgesGone))
	}
	if w.Skipped > 0 {
		what := ""
		if c.String("features") != "" {
			what = ", or lists of features"
		}
		fmt.Fprintf(t, "  (%s left out%s: an unknown id)", term.Grouped(w.Skipped), what)
	}
	fmt.Fprintf(t, "\nfeatures\t%s", term.NamesOf(w.Features))
	switch {
	case w.Sparse:
		fmt.Fprintf(t, "  (sparse)")
	case len(w.Features) == 0 && len(w.Classes) > 0:
		fmt.Fprintf(t, "  (train with --features degree)")
	}
	if w.Filled > 0 {
		fmt.Fprintf(t, "  (%s filled)", term.Counted(int(w.Filled), "empty field"))
	}
	fmt.Fprintf(t, "\nclasses\t%s", term.NamesOf(w.Classes))
	if len(w.Classes) == 0 {
		fmt.Fprintf(t, "  (training needs labels: --nodes and --label)")
	}
	if w.Unlabelled > 0 {
		fmt.Fprintf(t, "  (%s without)", term.Counted(w.Unlabelled, "vertex"))
	}
	if s := w.Split; s != nil {
		fmt.Fprintf(t, "\nsplit\ttrain %s, val %s, test %s", term.Grouped(s.Train), term.Grouped(s.Val), term.Grouped(s.Test))
	}
	fmt.Fprintf(t, "\nwritten\t%s\n", out)
	return t.Flush()
}
