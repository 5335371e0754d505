package term

import (
	"fmt"
	"strings"
)

// Quoted returns word in quotation marks, and behind it which of the choices may have been meant: that of least edit distance,
// the first of several, if it differs in at most a third of its characters, else the first that begins with word, or ends
// with it behind a hyphen.
func Quoted(word string, choices []string) string {
	if meant := Nearest(word, choices); meant != "" {
		return fmt.Sprintf("%q (did you mean %s?)", word, meant)
	}
	return fmt.Sprintf("%q", word)
}

// maxSuggested is the length of the words for which others are suggested, in bytes.
const maxSuggested = 64

// Nearest returns the choice that quoted suggests, "" if none is like word.
func Nearest(word string, choices []string) string {
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
		if best == "" && len(word) > 2 && (strings.HasPrefix(other, word) || strings.HasSuffix(other, "-"+word)) {
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
