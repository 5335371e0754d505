package datasets

import (
	"errors"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset/fetch"
	"capgnn/graph/synth"
	"capgnn/internal/shell"
)

// Find returns the path of a data set by its name or path, as fetch.Resolve does, and says which one was taken where
// several may be meant. The error of one that is not there says what to do.
func Find(k *term.Console, name string) (string, error) {
	path, note, err := fetch.Resolve(name, term.DataRoots())
	if note != "" {
		k.Note("note: %s", note)
	}
	if err == nil {
		return path, nil
	}
	var missing *fetch.NotFound
	if !errors.As(err, &missing) {
		return "", term.Usagef("%w", err)
	}
	if known := fetch.Aliased(name); known != nil {
		if known[0].Fetchable() {
			return "", term.Usagef("%w: `capgnn data fetch %s` downloads it, `capgnn data list` shows what is there", err, known[0].Name)
		}
		return "", term.Usagef("%w: `capgnn data fetch %s` says how to get it, `capgnn data list` shows what is there", err, known[0].Name)
	}
	if preset, scale, ok := strings.Cut(name, ":"); ok {
		if _, err := synth.FindPreset(preset); err == nil {
			return "", term.Usagef("data set %s was not found: make it with `capgnn data synth %s --scale %s --out NEW`, and name that folder",
				name, preset, shell.Word(scale))
		}
	}
	return "", term.Usagef("data set %s was not found (looked at: %s); `capgnn data list` shows what is there, `capgnn data fetch NAME` downloads %s",
		term.Quoted(name, datasetNames()), strings.Join(missing.Looked, ", "), fetchNames)
}

// fetchNames are short names of data sets that can be downloaded.
const fetchNames = "cora, citeseer, pubmed, photo, computers, cs, physics, ogbn-arxiv and more"

// datasetNames lists the names by which data sets are found: those that are there, then published ones and their aliases.
func datasetNames() []string {
	var out []string
	for _, root := range term.DataRoots() {
		found, err := Folder(root)
		if err != nil {
			continue // what cannot be read has no names to suggest
		}
		for _, f := range found {
			out = append(out, f.Name)
		}
	}
	for _, p := range fetch.Known() {
		out = append(append(out, p.Name), p.Aliases()...)
	}
	return out
}
