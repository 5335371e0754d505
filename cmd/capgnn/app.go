package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// run executes one command line and returns the exit code. args[0] is the program's name.
func run(args []string, stdout, stderr io.Writer) int {
	out := &output{to: stdout}
	app := newApp(out, stderr)
	args, all := asksForAll(args)
	args, err := helpOf(app, args)
	if err == nil {
		writeHelp(app, stdout, args, all)
		err = term.WithinLimits(app.Run(args))
		devices.Release()
	}
	if out.err != nil && (err == nil || errors.Is(err, out.err)) {
		if errors.Is(out.err, syscall.EPIPE) { // who reads has seen enough
			return term.ExitUnread
		}
		err = fmt.Errorf("write to standard output: %w: the output is incomplete", cause(out.err))
	}
	if err != nil {
		fmt.Fprintln(stderr, term.ErrorLine(err))
	}
	return term.ExitCode(err)
}

// output is standard output: it keeps its first error, for those who print without looking.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	_, o.err = o.to.Write(controls.ReplaceAllFunc(p, func(c []byte) []byte { return fmt.Appendf(nil, "\\u%04x", []rune(string(c))[0]) }))
	if o.err != nil {
		return 0, o.err
	}
	return len(p), nil
}

// controls are the characters that a terminal obeys, but tabs and line ends. Names in files may hold them; strings of JSON take their escapes.
var controls = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f-\u009f]")

// cause is the reason in an error of the system, without the call and the name.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// newApp returns the program: its commands, with every error handed back to run instead of being printed on the way.
func newApp(stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:        "capgnn",
		Usage:       "train graph neural networks, full-batch or on mini-batches, on the devices of one machine or of several",
		Writer:      stdout,
		ErrWriter:   stderr,
		HideVersion: true,
		// Names of columns may hold commas.
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              usageProblem,
		Flags:                     []cli.Flag{versionFlag()},
		Before:                    versionAlone,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return term.Usagef("no command %s: `capgnn help` lists the commands", term.Quoted(c.Args().First(), commandNames("", c.App.Commands)))
			}
			if c.Bool("version") {
				return printVersion(c)
			}
			return cli.ShowAppHelp(c)
		},
		Commands: []*cli.Command{demoCommand(), trainCommand(), launchCommand(), partitionCommand(), planCommand(), predictCommand(), dataCommand(), modelCommand(), profileCommand(), doctorCommand(), benchCommand(), reportCommand(), completionCommand(), manCommand(), versionCommand()},
	}
	for _, cmd := range app.Commands {
		cmd.OnUsageError = usageProblem
		switch cmd.Name {
		case "train": // has them
		case "completion", "man": // their output has a form of its own
			cmd.Flags = append(cmd.Flags, runfolder.FlagsOf("quiet")...)
		default:
			cmd.Flags = append(cmd.Flags, outputFlags()...)
		}
		if cmd.ArgsUsage == "" {
			cmd.Action = withoutArguments(cmd.Name, cmd.Action)
		}
		nameFlags(cmd)
		keepNames(cmd)
	}
	return app
}

// textFlag is a StringFlag that makes its names once: package cli asks every flag for them whenever it wants to know of one whether it was given, which took a
// third of a command's start.
type textFlag struct {
	*cli.StringFlag
	names []string
}

func (f textFlag) Names() []string { return f.names }

// keepNames makes flags of a command and of those below it textFlags.
func keepNames(cmd *cli.Command) {
	for i, f := range cmd.Flags {
		if text, ok := f.(*cli.StringFlag); ok {
			cmd.Flags[i] = textFlag{text, text.Names()}
		}
	}
	for _, sub := range cmd.Subcommands {
		keepNames(sub)
	}
}

// nameFlags makes errors of a command and of those below it call flags that it does not have those of others, and
// refuses empty values. Errors of launch are of the command that it has started.
func nameFlags(cmd *cli.Command) {
	if cmd.Action != nil {
		cmd.Action = refusingEmpty(cmd.Action)
	}
	if cmd.Action != nil && cmd.Name != "launch" {
		cmd.Action = term.NamingFlags(cmd.Action)
	}
	for _, sub := range cmd.Subcommands {
		nameFlags(sub)
	}
}

// outputFlags are the flags of commands that have a result.
func outputFlags() []cli.Flag {
	return runfolder.FlagsOf("json", "quiet")
}

// usageProblem turns a flag that does not parse into one line and exit code 2.
func usageProblem(c *cli.Context, err error, isSubcommand bool) error {
	if isSubcommand && c.Command != nil {
		return flagProblem(err, c.Command.Flags, "capgnn "+c.Command.Name+" --help")
	}
	return flagProblem(err, c.App.Flags, "capgnn help")
}

// overSubcommands is the action of a command that does nothing by itself: it lists its subcommands.
func overSubcommands(name string) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Args().Len() > 0 && c.Args().First() == "" {
			return emptyValue(name, "a command")
		}
		if c.Args().Present() {
			return term.Usagef("no command %s: `capgnn %s --help` lists them", term.Quoted(name+" "+c.Args().First(), commandNames(name+" ", c.Command.Subcommands)), name)
		}
		return cli.ShowSubcommandHelp(c)
	}
}

// withoutArguments refuses positional arguments of a command that takes none, since they would swallow the flags after them.
func withoutArguments(name string, action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		for _, f := range c.Command.Flags { // those that may stand without a value take none from the next word
			if alone, ok := f.(*cli.GenericFlag); ok && strings.Contains(c.Args().First(), "=") && fmt.Sprint(c.Generic(alone.Name)) == "true" {
				return term.Usagef("%s: --%s takes its value behind an equals sign: say --%s=%s", name, alone.Name, alone.Name, c.Args().First())
			}
		}
		if c.Args().Present() {
			return term.Usagef("%s: unexpected argument %q: every setting is a flag, see `capgnn %s --help`",
				name, c.Args().First(), name)
		}
		return action(c)
	}
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
