package term

import (
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// advisers are the commands whose flags a text means first, which come from packages that do not know which command
// calls them.
var advisers = []string{"train", "data import"}

// flagInText finds flags in a text.
var flagInText = regexp.MustCompile(`--[a-z][a-z0-9-]+`)

// OtherFlags returns the text of a command, in which a flag that it does not have is called that of a command that has
// it, as in "train's --edges". Flags in backquotes, which name their command, and those that no command has stay as
// they are.
func OtherFlags(c *cli.Context, text string) string {
	found := flagInText.FindAllStringIndex(text, -1)
	if found == nil || c == nil || c.Command == nil {
		return text
	}
	var b strings.Builder
	done := 0
	for _, at := range found {
		before, name := text[:at[0]], text[at[0]+len("--"):at[1]]
		named := strings.Count(before, "`")%2 == 1 || strings.HasSuffix(before, "'s ") // with its command
		if named || endsInWord(before) || hasFlag(c.Command.Flags, name) {
			continue
		}
		if owner := ownerOf(c, name); owner != "" {
			b.WriteString(text[done:at[0]] + owner + "'s ")
			done = at[0]
		}
	}
	return b.String() + text[done:]
}

// endsInWord reports whether what comes next belongs to a word.
func endsInWord(text string) bool {
	return text != "" && !strings.ContainsAny(text[len(text)-1:], " \t([:;,")
}

// ownerOf returns a command that has a flag, "" if none has.
func ownerOf(c *cli.Context, flag string) string {
	var owners []string
	var look func(group string, commands []*cli.Command)
	look = func(group string, commands []*cli.Command) {
		for _, cmd := range commands {
			if !cmd.Hidden && hasFlag(cmd.Flags, flag) {
				owners = append(owners, group+cmd.Name)
			}
			look(group+cmd.Name+" ", cmd.Subcommands)
		}
	}
	for _, level := range c.Lineage() {
		if level.App != nil {
			owners = nil
			look("", level.App.Commands) // the last one has all
		}
	}
	for _, first := range advisers {
		if slices.Contains(owners, first) {
			return first
		}
	}
	if len(owners) == 0 {
		return ""
	}
	return owners[0]
}

func hasFlag(flags []cli.Flag, name string) bool {
	return slices.ContainsFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

// otherFlags is an error whose text calls flags of other commands theirs.
type otherFlags struct {
	err  error
	text string
}

func (e *otherFlags) Error() string { return e.text }
func (e *otherFlags) Unwrap() error { return e.err }

// NamingFlags is an action whose error calls flags that its command does not have those of a command that has them.
func NamingFlags(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		if err == nil {
			return nil
		}
		line := OneLine(err)
		if text := OtherFlags(c, line); text != line {
			return &otherFlags{err, text}
		}
		return err
	}
}
