package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

func built(version string, settings ...string) *buildinfo.BuildInfo {
	info := &buildinfo.BuildInfo{Main: debug.Module{Version: version}}
	for i := 0; i < len(settings); i += 2 {
		info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
	}
	return info
}

// A wheel holds the program as a script, the package with the wheel's version, and a record with the sum of every file.
func TestWheel(t *testing.T) {
	data, name, err := wheel(built("v1.2.3-rc.4", "GOOS", "windows", "GOARCH", "amd64"), []byte("program"),
		[]byte("license"), []byte("others"), at)
	if err != nil || name != "capgnn-1.2.3rc4-py3-none-win_amd64.whl" {
		t.Fatalf("wheel %q: %v", name, err)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	files, lines := map[string]string{}, 0
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil || files[f.Name] != "" {
			t.Fatalf("%s: %v, or it is there twice", f.Name, err)
		}
		if files[f.Name] = string(text); strings.HasSuffix(f.Name, "capgnn.exe") && f.Mode() != 0o755 {
			t.Errorf("the program has mode %v", f.Mode())
		}
	}
	record := files["capgnn-1.2.3rc4.dist-info/RECORD"]
	for file, text := range files {
		sum := sha256.Sum256([]byte(text))
		line := fmt.Sprintf("%s,sha256=%s,%d\n", file, base64.RawURLEncoding.EncodeToString(sum[:]), len(text))
		if strings.HasSuffix(file, "/RECORD") {
			line = file + ",,\n"
		}
		if lines++; !strings.Contains(record, line) {
			t.Errorf("the record lacks %q", line)
		}
	}
	if strings.Count(record, "\n") != lines || files["capgnn-1.2.3rc4.data/scripts/capgnn.exe"] != "program" ||
		!strings.Contains(files["capgnn/__init__.py"], "\n__version__ = \"1.2.3rc4\"\n") ||
		!strings.Contains(files["capgnn-1.2.3rc4.dist-info/METADATA"], "\nVersion: 1.2.3rc4\n") ||
		!strings.Contains(files["capgnn-1.2.3rc4.dist-info/WHEEL"], "\nTag: py3-none-win_amd64\n") {
		t.Errorf("the wheel holds\n%v", files)
	}
	if _, name, err := wheel(built("v1.0.0", "GOOS", "plan9", "GOARCH", "amd64"), nil, nil, nil,
		at); name != "" || err != nil {
		t.Errorf("a wheel for a system without a tag: %q, %v", name, err)
	}
}

// Versions are what PEP 440 calls them.
func TestPythonVersion(t *testing.T) {
	for v, want := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3rc1", "v1.2.3-alpha2": "1.2.3a2",
		"v1.2.3-b.3": "1.2.3b3", "v0.0.0-ci": "0.0.0+ci", "v0.0.0-2026-X": "0.0.0+2026.x"} {
		if got := pythonVersion(v); got != want {
			t.Errorf("%s is %s, want %s", v, got, want)
		}
	}
}

// What pip reads of a wheel is what it reads of the sources.
func TestMetadataIsThatOfTheSources(t *testing.T) {
	sources, err := os.ReadFile("../../python/pyproject.toml")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(metadata) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		value, _, _ = strings.Cut(value, ";")
		if name != "Metadata-Version" && name != "Version" && !strings.Contains(string(sources), value) {
			t.Errorf("pyproject.toml has no %s %s", name, value)
		}
	}
	for _, quoted := range strings.Split(string(sources), `"`) {
		if strings.Contains(quoted, ">=") && !strings.Contains(quoted, "setuptools") &&
			!strings.Contains(metadata, quoted) {
			t.Errorf("the metadata of a wheel lacks %s", quoted)
		}
	}
}
