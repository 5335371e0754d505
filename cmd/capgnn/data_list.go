package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/synth"
)

// foundSet is a data set in one of the folders that are searched by name.
type foundSet struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Format string `json:"format"` // by the names of files and arrays alone; the files were not read
	Bytes  int64  `json:"bytes"`
}

// dataList is what `data list` prints.
type dataList struct {
	Roots   []string     `json:"roots"`
	Found   []foundSet   `json:"found"`
	Known   []knownSet   `json:"known"`
	Presets []presetLine `json:"presets"`
}

type presetLine struct {
	Name     string `json:"name"`
	Vertices int    `json:"vertices"`
	Edges    int64  `json:"edges"`
	Like     string `json:"like"`
}

func dataListAction(c *cli.Context) error {
	k := term.NewConsole(c)
	list := dataList{Roots: term.DataRoots(), Found: []foundSet{}, Known: knownSets}
	if list.Roots == nil {
		list.Roots = []string{}
	}
	for _, p := range synth.Presets() {
		list.Presets = append(list.Presets, presetLine{p.Name, p.Vertices, 2 * p.Pairs, p.Like})
	}
	for _, root := range list.Roots {
		found, err := findSets(root)
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
	fmt.Fprintf(t, "\nPUBLISHED\talso\tvertices\tdirected edges\tfeatures\tclasses\tformat\tsource\n")
	for _, s := range list.Known {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", s.Name, strings.Join(s.Aliases(), " "), term.Grouped(int64(s.Vertices)), term.Grouped(s.Edges), s.Features, s.Classes, s.Format, s.Source)
	}
	fmt.Fprintf(t, "\nGENERATED\tvertices\tdirected edges\tin the manner of\n")
	for _, p := range list.Presets {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Name, term.Grouped(int64(p.Vertices)), term.Grouped(p.Edges), p.Like)
	}
	return t.Flush()
}

// findSets lists the data sets of a folder, by name. What is recognised as none is left out.
func findSets(root string) ([]foundSet, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var out []foundSet
	for _, e := range entries {
		path := filepath.Join(root, e.Name())
		info, err := os.Stat(path)
		if err != nil || strings.HasPrefix(e.Name(), ".") {
			continue // a link to nothing, or the temporary folder of a store that is being written
		}
		if !info.IsDir() {
			if format := sniffFile(path); format != "" {
				out = append(out, foundSet{setName(path), path, format, info.Size()})
			}
			continue
		}
		out = append(out, sniffFolder(path)...)
	}
	return out, nil
}

// setName is the name of the data set at path.
func setName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".npz") }

// treeBytes adds up the files of a folder and of those below it. What cannot be read counts nothing: the size is a help
// to the reader and decides nothing.
func treeBytes(dir string) int64 {
	total := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}
