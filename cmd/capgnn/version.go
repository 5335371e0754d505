package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

// buildInfo says which program this is.
type buildInfo struct {
	Version  string `json:"version"`  // module version, "(devel)" for a build from a working tree
	Commit   string `json:"commit"`   // "" where the build does not know it
	Modified bool   `json:"modified"` // the working tree differed from the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Cgo      bool   `json:"cgo"`
	Tags     string `json:"tags"` // build tags
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "say which build this is", UsageText: "capgnn version",
		Action: printVersion,
	}
}

// versionFlag is the flag that does what the command does, as people expect of any program.
func versionFlag() cli.Flag {
	return &cli.BoolFlag{Name: "version", Aliases: []string{"v"}, Usage: "say which build this is, as the command version"}
}

// versionAlone refuses a command behind --version, which would run it.
func versionAlone(c *cli.Context) error {
	if c.Bool("version") && c.Args().Present() {
		return usagef("--version stands alone: leave it or `%s` away", c.Args().First())
	}
	return nil
}

func printVersion(c *cli.Context) error {
	info := readBuildInfo()
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(info)
	}
	_, err := fmt.Fprintln(c.App.Writer, info)
	return err
}

// String is the build in a line.
func (b buildInfo) String() string {
	commit := b.Commit
	if commit == "" {
		commit = "unknown"
	}
	if b.Modified {
		commit += "+"
	}
	return fmt.Sprintf("capgnn %s commit %s %s %s/%s", b.Version, commit, b.Go, b.OS, b.Arch)
}

func readBuildInfo() buildInfo {
	info := buildInfo{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if build.Main.Version != "" {
		info.Version = build.Main.Version
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		case "CGO_ENABLED":
			info.Cgo = s.Value == "1"
		case "-tags":
			info.Tags = s.Value
		}
	}
	return info
}
