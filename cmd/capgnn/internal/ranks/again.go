package ranks

import (
	"slices"
	"strings"
)

// ValueOf returns the value of a flag in a command line, "" if it is not there. The last one counts, as for the parser.
func ValueOf(args []string, name string) (value string) {
	for i, word := range args {
		flag, own, given := strings.Cut(word, "=")
		switch {
		case !isFlag(flag, name):
		case given:
			value = own
		case i+1 < len(args):
			value = args[i+1]
		}
	}
	return value
}

// Resuming returns the command line that continues the run that args began in a folder.
func Resuming(args []string, folder string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		flag, _, given := strings.Cut(args[i], "=")
		if slices.ContainsFunc([]string{"run-dir", "overwrite", "config", "resume"}, func(name string) bool { return isFlag(flag, name) }) {
			if !given && !isFlag(flag, "overwrite") {
				i++ // its value
			}
			continue
		}
		out = append(out, args[i])
	}
	return append(out, "--resume", folder)
}

// isFlag reports whether a word is a flag of this name.
func isFlag(word, name string) bool { return word == "-"+name || word == "--"+name }
