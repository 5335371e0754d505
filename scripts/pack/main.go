package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"capgnn/internal/regular"
)

// largest is more than any file of an archive has, in bytes.
const largest = 1 << 30

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "pack: name the folders to pack")
		os.Exit(2)
	}
	for _, folder := range os.Args[1:] {
		if err := pack(folder); err != nil {
			fmt.Fprintf(os.Stderr, "pack %s: %v\n", folder, err)
			os.Exit(1)
		}
	}
}

// pack writes the archive and the document of a folder beside it.
func pack(folder string) error {
	archive, extension, program := tarball, ".tar.gz", filepath.Join(folder, "capgnn")
	binary, err := regular.ReadFile(program, largest)
	if errors.Is(err, fs.ErrNotExist) {
		archive, extension, program = zipped, ".zip", program+".exe"
		binary, err = regular.ReadFile(program, largest)
	}
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return fmt.Errorf("read how %s was built: %w", program, err)
	}
	committed, err := commitTime(info)
	if err != nil {
		return err
	}
	licenses, err := licensesOf(info.Deps)
	if err != nil {
		return err
	}
	members, err := membersOf(folder)
	if err != nil {
		return err
	}
	packed, err := archive(sorted(append(members, member{"THIRD-PARTY-LICENSES", licenses, 0o644})), filepath.Base(folder), committed)
	if err != nil {
		return err
	}
	document, err := spdx(info, filepath.Base(folder), filepath.Base(program), sha256.Sum256(binary), committed)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(folder+extension, packed, 0o644); err != nil {
		return err
	}
	license := slices.IndexFunc(members, func(m member) bool { return m.name == "LICENSE" })
	if license < 0 {
		return errors.New("LICENSE is missing")
	}
	if data, name, err := wheel(info, binary, members[license].data, licenses, committed); err != nil {
		return fmt.Errorf("wheel: %w", err)
	} else if name != "" {
		if err := os.WriteFile(filepath.Join(filepath.Dir(folder), name), data, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(folder+".spdx.json", append(text, '\n'), 0o644)
}

// commitTime is when the commit was made of which a program was built.
func commitTime(info *buildinfo.BuildInfo) (time.Time, error) {
	text := setting(info, "vcs.time")
	if text == "" {
		return time.Time{}, errors.New("the program does not know its commit: build it with -buildvcs=true")
	}
	t, err := time.Parse(time.RFC3339, text)
	return t.UTC(), err
}

// setting is what the Go tools have noted of a build, "" where they have not.
func setting(info *buildinfo.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
