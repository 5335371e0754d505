package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"capgnn/python"
)

// platforms are the tags of systems on which programs without cgo run: those for Linux are static, so that any C
// library will do.
var platforms = map[string]string{
	"linux/amd64":  "manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":  "manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64": "macosx_12_0_x86_64", "darwin/arm64": "macosx_12_0_arm64", "windows/amd64": "win_amd64",
}

// metadata is what pip reads of the package, as python/pyproject.toml has it.
const metadata = `Metadata-Version: 2.1
Name: capgnn
Version: %s
Summary: Write graphs for capgnn, train with it, and load what it trained into torch_geometric
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy>=1.20
Provides-Extra: pyg
Requires-Dist: torch>=2.0; extra == "pyg"
Requires-Dist: torch_geometric>=2.3; extra == "pyg"
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
`

// wheel returns the Python package with the program inside, which pip puts beside the interpreter, and the name of
// its file. It returns nothing for a system that pip has no name for.
func wheel(info *buildinfo.BuildInfo, program, license, others []byte, at time.Time) (
	data []byte, name string, err error,
) {
	system, end, version := setting(info, "GOOS")+"/"+setting(info, "GOARCH"), "", pythonVersion(info.Main.Version)
	platform := platforms[system]
	if setting(info, "GOOS") == "windows" {
		end = ".exe"
	}
	if strings.Contains(setting(info, "-tags"), "cuda") {
		version += map[bool]string{false: "+cuda", true: ".cuda"}[strings.Contains(version, "+")]
		if platform, err = linkedPlatform(program, platform); err != nil {
			return nil, "", err
		}
	}
	if platform == "" {
		return nil, "", nil
	}
	tags := ""
	for tag := range strings.SplitSeq(platform, ".") {
		tags += "Tag: py3-none-" + tag + "\n"
	}
	stem := "capgnn-" + version
	members := []member{
		{"capgnn/py.typed", nil, 0o644},
		{stem + ".data/scripts/capgnn" + end, program, 0o755},
		{stem + ".dist-info/METADATA", fmt.Appendf(nil, metadata, version), 0o644},
		{stem + ".dist-info/WHEEL", []byte("Wheel-Version: 1.0\nGenerator: capgnn\n" +
			"Root-Is-Purelib: false\n" + tags), 0o644},
		{stem + ".dist-info/licenses/LICENSE", license, 0o644},
		{stem + ".dist-info/licenses/THIRD-PARTY-LICENSES", others, 0o644},
	}
	err = fs.WalkDir(python.Package, "capgnn", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := python.Package.ReadFile(path)
		if path == "capgnn/__init__.py" {
			text = regexp.MustCompile(`(?m)^__version__ = .*$`).ReplaceAll(text, []byte(`__version__ = "`+version+`"`))
		}
		members = append(members, member{path, text, 0o644})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	record := member{name: stem + ".dist-info/RECORD", mode: 0o644}
	for _, m := range sorted(members) {
		sum := sha256.Sum256(m.data)
		record.data = fmt.Appendf(record.data, "%s,sha256=%s,%d\n", m.name,
			base64.RawURLEncoding.EncodeToString(sum[:]), len(m.data))
	}
	record.data = fmt.Appendf(record.data, "%s,,\n", record.name)
	data, err = zipped(append(members, record), "", at)
	return data, stem + "-py3-none-" + platform + ".whl", err
}

// pythonVersion writes a version of Go as PEP 440 wants it: v1.2.3-rc.1 is 1.2.3rc1; what follows any other dash is
// local.
func pythonVersion(v string) string {
	number, rest, found := strings.Cut(strings.TrimPrefix(v, "v"), "-")
	if m := regexp.MustCompile(`^(alpha|a|beta|b|rc)\.?(\d+)$`).FindStringSubmatch(rest); m != nil {
		return number + map[byte]string{'a': "a", 'b': "b", 'r': "rc"}[m[1][0]] + m[2]
	}
	if found {
		number += "+" + strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(rest, "-", "."), "+", "."))
	}
	return number
}

// linkedPlatform is the tag of a Linux program with cgo: by the newest version of the C library that it needs.
func linkedPlatform(program []byte, platform string) (string, error) {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", err
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return "", err
	}
	newest := 0
	for _, s := range symbols {
		if minor, found := strings.CutPrefix(s.Version, "GLIBC_2."); found {
			minor, _, _ = strings.Cut(minor, ".")
			n, err := strconv.Atoi(minor)
			if err != nil {
				return "", fmt.Errorf("symbol %s needs %s: %w", s.Name, s.Version, err)
			}
			newest = max(newest, n)
		}
	}
	if newest == 0 {
		return "", errors.New("the program with cgo needs no glibc: its wheel has no name")
	}
	_, processor, _ := strings.Cut(strings.TrimPrefix(platform, "manylinux"), "_")
	processor, _, _ = strings.Cut(processor, ".")
	return fmt.Sprintf("manylinux_2_%d_%s", newest, processor), nil
}
