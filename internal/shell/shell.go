package shell

import (
	"regexp"
	"strings"
)

// plainWord matches words that every shell takes as they are.
var plainWord = regexp.MustCompile(`^[\pL\pN\pM_@%+:,./=-]+$`)

// Word writes a word of a command that a line advises, so that a shell into which it is pasted takes it as it is.
func Word[S ~string](word S) string {
	if plainWord.MatchString(string(word)) {
		return string(word)
	}
	return Quoted(string(word))
}

// Quoted quotes a word for any shell.
func Quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
