package main

import (
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version of this build", UsageText: "capgnn version",
		Action: printVersion,
	}
}

// versionFlag is the flag that does what the command does, as people expect of any program.
func versionFlag() cli.Flag {
	return &cli.BoolFlag{Name: "version", Aliases: []string{"v"}, Usage: "print the version of this build"}
}

// versionAlone refuses a command behind --version, which would run it.
func versionAlone(c *cli.Context) error {
	if c.Bool("version") && c.Args().Present() {
		return term.Usagef("--version stands alone: drop it or `%s`", c.Args().First())
	}
	return nil
}

func printVersion(c *cli.Context) error {
	info := term.ReadBuildInfo()
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(info)
	}
	_, err := fmt.Fprintln(c.App.Writer, info)
	return err
}
