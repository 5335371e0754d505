package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
)

// positionals returns the positional arguments of a command, which is called words. Flags may stand before, between and
// behind them; the parser of package flag stops at the first argument, so those behind are set here.
func positionals(c *cli.Context, words string) ([]string, error) {
	var found []string
	rest := c.Args().Slice()
	for len(rest) > 0 {
		word := rest[0]
		rest = rest[1:]
		if word == "" {
			return nil, emptyValue(words, "an argument")
		}
		if len(word) < 2 || word[0] != '-' {
			found = append(found, word)
			continue
		}
		var err error
		if rest, err = setFlag(c, words, word, rest); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// setFlag sets the flag that word names, from word itself or from the first of rest, and returns what is left of rest.
func setFlag(c *cli.Context, words, word string, rest []string) ([]string, error) {
	help := "capgnn " + words + " --help"
	name, value, given := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
	for _, f := range c.Command.Flags {
		for _, known := range f.Names() {
			if known != name {
				continue
			}
			_, isBool := f.(*cli.BoolFlag)
			_, alone := f.(*cli.GenericFlag) // may stand without a value
			isBool = isBool || alone
			switch {
			case isBool && !given:
				value = "true"
			case !given && len(rest) == 0:
				return nil, term.Usagef("--%s needs a value: see `%s`", name, help)
			case !given:
				value, rest = rest[0], rest[1:]
			}
			if value == "" {
				return nil, emptyValue(words, "--"+name)
			}
			if err := c.Set(name, value); err != nil {
				return nil, wrongFlag(name, value, c.Command.Flags, help)
			}
			return rest, nil
		}
	}
	return nil, noFlag(name, c.Command.Flags, help)
}
