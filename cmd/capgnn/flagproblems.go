package main

import (
	"regexp"
	"slices"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// What package flag says of a command line that does not parse.
var (
	unknownFlag = regexp.MustCompile(`^flag provided but not defined: -(.*)$`)
	noValue     = regexp.MustCompile(`^flag needs an argument: -(.*)$`)
	wrongValue  = regexp.MustCompile(`(?s)^invalid (?:boolean )?value "(.*)" for (?:flag )?-([^ ]*): `)
)

// flagProblem is the error of flags that did not parse, in one line. help is the command that lists the flags.
func flagProblem(err error, flags []cli.Flag, help string) error {
	text := err.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		return noFlag(m[1], flags, help)
	}
	if m := noValue.FindStringSubmatch(text); m != nil {
		return term.Usagef("--%s needs a value: see `%s`", m[1], help)
	}
	if m := wrongValue.FindStringSubmatch(text); m != nil {
		return wrongFlag(m[2], m[1], flags, help)
	}
	return term.Usagef("%w: see `%s`", err, help)
}

// noFlag is the error of a flag that is not there, with the one that may have been meant.
func noFlag(name string, flags []cli.Flag, help string) error {
	if meant := term.Nearest(name, flagNames(flags)); meant != "" {
		return term.Usagef("no flag --%s (did you mean --%s?): see `%s`", name, meant, help)
	}
	return term.Usagef("no flag --%s: see `%s`", name, help)
}

// wrongFlag is the error of a value that a flag cannot have.
func wrongFlag(name, value string, flags []cli.Flag, help string) error {
	want := "one that this flag takes"
	if at := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }); at >= 0 {
		switch flags[at].(type) {
		case *cli.IntFlag, *cli.Int64Flag:
			want = "a whole number"
		case *cli.Uint64Flag:
			want = "a whole number from 0 to 2^64-1"
		case *cli.Float64Flag:
			want = "a number"
		case *cli.BoolFlag, *cli.GenericFlag:
			want = "true or false"
		}
	}
	return term.Usagef("--%s: %q is not %s: see `%s`", name, value, want, help)
}

// refusingEmpty is an action whose flags have no empty values: these are mostly of variables of a shell that are not set.
func refusingEmpty(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		for _, f := range c.Command.Flags {
			if key, empty := runfolder.Empty(c, f.Names()[0]); empty {
				return emptyValue(c.Command.Name, "--"+f.Names()[0]+key)
			}
		}
		return action(c)
	}
}

// emptyValue is the error of a command for a flag, a key of one or an argument that is empty.
func emptyValue(words, name string) error {
	return term.Usagef("%s: %s is empty: give it a value, or leave it out", words, name)
}
