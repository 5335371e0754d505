package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset/fetch"
	"capgnn/graph/synth"
)

// dataList is what `data list` prints.
type dataList struct {
	Roots   []string          `json:"roots"`
	Found   []datasets.Found  `json:"found"`
	Known   []fetch.Published `json:"known"`
	Presets []presetLine      `json:"presets"`
}

type presetLine struct {
	Name     string `json:"name"`
	Vertices int    `json:"vertices"`
	Edges    int64  `json:"edges"`
	Like     string `json:"like"`
}

func dataListAction(c *cli.Context) error {
	k := term.NewConsole(c)
	list := dataList{Roots: term.DataRoots(), Found: []datasets.Found{}, Known: fetch.Known()}
	if list.Roots == nil {
		list.Roots = []string{}
	}
	for _, p := range synth.Presets() {
		list.Presets = append(list.Presets, presetLine{p.Name, p.Vertices, 2 * p.Pairs, p.Like})
	}
	for _, root := range list.Roots {
		found, err := datasets.Folder(root)
		if errors.Is(err, fs.ErrNotExist) {
			k.Note("%s is not there yet", root)
			continue
		}
		if err != nil {
			return term.Usagef("data list: %w", err)
		}
		list.Found = append(list.Found, found...)
	}
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(list)
	}
	t := tabwriter.NewWriter(k.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "FOUND\tformat\tsize\tpath\n")
	for _, f := range list.Found {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.Name, f.Format, term.Size(f.Bytes), f.Path)
	}
	if len(list.Found) == 0 {
		fmt.Fprintf(t, "none in %s\n", strings.Join(list.Roots, ", "))
	}
	fmt.Fprintf(t, "\nPUBLISHED\tvertices\tedges\tfeatures\tclasses\n")
	for _, s := range list.Known {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\n", strings.Join(append([]string{s.Name}, s.Aliases()...), ", "),
			term.Grouped(int64(s.Vertices)), term.Grouped(s.Edges), s.Features, s.Classes)
	}
	fmt.Fprintf(t, "\nGENERATED\tvertices\tedges\tlike\n")
	for _, p := range list.Presets {
		like, _, _ := strings.Cut(strings.Split(p.Like, " (")[0], ",")
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Name, term.Grouped(int64(p.Vertices)), term.Grouped(p.Edges), like)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(k.Out, "\nEdges are directed. `capgnn data fetch NAME` downloads a published data set;\n`--json` says where each comes from.")
	return err
}

func dataInfoAction(c *cli.Context, name string) error {
	k := term.NewConsole(c)
	d, err := openDataset(c.Context, c, k, name)
	if err != nil {
		return err
	}
	info := datasets.Describe(d)
	if err := d.Close(); err != nil {
		return err
	}
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(info)
	}
	return info.Print(k.Out)
}
