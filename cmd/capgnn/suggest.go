package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// quoted returns word in quotation marks, and behind it which of the choices may have been meant: that of least edit distance,
// the first of several, if it differs in at most a third of its characters, else the first that begins or ends with word.
func quoted(word string, choices []string) string {
	if meant := nearest(word, choices); meant != "" {
		return fmt.Sprintf("%q (did you mean %s?)", word, meant)
	}
	return fmt.Sprintf("%q", word)
}

// maxSuggested is the length of the words for which others are suggested, in bytes.
const maxSuggested = 64

// nearest returns the choice that quoted suggests, "" if none is like word.
func nearest(word string, choices []string) string {
	if word == "" || len(word) > maxSuggested {
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", maxSuggested
	for _, choice := range choices {
		d := editDistance(word, strings.ToLower(choice))
		if d < least && 3*d <= max(len(word), len(choice)) && d < len(word) {
			best, least = choice, d
		}
	}
	for _, choice := range choices {
		other := strings.ToLower(choice)
		if best == "" && len(word) > 2 && (strings.HasPrefix(other, word) || strings.HasSuffix(other, word)) {
			best = choice
		}
	}
	return best
}

// editDistance returns how many insertions, deletions, replacements and exchanges of neighbours, in bytes, make b of a, where no
// byte is touched twice.
//
// Source: the optimal string alignment distance; Boytsov, Indexing methods for approximate dictionary searching, 2011.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// commandNames lists commands by name, with the group's before it.
func commandNames(group string, commands []*cli.Command) []string {
	var out []string
	for _, cmd := range commands {
		out = append(out, group+cmd.Name)
	}
	return out
}

// flagNames lists flags, aliases of one letter left out.
func flagNames(flags []cli.Flag) []string {
	var out []string
	for _, f := range flags {
		for _, name := range f.Names() {
			if len(name) > 1 {
				out = append(out, name)
			}
		}
	}
	return out
}

// flagProblem is the error of flags that did not parse, in one line: of one that is not there with that which may have been
// meant. help is the command that lists the flags.
func flagProblem(err error, flags []cli.Flag, help string) error {
	if name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
		return noFlag(name, flags, help)
	}
	return usagef("%w: see `%s`", err, help)
}

// noFlag is the error of a flag that is not there.
func noFlag(name string, flags []cli.Flag, help string) error {
	if meant := nearest(name, flagNames(flags)); meant != "" {
		return usagef("flag provided but not defined: -%s (did you mean --%s?): see `%s`", name, meant, help)
	}
	return usagef("flag provided but not defined: -%s: see `%s`", name, help)
}
