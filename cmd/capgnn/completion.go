package main

import (
	"embed"
	"slices"
	"strings"
	"text/template"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/prediction"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset/fetch"
	"capgnn/graph/synth"
	"capgnn/internal/shell"
)

//go:embed completion/*.tmpl
var completionFiles embed.FS

// shells are those that a completion can be had for.
var shells = []string{"bash", "fish", "zsh"}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", UsageText: "source <(capgnn completion bash)", Usage: "print the completion script of a shell", ArgsUsage: "SHELL",
		Description: "Shells: " + strings.Join(shells, ", ") + ". Put `source <(capgnn completion bash)` into ~/.bashrc, the same with zsh into ~/.zshrc, or `capgnn completion fish | source` into ~/.config/fish/config.fish.",
		Action: func(c *cli.Context) error {
			found, err := positionals(c, "completion")
			if err != nil {
				return err
			}
			if c.Bool("help") {
				return cli.ShowSubcommandHelp(c)
			}
			if len(found) != 1 || !slices.Contains(shells, found[0]) {
				return term.Usagef("completion: give one shell: %s", strings.Join(shells, ", "))
			}
			return completionTemplates().ExecuteTemplate(c.App.Writer, found[0]+".tmpl", completionOf(c.App))
		},
	}
}

// completionTemplates returns the scripts as templates of a completion.
func completionTemplates() *template.Template {
	funcs := template.FuncMap{"quote": shell.Quoted, "zshFlag": zshFlag, "join": func(words []string) string { return strings.Join(words, " ") }}
	return template.Must(template.New("").Funcs(funcs).ParseFS(completionFiles, "completion/*.tmpl"))
}

// completion is what can be completed.
type completion struct {
	Top      []completedCommand // words behind the program
	Groups   []commandGroup     // those of Top that take a second word
	Commands []completedCommand // those that do something
}

type commandGroup struct {
	Name     string
	Commands []completedCommand
}

// completedCommand is a command with what may stand behind it.
type completedCommand struct {
	Words, Name, Usage string // Words: Name with the group's before it
	Flags              []completedFlag
	Args               string   // what its arguments are, "" = it takes none
	Choices            []string // of its arguments; nil: any
	Files              bool     // its arguments are files or folders
}

type completedFlag struct {
	Name, Usage string
	Value       bool     // it takes one
	Choices     []string // nil: any
	Files       bool     // the value is a file or folder
}

// completionOf returns what can be completed for the commands of the program.
func completionOf(app *cli.App) completion {
	var out completion
	for _, cmd := range app.Commands {
		if cmd.Name == "help" {
			continue
		}
		top := completed(cmd, cmd.Name)
		out.Top = append(out.Top, top)
		group := commandGroup{Name: cmd.Name}
		for _, sub := range cmd.Subcommands {
			if sub.Name != "help" { // which the command that runs has
				group.Commands = append(group.Commands, completed(sub, cmd.Name+" "+sub.Name))
			}
		}
		if group.Commands == nil {
			out.Commands = append(out.Commands, top)
			continue
		}
		out.Groups = append(out.Groups, group)
		out.Commands = append(out.Commands, group.Commands...)
	}
	return out
}

func completed(cmd *cli.Command, words string) completedCommand {
	out := completedCommand{Words: words, Name: cmd.Name, Usage: cmd.Usage, Args: cmd.ArgsUsage}
	switch words {
	case "completion":
		out.Choices = shells
	case "model show":
		out.Choices = runfolder.Models
	case "data synth":
		for _, p := range synth.Presets() {
			out.Choices = append(out.Choices, p.Name)
		}
	case "data fetch":
		for _, s := range fetch.Known() {
			out.Choices = append(out.Choices, s.Name)
		}
	default:
		out.Files = out.Args != ""
	}
	for _, f := range cmd.Flags {
		doc, name := f.(cli.DocGenerationFlag), f.Names()[0]
		if name == "help" {
			continue
		}
		usage, _, _ := strings.Cut(doc.GetUsage(), "\n")
		_, rest, _ := strings.Cut(usage, "`")
		value, _, _ := strings.Cut(rest, "`")
		flag := completedFlag{
			Name: name, Usage: strings.ReplaceAll(usage, "`", ""), Value: doc.TakesValue(), Choices: choicesOf(name),
			Files: name == "dataset" || slices.Contains([]string{"FILE", "DIR", "RUN", "ROOT"}, value),
		}
		_, keys := flagMeaning(f)
		for _, k := range keys {
			key, _, _ := strings.Cut(k.word, "=")
			flag.Choices = append(flag.Choices[:len(flag.Choices):len(flag.Choices)], key+"=")
		}
		if flag.Files {
			flag.Choices = nil // data tables has a file of --features
		}
		out.Flags = append(out.Flags, flag)
	}
	return out
}

// choicesOf returns the values of a flag that takes one of a few.
func choicesOf(flag string) []string {
	switch flag {
	case "only":
		return runfolder.SetNames[:]
	case "what":
		return prediction.Whats
	}
	return runfolder.Choices(flag)
}

// zshFlag returns a flag as _arguments wants it.
func zshFlag(f completedFlag) string {
	escape := strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`)
	spec := "--" + f.Name + "[" + escape.Replace(f.Usage) + "]"
	switch {
	case f.Files:
		spec += ":file:_files"
	case f.Choices != nil:
		keys := slices.DeleteFunc(slices.Clone(f.Choices), func(c string) bool { return !strings.HasSuffix(c, "=") })
		values := slices.DeleteFunc(slices.Clone(f.Choices), func(c string) bool { return strings.HasSuffix(c, "=") })
		spec += ":" + f.Name + `:{compset -P "*,"; compadd -- ` + strings.Join(values, " ") + `; compadd -S "" -- ` + strings.Join(keys, " ") + "}"
	case f.Value:
		spec += ": :"
	}
	return shell.Quoted(spec)
}
