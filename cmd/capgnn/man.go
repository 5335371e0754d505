package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
)

func manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", UsageText: "capgnn man | man -l -", Usage: "print the manual page",
		Description: "Prints every command and flag in the format of man(1). To install it, write it to capgnn.1 in the folder man1 of a folder that `manpath` lists.",
		Action: func(c *cli.Context) error {
			_, err := io.WriteString(c.App.Writer, manPage(newApp(io.Discard, io.Discard))) // one that runs has commands and flags for help
			return err
		},
	}
}

// exitCodes are what the program ends with.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{term.ExitDone, "done"},
	{term.ExitFailure, "failure"},
	{term.ExitUsage, "wrong usage or input, or a device that is not there"},
	{term.ExitDoesNotFit, "does not fit into memory"},
	{term.ExitLost, "a device or another machine failed, or did not answer in time: `train --resume` continues the run"},
	{term.ExitInterrupted, "interrupted, after a checkpoint"},
	{term.ExitUnread, "the reader of standard output has gone"},
}

// manPage returns the manual page of the program, in the macros of man(7): what help says of every command.
func manPage(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH CAPGNN 1 \"\" \"%s\" \"User Commands\"\n.nr HY 0\n.ad l\n.SH NAME\n%s \\- %s\n", roff("capgnn "+term.ReadBuildInfo().Version), app.Name, roff(app.Usage))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n.SH DESCRIPTION\n", roff("`"+app.Name+"` COMMAND [FLAGS]"))
	fmt.Fprintf(&b, "%s\n", roff("Each command has a section below. `"+app.Name+" COMMAND --help` prints it alone."))
	var sections strings.Builder
	for _, cmd := range app.Commands {
		manEntry(&b, "`"+cmd.Name+"`", cmd.Usage)
		manSection(&sections, cmd, app.Name+" "+cmd.Name)
		for _, sub := range cmd.Subcommands {
			manSection(&sections, sub, app.Name+" "+cmd.Name+" "+sub.Name)
		}
	}
	b.WriteString(".SH OPTIONS\n")
	manFlags(&b, app.Flags)
	b.WriteString(sections.String() + ".SH EXIT STATUS\n")
	for _, e := range exitCodes {
		manEntry(&b, fmt.Sprintf("`%d`", e.code), e.meaning)
	}
	return b.String()
}

// manSection writes the section of a command, and only what it is for where it has commands of its own.
func manSection(b *strings.Builder, cmd *cli.Command, words string) {
	fmt.Fprintf(b, ".SH \"%s\"\n%s\n", words, roff(sentence(cmd.Usage)))
	if cmd.Description != "" {
		fmt.Fprintf(b, ".PP\n%s\n", roff(cmd.Description))
	}
	fmt.Fprintf(b, ".PP\n%s\n", roff("Usage: `"+usageLine(cmd, words)+"`"))
	if len(cmd.Subcommands) > 0 {
		return
	}
	fmt.Fprintf(b, ".PP\nExample:\n.PP\n.RS 4\n.EX\n")
	for line := range strings.SplitSeq(cmd.UsageText, "\n") {
		fmt.Fprintf(b, "%s\n", roff(line))
	}
	b.WriteString(".EE\n.RE\n")
	for _, g := range flagGroups(cmd.Flags) {
		fmt.Fprintf(b, ".SS \"%s\"\n", roff(g.name))
		manFlags(b, g.flags)
	}
}

func manFlags(b *strings.Builder, flags []cli.Flag) {
	for _, f := range flags {
		name, value, _ := strings.Cut(flagWords(f), " ")
		meaning, keys := flagMeaning(f)
		manEntry(b, strings.TrimSpace("`"+name+"` "+value), meaning)
		if keys == nil {
			continue
		}
		b.WriteString(".RS\n")
		for _, k := range keys {
			key, word, _ := strings.Cut(k.word, "=")
			manEntry(b, "`"+key+"=`"+word, k.meaning)
		}
		b.WriteString(".RE\n")
	}
}

// manEntry writes a name, and indented what it means.
func manEntry(b *strings.Builder, name, meaning string) {
	fmt.Fprintf(b, ".TP\n%s\n%s\n", roff(name), roff(meaning))
}

// sentence is a usage with a capital letter and a full stop.
func sentence(usage string) string { return strings.ToUpper(usage[:1]) + usage[1:] + "." }

var (
	backquoted = regexp.MustCompile("`([^`]*)`")
	roffMarks  = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, `"`, `\(dq`, "^", `\(ha`, "~", `\(ti`)
)

// roff returns one line of text in which nothing is a command to roff, in ASCII, and what stands between backquotes is bold.
func roff(text string) string {
	text = backquoted.ReplaceAllString(roffMarks.Replace(text), `\fB$1\fR`)
	var b strings.Builder
	if strings.HasPrefix(text, ".") {
		b.WriteString(`\&`)
	}
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteByte(' ')
		case r < 0x80:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}
