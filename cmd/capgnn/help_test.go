package main

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/runfolder"
)

// everyCommand calls visit with every command that does something, and how it is called.
func everyCommand(visit func(words string, cmd *cli.Command)) {
	for _, cmd := range newApp(io.Discard, io.Discard).Commands {
		if len(cmd.Subcommands) == 0 {
			visit(cmd.Name, cmd)
		}
		for _, sub := range cmd.Subcommands {
			visit(cmd.Name+" "+sub.Name, sub)
		}
	}
}

// Every flag that takes a value says in a word what it takes, and every command has an example of flags that it has.
func TestHelpHasWordsAndExamples(t *testing.T) {
	of := map[string]map[string]bool{}
	everyCommand(func(words string, cmd *cli.Command) {
		of[words] = map[string]bool{}
		for _, f := range cmd.Flags {
			of[words]["--"+f.Names()[0]] = true
		}
	})
	everyCommand(func(words string, cmd *cli.Command) {
		for _, f := range cmd.Flags {
			if word, usage := flagValue(f); f.(cli.DocGenerationFlag).TakesValue() && word == "" {
				t.Errorf("%s --%s: no word for its value in %q", words, f.Names()[0], usage)
			}
		}
		if !strings.Contains(cmd.UsageText, "capgnn "+words) {
			t.Errorf("%s: the example is %q", words, cmd.UsageText)
		}
		own, other, _ := strings.Cut(cmd.UsageText, " -- ") // flags of a command that this one runs
		name, _, _ := strings.Cut(other, " ")
		for text, command := range map[string]string{own: words, other: name} {
			for word := range strings.FieldsSeq(text) {
				if strings.HasPrefix(word, "--") && !of[command][word] {
					t.Errorf("%s: the example has %s, which is no flag of %s", words, word, command)
				}
			}
		}
	})
}

// train has its flags in groups, every one of them in one.
func TestHelpHasGroups(t *testing.T) {
	for _, o := range runfolder.Options {
		if !o.FileOnly && o.Group == "" {
			t.Errorf("--%s stands in no group", o.Name)
		}
	}
	cmd := trainCommand()
	cmd.Flags = append(cmd.Flags, outputFlags()...)
	text := helpText{columns: helpColumns}.command(cmd, "capgnn train")
	at := 0
	for _, want := range []string{"\nUsage\n  capgnn train [FLAGS]\n", "\nExample\n  capgnn train --dataset", "\n" + runfolder.GroupData + "\n  --dataset NAME ", "\n" + runfolder.GroupModel + "\n", "\n" + runfolder.GroupTraining + "\n",
		"\n" + runfolder.GroupParts + "\n", "\n" + runfolder.GroupExchange + "\n", "\n" + runfolder.GroupRun + "\n", "\nOutput and help\n  --json"} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("no %q behind byte %d of\n%s", want, at, text)
		}
		at += i
	}
}

// Help is as wide as it was asked to be: only an example or a usage line, which are to be copied, may be longer.
func TestHelpFits(t *testing.T) {
	for _, columns := range []int{leastHelpColumns, helpColumns, mostHelpColumns} {
		h := helpText{columns: columns}
		check := func(words, text, example string) {
			for line := range strings.Lines(text) {
				line = strings.TrimRight(line, "\n")
				if utf8.RuneCountInString(line) > columns && strings.Contains(strings.TrimSpace(line), " ") && !strings.Contains(line, example) {
					t.Errorf("%s at %d columns: %q", words, columns, line)
				}
			}
			if strings.Contains(text, "{{") || strings.ContainsAny(text, "\t") {
				t.Errorf("%s: the text is no template of itself", words)
			}
		}
		app := newApp(io.Discard, io.Discard)
		check("help", h.app(app), "\x00")
		everyCommand(func(words string, cmd *cli.Command) { check(words, h.command(cmd, "capgnn "+words), cmd.UsageText) })
	}
}
