package term

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"capgnn/internal/runfile"
)

// BuildInfo says which program this is.
type BuildInfo runfile.Build

// String is the build in a line.
func (b BuildInfo) String() string { return fmt.Sprintf("%s %s/%s", b.Source(), b.OS, b.Arch) }

// Source is what the build was made of, whatever machine it is for.
func (b BuildInfo) Source() string {
	commit := b.Commit
	if commit == "" {
		commit = "unknown"
	}
	if b.Modified {
		commit += "+"
	}
	return fmt.Sprintf("capgnn %s commit %s %s", b.Version, commit, b.Go)
}

// ReadBuildInfo returns what the Go tools have written into this program.
func ReadBuildInfo() BuildInfo {
	info := BuildInfo{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
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
