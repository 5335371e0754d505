package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	terminal "golang.org/x/term"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// Columns of help: those of the terminal between these two, and the most where there is none.
const (
	leastHelpColumns = 40
	helpColumns      = 80
	// narrowHelp is up to where a meaning stands below its flag instead of beside it.
	narrowHelp = 60
	// helpIndent is where a meaning stands below its flag, or behind one that is too long.
	helpIndent = 6
	// helpNames is the most that the names of flags take beside their meanings.
	helpNames = 26
)

// writeHelp gives the program the texts that --help prints, wrapped for where they are printed, and those of its
// commands whose text a command line may print: what a command does, one example (its UsageText), its flags in the
// groups of their Category.
func writeHelp(app *cli.App, out io.Writer, args []string, all bool) {
	h := helpText{columns: helpColumns, all: all}
	if f, ok := out.(*os.File); ok {
		if columns, _, err := terminal.GetSize(int(f.Fd())); err == nil && columns > 0 {
			h.columns = max(leastHelpColumns, min(columns, helpColumns))
		}
	}
	app.CustomAppHelpTemplate = h.app(app)
	asked := slices.ContainsFunc(args, isHelp)
	for _, cmd := range app.Commands {
		if !slices.Contains(args, cmd.Name) || !asked && len(cmd.Subcommands) == 0 {
			continue
		}
		cmd.CustomHelpTemplate = h.command(cmd, app.Name+" "+cmd.Name)
		for _, sub := range cmd.Subcommands {
			sub.CustomHelpTemplate = h.command(sub, app.Name+" "+cmd.Name+" "+sub.Name)
		}
	}
}

// helpOf makes `help COMMAND`, `help GROUP COMMAND` and `GROUP help COMMAND` of a command line `GROUP COMMAND
// --help`. The error is of a command that is not there.
func helpOf(app *cli.App, args []string) ([]string, error) {
	var path []string
	for _, arg := range args[min(1, len(args)):] {
		if !isHelp(arg) {
			path = append(path, arg)
		}
	}
	if len(path) == 0 {
		return args[:min(2, len(args))], nil
	}
	if len(path) == len(args)-1 {
		return args, nil
	}
	top := slices.IndexFunc(app.Commands, func(cmd *cli.Command) bool { return cmd.Name == path[0] })
	if !isHelp(args[1]) && (top < 0 || len(app.Commands[top].Subcommands) == 0 || !isHelp(args[2])) { // another command's --help
		return args, nil
	}
	below, group, where := app.Commands, "", "capgnn help"
	for _, name := range path {
		if strings.HasPrefix(name, "-") {
			continue
		}
		at := slices.IndexFunc(below, func(cmd *cli.Command) bool { return cmd.Name == name })
		if len(below) == 0 {
			return nil, term.Usagef("no command %q: see `%s`", group+name, where)
		}
		if at < 0 {
			return nil, term.Usagef("no command %s: `%s` lists the commands", term.Quoted(group+name, commandNames(group, below)), where)
		}
		below, group = below[at].Subcommands, group+name+" "
		where = "capgnn " + group + "--help"
	}
	return append(append(args[:1:1], path...), "--help"), nil
}

// isHelp reports whether a word asks for help.
func isHelp(arg string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return word == "help" || word == "h"
}

// asksForAll reports whether a command line asks for help of all flags, and returns it without that word.
func asksForAll(args []string) ([]string, bool) {
	if n := len(args) - 1; n > 1 && args[n] == "all" && (isHelp(args[n-1]) || isHelp(args[1])) {
		return args[:n], true
	}
	return args, false
}

// helpText is a text of lines of at most so many columns, as far as words allow.
type helpText struct {
	columns int
	all     bool // every flag, not the everyday ones alone
}

// shown returns the flags that help says, and what it says of the others: of train these are the everyday ones, of
// other commands those that are not train's.
func (h helpText) shown(cmd *cli.Command, words string) (flags []cli.Flag, rest string) {
	trains, train := map[string]string{}, cmd.Name == "train"
	for _, f := range runfolder.FlagsOf(runfolder.FlagNames(runfolder.Option.Setting)...) {
		trains[f.Names()[0]] = f.(cli.DocGenerationFlag).GetUsage()
	}
	for _, f := range cmd.Flags {
		name := f.Names()[0]
		usage, isTrains := trains[name]
		if h.all || train && everyday(name) || !train && !(isTrains && usage == f.(cli.DocGenerationFlag).GetUsage()) {
			flags = append(flags, f)
		}
	}
	switch n := len(cmd.Flags) - len(flags); {
	case n == 0:
		return flags, ""
	case train:
		return flags, fmt.Sprintf("`%s --help all` says more, and has %d more.", words, n)
	default:
		return flags, fmt.Sprintf("%d options of `capgnn train` hold here, too: `%s --help all` has them.", n, words)
	}
}

// everyday reports whether most runs need a flag of train.
func everyday(name string) bool {
	return runfolder.Everyday(name) || name == "help"
}

func (h helpText) app(app *cli.App) string {
	var b strings.Builder
	h.paragraph(&b, app.Name+": "+app.Usage)
	h.commands(&b, app.Commands)
	b.WriteString("\n")
	h.paragraph(&b, "`"+app.Name+" COMMAND --help` says more of each.")
	return b.String()
}

func (h helpText) command(cmd *cli.Command, words string) string {
	var b strings.Builder
	h.paragraph(&b, words+": "+cmd.Usage)
	if cmd.Description != "" {
		b.WriteString("\n")
		h.paragraph(&b, cmd.Description)
	}
	fmt.Fprintf(&b, "\nUsage\n%s", h.copied(usageLine(cmd, words)))
	if cmd.UsageText != "" {
		fmt.Fprintf(&b, "\nExample\n%s", h.copied(cmd.UsageText))
	}
	if len(cmd.Subcommands) > 0 {
		h.commands(&b, cmd.Subcommands)
		b.WriteString("\n")
		h.paragraph(&b, "`"+words+" COMMAND --help` says more of each.")
		return b.String()
	}
	flags, rest := h.shown(cmd, words)
	groups := flagGroups(flags)
	names := 0
	for _, g := range groups {
		for _, f := range g.flags {
			names = max(names, min(helpNames, len(flagWords(f))))
		}
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s\n", g.name)
		for _, f := range g.flags {
			meaning, keys := flagMeaning(f)
			if rest != "" && cmd.Name == "train" {
				meaning, keys = briefly(meaning), nil
			}
			h.entry(&b, "  "+flagWords(f), meaning, names+4)
			for _, k := range keys {
				h.entry(&b, "    "+k.word, k.meaning, names+4)
			}
		}
	}
	if rest != "" {
		b.WriteString("\n")
		h.paragraph(&b, rest)
	}
	return b.String()
}

// word matches a word of a shell's line.
var word = regexp.MustCompile(`(?:[^\s'"]|'[^']*'|"[^"]*")+`)

// copied is lines for a shell, which go on behind a backslash where they are too long.
func (h helpText) copied(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		at := 0
		for i, w := range word.FindAllString(line, -1) {
			switch n := utf8.RuneCountInString(w); {
			case i == 0:
				at, _ = fmt.Fprint(&b, "  ", w)
			case at+1+n+len(` \`) > h.columns:
				b.WriteString(" \\\n    " + w)
				at = 4 + n
			default:
				b.WriteString(" " + w)
				at += 1 + n
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// usageLine is how a command is called.
func usageLine(cmd *cli.Command, words string) string {
	switch {
	case len(cmd.Subcommands) > 0:
		return words + " COMMAND [FLAGS]"
	case strings.HasPrefix(cmd.ArgsUsage, "--"):
		return words + " [FLAGS] " + cmd.ArgsUsage + " ..."
	case cmd.ArgsUsage != "":
		return words + " " + cmd.ArgsUsage + " [FLAGS]"
	}
	return words + " [FLAGS]"
}

func (h helpText) commands(b *strings.Builder, commands []*cli.Command) {
	names := 0
	for _, cmd := range commands {
		names = max(names, len(commandWords(cmd)))
	}
	b.WriteString("\nCommands\n")
	for _, cmd := range commands {
		h.entry(b, "  "+commandWords(cmd), cmd.Usage, names+4)
	}
}

func commandWords(cmd *cli.Command) string { return strings.TrimSpace(cmd.Name + " " + cmd.ArgsUsage) }

// flagGroup is the flags of one category.
type flagGroup struct {
	name  string
	flags []cli.Flag
}

// flagGroups returns the flags by category, in the order in which categories first occur, those without one and what
// every command has last.
func flagGroups(flags []cli.Flag) []flagGroup {
	var groups []flagGroup
	rest := flagGroup{name: "Flags"}
	at := map[string]int{}
	for _, f := range flags {
		name := ""
		if c, ok := f.(cli.CategorizableFlag); ok {
			name = c.GetCategory()
		}
		if name == "" {
			rest.flags = append(rest.flags, f)
			continue
		}
		i, ok := at[name]
		if !ok {
			i = len(groups)
			at[name] = i
			groups = append(groups, flagGroup{name: name})
		}
		groups[i].flags = append(groups[i].flags, f)
	}
	if len(groups) > 0 {
		rest.name = "Output and help"
	}
	if len(rest.flags) > 0 {
		groups = append(groups, rest)
	}
	return groups
}

// flagWords is a flag with the word for its value.
func flagWords(f cli.Flag) string {
	word, _ := flagValue(f)
	name := "--" + f.Names()[0]
	if len(f.Names()[0]) == 1 {
		name = name[1:]
	}
	return strings.TrimSpace(name + " " + word)
}

// flagValue returns the word for a flag's value, which its usage has between backquotes, "" where it takes none, and
// the usage without backquotes.
func flagValue(f cli.Flag) (word, usage string) {
	doc := f.(cli.DocGenerationFlag)
	usage = doc.GetUsage()
	if before, rest, ok := strings.Cut(usage, "`"); ok && doc.TakesValue() {
		value, after, _ := strings.Cut(rest, "`")
		return value, before + value + after
	}
	return "", usage
}

// flagDefault returns the default of a flag as text, "" where it has none or is a switch.
func flagDefault(f cli.Flag) string {
	doc := f.(cli.DocGenerationFlag)
	if !doc.TakesValue() {
		return ""
	}
	return strings.TrimSpace(strings.Trim(doc.GetDefaultText(), `"`))
}

// flagKey is KEY=WORD of a flag, and what it means.
type flagKey struct{ word, meaning string }

// flagMeaning is what a flag means, with its default, and what its keys mean: each has a line of its usage.
func flagMeaning(f cli.Flag) (meaning string, keys []flagKey) {
	_, usage := flagValue(f)
	meaning, rest, _ := strings.Cut(usage, "\n")
	if d := flagDefault(f); d != "" {
		meaning += " (default: " + d + ")"
	}
	for line := range strings.Lines(rest) {
		word, says, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		keys = append(keys, flagKey{word, says})
	}
	return meaning, keys
}

// briefly returns what a meaning says first, and the default.
func briefly(meaning string) string {
	first := meaning[:min(firstOf(meaning, "; "), firstOf(meaning, ". "))]
	first += strings.Repeat(")", strings.Count(first, "(")-strings.Count(first, ")"))
	if at := strings.LastIndex(meaning, " (default: "); at >= len(first) && len(meaning)-at < 40 {
		first += meaning[at:]
	}
	return first
}

// firstOf is where a text begins in another one, the end if it does not.
func firstOf(text, part string) int {
	before, _, _ := strings.Cut(text, part)
	return len(before)
}

// entry writes a name with what stands before it, and what it means in a column beside it, or below where there is no room.
func (h helpText) entry(b *strings.Builder, head, meaning string, indent int) {
	if h.columns < narrowHelp {
		indent = helpIndent
	}
	if utf8.RuneCountInString(head)+2 > indent {
		fmt.Fprintln(b, head)
		head = ""
	}
	for i, line := range wrapped(meaning, h.columns-indent) {
		if i > 0 {
			head = ""
		}
		fmt.Fprintf(b, "%-*s%s\n", indent, head, line)
	}
}

func (h helpText) paragraph(b *strings.Builder, text string) {
	for _, line := range wrapped(text, h.columns) {
		fmt.Fprintln(b, line)
	}
}

// wrapped cuts a text between words into lines of at most so many columns; a longer word has a line of its own.
func wrapped(text string, columns int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= columns:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
