package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset/tables"
	"capgnn/internal/atomicfile"
)

func dataTablesCommand() *cli.Command {
	return &cli.Command{
		Name: "tables", UsageText: "capgnn data tables --nodes people.csv --links friends.csv --label city --out people", Usage: "make a CSV folder of two tables with names in them, which the other commands read",
		Description: "One line per vertex and one per edge, behind a line of names; fields between commas, semicolons or tabs. Ids and classes may be any text: they become numbers, and DIR/ids.csv and DIR/classes.csv keep the names.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "nodes", Usage: "`FILE` with a line per vertex: id, features, label"},
			&cli.StringFlag{Name: "links", Usage: "`FILE` with a line per edge: in its first two columns the ids of its ends, from and to"},
			&cli.StringFlag{Name: "weight", Usage: "`COLUMN` of --links with the weights of edges (default: none)"},
			&cli.StringFlag{Name: "id", Usage: "`COLUMN` of --nodes with the ids (default: the first)"},
			&cli.StringFlag{Name: "label", Usage: "`COLUMN` of --nodes with the classes; empty where unknown (default: none)"},
			&cli.StringFlag{Name: "drop", Usage: "`COLUMNS` of --nodes that are no features, such as name,city"},
			&cli.StringFlag{Name: "categorical", Usage: "`COLUMNS` of --nodes that are names: each name becomes a feature, 1 where it stands"},
			&cli.StringFlag{Name: "lists", Usage: "`COLUMNS` of --nodes whose fields are lists of features, NAME or NAME:VALUE, between blanks, commas, semicolons or bars"},
			&cli.StringFlag{Name: "features", Usage: "JSON `FILE` with a list of feature numbers for each id, {\"ID\": [3, 17], …}; these features are added to those of --nodes"},
			&cli.StringFlag{Name: "missing", Usage: "`NUMBER` that stands for empty fields of features (default: they are an error)"},
			&cli.BoolFlag{Name: "skip-unknown", Usage: "leave out edges with an id that --nodes lacks, in place of ending with an error"},
			&cli.StringFlag{Name: "out", Usage: "new folder `DIR`"},
		},
		Action: withoutArguments("data tables", dataTablesAction),
	}
}

func dataTablesAction(c *cli.Context) error {
	k := term.NewConsole(c)
	t := tables.Tables{Nodes: c.String("nodes"), Edges: c.String("links"), ID: c.String("id"), Label: c.String("label"), Weight: c.String("weight"), Features: c.String("features"), SkipUnknown: c.Bool("skip-unknown")}
	if t.Nodes == "" || t.Edges == "" {
		return term.Usagef("data tables: give both --nodes and --links")
	}
	for flag, into := range map[string]*[]string{"drop": &t.Drop, "categorical": &t.Categorical, "lists": &t.Lists} {
		if list := c.String(flag); list != "" {
			*into = strings.Split(list, ",")
		}
	}
	if text := c.String("missing"); text != "" {
		x, err := strconv.ParseFloat(text, 32)
		if err != nil || x-x != 0 {
			return term.Usagef("--missing: %q is not a number", text)
		}
		t.Missing = &x
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
	for _, name := range written.IDLike {
		k.Note("note: column %q has a different value in every line, as ids have: if it is an id, leave it out with --drop", name)
	}
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(written)
	}
	return tablesSummary(c, out, written)
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
	fmt.Fprintf(t, "vertices\t%s\n", term.Grouped(int64(w.Vertices)))
	fmt.Fprintf(t, "edges\t%s", term.Grouped(w.Edges))
	if w.Skipped > 0 {
		fmt.Fprintf(t, "  (%s left out, or lists of features: an unknown id)", term.Grouped(w.Skipped))
	}
	fmt.Fprintf(t, "\nfeatures\t%s", term.NamesOf(w.Features))
	if w.Sparse {
		fmt.Fprintf(t, "  (sparse)")
	}
	if w.Filled > 0 {
		fmt.Fprintf(t, "  (%s empty fields filled)", term.Grouped(w.Filled))
	}
	fmt.Fprintf(t, "\nclasses\t%s", term.NamesOf(w.Classes))
	if w.Unlabelled > 0 {
		fmt.Fprintf(t, "  (%s without)", term.Counted(w.Unlabelled, "vertex"))
	}
	fmt.Fprintf(t, "\nwritten\t%s\n", out)
	return t.Flush()
}
