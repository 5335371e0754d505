package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

var update = flag.Bool("update", false, "write docs/commands.md anew")

// docs/commands.md says what the flags say.
func TestCommandsDoc(t *testing.T) {
	const path = "../../docs/commands.md"
	want := commandsDoc()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the flags say: run go test ./cmd/capgnn -run TestCommandsDoc -update", path)
	}
}

func commandsDoc() string {
	var b strings.Builder
	b.WriteString("# Commands\n\nMade from the flags by `go test ./cmd/capgnn -run TestCommandsDoc -update`.\n")
	for _, cmd := range newApp(io.Discard, io.Discard).Commands {
		commandDoc(&b, cmd, cmd.Name)
		for _, sub := range cmd.Subcommands {
			commandDoc(&b, sub, strings.TrimSpace(cmd.Name+" "+sub.Name+" "+sub.ArgsUsage))
		}
	}
	return b.String()
}

// commandDoc writes one command; its flags are those of its commands where it has any.
func commandDoc(b *strings.Builder, cmd *cli.Command, title string) {
	fmt.Fprintf(b, "\n## capgnn %s\n\n%s\n", title, sentence(cmd.Usage))
	if cmd.Description != "" {
		fmt.Fprintf(b, "%s\n", cmd.Description)
	}
	if len(cmd.Subcommands) > 0 {
		return
	}
	fmt.Fprintf(b, "\n```sh\n%s\n```\n", cmd.UsageText)
	for _, g := range flagGroups(cmd.Flags) {
		fmt.Fprintf(b, "\n%s:\n\n| flag | meaning | default |\n|---|---|---|\n", g.name)
		for _, f := range g.flags {
			_, usage := flagValue(f)
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", flagWords(f), usage, flagDefault(f))
		}
	}
}
